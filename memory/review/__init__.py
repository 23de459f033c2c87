"""Review of held text: the queue, the detail, the decision."""
