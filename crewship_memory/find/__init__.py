"""Finding pages, rows by their id, names and acts: what the command palette shows."""
