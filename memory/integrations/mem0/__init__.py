"""mem0's HTTP API over records."""
