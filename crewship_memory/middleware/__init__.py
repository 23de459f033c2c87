"""Middleware: the actor, request limits, throttling and the write guard."""
