"""Recall: rank entries for a question, explain the ranking, build the prompt block."""
