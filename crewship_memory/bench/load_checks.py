"""After a load test: is everything that was acknowledged there, and once."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any, Final

from crewship_memory.bench.client import Client
from crewship_memory.bench.load_fleet import Fleet, Ledger
from crewship_memory.bench.load_mix import MARK
from gdpr.models import Case, CaseState
from memory.journal import verify
from memory.models import JournalEntry, Record
from memory.rules.permissions import system

_NUMBER: Final = re.compile(rf"{MARK}(\d+) ")
WAIT_SECONDS: Final = 300


def wait_for_cases(ledger: Ledger) -> None:
    """Wait until the erasures that run have ended."""
    until = time.monotonic() + WAIT_SECONDS
    states = (CaseState.RUNNING, CaseState.VERIFYING)
    running = Case.objects.filter(pk__in=ledger.cases, state__in=states)
    while running.exists() and time.monotonic() < until:
        time.sleep(0.5)


def _entries(fleet: Fleet, ledger: Ledger) -> dict[str, int]:
    """Count acknowledged entries that are lost, and entries that are there twice.

    An erased entry has no number any more, and is found by its id.
    """
    rows = JournalEntry.objects.filter(workspace_id=fleet.workspace_id)
    ids, numbers = set[str](), Counter[int]()
    for entry_id, summary in rows.values_list("pk", "summary").iterator(2_000):
        ids.add(entry_id)
        if match := _NUMBER.match(summary or ""):
            numbers[int(match[1])] += 1
    return {
        "acknowledged": len(ledger.entries),
        "lost": len(set(ledger.entries.values()) - ids),
        "twice": sum(n > 1 for n in numbers.values()),
        "unanswered": len(ledger.unanswered),
        "unanswered_but_there": sum(n in numbers for n in ledger.unanswered),
        "in_the_journal": len(ids),
    }


def _files(url: str, fleet: Fleet, ledger: Ledger) -> dict[str, int]:
    """Count the files that hold another version than the one acknowledged last."""
    other = 0
    for agent, state in ledger.files.items():
        with Client(url, fleet.agents[agent]) as http:
            answer = http.post("/memory/tools/memory.read", json={"tier": "AGENT"})
            digest = answer.raise_for_status().json()["metadata"].get("sha256", "")
        other += digest not in (state.acknowledged, *state.unanswered)
    return {"written": len(ledger.files), "other_version": other}


def _records(fleet: Fleet, ledger: Ledger) -> dict[str, int]:
    rows = Record.objects.filter(workspace_id=fleet.workspace_id)
    ids = set(rows.values_list("pk", flat=True))
    records = set(ledger.records)
    return {"acknowledged": len(records), "lost": len(records - ids)}


def _erasures(ledger: Ledger) -> dict[str, Any]:
    """Count erasures by their states, and say why one is not complete."""
    cases = Case.objects.filter(pk__in=ledger.cases)
    unfinished = cases.exclude(state=CaseState.COMPLETE).order_by("pk")
    return {
        "states": dict(Counter(cases.values_list("state", flat=True))),
        "faults": [
            f"An erasure is {case.state}: {_cause(case)}" for case in unfinished
        ],
    }


def _cause(case: Case) -> str:
    residue = case.result.get("residue", {}) if case.result else {}
    traces = [
        f"{trace['what']} in {trace['place']} {trace['where']}."
        for trace in residue.get("traces", ())
    ]
    return " ".join([*traces, *residue.get("todo", ())]) or "nothing says why."


def check(url: str, fleet: Fleet, ledger: Ledger) -> dict[str, Any]:
    """Return what was found, and under ``ok`` whether all of it is as it should be."""
    wait_for_cases(ledger)
    by = system(fleet.workspace_id, "bench")
    chain = verify.verify(fleet.workspace_id, by=by)
    entries, files = _entries(fleet, ledger), _files(url, fleet, ledger)
    records = _records(fleet, ledger)
    erasures = _erasures(ledger)
    counts = {
        "Entries that are lost": entries["lost"],
        "Entries that are there twice": entries["twice"],
        "Files with another version": files["other_version"],
        "Records that are lost": records["lost"],
        "Breaks of the chain": chain.break_count,
    }
    faults = [f"{words}: {count}." for words, count in counts.items() if count]
    faults += erasures["faults"]
    return {
        "ok": not faults,
        "faults": faults,
        "entries": entries,
        "files": files,
        "records": records,
        "chain": {"verified": chain.count, "breaks": chain.break_count},
        "erasures": erasures["states"],
    }
