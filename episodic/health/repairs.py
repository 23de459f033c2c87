"""Repairs: what raises the score, each with one act and the causes that it cures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import F, Q
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext

from episodic.consolidation import candidates
from episodic.consolidation.run import MIN_ENTRIES
from episodic.health import duplicates, gains
from episodic.health.causes import Cause
from episodic.health.gains import Gain
from episodic.health.metrics.base import Action, Explanation
from episodic.models import ConsolidationMark, HealthSnapshot
from memory.figures import grouped
from memory.journal.visibility import USABLE
from memory.models import JournalEntry
from memory.rules.permissions import Actor

UNREAD_LISTED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Repair:
    """One act, what it touches, what it is expected to bring, and why it is there."""

    kind: str
    title: str
    text: str
    action: Action
    permission: str
    gain: Gain | None
    causes: tuple[Cause, ...]

    @property
    def points(self) -> float:
        """The points of the score it is expected to return."""
        return self.gain.points if self.gain else 0.0


def of(
    actor: Actor, row: HealthSnapshot, causes: Sequence[Cause]
) -> tuple[Repair, ...]:
    """Return the repairs of a snapshot's scope, the largest gain first."""
    by_kind: dict[str, list[Cause]] = {}
    for cause in causes:
        by_kind.setdefault(cause.repair, []).append(cause)
    repairs = []
    if group := by_kind.get("index"):
        repairs.append(_index(row, group))
    if group := by_kind.get("link"):
        repairs.append(_link(row, group))
    if pairs := _duplicates(actor, row):
        repairs.append(pairs)
    if rules := _rules(actor, row, by_kind.get("rules", [])):
        repairs.append(rules)
    return tuple(sorted(repairs, key=lambda repair: -repair.points))


def _index(row: HealthSnapshot, causes: Sequence[Cause]) -> Repair:
    gain = gains.of_index(row)
    text = gettext("They are found by words alone until they have a vector.")
    if gain.count > gains.INDEXED_AT_ONCE:
        job = gettext(
            "It runs as a job that says how far it is; you can leave meanwhile."
        )
        text = f"{text} {job}"
    title = ngettext("Index {count} entry", "Index {count} entries", gain.count)
    title = title.format(count=grouped(gain.count))
    action = causes[0].action
    return Repair("index", title, text, action, "index.run", gain, tuple(causes))


def _link(row: HealthSnapshot, causes: Sequence[Cause]) -> Repair:
    gain = gains.of_link(row)
    details = row.details[gains.REACHABILITY]
    unlinked = details["embeddings"] - details["connected"]
    title = ngettext("Link {count} entry", "Link {count} entries", gain.count)
    if details["alone_sampled"] != unlinked:
        title = ngettext(
            "Link about {count} entry", "Link about {count} entries", gain.count
        )
    title = title.format(count=grouped(gain.count))
    text = gettext("Each has an older entry of its crew at cosine 0.80 or nearer.")
    action = causes[0].action
    return Repair("link", title, text, action, "index.run", gain, tuple(causes))


def _duplicates(actor: Actor, row: HealthSnapshot) -> Repair | None:
    """Return the review of records that say the same, if there are any."""
    if not actor.can("records.read") or actor.is_agent:
        return None
    count = duplicates.count(actor, row.crew_id or None)
    if not count:
        return None
    title = ngettext(
        "Review {count} pair of records", "Review {count} pairs of records", count
    )
    if count == duplicates.LISTED:
        title = gettext("Review {count} or more pairs of records")
    title = title.format(count=grouped(count))
    text = gettext(
        "The two of a pair say nearly the same. No metric rises when one goes; answers "
        "get room for something else."
    )
    url = reverse("health:duplicates")
    url += f"?{urlencode({'crew_id': row.crew_id})}" if row.crew_id else ""
    action = Action("open", gettext("Review pairs"), url)
    return Repair("duplicates", title, text, action, "records.read", None, ())


def _rules(actor: Actor, row: HealthSnapshot, causes: Sequence[Cause]) -> Repair | None:
    """Return the review of waiting rules, else the search for new ones, if any."""
    if not actor.can("proposals.read"):
        return None
    gain = gains.of_proposals(row)
    if gain.count:
        title = ngettext(
            "Review {count} proposal", "Review {count} proposals", gain.count
        ).format(count=grouped(gain.count))
        text = gettext(
            "An approved rule is linked to its evidence. The figure is for approving "
            "all that can be approved; measure again after the review."
        )
        query = f"?{urlencode({'crew_id': row.crew_id})}" if row.crew_id else ""
        url = reverse("proposals:list") + query
        action = Action("open", gettext("Review"), url)
        tied = causes if gain.points > 0 else ()
        return Repair(
            "proposals", title, text, action, "proposals.read", gain, tuple(tied)
        )
    unread = _unread(row) if causes else 0
    if not unread:
        return None
    title = ngettext(
        "Look for rules in {count} unread entry",
        "Look for rules in {count} unread entries",
        unread,
    ).format(count=grouped(unread))
    text = gettext(
        "Consolidation has not read them yet. Whether there is a rule in them shows "
        "when it has; nothing is linked before somebody approves."
    )
    explanation = Explanation(row, {}, quotes=False)
    action = explanation.fix("consolidate", gettext("Look for rules"))
    return Repair(
        "consolidate", title, text, action, "consolidate.run", None, tuple(causes)
    )


def _unread(row: HealthSnapshot) -> int:
    """Return how many entries consolidation would read, of crews that have enough.

    It reads denials of the keeper as well, which are not counted here.
    """
    marks = ConsolidationMark.objects.filter(workspace_id=row.workspace_id)
    entries = JournalEntry.objects.filter(
        USABLE,
        Q(entry_type__in=candidates.ALWAYS)
        | Q(entry_type="mission.status_change", severity__in=candidates.LOUD),
        workspace_id=row.workspace_id,
        crew_id__isnull=False,
        erased_at__isnull=True,
    )
    if row.crew_id:
        marks, entries = (
            marks.filter(crew=row.crew_id),
            entries.filter(crew_id=row.crew_id),
        )
    read = dict(marks.values_list("crew_id", "seq"))
    counts: dict[str, int] = {}
    newest = entries.order_by(F("seq").desc()).values_list("crew_id", "seq")
    for crew_id, seq in newest[:UNREAD_LISTED]:
        if crew_id and seq > read.get(crew_id, 0):
            counts[crew_id] = counts.get(crew_id, 0) + 1
    return sum(count for count in counts.values() if count >= MIN_ENTRIES)
