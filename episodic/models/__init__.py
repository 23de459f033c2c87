"""The tables of this package."""

from episodic.models.health import AcceptedCause, HealthSnapshot
from episodic.models.index import (
    Embedding,
    EmbeddingChange,
    IndexState,
    MemoryRelation,
    State,
)
from episodic.models.memory_map import MemoryMap
from episodic.models.nudges import NudgeSent, RecallCheck, RecallCheckRun
from episodic.models.proposals import (
    ConsolidationMark,
    ConsolidationProposal,
    ProposalState,
)
from episodic.models.recall_log import LoggedHit, LoggedQuestion

__all__ = [
    "AcceptedCause",
    "ConsolidationMark",
    "ConsolidationProposal",
    "Embedding",
    "EmbeddingChange",
    "HealthSnapshot",
    "IndexState",
    "LoggedHit",
    "LoggedQuestion",
    "MemoryMap",
    "MemoryRelation",
    "NudgeSent",
    "ProposalState",
    "RecallCheck",
    "RecallCheckRun",
    "State",
]
