"""Which installation this is, and what happens when it is another."""
