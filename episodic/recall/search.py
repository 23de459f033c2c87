"""Recall: a question, its scope, the rankings, their fusion, and the best entries."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from episodic import scopes
from episodic.index.reference_counts import reference_counts
from episodic.recall import ranking, results
from episodic.recall.question_log import question_log
from episodic.recall.ranking import Rankings
from episodic.recall.request import Request, Timings, settled
from episodic.recall.results import Hit
from episodic.scopes import Reach
from memory import recall_database
from memory.measurements import recorded, tracing
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recall returns, and everything needed to explain it.

    ``scores`` has every entry that a ranking found, also below the cut.
    """

    request: Request
    reach: Reach
    rankings: Rankings
    scores: dict[str, float]
    hits: list[Hit]
    below: list[Hit]
    timings: Timings

    @property
    def model(self) -> str | None:
        """The model whose vectors were compared, None without an embedder."""
        return self.rankings.scope.model or None


def search(request: Request, *, by: Actor) -> Answer:
    """Answer a recall in the caller's scope.

    With a ``walk_depth`` of 1, at most ``k`` neighbours of the hits follow them.

    Exactly the hits returned are counted as referenced, unless ``mark`` is false.
    With ``explain`` the entries just below the cut come along in ``below``.
    """
    by.require("recall.ask")
    request = settled(request, by.workspace_id)
    reach = scopes.reach(request.scope, request.crew_id, request.agent_id, by=by)
    timings = Timings()
    with tracing.span("recall", mode=request.mode.value), timings.stage("total"):
        rankings, scores = recall_database.ask(
            reach.workspace_id, lambda: _ranked(request, reach, timings)
        )
        with timings.stage("load"):
            take = request.k + (10 if request.explain else 0)
            best = results.hits(request, reach, rankings, scores, take)
            returned, below = best[: request.k], best[request.k : take]
            depth = request.walk_depth
            if reach.walk_depth if depth is None else depth:
                returned += results.neighbours(request, reach, rankings, returned)
                returned_ids = {hit.entry.id for hit in returned}
                below = [hit for hit in below if hit.entry.id not in returned_ids]
    if request.mark and returned:
        reference_counts.add(hit.entry.id for hit in returned)
    recorded.recalled(
        request.mode, asdict(timings), is_degraded=bool(rankings.degraded)
    )
    answer = Answer(request, reach, rankings, scores, returned, below, timings)
    question_log.note(answer, by)
    return answer


def _ranked(
    request: Request, reach: Reach, timings: Timings
) -> tuple[Rankings, dict[str, float]]:
    """Return the rankings and the score of every entry in them."""
    rankings = ranking.rank(request, reach, timings)
    with timings.stage("fuse"):
        return rankings, ranking.fuse(request, rankings)
