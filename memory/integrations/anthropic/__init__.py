"""Anthropic's memory tool: a tree of files over records."""
