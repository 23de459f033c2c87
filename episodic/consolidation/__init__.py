"""Consolidation: propose rules from entries and let a person approve them."""
