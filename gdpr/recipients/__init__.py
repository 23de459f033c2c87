"""Onward recipients of a person's data (Article 19): found, notified, answered."""
