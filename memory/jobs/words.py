"""The words of stored runs: what was counted, of what, and why it was not done."""

from __future__ import annotations

from typing import Final

from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_noop, pgettext_lazy

from memory.rules.stored_sentences import translated

# What jobs count, by the name in a stored run.
COUNTED: Final = {
    "aliases": pgettext_lazy("counted by a job", "aliases"),
    "appended": pgettext_lazy("counted by a job", "appended"),
    "archived": pgettext_lazy("counted by a job", "archived"),
    "blobs_dropped": pgettext_lazy("counted by a job", "blobs dropped"),
    "broken": pgettext_lazy("counted by a job", "broken"),
    "buckets": pgettext_lazy("counted by a job", "buckets"),
    "buckets_refused": pgettext_lazy("counted by a job", "buckets refused"),
    "cases": pgettext_lazy("counted by a job", "cases"),
    "cases_run": pgettext_lazy("counted by a job", "cases run"),
    "changed": pgettext_lazy("counted by a job", "changed"),
    "changes_dropped": pgettext_lazy("counted by a job", "changes dropped"),
    "checks": pgettext_lazy("counted by a job", "checks"),
    "entries": pgettext_lazy("counted by a job", "entries"),
    "entries_filled": pgettext_lazy("counted by a job", "entries filled"),
    "entries_retired": pgettext_lazy("counted by a job", "entries retired"),
    "failed": pgettext_lazy("counted by a job", "failed"),
    "gone": pgettext_lazy("counted by a job", "gone"),
    "held": pgettext_lazy("counted by a job", "held"),
    "indexed": pgettext_lazy("counted by a job", "indexed"),
    "kept": pgettext_lazy("counted by a job", "kept"),
    "lines_dropped": pgettext_lazy("counted by a job", "lines dropped"),
    "made": pgettext_lazy("counted by a job", "made"),
    "mails": pgettext_lazy("counted by a job", "mails"),
    "merge_steps": pgettext_lazy("counted by a job", "merge steps"),
    "nudges": pgettext_lazy("counted by a job", "nudges"),
    "pins": pgettext_lazy("counted by a job", "pins"),
    "points": pgettext_lazy("counted by a job", "points"),
    "proposed": pgettext_lazy("counted by a job", "proposed"),
    "questions_dropped": pgettext_lazy("counted by a job", "questions dropped"),
    "records_dropped": pgettext_lazy("counted by a job", "records dropped"),
    "refused": pgettext_lazy("counted by a job", "refused"),
    "released": pgettext_lazy("counted by a job", "released"),
    "removed": pgettext_lazy("counted by a job", "removed"),
    "retried": pgettext_lazy("counted by a job", "retried"),
    "rows": pgettext_lazy("counted by a job", "rows"),
    "scanned": pgettext_lazy("counted by a job", "scanned"),
    "sent": pgettext_lazy("counted by a job", "sent"),
    "snapshots": pgettext_lazy("counted by a job", "snapshots"),
    "times": pgettext_lazy("counted by a job", "times"),
    "unreadable": pgettext_lazy("counted by a job", "unreadable"),
    "unsafe": pgettext_lazy("counted by a job", "unsafe"),
    "versions_dropped": pgettext_lazy("counted by a job", "versions dropped"),
}
# Of what a run tells how far it is.
UNITS: Final = frozenset(
    {
        gettext_noop("files"),
        gettext_noop("promises"),
        gettext_noop("entries"),
        gettext_noop("lines"),
    }
)
# Why a run did not do all of its work; jobs store these in English.
FAULTS: Final = (
    gettext_noop("{error}; the server's log has the details"),
    gettext_noop("{count} unsafe paths were passed over"),
    gettext_noop("A fence held: {fence}"),
    gettext_noop("{count} deliveries were given up"),
    gettext_noop("{count} notices were given up"),
    gettext_noop("{count} could not be embedded; the index page names them"),
    gettext_noop("Some files could not be read; each is listed"),
    gettext_noop("The embedder does not answer; {count} still wait"),
    gettext_noop("The embedder refused some; each is listed"),
    gettext_noop("{count} promises were broken"),
    gettext_noop("{count} runs stopped at a fault"),
    gettext_noop("No compliance officer or admin has an address"),
    gettext_noop("The mail did not go out: {error}"),
    gettext_noop("broken: {names}"),
    gettext_noop("Some lines were refused"),
    # The sentences of errors that end a run; those without values need no line here.
    gettext_noop("Not available now: {why}."),
    gettext_noop("{role} may not do this: {action}."),
    gettext_noop("{what} may hold {limit} bytes; this one has {size}."),
)


def running_already(title: str) -> str:
    """Return that a job runs, for who wants to start it."""
    return gettext("{job} is running already.").format(job=gettext(title))


def summary(counts: dict[str, int]) -> str:
    """Return what a run counted, without what it found none of."""
    # Another language may say it the other way round, so that no plural is wrong.
    part = gettext("{count} {counted}")
    return ", ".join(
        part.format(
            count=number_format(count, use_l10n=True, force_grouping=True),
            counted=COUNTED.get(name, name.replace("_", " ")),
        )
        for name, count in counts.items()
        if count
    )


def fault(stored: str) -> str:
    """Return why a run did not do all of its work."""
    return translated(stored, FAULTS)


def unit(stored: str) -> str:
    """Return the plural noun of what a run works through."""
    return gettext(stored) if stored else ""
