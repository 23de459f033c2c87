"""JSON lines become entries, or a sentence that says why not."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from memory import journal_import
from memory.accounts import workspaces
from memory.journal import verify
from memory.journal_import import LINE_BYTES, Report
from memory.models import Agent, Crew, JournalEntry, Workspace
from memory.rules import errors
from memory.rules.permissions import Actor, Role, system

GOOD = {"entry_type": "peer.escalation", "summary": "The till is stuck"}
Refusals = list[tuple[int, str]]


@pytest.fixture
def shop(db: None) -> Workspace:
    return workspaces.ensure_workspace("import-shop")[0]


@pytest.fixture
def by(shop: Workspace) -> Actor:
    return system(shop.id, "import")


def text(*rows: Any) -> bytes:
    lines = [
        row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows
    ]
    return b"\n".join(lines) + b"\n"


def import_lines(
    raw: bytes, by: Actor, *, create: bool = False
) -> tuple[Report, Refusals]:
    refusals: Refusals = []
    report = journal_import.append(
        journal_import.read_lines(io.BytesIO(raw)),
        by=by,
        on_refusal=lambda number, reason: refusals.append((number, reason)),
        create=create,
    )
    return report, refusals


def imported(by: Actor) -> list[JournalEntry]:
    rows = JournalEntry.objects.filter(
        workspace_id=by.workspace_id, summary=GOOD["summary"]
    )
    return list(rows.order_by("seq"))


def test_every_field_of_a_line_arrives(by: Actor) -> None:
    row = {
        **GOOD,
        "severity": "warn",
        "payload": {"question": "why?"},
        "refs": {"episodic": True},
        "mission_id": "m-1",
        "trace_id": "t-1",
        "span_id": "s-1",
        "ts": "2026-02-11T16:18:32+01:00",
        "subjects": ["ann@example.com"],
        "crew": "platform",
        "agent": "rhea",
    }
    report, refusals = import_lines(text(row), by, create=True)
    assert (report.appended, refusals) == (1, [])
    (entry,) = imported(by)
    agent = Agent.objects.get(slug="rhea", workspace_id=by.workspace_id)
    assert (entry.crew_id, entry.agent_id) == (agent.crew_id, agent.id)
    assert (entry.actor_type, entry.actor_id) == ("agent", agent.id)
    assert entry.ts.isoformat() == "2026-02-11T15:18:32+00:00"
    assert entry.payload == {"question": "why?"}
    assert (entry.mission_id, entry.trace_id, entry.span_id) == ("m-1", "t-1", "s-1")
    assert [mention.alias for mention in entry.mentions.all()] == ["ann@example.com"]


def test_without_an_agent_the_import_itself_is_the_actor(by: Actor) -> None:
    import_lines(text(GOOD), by)
    (entry,) = imported(by)
    assert (entry.actor_type, entry.actor_id) == ("system", "import")
    assert (entry.crew_id, entry.agent_id) == (None, None)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({**GOOD, "colour": "red"}, "unknown field 'colour'"),
        ({"summary": "x"}, "entry_type is required and is text"),
        ({"entry_type": "a.b"}, "summary is required and is text"),
        ({**GOOD, "summary": 7}, "summary is required and is text"),
        ({**GOOD, "summary": "  "}, "summary must not be empty."),
        ({**GOOD, "entry_type": "Loud"}, "entry_type is lower-case words"),
        ({**GOOD, "severity": "panic"}, "severity is one of"),
        ({**GOOD, "payload": []}, "payload is an object"),
        ({**GOOD, "refs": "x"}, "refs is an object"),
        ({**GOOD, "subjects": "ann"}, "subjects is a list of texts"),
        ({**GOOD, "subjects": [1]}, "subjects is a list of texts"),
        ({**GOOD, "ts": 12}, "ts is text"),
        ({**GOOD, "ts": "soon"}, "ts is not a time"),
        ({**GOOD, "ts": "2026-01-01T00:00:00"}, "ts needs a time zone"),
        ({**GOOD, "ts": "2226-01-01T00:00:00Z"}, "ts lies in the future"),
        ({**GOOD, "agent": "rhea"}, "agent needs crew"),
        ({**GOOD, "crew": "nowhere"}, "there is no crew 'nowhere'"),
        ([GOOD], "not a JSON object"),
        (b"{", "not JSON"),
        (b"\xff{}", "not UTF-8 at byte 1"),
        (b'{"summary": "a", "summary": "b"}', "names a key twice"),
        (b'{"entry_type": NaN}', "NaN is not JSON"),
        (b'{"n": ' + b"9" * 5_000 + b"}", "a number is too long"),
        (b"[" * 100_000, "nests too deep"),
    ],
)
def test_a_bad_line_is_reported_and_the_next_one_still_arrives(
    by: Actor, bad: Any, reason: str
) -> None:
    report, refusals = import_lines(text(GOOD, bad, GOOD), by)
    assert (report.appended, report.refused) == (2, 1)
    assert len(imported(by)) == 2
    ((number, sentence),) = refusals
    assert number == 2
    assert reason in sentence


def test_a_line_without_end_is_refused_and_not_kept_in_memory(by: Actor) -> None:
    huge = b'{"summary": "' + b"x" * (2 * LINE_BYTES) + b'"}'
    lines = list(journal_import.read_lines(io.BytesIO(text(GOOD, huge, GOOD))))
    assert [line.raw is None for line in lines] == [False, True, False]
    assert lines[1].size == len(huge) + 1
    report, refusals = import_lines(text(GOOD, huge, GOOD), by)
    assert report.appended == 2
    assert refusals == [(2, f"the line is longer than {LINE_BYTES} bytes")]


def test_blank_lines_and_a_byte_order_mark_are_nothing(by: Actor) -> None:
    raw = b"\xef\xbb\xbf" + text(GOOD) + b"\n   \n" + text(GOOD)
    report, refusals = import_lines(raw, by)
    assert (report.appended, refusals) == (2, [])


def test_a_bad_line_leaves_no_crew_behind(by: Actor) -> None:
    import_lines(text({**GOOD, "crew": "ghosts", "entry_type": "bad"}), by, create=True)
    assert not Crew.objects.filter(slug="ghosts").exists()


def test_many_lines_commit_in_batches_and_in_order(
    by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_import, "BATCH", 10)
    rows = [{**GOOD, "payload": {"n": n}} for n in range(25)]
    report, _ = import_lines(text(*rows), by)
    assert report.appended == 25
    assert [entry.payload["n"] for entry in imported(by)] == list(range(25))
    assert verify.verify(by.workspace_id, by=by).ok


def test_only_admins_may_import(shop: Workspace) -> None:
    viewer = Actor(Role.VIEWER, shop.id, "u_1", "viewer")
    with pytest.raises(errors.Forbidden):
        import_lines(text(GOOD), viewer)
