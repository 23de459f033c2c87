"""Finding and masking names in texts and JSON: pure functions, no framework."""
