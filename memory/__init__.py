"""What is kept: workspaces and keys, the journal, memory files, records, review."""
