"""Recall: the index of the journal, search, prompt context, health, consolidation."""
