"""Why a metric is not at 100: what costs how many points, and what would help.

Causes are told from a snapshot's details. The points of a metric's causes are shares of
what the metric costs the score; names and words are read anew, so nothing erased comes
back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse

from episodic.health import bands
from episodic.models import HealthSnapshot
from memory.models import Agent, JournalEntry
from memory.rules import tokenizer

MOST: Final = 3
LEAST_POINTS: Final = 0.05
WORD_CHARS: Final = 4


@dataclass(frozen=True, slots=True)
class Action:
    """What a person can do about it: a place to look (GET) or an act (POST)."""

    kind: str
    label: str
    url: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that pulls a metric down, by points of the score."""

    metric: str
    points: float
    title: str
    text: str
    action: Action


@dataclass(frozen=True, slots=True)
class _Case:
    """A snapshot being explained: its scope, and the names of its agents."""

    snapshot: HealthSnapshot
    agents: dict[str, str]
    quotes: bool

    def summaries(self, entry_ids: Sequence[str]) -> list[str]:
        """Return the summaries of entries that still have their text."""
        if not self.quotes:
            return []
        rows = JournalEntry.objects.filter(
            workspace_id=self.snapshot.workspace_id,
            pk__in=entry_ids,
            erased_at__isnull=True,
        )
        return list(rows.order_by("pk").values_list("summary", flat=True))

    def part(self, metric: str) -> dict[str, Any]:
        """Return the inputs of a metric."""
        return dict(self.snapshot.details.get(metric, {}))

    def journal(self, **wanted: str | None) -> str:
        """Return the address of the list of entries behind a cause."""
        wanted |= {"crew_id": self.snapshot.crew_id}
        return f"{reverse('memory:journal')}?{_query(wanted)}"

    def act(self, kind: str, label: str) -> Action:
        """Return an act of the health page."""
        crew = _query({"crew_id": self.snapshot.crew_id})
        url = reverse("health:fix", args=[kind])
        return Action(kind, label, f"{url}?{crew}" if crew else url, "POST")


def _query(wanted: dict[str, str | None]) -> str:
    return urlencode({name: value for name, value in wanted.items() if value})


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def lost(snapshot: HealthSnapshot, metric: str) -> float:
    """Return the points of the score that a metric costs."""
    metrics = {name: getattr(snapshot, name) for name in bands.METRICS}
    value, weight = metrics[metric], bands.known_weight(metrics)
    return (100 - value) * bands.WEIGHTS[metric] / weight if value is not None else 0.0


def of(snapshot: HealthSnapshot, agents: dict[str, str] | None = None) -> list[Cause]:
    """Return up to three causes for each metric, the costliest first.

    Given the slugs of the ``agents`` it asks the database nothing and quotes no words,
    for lists of many scopes.
    """
    quotes = agents is None
    if agents is None:
        rows = Agent.objects.filter(workspace_id=snapshot.workspace_id)
        agents = dict(rows.values_list("id", "slug"))
    case = _Case(snapshot, agents, quotes)
    found: list[Cause] = []
    for metric, tell in TELLERS.items():
        # Details that were damaged were taken out; without them there is no cause.
        if lost(snapshot, metric) and case.part(metric):
            mine = [one for one in tell(case) if one.points >= LEAST_POINTS]
            found += sorted(mine, key=lambda one: -one.points)[:MOST]
    return sorted(found, key=lambda one: -one.points)


def _cause(
    case: _Case, metric: str, share: float, told: tuple[str, str], action: Action
) -> Cause:
    points = round(lost(case.snapshot, metric) * min(1.0, share), 1)
    return Cause(metric, points, told[0], told[1], action)


# ── One teller a metric ──────────────────────────────────────────────────────
def _freshness(case: _Case) -> list[Cause]:
    found = []
    for one in case.part("freshness").get("agents", []):
        who = case.agents.get(one["agent_id"] or "")
        name = who or "nobody in particular"
        newest, median = one["newest_days"], one["median_days"]
        title = f"{name}’s newest indexed entry is {_days(newest)} old"
        if newest < 2:
            title = f"Half of what {name} wrote is older than {_days(median)}"
        text = (
            f"{_entries(one['entries'])}, the newest {_days(newest)} old, half of them "
            f"older than {_days(median)}. Only new entries that are embedded, such as "
            "summaries and records, make a memory fresher."
        )
        url = case.journal(agent_id=one["agent_id"] if who else None)
        action = Action("open", f"Open {who}’s journal" if who else "Open entries", url)
        found.append(_cause(case, "freshness", one["share"], (title, text), action))
    return found


def _days(days: float) -> str:
    if days < 1:
        hours = max(1, round(days * 24))
        return f"{hours} {'hour' if hours == 1 else 'hours'}"
    return f"{round(days)} {'day' if round(days) == 1 else 'days'}"


def _missing_why(state: str, reason: str, count: int) -> str:
    verb = "waits" if count == 1 else "wait"
    if state == "indexed":
        verb = "has" if count == 1 else "have"
        return f"{verb} a vector of another model, which recall does not mix in"
    if reason:
        told = reason.replace("_", " ")
        stands = "is" if count == 1 else "are"
        return f"{stands} not indexed because the embedder failed ({told})"
    return f"{verb} for the sweep"


def _coverage(case: _Case) -> list[Cause]:
    part = case.part("coverage")
    whole = max(1, part["embeddable"] - part["indexed"])
    groups = [*part["missing"]]
    if part["unread"]:
        groups.append({"state": "", "reason": "", "count": part["unread"]})
    if not case.snapshot.details.get("model"):
        title = "No embedder is configured"
        text = f"{_entries(whole)} cannot be recalled by meaning, only by words."
        action = Action("open", "Open the index", reverse("episodic:index"))
        return [_cause(case, "coverage", 1.0, (title, text), action)]
    found = []
    for one in groups:
        count, kind = one["count"], one.get("entry_type")
        why = _missing_why(one["state"], one["reason"], count)
        what = f"{count:,} {kind or ('entry' if count == 1 else 'entries')}"
        text = f"{part['indexed']:,} of {part['embeddable']:,} have a vector. "
        text += "The others are found by words alone."
        action = case.act("index", "Index now")
        told = (f"{what} {why}", text)
        found.append(_cause(case, "coverage", count / whole, told, action))
    return found


def _coherence(case: _Case) -> list[Cause]:
    part, found = case.part("coherence"), []
    for one in part.get("lonely", []):
        top = telling_words(case.summaries(one["entry_ids"]))
        count, kind = one["count"], one["entry_type"]
        verb = "stands" if count == 1 else "stand"
        what = f"{kind} {'entry' if count == 1 else 'entries'}"
        title = f"{count:,} {what} {verb} apart{_quoted(top)}"
        text = (
            f"Their three nearest neighbours are at cosine {one['cosine']:.2f}; random "
            f"pairs are at {part['background']:.2f}. {part['sampled']:,} entries were "
            "looked at."
        )
        url = case.journal(entry_type=kind)
        if top:
            url = f"{reverse('episodic:recall')}?{_query(_asked(case, ' '.join(top)))}"
        action = Action("open", "Ask recall for them" if top else "Show entries", url)
        found.append(_cause(case, "coherence", one["share"], (title, text), action))
    return found


def _asked(case: _Case, query: str) -> dict[str, str | None]:
    return {"query": query, "crew_id": case.snapshot.crew_id}


def _quoted(top: Sequence[str]) -> str:
    return f": {', '.join(f'“{word}”' for word in top)}" if top else ""


def _efficiency(case: _Case) -> list[Cause]:
    part, found = case.part("efficiency"), []
    poor = part.get("poor", {"count": 0})
    if poor["count"]:
        summaries = case.summaries(poor["entry_ids"][:1])
        asked = summaries[0][:80] if summaries else ""
        title = f"{poor['count']} of {part['questions']} replays find nothing near"
        text = (
            "Each replay asks with the words of one of the newest entries, inside its "
            "crew; these have no answer above 0.40"
        )
        text += f"; one is “{asked}”." if asked else "."
        found.append(_ask(case, poor["share"], (title, text), asked))
    for one in part.get("rest", []):
        who = case.agents.get(one["agent_id"] or "")
        whose = f"of {who}’s entries" if who else "other entries"
        near = f"{one['cosine']:.2f}"
        count = one["count"]
        replays = f"{count} {'replay' if count == 1 else 'replays'} {whose}"
        title = f"{replays} {'finds' if count == 1 else 'find'} answers at {near}"
        text = (
            "A replay asks with an entry's own words. That is the mean cosine of the "
            "five best answers; 0.80 would be full marks. Entries that say one thing "
            "each are found nearer."
        )
        told = case.summaries(one["entry_ids"])
        asked = told[0][:120] if told else ""
        found.append(_ask(case, one["share"], (title, text), asked))
    return found


def _ask(case: _Case, share: float, told: tuple[str, str], asked: str) -> Cause:
    query = _query(_asked(case, asked))
    action = Action("open", "Open in recall", f"{reverse('episodic:recall')}?{query}")
    return _cause(case, "efficiency", share, told, action)


def _reachability(case: _Case) -> list[Cause]:
    part, found = case.part("reachability"), []
    alone = max(1, part["embeddings"] - part["connected"])
    looked, near = part["alone_sampled"], part["linkable_sampled"]
    could = round(alone * near / looked) if looked else 0
    stand = f"{alone:,} of {part['embeddings']:,} embeddings stand alone."
    if could:
        about = "" if looked == alone else "About "
        verb = (
            "entry that no relation reaches has"
            if could == 1
            else ("entries that no relation reaches have")
        )
        title = f"{about}{could:,} {verb} a near neighbour"
        text = f"{stand} These have an older entry of their crew at cosine 0.80 or "
        text += "nearer, which came into the index after them, and can be linked now."
        link = case.act("link", "Link relations")
        told = (title, text)
        found.append(_cause(case, "reachability", could / alone, told, link))
    for place, one in enumerate(part["alone"]):
        title = f"No relation reaches {one['count']:,} {one['entry_type']} entries"
        text = (
            f"{stand} Without a near neighbour in their crew only consolidation ties "
            "them to something: an approved rule is linked to its evidence."
        )
        url = case.journal(entry_type=one["entry_type"])
        action = Action("open", "Show entries", url)
        if not place:
            action = case.act("consolidate", "Propose rules")
        share = one["count"] / alone * (1 - could / alone)
        found.append(_cause(case, "reachability", share, (title, text), action))
    return found


TELLERS: Final[dict[str, Callable[[_Case], list[Cause]]]] = {
    "freshness": _freshness,
    "coverage": _coverage,
    "coherence": _coherence,
    "efficiency": _efficiency,
    "reachability": _reachability,
}


# ── Words ────────────────────────────────────────────────────────────────────
def telling_words(summaries: Sequence[str]) -> list[str]:
    """Return the two words that most of some summaries share, at least two of them."""
    counts: Counter[str] = Counter()
    for summary in summaries:
        told = tokenizer.telling(tokenizer.split(tokenizer.fold(summary)))
        counts.update({w for w in told if len(w) >= WORD_CHARS and w.isalpha()})
    return [word for word, count in counts.most_common(2) if count > 1]
