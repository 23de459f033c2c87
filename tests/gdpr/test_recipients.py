"""Whom a person's data went to: evidence, what is kept of it, what officers add."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from gdpr import erasure, suppression
from gdpr.cases import dry_run
from gdpr.certificates import document
from gdpr.models import (
    Case,
    CaseKind,
    Certificate,
    GdprAction,
    NoticeState,
    Recipient,
    RecipientContact,
    RecipientKind,
    Subject,
)
from gdpr.pagination import PageQuery
from gdpr.recipients import actions, contacts, evidence, listing, queries
from gdpr.recipients.actions import NewAnswer, NewRecipient
from memory import webhooks
from memory.integrations.gateway import settings as gateway_settings
from memory.models import (
    DeliveryStatus,
    GatewaySetup,
    JournalEntry,
    Webhook,
    WebhookDelivery,
)
from memory.rules import errors
from tests.gdpr import erasing, kit
from tests.gdpr import recipients as make
from tests.gdpr.erasing import MAIL, NAME
from tests.world import World

pytestmark = pytest.mark.django_db
# A run checks what the database's files hold, so that its rows are committed.
COMMITTED = pytest.mark.django_db(transaction=True)


def _kinds(world: World, person: Subject) -> dict[str, evidence.Disclosure]:
    """Return ref → what is known now of a person's recipients."""
    lines = listing.disclosed_to(person, world.actor("compliance"))
    return {line.ref: line for line in lines}


# ── Evidence ─────────────────────────────────────────────────────────────────
def test_a_webhook_is_certain_when_it_took_a_message_about_the_person(
    world: World,
) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    message = make.message(hook, f"{NAME} is red")
    make.message(hook, "Nobody is red")
    line = _kinds(world, maria)[hook.pk]
    assert (line.name, line.is_certain, line.count) == (make.HOST, True, 1)
    assert line.ids["entries"] == [message.entry_id]
    assert line.ids["messages"] == [message.pk]
    assert line.first_at == line.last_at == message.created_at


def test_a_new_webhook_that_got_nothing_about_the_person_is_no_recipient(
    world: World,
) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    make.message(hook, "Nobody is red")
    message = make.message(hook, f"{NAME} is red")
    WebhookDelivery.objects.filter(pk=message.pk).update(attempts=0, status="pending")
    assert hook.pk not in _kinds(world, maria)


def test_messages_of_others_are_not_read(world: World) -> None:
    """The page of a case asks for this each time it is shown."""
    maria, hook = erasing.maria(world), make.hook(world)
    own = [make.message(hook, f"{NAME} is red, {number}") for number in range(5)]
    for number in range(3):
        make.message(hook, f"Nobody is red, {number}")
    rows = {
        "deliveries": frozenset(row.pk for row in own),
        "journal": frozenset(str(row.entry_id) for row in own),
    }
    with CaptureQueriesContext(connection) as queries_seen:
        lines = evidence.of_person(world.acme.id, maria.pk, rows)
    [line] = [line for line in lines if line.ref == hook.pk]
    assert line.ids["messages"] == [row.pk for row in own]
    table = WebhookDelivery._meta.db_table
    reads = [row["sql"] for row in queries_seen if f'FROM "{table}"' in row["sql"]]
    assert len(reads) == 1
    assert " IN (" in reads[0]


@pytest.mark.parametrize("status", [DeliveryStatus.PENDING, DeliveryStatus.FAILED])
def test_a_message_without_a_receipt_makes_a_webhook_possible(
    world: World, status: DeliveryStatus
) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    make.message(hook, f"{NAME} is red", status)
    assert _kinds(world, maria)[hook.pk].doubt == "unconfirmed"


def test_where_messages_expired_a_webhook_is_possible_with_the_entries_it_may_have(
    world: World,
) -> None:
    maria = erasing.maria(world)
    hook = make.hook(world, days=60)
    message = make.message(hook, f"{NAME} is red")
    message.delete()
    old = timezone.now() - webhooks.RETENTION - timedelta(days=1)
    JournalEntry.objects.filter(pk=message.entry_id).update(ts=old)
    line = _kinds(world, maria)[hook.pk]
    assert (line.doubt, line.count) == ("expired", 0)
    assert line.ids["entries"] == [message.entry_id]
    assert "30 days" in line.doubt_words


def test_a_webhook_that_was_removed_stays_possible(world: World) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    webhooks.remove(hook, by=world.actor("owner"))
    line = _kinds(world, maria)[hook.pk]
    assert (line.name, line.doubt) == (make.HOST, "removed")


def test_a_gateway_is_certain_where_it_signs_in_as_the_person(world: World) -> None:
    maria = erasing.maria(world)
    for agent, user_id in ((None, "team"), (world.agents["ada"], MAIL)):
        GatewaySetup.objects.create(
            workspace=world.acme, agent=agent, mode="memory_gateway",
            base_url="https://turns.example/v1", user_id=user_id, updated_by="test",
        )  # fmt: skip
    lines = _kinds(world, maria).values()
    doubts = {line.doubt for line in lines if line.kind == RecipientKind.GATEWAY}
    assert doubts == {"", "not_noted"}
    setup = GatewaySetup.objects.get(agent=None)
    gateway_settings.remove(setup.pk, by=world.actor("owner"))
    assert _kinds(world, maria)[setup.pk].doubt == "setup_removed"


def test_a_remote_provider_is_possible_once_it_was_chosen(world: World) -> None:
    maria = erasing.maria(world)
    assert evidence.REMOTE_REF not in _kinds(world, maria)
    make.remote(world)
    line = _kinds(world, maria)[evidence.REMOTE_REF]
    assert (line.name, line.doubt) == ("memory.example", "not_noted")
    assert line.first_at is not None


def test_services_of_the_installation_are_for_information(
    world: World, settings: Settings
) -> None:
    settings.EMBEDDER, settings.OLLAMA_HOST = "ollama", "http://gpu.example:11434"
    settings.CONSOLIDATE_MODEL, settings.MAIL_SERVER = "llama", True
    lines = _kinds(world, erasing.maria(world))
    assert {lines[ref].name for ref in ("embedder", "model")} == {"gpu.example"}
    for ref in ("embedder", "model", "mail"):
        assert not lines[ref].is_certain
        assert not lines[ref].is_notified


def test_nothing_of_another_workspace_is_listed(world: World) -> None:
    maria = erasing.maria(world)
    webhooks.create(make.URL, by=world.actor("stranger"))
    Webhook.objects.update(created_at=timezone.now() - timedelta(days=90))
    assert _kinds(world, maria) == {}
    with pytest.raises(errors.NotFound):
        listing.disclosed_to(maria, world.actor("stranger"))


# ── Stored before it is erased ───────────────────────────────────────────────
@COMMITTED
def test_a_run_stores_ids_and_counts_before_it_erases_them(world: World) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    message = make.message(hook, f"{NAME} is red")
    case, (row,) = make.at_end(world, maria)
    assert not WebhookDelivery.objects.filter(pk=message.pk).exists()
    assert (row.kind, row.ref, row.name) == ("webhook", hook.pk, make.HOST)
    assert row.evidence["entries"] == [message.entry_id]
    assert (row.state, row.doubt, row.count) == (NoticeState.WAITING, "", 1)
    assert kit.in_tables(MAIL) == {}
    entry = JournalEntry.objects.get(entry_type="gdpr.recipients_listed")
    assert entry.payload["certain"] == 1
    assert entry.payload["case_id"] == case.pk


def test_the_plan_shows_them_before(world: World) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    make.message(hook, f"{NAME} is red")
    case = erasing.opened(world, maria)
    assert listing.expected(case) == []
    dry_run.make(case, by=world.actor("compliance"))
    (line,) = listing.expected(case)
    assert (line.ref, line.is_certain) == (hook.pk, True)
    assert not Recipient.objects.exists()


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (CaseKind.RESTRICTION, 1),
        (CaseKind.OBJECTION, 1),
        (CaseKind.ACCESS, 0),
        (CaseKind.PORTABILITY, 0),
    ],
)
def test_which_requests_are_passed_on(world: World, kind: CaseKind, count: int) -> None:
    make.message(make.hook(world), f"{NAME} is red")
    _, rows = make.at_end(world, erasing.maria(world), kind)
    assert len(rows) == count


def test_a_repeated_run_stores_them_once_and_adds_what_came(world: World) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    make.message(hook, f"{NAME} is red", DeliveryStatus.FAILED)
    case = erasing.opened(world, maria)
    by = world.system()
    person = dry_run.person_of(case)
    assert listing.store(case, person, by=by) == 1
    second = make.message(hook, f"{NAME} is green")
    assert listing.store(case, dry_run.person_of(case), by=by) == 0
    (row,) = make.of_case(case)
    assert second.pk in row.evidence["messages"]
    assert row.doubt == ""


@COMMITTED
def test_what_an_officer_wrote_goes_with_the_texts_of_the_case(world: World) -> None:
    maria = erasing.maria(world)
    case = erasing.opened(world, maria)
    row = make.by_hand(world, case, name=f"{NAME} & Sons", received="No. 4711")
    ground, reason = "disproportionate", f"{NAME} asked not to"
    actions.decline(row, ground, reason, by=world.actor("compliance"))
    make.by_hand(world, case, name="Print shop", received=f"Cards of {NAME}")
    case = erasing.started(world, Case.objects.get(pk=case.pk))
    erasure.run(case.workspace_id, case.pk)
    assert Case.objects.get(pk=case.pk).state == "complete"
    row = make.fresh(row)
    assert (row.reason, row.received) == ("[erased]", "No. 4711")
    assert row.name == "[erased] & Sons"
    assert kit.in_tables(NAME) == {}


def test_the_place_finds_addresses_that_name_the_person(world: World) -> None:
    maria = erasing.maria(world)
    contacts.put("print.example", MAIL, by=world.actor("compliance"))
    assert kit.traces(maria, "recipients") == ["recipients row"]
    kit.erase("recipients", maria)
    assert kit.traces(maria, "recipients") == []
    assert contacts.of_name(world.acme.id, "print.example") is None


# ── The certificate ──────────────────────────────────────────────────────────
def _content(case: Case) -> dict[str, object]:
    certificate = Certificate.objects.get(case=case)
    content: dict[str, object] = document.parse(certificate.document)["content"]
    return content


@COMMITTED
def test_a_certificate_counts_the_notices_that_are_not_out_yet(world: World) -> None:
    make.message(make.hook(world), f"{NAME} is red")
    make.hook(world, "https://other.example/in", days=90)
    case, rows = make.at_end(world, erasing.maria(world))
    content = _content(case)
    assert content["recipients"] == {
        "listed": 2, "certain": 1, "kinds": {"webhook": 2},
        "notices": {"waiting": 2}, "is_sealed": False,
    }  # fmt: skip
    text = str(content["not_searched"])
    assert "of 2, notices to 2 were not out yet" in text
    assert "kept encrypted in the database" not in text
    assert {row.state for row in rows} == {NoticeState.WAITING}


@COMMITTED
def test_without_recipients_a_certificate_says_nothing_of_them(world: World) -> None:
    case, rows = make.at_end(world, erasing.maria(world))
    assert rows == []
    assert "recipients" not in _content(case)


@COMMITTED
def test_a_certificate_says_that_identifiers_are_kept_sealed(world: World) -> None:
    make.remote(world)
    case, (row,) = make.at_end(world, erasing.maria(world))
    assert listing.unseal(row) == [MAIL]
    assert "kept encrypted in the database" in str(_content(case)["not_searched"])
    assert kit.in_tables(MAIL) == {}


# ── By hand ──────────────────────────────────────────────────────────────────
def _code(error: pytest.ExceptionInfo[errors.AppError]) -> str:
    return error.value.problem_code


def test_what_an_officer_adds_is_in_the_journal_without_its_name(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world))
    row = make.by_hand(world, case, name="Print shop", email="dpo@print.example")
    assert (row.state, row.kind) == (NoticeState.WAITING, RecipientKind.OTHER)
    contact = RecipientContact.objects.get()
    assert (contact.name, contact.email) == ("print shop", "dpo@print.example")
    entry = JournalEntry.objects.get(entry_type="gdpr.recipient_added")
    assert entry.payload["recipient_id"] == row.pk
    assert "Print" not in entry.payload_text
    action = GdprAction.objects.get(action="notify")
    assert (action.case_ref, action.status) == (case.pk, "completed")


def test_requests_that_article_19_is_not_about_take_no_recipient(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world), CaseKind.ACCESS)
    with pytest.raises(errors.Conflict) as error:
        make.by_hand(world, case)
    assert _code(error) == "no_notices"


def test_nobody_is_notified_before_the_run_is_complete(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world))
    row, by = make.by_hand(world, case), world.actor("compliance")
    for act in (actions.notify, actions.notify_by_hand):
        with pytest.raises(errors.Conflict) as error:
            act(row, by=by)
        assert _code(error) == "not_complete"
    with pytest.raises(errors.Conflict) as error:
        actions.answer(row, NewAnswer(answer="carried_out"), by=by)
    assert _code(error) == "wrong_state"


def test_a_notice_by_hand_and_its_answer(world: World) -> None:
    _, rows = make.with_recipients(world, 1)
    by = world.actor("compliance")
    row = actions.notify_by_hand(rows[0], by=by)
    assert (row.state, row.way) == (NoticeState.NOTIFIED, "hand")
    new = NewAnswer(answer="not_held", note="Nothing there")
    row = actions.answer(row, new, by=by)
    assert (row.state, row.answer, row.answered_by) == (
        NoticeState.ANSWERED, "not_held", by.label,
    )  # fmt: skip
    corrected = actions.answer(row, NewAnswer(answer="refused"), by=by)
    assert corrected.answer == "refused"


def test_an_answer_names_nobody_who_was_erased(world: World) -> None:
    maria = erasing.maria(world)
    suppression.suppress(maria)
    case = make.complete(erasing.opened(world, maria))
    by = world.actor("compliance")
    row = actions.notify_by_hand(make.by_hand(world, case), by=by)
    new = NewAnswer(answer="carried_out", note=f"They erased {MAIL}")
    with pytest.raises(errors.Conflict) as error:
        actions.answer(row, new, by=by)
    assert _code(error) == "subject_suppressed"
    with pytest.raises(errors.Conflict):
        make.by_hand(world, case, name=MAIL)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer": "perhaps"}, "unknown_value"),
        ({"answer": "refused", "future": True}, "answered_in_future"),
    ],
)
def test_answers_that_are_refused(
    world: World, fields: dict[str, object], code: str
) -> None:
    _, rows = make.with_recipients(world, 1)
    by = world.actor("compliance")
    row = actions.notify_by_hand(rows[0], by=by)
    day = (timezone.now() + timedelta(days=3)).date()
    new = NewAnswer(
        answer=str(fields["answer"]), answered_on=day if "future" in fields else None
    )
    with pytest.raises(errors.AppError) as error:
        actions.answer(row, new, by=by)
    if code != "unknown_value":
        assert _code(error) == code
    assert make.fresh(row).answer == ""


def test_a_notice_that_is_not_possible_needs_a_reason(world: World) -> None:
    _, rows = make.with_recipients(world, 1)
    by = world.actor("compliance")
    with pytest.raises(errors.Invalid):
        actions.decline(rows[0], "not_possible", " ", by=by)
    row = actions.decline(rows[0], "not_possible", "The shop closed", by=by)
    assert (row.state, row.reason) == (NoticeState.NOT_POSSIBLE, "The shop closed")
    assert make.fresh(actions.notify_by_hand(row, by=by)).reason == ""


def test_overdue_answers_are_counted_by_the_days_of_the_workspace(
    world: World,
) -> None:
    case, rows = make.with_recipients(world, 2)
    by = world.actor("compliance")
    for row in rows:
        actions.notify_by_hand(row, by=by)
    long_ago = timezone.now() - timedelta(days=15)
    Recipient.objects.filter(pk=rows[0].pk).update(notified_at=long_ago)
    counts = queries.case_counts(by, case)
    assert (counts.total, counts.unanswered, counts.overdue) == (2, 2, 1)
    contacts.change_answer_days(20, by=world.actor("owner"))
    assert queries.open_counts(by).overdue == 0
    assert queries.open_counts(world.actor("stranger")).unanswered == 0


@pytest.mark.parametrize(
    "email", ["nobody", "a@b@c.example", "a@b.example\nBcc: x@y.z"]
)
def test_an_address_is_an_address(world: World, email: str) -> None:
    with pytest.raises(errors.Invalid) as error:
        contacts.put("print.example", email, by=world.actor("compliance"))
    assert _code(error) == "bad_email"


def test_a_name_is_one_line_and_a_masked_one_has_no_address(world: World) -> None:
    by = world.actor("compliance")
    case = erasing.opened(world, erasing.otto(world))
    row = make.by_hand(world, case, name=" Print\n shop ", email="dpo@print.example")
    assert row.name == "Print shop"
    contact = contacts.of_name(world.acme.id, "print shop")
    assert contact is not None
    assert contact.email == "dpo@print.example"
    contacts.put("[erased]", "dpo@other.example", by=by)
    assert contacts.of_name(world.acme.id, "[erased]") is None


def test_who_may_change_what(world: World) -> None:
    case = erasing.opened(world, erasing.maria(world))
    row = make.by_hand(world, case)
    with pytest.raises(errors.Forbidden):
        contacts.put("a", "a@b.example", by=world.actor("operator"))
    with pytest.raises(errors.Forbidden):
        contacts.change_answer_days(3, by=world.actor("compliance"))
    for person in ("viewer", "operator"):
        with pytest.raises(errors.Forbidden):
            actions.add(case, NewRecipient(name="x"), by=world.actor(person))
    with pytest.raises(errors.NotFound):
        actions.decline(row, "not_possible", "x", by=world.actor("stranger"))
    with pytest.raises(errors.NotFound):
        queries.page(world.actor("stranger"), case, PageQuery())


def test_a_recipient_is_found_in_its_own_case_alone(world: World) -> None:
    case, (row,) = make.with_recipients(world, 1)
    other = erasing.opened(world, erasing.maria(world))
    by = world.actor("compliance")
    assert actions.get(by, case, row.pk) == row
    with pytest.raises(errors.NotFound):
        actions.get(by, other, row.pk)
