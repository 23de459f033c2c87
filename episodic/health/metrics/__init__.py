"""The metrics of memory health: one module each, listed in ``table``."""
