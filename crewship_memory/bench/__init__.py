"""The project's own measurements; ``manage.py bench`` prints them as JSON."""
