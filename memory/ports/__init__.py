"""What upper packages supply to this one: one module per port."""
