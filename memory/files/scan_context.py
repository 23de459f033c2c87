"""The context in which a text is scanned: whose hand it was, and what a case keeps."""

from __future__ import annotations

from typing import Final

from memory.models import HeldFile
from memory.rules.permissions import Actor, Role
from memory.scanner import provenance
from memory.scanner.provenance import Context, Origin, Writer

# Where the outcome of a case has what its text was judged as.
KEY: Final = "context"


def writer_of(by: Actor, owner_agent_id: str | None) -> str:
    """Return whose hand an actor's is, for the memory of an agent, or of a crew."""
    if by.is_agent:
        is_own = by.id == owner_agent_id
        return Writer.OWN.value if is_own else Writer.TEAMMATE.value
    is_system = by.role is Role.SYSTEM
    return Writer.UNKNOWN.value if is_system else Writer.OPERATOR.value


def context_of(case: HeldFile) -> Context:
    """Return what a held text was judged as; where that is not kept, by its columns."""
    try:
        return Context.of_map(case.outcome[KEY])
    except (KeyError, TypeError):
        # A case from before, or one in which words were masked.
        is_operators = provenance.origin_of(case.source) is Origin.OPERATOR
        writer = Writer.OPERATOR if is_operators else Writer.OWN
        return provenance.context(case.source, case.tier, writer)
