"""Letters of a case: which fits, its draft, keeping, sending once, going at night."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail as django_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from gdpr.cases import actions, correspondence, legal_holds
from gdpr.cases.correspondence import Address
from gdpr.cases.legal_holds import NewHold
from gdpr.letters import bulk, drafts, keeping, occasions, retention, sending
from gdpr.models import (
    ActionKind,
    Case,
    CaseKind,
    Correspondence,
    GdprAction,
    Letter,
    LetterOccasion,
)
from gdpr.models.sealed import DoesNotOpen
from gdpr.processing import controller
from memory.accounts import mail
from memory.rules import errors
from memory.rules.bulk import Pick
from tests.gdpr import letter_kit
from tests.gdpr import requests as make
from tests.gdpr.letter_kit import EMAIL, PERSON, answering
from tests.world import World

SENT = "gdpr.letter_sent"
pytestmark = pytest.mark.django_db


def refused_case(world: World, reason: str = "Manifestly unfounded") -> Case:
    case = make.opened(world)
    actions.refuse(case, reason, by=world.actor("compliance"))
    return make.fresh(case)


@pytest.fixture
def server(settings: Any) -> None:
    """Let mails go out."""
    settings.MAIL_SERVER = True


# ── Which letter ─────────────────────────────────────────────────────────────
def test_the_missing_letter_follows_the_case(world: World) -> None:
    case = make.opened(world)
    assert occasions.missing_letter(case, []) == LetterOccasion.RECEIVED
    now = timezone.now()
    assert occasions.missing_letter(case, [("received", now)]) is None
    actions.extend(case, 2, "Complex", by=world.actor("compliance"))
    case = make.fresh(case)
    assert (
        occasions.missing_letter(case, [("received", now)]) == LetterOccasion.EXTENDED
    )
    assert occasions.missing_in([case]) == {case.id: LetterOccasion.EXTENDED}
    actions.refuse(case, "No", by=world.actor("compliance"))
    case = make.fresh(case)
    earlier = [("extended", now), ("refused", now - timedelta(days=1))]
    assert occasions.missing_letter(case, earlier) == LetterOccasion.REFUSED
    closing = [("refused", timezone.now())]
    assert occasions.missing_letter(case, closing) is None


def test_a_case_that_was_closed_long_ago_lacks_no_letter(world: World) -> None:
    case = refused_case(world)
    case.closed_at = timezone.now() - correspondence.AFTER_CLOSING - timedelta(days=1)
    assert occasions.missing_letter(case, []) is None


@pytest.mark.parametrize("occasion", ["done", "refused", "extended", "partly_done"])
def test_a_letter_of_another_state_is_refused(world: World, occasion: str) -> None:
    by = world.actor("compliance")
    with pytest.raises(errors.Conflict) as raised:
        drafts.make(make.opened(world), occasion, by=by)
    assert raised.value.problem_code == "wrong_occasion"


# ── Drafts ───────────────────────────────────────────────────────────────────
def test_a_draft_has_the_values_of_its_case_in_its_language(world: World) -> None:
    answering(world)
    case = letter_kit.addressed(world, refused_case(world))
    draft = drafts.make(case, "refused", by=world.actor("compliance"))
    assert draft.language == "de"
    assert draft.missing == []
    assert draft.body.startswith(f"Guten Tag {PERSON},")
    for words in ("Manifestly unfounded", "Artikel 77", "Artikel 79", "Fairlead Ltd"):
        assert words in draft.body
    assert case.id in draft.subject
    english = drafts.make(case, "refused", "en", by=world.actor("compliance"))
    assert english.body.startswith(f"Dear {PERSON},")
    assert "dpo@fairlead.example" in english.body


@pytest.mark.parametrize("kind", CaseKind.values)
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_kind_has_a_whole_letter_of_its_end(
    world: World, kind: str, language: str
) -> None:
    answering(world)
    correction = {"wrong": "a", "right": "b"} if kind == "rectification" else {}
    case = make.opened(world, kind=kind, correction=correction)
    case.state, case.closed_at = "complete", timezone.now()
    draft = drafts.make(case, "done", language, by=world.actor("compliance"))
    assert draft.missing == []
    assert not set("{}[]") & set(draft.subject + draft.body)
    assert "Art" in draft.body


@pytest.mark.parametrize("language", ["en", "de"])
def test_who_gets_a_part_is_told_why_not_the_rest(world: World, language: str) -> None:
    answering(world)
    case = make.opened(world, kind="access")
    case.state = "partial"
    draft = drafts.make(case, "partly_done", language, by=world.actor("compliance"))
    assert draft.missing == ["reason"]
    assert "[reason]" in draft.body


def test_without_a_controller_the_draft_says_what_is_missing(world: World) -> None:
    draft = drafts.make(make.opened(world), "received", by=world.actor("compliance"))
    assert draft.missing == ["controller", "controller_contact"]
    assert "[controller]" in draft.body
    # The line of somebody who need not be there is left out.
    assert "data protection officer" not in draft.body


def test_what_a_value_says_is_not_read_again(world: World) -> None:
    case = refused_case(world, "{name} {__class__} {controller}")
    draft = drafts.make(case, "refused", by=world.actor("compliance"))
    assert "{name} {__class__} {controller}" in draft.body


def test_an_erased_reason_is_missing(world: World) -> None:
    case = refused_case(world)
    case.refusal_reason = "[erased]"
    draft = drafts.make(case, "refused", by=world.actor("compliance"))
    assert "reason" in draft.missing


# ── Keeping ──────────────────────────────────────────────────────────────────
def test_a_kept_letter_is_sealed_and_opening_it_is_on_record(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter = letter_kit.letter(world, case)
    for model in (Letter, Correspondence):
        raw = letter_kit.raw_rows(model)
        assert case.id.encode() in raw
        for words in (PERSON, EMAIL, "Guten Tag"):
            assert words.encode() not in raw
    assert not GdprAction.objects.filter(action=ActionKind.VIEW).exists()
    by = world.actor("compliance")
    row = keeping.get(by, case, letter.id)
    assert PERSON in keeping.read(row, by=by).body
    keeping.read(row, by=by)
    view = GdprAction.objects.get(action=ActionKind.VIEW)
    assert view.scope == {"what": "letter", "letter": letter.id}
    [entry] = make.entries(world, "gdpr.letter_kept")
    assert PERSON not in str(entry.payload)


def test_a_letter_of_another_row_does_not_open(world: World) -> None:
    first = letter_kit.letter(world, make.opened(world))
    second = letter_kit.letter(world, make.opened(world))
    Letter.objects.filter(pk=second.pk).update(sealed=first.sealed)
    with pytest.raises(DoesNotOpen):
        keeping.read(Letter.objects.get(pk=second.pk), by=world.actor("compliance"))


def test_one_letter_of_an_occasion_waits(world: World) -> None:
    case = make.opened(world)
    letter = letter_kit.letter(world, case)
    with pytest.raises(errors.Conflict) as raised:
        letter_kit.letter(world, case)
    assert raised.value.problem_code == "letter_waits"
    sending.by_post(letter, by=world.actor("compliance"))
    with pytest.raises(errors.Conflict) as raised:
        letter_kit.letter(world, case)
    assert raised.value.problem_code == "letter_sent"
    assert letter_kit.letter(world, case, repeat=True).sent_at is None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"subject": "Hello\r\nBcc: eve@example.org"}, "bad_subject"),
        ({"subject": "Hello\u2028there"}, "bad_subject"),
        ({"subject": " "}, "subject_required"),
        ({"body": "x" * 100_000}, "too_large"),
        ({"body": "bell \x07"}, "bad_body"),
        ({"body": "half \ud800"}, "bad_text"),
        ({"language": "nonsense_"}, "bad_language"),
    ],
)
def test_what_is_no_letter_is_refused(
    world: World, fields: dict[str, str], code: str
) -> None:
    with pytest.raises(errors.AppError) as raised:
        letter_kit.letter(world, make.opened(world), **fields)
    assert raised.value.problem_code == code
    assert not Letter.objects.exists()


def test_only_who_handles_cases_writes(world: World) -> None:
    case = make.opened(world)
    letter = letter_kit.letter(world, case)
    for person, fault in (
        ("operator", errors.Forbidden),
        ("stranger", errors.NotFound),
    ):
        by = world.actor(person)
        with pytest.raises(fault):
            drafts.make(case, "received", by=by)
        with pytest.raises(fault):
            keeping.read(letter, by=by)
        with pytest.raises(fault):
            sending.by_post(letter, by=by)
        with pytest.raises(fault):
            correspondence.keep(case, Address(email=EMAIL), by=by)


def test_a_removed_letter_was_never_sent(world: World) -> None:
    case, by = make.opened(world), world.actor("compliance")
    keeping.remove(letter_kit.letter(world, case), by=by)
    assert not Letter.objects.exists()
    letter = sending.by_post(letter_kit.letter(world, case), by=by)
    with pytest.raises(errors.Conflict):
        keeping.remove(letter, by=by)


# ── Sending ──────────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("server")
def test_a_letter_is_mailed_once(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    row = sending.by_mail(letter, by=by)
    [message] = django_mail.outbox
    assert message.to == [EMAIL]
    assert PERSON in str(message.body)
    assert (row.way, row.sent_by) == ("mail", by.label)
    assert row.opened()["to"] == EMAIL
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "letter_sent"
    assert len(django_mail.outbox) == 1
    action = GdprAction.objects.get(action=ActionKind.ANSWER)
    assert action.scope == {"letter": row.id, "occasion": "received", "way": "mail"}


@pytest.mark.usefixtures("server")
def test_the_second_of_two_that_send_at_once_sends_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    refusals = []

    def slow(_kind: str, messages: list[Any]) -> int:
        other = Letter.objects.get(pk=letter.pk)
        for act in (sending.by_mail, sending.by_post):
            with pytest.raises(errors.Conflict) as raised:
                act(other, by=by)
            refusals.append(raised.value.problem_code)
        return len(messages)

    monkeypatch.setattr(mail, "send", slow)
    sending.by_mail(letter, by=by)
    assert refusals == ["letter_is_sent_now"] * 2


@pytest.mark.usefixtures("server")
def test_a_mail_server_that_refuses_gives_the_letter_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")

    def down(*_: object) -> int:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", down)
        with pytest.raises(errors.Unavailable) as raised:
            sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "mail_not_sent"
    assert sending.by_mail(letter, by=by).sent_at is not None


@pytest.mark.usefixtures("server")
def test_a_mail_that_left_is_on_record_although_its_letter_was_erased(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")

    def erased_meanwhile(_kind: str, messages: list[Any]) -> int:
        Letter.objects.all().delete()
        return len(messages)

    monkeypatch.setattr(mail, "send", erased_meanwhile)
    sending.by_mail(letter, by=by)
    assert not Letter.objects.exists()
    assert GdprAction.objects.filter(action=ActionKind.ANSWER).count() == 1
    assert len(make.entries(world, SENT)) == 1


@pytest.mark.usefixtures("server")
def test_after_a_crash_a_person_decides(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    crashed_at = timezone.now() - sending.CLAIM - timedelta(seconds=1)
    Letter.objects.filter(pk=letter.pk).update(claimed_at=crashed_at)
    assert sending.is_unclear(Letter.objects.get(pk=letter.pk))
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "letter_unclear"
    assert django_mail.outbox == []
    sending.by_mail(letter, by=by, repeat=True)
    assert len(django_mail.outbox) == 1


class Backend(BaseEmailBackend):
    """A mail server that takes a mail and then fails as the test says."""

    fault: Exception | None = None
    fault_at_end: Exception | None = None

    def send_messages(self, email_messages: Sequence[Any]) -> int:
        if self.fault:
            raise self.fault
        return len(email_messages)

    def close(self) -> None:
        if self.fault_at_end:
            raise self.fault_at_end


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "fault", [TimeoutError("no answer"), SMTPServerDisconnected("closed")]
)
def test_a_server_that_stops_answering_leaves_it_to_a_person(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    monkeypatch.setattr(Backend, "fault", fault)
    monkeypatch.setattr(django_mail, "get_connection", Backend)
    with pytest.raises(errors.Unavailable) as raised:
        sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "mail_unclear"
    assert Letter.objects.get(pk=letter.pk).claimed_at is not None
    with pytest.raises(errors.Conflict):
        sending.by_mail(letter, by=by)


@pytest.mark.usefixtures("server")
def test_a_fault_after_the_server_took_it_is_no_second_mail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    monkeypatch.setattr(Backend, "fault_at_end", TimeoutError("no goodbye"))
    monkeypatch.setattr(django_mail, "get_connection", Backend)
    assert sending.by_mail(letter, by=by).sent_at is not None


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("way", [sending.by_mail, sending.by_post])
def test_a_letter_with_an_open_placeholder_goes_out_neither_way(
    world: World, way: Callable[..., Letter]
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    body = "We extend it.\n\n[controller]\n[controller_contact] [sic]"
    letter = letter_kit.letter(world, case, body=body)
    with pytest.raises(errors.Conflict) as raised:
        way(letter, by=world.actor("compliance"))
    assert raised.value.problem_code == "letter_unfilled"
    assert "[controller], [controller_contact] in it" in raised.value.detail
    row = Letter.objects.get(pk=letter.pk)
    assert (row.sent_at, row.claimed_at, django_mail.outbox) == (None, None, [])


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("contact", "reply_to"),
    [("privacy@fairlead.example", ["privacy@fairlead.example"]), ("Quay 1", [])],
)
def test_a_mail_says_its_language_and_where_to_answer(
    world: World, contact: str, reply_to: list[str]
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter = letter_kit.letter(world, case)
    values = {"controller_contact": contact}
    controller.change(values, by=world.actor("owner"))
    sending.by_mail(letter, by=world.actor("compliance"))
    [message] = django_mail.outbox
    assert message.reply_to == reply_to
    assert message.message()["Content-Language"] == "de"


@pytest.mark.usefixtures("server")
def test_without_an_address_nothing_is_mailed(world: World) -> None:
    letter = letter_kit.letter(world, make.opened(world))
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=world.actor("compliance"))
    assert raised.value.problem_code == "no_email"


def test_without_a_mail_server_it_is_said(world: World) -> None:
    letter = letter_kit.letter(world, letter_kit.addressed(world, make.opened(world)))
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=world.actor("compliance"))
    assert raised.value.problem_code == "no_mail_server"


# ── At night ─────────────────────────────────────────────────────────────────
def test_a_letter_goes_after_the_days_that_held_when_it_was_sent(world: World) -> None:
    make.settings(world, letter_days=10)
    case, by = make.opened(world), world.actor("compliance")
    sending.by_post(letter_kit.letter(world, case), by=by)
    make.settings(world, letter_days=900)
    now = timezone.now()
    assert retention.run(world.acme.id, now + timedelta(days=9))["letters"] == 0
    assert retention.run(world.other.id, now + timedelta(days=99))["letters"] == 0
    assert retention.run(world.acme.id, now + timedelta(days=10))["letters"] == 1
    [entry] = make.entries(world, "gdpr.letters_erased")
    assert entry.payload == {"letters": 1, "addresses": 0}


def test_a_hold_keeps_a_letter_longer(world: World) -> None:
    case, by = make.opened(world, kind="access"), world.actor("compliance")
    sending.by_post(letter_kit.letter(world, case), by=by)
    assert case.subject is not None
    new = NewHold(
        reason="Suit", review_at=timezone.now() + timedelta(days=9), scope="letters"
    )
    legal_holds.place(case.subject, new, by=by, places=frozenset({"letters"}))
    later = timezone.now() + timedelta(days=2_000)
    assert retention.run(world.acme.id, later)["letters"] == 0


def test_the_address_goes_with_the_closing_letter(world: World) -> None:
    case, by = (
        letter_kit.addressed(world, make.opened(world)),
        world.actor("compliance"),
    )
    sending.by_post(letter_kit.letter(world, case), by=by)
    assert retention.run(world.acme.id)["addresses"] == 0
    actions.refuse(case, "No", by=by)
    # A letter of before is no closing letter, also one that tells how it ended.
    Letter.objects.update(occasion="partly_done")
    assert retention.run(world.acme.id)["addresses"] == 0
    sending.by_post(letter_kit.letter(world, make.fresh(case), "refused"), by=by)
    assert retention.run(world.acme.id)["addresses"] == 1
    assert not Correspondence.objects.exists()


def test_after_thirty_days_address_and_unsent_letters_go(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter_kit.letter(world, case)
    actions.refuse(case, "No", by=world.actor("compliance"))
    # The night before the thirtieth day is over.
    late = timezone.now() + timedelta(days=29, hours=1)
    assert retention.run(world.acme.id, late - timedelta(days=1)) == {
        "letters": 0,
        "addresses": 0,
    }
    assert retention.run(world.acme.id, late) == {"letters": 1, "addresses": 1}


# ── The address ──────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("code", "clean"),
    [("de", "de"), ("PT-br", "pt-BR"), ("zh-hant-tw", "zh-Hant-TW"), ("", "en")],
)
def test_a_language_is_written_as_usual(code: str, clean: str) -> None:
    assert correspondence.clean_language(code) == clean


@pytest.mark.parametrize("code", ["german please", "x", "de-", "../de", "d" * 40])
def test_what_is_no_language_is_refused(code: str) -> None:
    with pytest.raises(errors.Invalid):
        correspondence.clean_language(code)


def test_an_empty_address_removes_it(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    correspondence.keep(case, Address(), by=world.actor("compliance"))
    assert correspondence.of(case) is None


def test_a_case_closed_long_ago_takes_no_address(world: World) -> None:
    case = refused_case(world)
    Case.objects.update(closed_at=timezone.now() - timedelta(days=31))
    with pytest.raises(errors.Conflict) as raised:
        letter_kit.addressed(world, case)
    assert raised.value.problem_code == "address_too_late"


@pytest.mark.parametrize(
    "fields", [{"email": "no address"}, {"name": "A\nB"}, {"post": "x" * 501}]
)
def test_a_faulty_address_is_refused(world: World, fields: dict[str, str]) -> None:
    with pytest.raises(errors.AppError):
        letter_kit.addressed(world, make.opened(world), **fields)


# ── Many at once ─────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("server")
def test_many_are_told_that_their_request_arrived(world: World) -> None:
    by = world.actor("compliance")
    reachable = letter_kit.addressed(world, make.opened(world))
    unreachable = make.opened(world)
    stranger = make.opened(world, "stranger")
    picks = [Pick(case.id) for case in (reachable, unreachable, stranger)]
    assert [item.code for item in bulk.announce(by, picks[:1])] == ["values_missing"]
    answering(world)
    items = bulk.announce(by, picks)
    assert [item.state for item in items] == [
        bulk.MAILED_STATE,
        bulk.UNSENT_STATE,
        None,
    ]
    assert [message.to for message in django_mail.outbox] == [[EMAIL]]
    repetition = bulk.announce(by, picks[:2])
    assert [item.code for item in repetition] == ["letter_sent", None]
    assert len(django_mail.outbox) == 1
    # What was kept for want of an address goes out once there is one.
    letter_kit.addressed(world, unreachable)
    assert bulk.announce(by, picks[1:2])[0].state == bulk.MAILED_STATE
    assert unreachable.letters.count() == 1


@pytest.mark.usefixtures("server")
def test_a_mail_server_that_is_down_is_tried_once_for_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(world)
    by, attempts = world.actor("compliance"), []
    cases = [letter_kit.addressed(world, make.opened(world)) for _ in range(3)]

    def down(*_: object) -> int:
        attempts.append(1)
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", down)
        items = bulk.announce(by, [Pick(case.id) for case in cases])
    assert [item.code for item in items] == ["mail_not_sent"] * 3
    assert len(attempts) == 1
    items = bulk.announce(by, [Pick(case.id) for case in cases])
    assert [item.state for item in items] == [bulk.MAILED_STATE] * 3
    assert Letter.objects.count() == 3
