"""Retention: what a rule erases, what stays and why, and who decides."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr.cases import legal_holds
from gdpr.cases.legal_holds import NewHold
from gdpr.intake.receive import NewRequest, receive
from gdpr.models import CaseKind, RetentionRule
from gdpr.retention import apply, rules, selection
from gdpr.retention.rules import NewRule
from gdpr.subjects import restriction
from memory import records
from memory.journal import append as journal
from memory.journal import compaction, verify
from memory.models import ArchivedEntry, JournalEntry, Record, RecordStatus
from memory.records import Provenance
from memory.records.drafts import Draft, Scope
from memory.rules import errors, permissions
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor
from tests import factories
from tests.gdpr import kit
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
REASON = "The support contract ended"


def added(
    world: World, kind: str = "peer.conversation", days: int = 30, **fields: str
) -> RetentionRule:
    new = NewRule(
        place=fields.get("place", "journal"), kind=kind, days=days, reason=REASON
    )
    return rules.add(new, by=world.actor("owner"))


def switched_on(
    world: World, kind: str = "peer.conversation", **fields: Any
) -> RetentionRule:
    rule = added(world, kind, **fields)
    return rules.switch_on(rule, 10_000, by=world.actor("owner"))


def old(world: World, text: str = "A talk about boats", days: int = 40) -> JournalEntry:
    return factories.append(
        world.actor("ada"), entry_type="peer.conversation", summary=text,
        ts=factories.ago(days),
    )  # fmt: skip


def append_as(by: Actor, entry_type: str) -> JournalEntry:
    new = NewEntry(entry_type=entry_type, summary="Long ago", ts=factories.ago(40))
    return journal.write([new], by=by)[0]


def text_of(entry: JournalEntry) -> str:
    return JournalEntry.objects.get(pk=entry.pk).summary


def test_a_rule_erases_texts_of_its_type_at_its_age(world: World) -> None:
    due, young = old(world), old(world, days=20)
    other = factories.append(
        world.actor("ada"), entry_type="llm.call", ts=factories.ago(40)
    )
    rule = switched_on(world)
    assert apply.run(world.acme.id) == {rule.pk: 1}
    assert [text_of(row) for row in (due, young)] == ["", young.summary]
    assert text_of(other) == other.summary
    assert verify.verify_links(world.acme.id, by=world.actor("owner")).ok
    rule.refresh_from_db()
    assert (rule.erased, rule.kept, rule.last_run_at is None) == (1, 0, False)


def test_a_rule_that_is_off_erases_nothing(world: World) -> None:
    entry, rule = old(world), added(world)
    apply.run(world.acme.id)
    assert text_of(entry) == entry.summary
    trial = rules.dry_run(rule, by=world.actor("compliance"))
    assert (trial.due, dict(trial.kinds)) == (1, {"peer.conversation": 1})


def test_a_star_matches_what_begins_so_and_never_an_account(world: World) -> None:
    metrics = factories.append(
        world.actor("ada"), entry_type="container.metrics", ts=factories.ago(40)
    )
    account = append_as(world.system(), "key.issued")
    switched_on(world, "*")
    apply.run(world.acme.id)
    assert text_of(metrics) == ""
    assert text_of(account) == account.summary


def test_what_is_kept_for_a_reason_stays_and_is_counted(world: World) -> None:
    pinned, held_rows, restricted, question = (
        old(world, f"Talk {n}", 40 + n) for n in range(4)
    )
    JournalEntry.objects.filter(pk=pinned.pk).update(priority="pin")
    people = [make.subject(world) for _ in range(3)]
    for person, entry in zip(people, (held_rows, restricted, question), strict=True):
        kit.link(person, "journal", entry.pk)
    soon = timezone.now() + timedelta(days=9)
    legal_holds.place(
        people[0], NewHold(reason="Court", review_at=soon),
        by=world.actor("compliance"), places=frozenset(),
    )  # fmt: skip
    restriction.restrict(people[1], by=world.actor("compliance"))
    make.opened(world, subject=people[2], kind=CaseKind.ACCESS)
    rule = switched_on(world)
    trial = rules.dry_run(rule, by=world.actor("owner"))
    assert trial.due == 0
    assert dict(trial.stays) == {
        "priority": 1, "hold": 1, "restricted": 1, "open_case": 1,
    }  # fmt: skip
    assert apply.run(world.acme.id) == {rule.pk: 0}
    assert all(text_of(row) for row in (pinned, held_rows, restricted, question))


def test_an_archived_entry_is_erased_too(world: World) -> None:
    factories.append_many(
        world.actor("ada"), [f"tick {n}" for n in range(12)],
        entry_type="llm.call", ts=factories.ago(60),
    )  # fmt: skip
    assert compaction.run(world.acme.id).archived == 12
    rule = switched_on(world, "llm.call")
    assert apply.run(world.acme.id) == {rule.pk: 12}
    assert set(ArchivedEntry.objects.values_list("summary", flat=True)) == {""}
    assert apply.run(world.acme.id) == {rule.pk: 0}


def test_a_record_is_forgotten_at_its_age(world: World) -> None:
    ada = world.actor("ada")
    record, young = (
        records.save(
            Draft(content=text, owner=records.owner_for(ada), scope=Scope(user="u1")),
            provenance=Provenance.AGENT_EXTRACTED,
            by=ada,
        ).record
        for text in ("Refunds end at $200.", "Boats are blue.")
    )
    Record.objects.filter(pk=record.pk).update(updated_at=factories.ago(40))
    rule = switched_on(world, record.kind, place="records")
    assert apply.run(world.acme.id) == {rule.pk: 1}
    record.refresh_from_db()
    young.refresh_from_db()
    assert (record.status, record.content) == (RecordStatus.FORGOTTEN, "")
    assert young.content == "Boats are blue."


def test_another_workspace_is_not_touched(world: World) -> None:
    stranger = append_as(permissions.system(world.other.id), "peer.conversation")
    switched_on(world)
    apply.run(world.acme.id)
    assert text_of(stranger) == stranger.summary


def test_nobody_switches_on_more_than_was_shown(world: World) -> None:
    rule, owner = added(world), world.actor("owner")
    old(world)
    with pytest.raises(errors.Conflict) as error:
        rules.switch_on(rule, 0, by=owner)
    assert error.value.problem_code == "more_rows_due"
    assert not rules.get(owner, rule.pk).active


def test_what_is_restricted_while_a_batch_is_judged_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is made again once writers wait."""
    entry = old(world)
    switched_on(world)
    batches = selection.batches

    def late(source: selection.Source) -> Iterator[list[selection.Row]]:
        for rows in batches(source):
            JournalEntry.objects.filter(pk=entry.pk).update(
                restricted_at=timezone.now()
            )
            yield rows

    monkeypatch.setattr(selection, "batches", late)
    apply.run(world.acme.id)
    assert text_of(entry) == entry.summary


def test_what_a_killed_run_erased_is_in_the_journal_after_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "BATCH", 1)
    entries = [old(world, f"Talk {n}", 40 + n) for n in range(2)]
    rule = switched_on(world)
    erase, calls = apply._erase, []

    def killed(*parts: Any) -> int:
        calls.append(parts)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return erase(*parts)

    with monkeypatch.context() as patched:
        patched.setattr(apply, "_erase", killed)
        with pytest.raises(KeyboardInterrupt):
            apply.run(world.acme.id)
    apply.run(world.acme.id)
    assert [text_of(entry) for entry in entries] == ["", ""]
    written_text = JournalEntry.objects.filter(entry_type="gdpr.retention_applied")
    assert [row.payload["erased"] for row in written_text] == [2]
    assert rule.pk == written_text[0].payload["rule_id"]


def test_names_of_people_who_ask_are_searched_for_first(world: World) -> None:
    """Rows of somebody who was registered for the request are not linked yet."""
    entry = old(world, "mara@example.org likes boats")
    switched_on(world)
    new = NewRequest(kind=CaseKind.ACCESS, email="mara@example.org")
    receive(new, by=world.actor("compliance"))
    apply.run(world.acme.id)
    assert text_of(entry) == entry.summary


def test_another_age_switches_it_off(world: World) -> None:
    rule, owner = switched_on(world), world.actor("owner")
    changed_rows = rules.change_days(rule, 10, by=owner)
    assert (changed_rows.active, changed_rows.days) == (False, 10)
    # The page that showed 30 days cannot switch on 10.
    with pytest.raises(errors.Conflict) as error:
        rules.switch_on(rule, 10_000, by=owner)
    assert error.value.problem_code == "rule_changed"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"kind": "two words"}, "bad_kind"),
        ({"kind": "a*b"}, "bad_kind"),
        ({"kind": "gdpr.erased"}, "kept_type"),
        ({"kind": "key.*"}, "kept_type"),
        ({"days": 0}, "bad_days"),
        ({"place": "attic"}, "bad_place"),
        ({"reason": " "}, "reason_required"),
    ],
)
def test_what_is_no_rule(world: World, fields: dict[str, object], code: str) -> None:
    plain = {"place": "journal", "kind": "llm.call", "days": 9, "reason": REASON}
    with pytest.raises(errors.Invalid) as error:
        rules.add(NewRule(**{**plain, **fields}), by=world.actor("owner"))  # type: ignore[arg-type]
    assert error.value.problem_code == code


def test_there_is_one_rule_of_a_type(world: World) -> None:
    added(world)
    with pytest.raises(errors.Conflict) as error:
        added(world, days=9)
    assert error.value.problem_code == "rule_exists"


def test_who_decides(world: World) -> None:
    rule = added(world)
    for role in ("compliance", "operator", "viewer", "ada"):
        with pytest.raises(errors.Forbidden):
            rules.switch_on(rule, 9, by=world.actor(role))
        with pytest.raises(errors.Forbidden):
            rules.add(
                NewRule(place="journal", kind="x.y", days=1, reason="x"),
                by=world.actor(role),
            )
    for role in ("operator", "viewer", "ada"):
        with pytest.raises(errors.Forbidden):
            rules.all_of(world.actor(role))
    with pytest.raises(errors.NotFound):
        rules.get(world.actor("stranger"), rule.pk)


def test_every_step_is_in_the_journal(world: World) -> None:
    old(world)
    rule = switched_on(world)
    apply.run(world.acme.id)
    rules.remove(
        rules.switch_off(rule, by=world.actor("owner")), by=world.actor("owner")
    )
    written_text = JournalEntry.objects.filter(entry_type__startswith="gdpr.retention_")
    assert list(written_text.order_by("seq").values_list("entry_type", flat=True)) == [
        "gdpr.retention_added",
        "gdpr.retention_switched_on",
        "gdpr.retention_applied",
        "gdpr.retention_switched_off",
        "gdpr.retention_removed",
    ]
