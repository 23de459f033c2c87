"""The rules of personal data: pure functions, no framework."""
