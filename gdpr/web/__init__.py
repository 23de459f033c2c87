"""The doors of the second floor: pages and the JSON API."""
