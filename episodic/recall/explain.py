"""Why an entry is, or is not, in the answer to a question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils import timezone

from episodic.index import engine, policy
from episodic.models import Embedding, State
from episodic.recall import results
from episodic.recall import search as recall
from episodic.recall.request import K_MAX, Request
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules.permissions import Actor
from memory.word_index import ranking as word_ranking


@dataclass(frozen=True, slots=True)
class Check:
    """One question about the entry: ``verdict`` is pass, fail or none."""

    name: str
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The finding in one sentence, and the checks it rests on, in order."""

    entry: JournalEntry
    returned: bool
    rank: int | None
    finding: str
    checks: list[Check]
    answer: Answer
    would_need_k: int | None


def _verdict(holds: bool) -> str:  # noqa: FBT001  (one obvious argument)
    return "pass" if holds else "fail"


def _state(entry: JournalEntry) -> Check:
    row = Embedding.objects.defer("vector").filter(pk=entry.pk).first()
    model = engine.embedder().model
    if row is None:
        text = "waiting for the sweep" if entry.embeddable else "has no embedding"
        return Check("state", "fail", text)
    if row.state != State.INDEXED:
        seconds = round((timezone.now() - entry.recorded_at).total_seconds())
        text = f"{row.state} for {seconds} s"
        if row.attempts:
            text += f", tried {row.attempts} times: {row.last_error}"
        return Check("state", "fail", text)
    if row.model != model:
        text = f"embedded with {row.model}; recall now uses {model or 'none'}"
        return Check("state", "fail", text)
    late = (row.indexed_at - entry.recorded_at).total_seconds() if row.indexed_at else 0
    text = f"indexed {late:.1f} s after the append, with the model in use"
    return Check("state", "pass", text)


def _scope(entry: JournalEntry, answer: Answer) -> Check:
    is_visible = answer.reach.sees(entry)
    text = f"{'visible to' if is_visible else 'outside'} the scope {answer.reach.scope}"
    return Check("scope", _verdict(is_visible), text)


def _filters(entry: JournalEntry, request: Request) -> Check:
    faults = []
    if request.entry_types and entry.entry_type not in request.entry_types:
        faults.append("its type is filtered out")
    if request.since and entry.ts < request.since:
        faults.append("it is older than since")
    if request.until and entry.ts > request.until:
        faults.append("it is newer than until")
    if request.as_of and entry.recorded_at > request.as_of:
        faults.append("it was recorded after as_of")
    if entry.erased_at is not None:
        faults.append("it was erased")
    text = ", ".join(faults) or "no filter leaves it out"
    return Check("filters", _verdict(not faults), text)


def _dense(entry: JournalEntry, answer: Answer) -> Check:
    vector = answer.rankings.vector
    if vector is None:
        text = answer.rankings.degraded or "the mode does not ask the dense ranking"
        return Check("dense", "none", text)
    scope = answer.rankings.scope
    rank = engine.vectors().rank(vector, scope, entry.id)
    if rank is None:
        return Check("dense", "none", "has no vector in scope")
    hit = engine.vectors().of(vector, scope, [entry.id]).get(entry.id)
    text = f"rank {rank}"
    if hit:
        text += f", cosine {hit.cosine:.3f}, importance {hit.importance:.2f}"
    inside = entry.id in answer.rankings.dense_ids
    if not inside:
        text += f"; the ranking ends at {len(answer.rankings.dense.hits)}"
    return Check("dense", _verdict(inside), text)


def _words(entry: JournalEntry, answer: Answer) -> Check:
    word_query = answer.rankings.word_query
    if word_query.is_empty:
        return Check("words", "none", "the question left no word to search for")
    words = word_ranking.matching_words(
        entry.workspace_id, word_query.terms, {entry.id: entry.docid}
    )[entry.id]
    if not words:
        return Check("words", "none", "no word of the question is in it")
    ids = answer.rankings.word_ids
    text = ", ".join(words)
    if entry.id in ids:
        return Check("words", "pass", f"rank {ids.index(entry.id) + 1} by {text}")
    return Check(
        "words", "fail", f"{text} found, but below rank {len(ids)} or filtered"
    )


def _limit(rank: int | None, hit: Hit | None, answer: Answer) -> Check:
    if hit is None or rank is None:
        return Check("cut", "fail", "no ranking put it on the list")
    if rank <= answer.request.k:
        return Check("cut", "pass", f"rank {rank} of the {answer.request.k} returned")
    last = answer.hits[-1].score if answer.hits else 0.0
    text = f"score {hit.score:.4f}; hit {len(answer.hits)} has {last:.4f}"
    return Check("cut", "fail", text)


def _finding(rank: int | None, total: int, k: int, checks: list[Check]) -> str:
    if rank is not None and rank <= k:
        return f"It is in the answer, at rank {rank}."
    if rank is not None:
        place = "one place" if rank == k + 1 else f"{rank - k} places"
        return f"It is rank {rank} of {total}: {place} below the cut."
    for check in checks:
        if check.verdict == "fail" and check.name in ("scope", "filters", "policy"):
            return f"It cannot be in the answer: {check.text}."
    failures = (check.text for check in checks if check.verdict == "fail")
    return f"No ranking put it on the list: {next(failures, 'no ranking found it')}."


def explain(request: Request, entry_id: str, *, by: Actor) -> Explanation:
    """Explain an entry's place in an answer; the caller must be able to read it."""
    entry = queries.entry(by, entry_id)
    answer = recall.search(replace(request, explain=True, mark=False), by=by)
    scores, rankings = answer.scores, answer.rankings
    hits = results.hits(answer.request, answer.reach, rankings, scores, len(scores))
    hit = next((h for h in hits if h.entry.id == entry.id), None)
    rank = hits.index(hit) + 1 if hit else None
    judgement = policy.judge(
        entry.entry_type, entry.severity, entry.payload, entry.refs
    )
    checks = [
        Check("policy", _verdict(judgement.embeds), judgement.why),
        _state(entry),
        _scope(entry, answer),
        _filters(entry, answer.request),
        _dense(entry, answer),
        _words(entry, answer),
        _limit(rank, hit, answer),
    ]
    k = answer.request.k
    return Explanation(
        entry=entry,
        returned=rank is not None and rank <= k,
        rank=rank,
        finding=_finding(rank, len(hits), k, checks),
        checks=checks,
        answer=answer,
        would_need_k=rank if rank and k < rank <= K_MAX else None,
    )
