"""The tables of this package."""

from episodic.models.health import HealthSnapshot
from episodic.models.index import (
    Embedding,
    EmbeddingChange,
    IndexState,
    MemoryRelation,
    State,
)
from episodic.models.nudges import NudgeSent, RecallCheck, RecallCheckRun
from episodic.models.proposals import (
    ConsolidationMark,
    ConsolidationProposal,
    ProposalState,
)

__all__ = [
    "ConsolidationMark",
    "ConsolidationProposal",
    "Embedding",
    "EmbeddingChange",
    "HealthSnapshot",
    "IndexState",
    "MemoryRelation",
    "NudgeSent",
    "ProposalState",
    "RecallCheck",
    "RecallCheckRun",
    "State",
]
