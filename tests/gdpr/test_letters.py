"""Letters of a case: which fits, its draft, keeping, going at night, the address."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gdpr.cases import actions, correspondence, legal_holds
from gdpr.cases.correspondence import Address
from gdpr.cases.legal_holds import NewHold
from gdpr.letters import drafts, keeping, occasions, retention, sending
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
from memory.rules import errors
from tests.gdpr import letter_kit
from tests.gdpr import requests as make
from tests.gdpr.letter_kit import EMAIL, PERSON, answering
from tests.world import World

pytestmark = pytest.mark.django_db


def refused_case(world: World, reason: str = "Manifestly unfounded") -> Case:
    case = make.opened(world)
    actions.refuse(case, reason, by=world.actor("compliance"))
    return make.fresh(case)


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
