"""Benchmarks of the product; ``manage.py bench`` prints them as JSON."""
