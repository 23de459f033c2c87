"""The index: what is embedded, when, and how important it is."""
