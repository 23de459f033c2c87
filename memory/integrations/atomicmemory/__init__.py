"""AtomicMemory's HTTP API and its provider contract, over records."""
