"""Requests of data subjects: their states, deadlines, dry runs and legal holds."""
