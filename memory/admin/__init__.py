"""Raw rows for staff, read only: list, search, follow links.

Nothing is added, changed or deleted without its service: the journal is chained, keys
are shown once, and changes of members, agents and crews are recorded in the journal.
Actions call the same services as the pages, with the staff member's own membership.
"""

from memory.admin import entries, files, people

__all__ = ["entries", "files", "people"]
