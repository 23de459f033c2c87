"""Raw rows for staff: look, search, follow links. Where a service rules, it acts.

Nothing is added, changed or deleted behind a service's back: the journal is chained,
keys are shown once, and members, agents and crews leave their trace in the journal.
Actions call the same services as the pages, as the staff member's own membership.
"""

from memory.admin import entries, files, people

__all__ = ["entries", "files", "people"]
