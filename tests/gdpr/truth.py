"""A workspace with known ground truth: every row is hers, others', or shared.

Her user ids are numbers, her names are words, and similar addresses are other people's.
Rows are built from a few sentences, so that every writer has many of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from django.db.models import Model
from django.utils import timezone

from episodic.models import HealthSnapshot, RecallCheck
from gdpr.models import ActionStatus, AliasKind, Case, GdprAction, Subject
from memory import records
from memory.models import (
    HeldFile,
    JobRun,
    JournalEntry,
    MemoryFile,
    Record,
    SavedView,
)
from memory.records import Provenance
from memory.records.drafts import Draft, Scope
from tests.gdpr import erasing, kit
from tests.world import ATTACK, World

MAIL: Final = "will@shop.example"
OTTO: Final = "otto.sommer@shop.example"
PHONE: Final = "+49 151 2345678"
ALIASES: Final = (
    ("user_id", "42"), ("user_id", "3"), ("user_id", "0"), ("user_id", "4"),
    ("name", "Will"), ("name", "May"), ("name", "Mark"), ("name", "Will Young"),
    ("handle", "@mk"), ("email", MAIL), ("phone", PHONE),
)  # fmt: skip
Statement = tuple[str, dict[str, Any], tuple[str, ...]]

OTHER_TEXTS: Final[tuple[Statement, ...]] = (
    ("we will ship crate {n}", {}, ()),
    ("order 42 was shipped to dock {n}", {}, ()),
    ("lines 3, 0 and 4 of sheet {n} are blank", {}, ()),
    ("may the harbour open at {n}", {}, ()),
    ("mark crate {n} as done", {}, ()),
    ("mail will.x@shop.example about crate {n}", {}, ()),
    ("mail x.will@shop.example about crate {n}", {}, ()),
    ("mail will@sub.shop.example about crate {n}", {}, ()),
    ("mail will@shop.example.org about crate {n}", {}, ()),
    ("parcel 99491512345678 left on day {n}", {}, ()),
    ("parcel ORD-491512345678 left on day {n}", {}, ()),
    ("parcel 2024-1512345678-77{n} left", {}, ()),
    ("the mkdir of crate {n} failed", {}, ()),
    ("run {n} ended", {"seconds": 42, "retries": 0, "step": 3, "of": 4}, ()),
    ("run {n} was long", {"count": "42", "month": "May", "verb": "mark"}, ()),
    ("crate {n} has an owner", {"owner": "will.x@shop.example", "user_id": 420}, ()),
    ("crate {n} was bought", {"customer": "William", "customer_id": "34"}, ()),
    ("crate {n} was filled", {"first_name": "Mark", "last_name": "Otter"}, ()),
    ("a talk about crate {n}", {"said": ["you may", "I will", "42"]}, ("William",)),
    ("a wire of 491512345678.50 for crate {n}", {"amount": 491512345678}, ()),
)
OWN_TEXTS: Final[tuple[Statement, ...]] = (
    ("tea is liked by guest {n}", {"user_id": 42}, ()),
    ("coffee is liked by guest {n}", {"customer_id": "3"}, ()),
    ("milk is liked by guest {n}", {"user": {"id": 0, "since": 7}}, ()),
    ("cocoa is liked by guest {n}", {"author": "Will", "to": "dock"}, ()),
    ("juice is liked by guest {n}", {"owners": ["May"]}, ()),
    ("water is liked by guest {n}", {}, ("Mark",)),
    ("guest {n} is will@shop.example", {}, ()),
    ("guest {n} is Will Young", {}, ()),
    ("guest {n} has 0151/2345678", {}, ()),
    ("guest {n} wrote", {"args": '{"user_id": 4}'}, ()),
    ("guest {n} called", {"assignee": "@mk"}, ()),
)
SHARED_TEXTS: Final[tuple[Statement, ...]] = (
    (f"boat {{n}} is for {OTTO}", {"user_id": 42}, ()),
    (f"boat {{n}} is for {OTTO}", {}, ("Will",)),
    (f"Will Young and {OTTO} sail boat {{n}}", {}, ()),
    ("boat {n} sails", {"user_id": 3, "seconds": 3}, (OTTO, "3")),
)

Key = tuple[type[Model], str]


@dataclass(slots=True)
class Truth:
    """Rows, as table and key, and lines of files, by whose they are."""

    subject: Subject
    own_rows: list[Key] = field(default_factory=list)
    shared: list[Key] = field(default_factory=list)
    other_rows: list[Key] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)

    def count(self) -> tuple[int, int, int]:
        """Return how many of each there are, lines included."""
        kinds = (
            (self.own_rows, "hers"),
            (self.shared, "shared"),
            (self.other_rows, "others"),
        )
        own_count, shared_count, other = (
            len(r) + len(self.lines[name]) for r, name in kinds
        )
        return own_count, shared_count, other


def digest(keys: Sequence[Key]) -> dict[Key, str]:
    """Return the digests of rows; a deleted row is left out."""
    digests: dict[Key, str] = {}
    for model, pk in keys:
        row = model._default_manager.filter(pk=pk).values().first()
        if row is not None:
            text = repr(sorted(row.items())).encode()
            digests[model, pk] = hashlib.sha256(text).hexdigest()
    return digests


def _repeated(statements: Sequence[Statement], times: int) -> Iterator[Statement]:
    for number in range(100, 100 + times):
        for text, payload, subjects in statements:
            yield text.format(n=number), payload, subjects


def _journal(world: World, truth: Truth) -> None:
    kinds = (
        (OWN_TEXTS, truth.own_rows, 9),
        (SHARED_TEXTS, truth.shared, 8),
        (OTHER_TEXTS, truth.other_rows, 17),
    )
    for statements, keys, times in kinds:
        for text, payload, subjects in _repeated(statements, times):
            row = world.entry(text, payload=payload, subjects=subjects)
            keys.append((JournalEntry, row.pk))


def _records(world: World, truth: Truth) -> None:
    ada = world.actor("ada")
    kinds = (
        (truth.own_rows, ("42", "3", "will", "May"), "guest {n} likes rice", 40),
        (truth.shared, ("42",), f"guest {{n}} shares a table with {OTTO}", 9),
        (
            truth.other_rows,
            ("7", "420", "william"),
            "order 42: we will ship rice {n}",
            40,
        ),
    )
    for keys, users, text, times in kinds:
        for number in range(times):
            draft = Draft(
                content=f"{text.format(n=number)} on deck {number}",
                owner=records.owner_for(ada),
                scope=Scope(user=users[number % len(users)]),
                metadata={"seconds": 42, "of": 0},
            )
            provenance = Provenance.AGENT_EXTRACTED
            record = records.save(draft, provenance=provenance, by=ada)
            keys.append((Record, record.record.pk))


def _files(world: World, truth: Truth) -> None:
    truth.lines = {
        "hers": [f"- Shelf {n} is {MAIL}'s" for n in range(12)],
        "shared": [f"- Drawer {n} is {MAIL}'s and {OTTO}'s" for n in range(5)],
        "others": [f"- Box {n}: we will ship 42, may be 0" for n in range(25)]
        + [f"- Crate {n} is will.x@shop.example's" for n in range(8)],
    }
    text = "\n".join(line for lines in truth.lines.values() for line in lines)
    world._tool("memory.write", tier="AGENT", content=text, mode="append")
    cards = (
        ("will", truth.own_rows),
        ("willow", truth.other_rows),
        ("may-day", truth.other_rows),
    )
    for key, keys in cards:
        arguments = {
            "tier": "peers",
            "key": key,
            "content": "Likes tea",
            "mode": "replace",
        }
        world._tool("memory.write", **arguments)
        keys.append((MemoryFile, MemoryFile.objects.get(key=key).pk))


def _held_files(world: World, truth: Truth) -> None:
    for number in range(6):
        row = world.held(f"Crate {number}: we will ship 42. {ATTACK}")
        truth.other_rows.append((HeldFile, row.pk))
    row = world.held(f"{MAIL} says: {ATTACK}")
    truth.own_rows.append((HeldFile, row.pk))


def _system(world: World, truth: Truth) -> None:
    """Rows that the program writes itself: numbers and fixed words."""
    now, home = timezone.now(), world.acme
    rows: list[Model] = []
    for number in range(12):
        details = {"coverage": {"entries": 42, "missing": [{"entries": 3}]},
                   "freshness": {"entries": number % 5}}  # fmt: skip
        day = (now - timedelta(days=number + 2)).date()
        rows.append(
            HealthSnapshot(
                workspace=home, date=day, computed_at=now, score=0.4, details=details
            )
        )
    for number in range(45):
        counts = {"rows": 42, "failed": 0, "crews": 3, "of": 4}
        name, slot = "episodic.index.decay", f"slot {number}"
        rows.append(JobRun(workspace=home, name=name, slot=slot, counts=counts))
    for number in range(12):
        scope = {"rows": 42, "what": "may", "run": 3}
        status = ActionStatus.COMPLETED
        rows.append(
            GdprAction(
                workspace=home,
                subject_ref="sub_other",
                actor_id="7",
                action="view",
                status=status,
                scope=scope,
                reason=f"We will look, {number}",
            )
        )
        query = f"q=will&n=42&page={number}"
        user, name = world.people["operator"], f"may {number}"
        rows.append(
            SavedView(
                workspace=home, user=user, page="quarantine", name=name, query=query
            )
        )
        params = {"query": f"will it ship 42 on {number}", "k": 3}
        rows.append(
            RecallCheck(
                workspace=home,
                name=f"check {number}",
                question=params,
                created_by="x",
                expected=[],
            )
        )
    for row in rows:
        row.save()
        truth.other_rows.append((type(row), row.pk))


def _case_of_otto(world: World, truth: Truth, otto: Subject) -> None:
    case = erasing.opened(world, otto)
    plan = erasing.planned(world, case)
    truth.other_rows += [(type(plan), str(plan.pk))]
    assert Case.objects.filter(pk=case.pk).exists()


def build(world: World) -> Truth:
    """Fill a workspace; return the person and whose each row is."""
    otto = kit.subject(world, {"email": OTTO})
    subject = Subject.objects.create(workspace=world.acme, created_by="test")
    for kind, value in ALIASES:
        kit.alias(subject, value, AliasKind(kind))
    truth = Truth(subject)
    for part in (_journal, _records, _files, _held_files, _system):
        part(world, truth)
    _case_of_otto(world, truth, otto)
    return truth
