"""What goes into an agent's prompt: the block of a recall, and the nudges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from episodic.index.reference_counts import reference_counts
from episodic.recall import nudges, prompt_block
from episodic.recall import search as recall
from episodic.recall.nudges import Nudge
from episodic.recall.prompt_block import Block
from episodic.recall.request import Request
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt block, the answer it was made from, and the nudges."""

    block: Block
    nudges: list[Nudge]
    answer: Answer


def block(hits: Sequence[Hit], max_chars: int) -> Block:
    hints = [
        prompt_block.Hint(
            entry_id=hit.entry.id,
            entry_type=hit.entry.entry_type,
            age_seconds=hit.age_seconds,
            score=hit.score,
            summary=hit.entry.summary,
        )
        for hit in hits
    ]
    return prompt_block.render(hints, max_chars)


def show(answer: Answer, max_chars: int) -> Context:
    """Return what an agent would get for an answer; nothing counts as given or used."""
    reach = answer.reach
    agent_nudges = nudges.give(reach.workspace_id, reach.agent_id, None, keep=False)
    return Context(block(answer.hits, max_chars), agent_nudges, answer)


def build(
    request: Request,
    *,
    by: Actor,
    max_chars: int = prompt_block.BUDGET,
    session_id: str | None = None,
) -> Context:
    """Answer a recall as text for a prompt.

    Exactly the entries in the text are counted as referenced, unless ``mark`` is false;
    then a nudge given here does not count as given either.
    """
    answer = recall.search(replace(request, mark=False), by=by)
    prompt = block(answer.hits, max_chars)
    if request.mark and prompt.entry_ids:
        reference_counts.add(prompt.entry_ids)
    agent_nudges = nudges.give(
        by.workspace_id, answer.reach.agent_id, session_id, keep=request.mark
    )
    return Context(prompt, agent_nudges, answer)
