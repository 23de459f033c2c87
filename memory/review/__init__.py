"""What a person does with held text: the queue, the detail, the decision."""
