"""The tables of the ground floor: who there is, and what was written down."""

from memory.models.journal import (
    ChainCheckpoint,
    ChainHead,
    IdempotencyRecord,
    JournalEntry,
    PriorityChange,
    SubjectMention,
)
from memory.models.tenancy import (
    Agent,
    AgentKey,
    Crew,
    Membership,
    OperatorKey,
    User,
    Workspace,
)

__all__ = [
    "Agent",
    "AgentKey",
    "ChainCheckpoint",
    "ChainHead",
    "Crew",
    "IdempotencyRecord",
    "JournalEntry",
    "Membership",
    "OperatorKey",
    "PriorityChange",
    "SubjectMention",
    "User",
    "Workspace",
]
