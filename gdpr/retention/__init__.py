"""Retention by type and age: rules, what each would erase, and the nightly run.

``rules`` keeps the rules. ``selection`` says which rows are due and why others stay.
``apply`` erases.
"""
