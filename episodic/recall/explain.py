"""Why an entry is, or is not, in the answer to a question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils import timezone
from django.utils.translation import gettext, pgettext

from episodic.embedders.base import failure_text
from episodic.index import engine, policy
from episodic.models import Embedding, State
from episodic.recall import findings, reasons, results, signal_checks, surroundings
from episodic.recall import search as recall
from episodic.recall.request import K_MAX, Request
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from episodic.recall.signal_checks import Check
from episodic.vectors.base import VectorHit
from memory.figures import decimal
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules.permissions import Actor


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


def _state(entry: JournalEntry) -> Check:
    row = Embedding.objects.defer("vector").filter(pk=entry.pk).first()
    model = engine.embedder().model
    if row is None:
        waits = gettext("waiting for the sweep")
        text = waits if entry.embeddable else gettext("has no embedding")
        return Check("state", "fail", text)
    if row.state != State.INDEXED:
        return Check("state", "fail", _wait(entry, row))
    if row.model != model:
        text = gettext(findings.OTHER_MODEL).format(
            model=row.model, other=model or pgettext("model", "none")
        )
        return Check("state", "fail", text)
    late = (row.indexed_at - entry.recorded_at).total_seconds() if row.indexed_at else 0
    text = gettext("indexed {seconds} s after the append, with the model in use")
    return Check("state", "pass", text.format(seconds=decimal(late, 1)))


def _wait(entry: JournalEntry, row: Embedding) -> str:
    """Return since when a row waits, and what happened when it was tried."""
    seconds = round((timezone.now() - entry.recorded_at).total_seconds())
    text = gettext(findings.WAITS).format(state=row.state, seconds=seconds)
    if not row.attempts:
        return text
    error = failure_text(row.last_error)
    tried = gettext(findings.TRIED)
    return tried.format(waits=text, count=row.attempts, error=error)


def _scope(entry: JournalEntry, answer: Answer) -> Check:
    is_visible = answer.reach.sees(entry)
    seen, outside = (
        gettext("visible to the scope {scope}"),
        gettext(findings.OUTSIDE),
    )
    text = (seen if is_visible else outside).format(scope=answer.reach.scope)
    return Check("scope", signal_checks.verdict(is_visible), text)


def _vector(entry: JournalEntry, answer: Answer) -> VectorHit | None:
    rankings = answer.rankings
    if rankings.vector is None:
        return None
    hits = engine.vectors().of(rankings.vector, rankings.scope, [entry.id])
    return hits.get(entry.id)


def _filters(entry: JournalEntry, answer: Answer) -> Check:
    request, faults = answer.request, []
    if request.entry_types and entry.entry_type not in request.entry_types:
        faults.append(gettext("its type is filtered out"))
    if request.since and entry.ts < request.since:
        faults.append(gettext("it is older than since"))
    if request.until and entry.ts > request.until:
        faults.append(gettext("it is newer than until"))
    if request.as_of and entry.recorded_at > request.as_of:
        faults.append(gettext("it was recorded after as_of"))
    if results.is_too_far(request, _vector(entry, answer)):
        faults.append(gettext("its cosine is below min_score"))
    if entry.erased_at is not None:
        faults.append(gettext("it was erased"))
    text = ", ".join(faults) or gettext("no filter leaves it out")
    return Check("filters", signal_checks.verdict(not faults), text)


def _limit(
    entry: JournalEntry, rank: int | None, hits: list[Hit], answer: Answer
) -> Check:
    k = answer.request.k
    if rank is None:
        if entry.id in answer.scores:
            return Check("cut", "fail", gettext("a filter takes it off the list"))
        return Check("cut", "fail", gettext("no ranking put it on the list"))
    hit, last = hits[rank - 1], hits[min(k, len(hits)) - 1]
    if rank <= k:
        text = gettext("rank {rank} of the {count} returned").format(rank=rank, count=k)
        return Check("cut", "pass", text)
    text = gettext("score {score}; hit {k} has {last}").format(
        score=decimal(hit.score, 4), k=k, last=decimal(last.score, 4)
    )
    return Check("cut", "fail", text)


def _finding(rank: int | None, total: int, k: int, checks: list[Check]) -> str:
    if rank is not None and rank <= k:
        return gettext(findings.RETURNED).format(rank=rank)
    if rank is not None:
        text = gettext(findings.ONE_BELOW if rank - k == 1 else findings.BELOW)
        return text.format(rank=rank, total=total, count=rank - k)
    for check in checks:
        if check.verdict == "fail" and check.name in ("scope", "filters", "policy"):
            return gettext(findings.EXCLUDED).format(reason=check.text)
    failures = (check.text for check in checks if check.verdict == "fail")
    reason = next(failures, "") or gettext("no ranking found it")
    return gettext(findings.UNRANKED).format(reason=reason)


def _as_neighbour(entry: JournalEntry, answer: Answer) -> str:
    """Return how an entry came into the answer beside a hit, "" if it did not."""
    for hit in answer.hits:
        relation, _, hit_id = hit.via.partition(":")
        if hit_id and hit.entry.id == entry.id:
            text = gettext(
                "It is in the answer as a neighbour of {hit}, one step along the "
                "relation {relation}."
            )
            return text.format(hit=hit_id, relation=relation)
    return ""


def _reason(rank: int, hits: list[Hit], answer: Answer) -> str:
    """Return a sentence on what decided an entry's place, with a space before it."""
    hit, k = hits[rank - 1], answer.request.k
    if hit.parts is None:
        return ""
    if rank > k:
        text = signal_checks.against(hit, hits[k - 1], answer)
    else:
        words = surroundings.words_of(answer, [hit.entry.id])[hit.entry.id]
        ranks = {h.entry.id: n for n, h in enumerate(hits[:k], 1)}
        text = reasons.sentence(hit, words, answer.rankings, ranks)
    return f" {text}" if text else ""


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
    k = answer.request.k
    checks = [
        Check("policy", signal_checks.verdict(judgement.embeds), judgement.why),
        _state(entry),
        _scope(entry, answer),
        _filters(entry, answer),
        signal_checks.dense(entry, answer),
        signal_checks.words(entry, answer),
        *signal_checks.of_convex(entry, hit, answer),
        _limit(entry, rank, hits, answer),
    ]
    finding = _finding(rank, len(hits), k, checks)
    finding += _reason(rank, hits, answer) if rank else ""
    neighbour_text = _as_neighbour(entry, answer)
    if neighbour_text:
        text = gettext("{neighbour} By itself: {finding}")
        finding = text.format(neighbour=neighbour_text, finding=finding)
    is_ranked = rank is not None and rank <= k
    return Explanation(
        entry=entry,
        returned=is_ranked or bool(neighbour_text),
        rank=rank,
        finding=finding,
        checks=checks,
        answer=answer,
        would_need_k=rank if rank and k < rank <= K_MAX else None,
    )
