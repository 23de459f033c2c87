"""A rectification replaces the wrong words and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from gdpr import erasure
from gdpr.data_map import row_text
from gdpr.data_map.base import Person
from gdpr.matching.matcher import Matcher, Name, Sign
from gdpr.models import Case, CaseKind, CaseState, Certificate, Subject
from gdpr.subjects import rectification
from memory.files import tools
from memory.journal import verify
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL, OTHER
from tests.world import World

WRONG, RIGHT = "lives in Timbuktuville", "lives in Oslo"


def _base() -> Person:
    matcher = Matcher([Name("sub_1", "email", MAIL)])
    other_people = Matcher([Name("sub_2", "email", OTHER)])
    return Person("ws_1", "sub_1", matcher, other_people, {})


def _corrector() -> rectification.Corrector:
    return rectification.Corrector(_base(), WRONG, RIGHT)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{MAIL} lives in Timbuktuville.", f"{MAIL} lives in Oslo."),
        ("LIVES  in\ttimbuktuville", "lives in Oslo"),
        (
            f"{MAIL} lives in Timbuktuville\n{OTHER} lives in Timbuktuville",
            f"{MAIL} lives in Oslo\n{OTHER} lives in Timbuktuville",
        ),
        ("She lives in Timbuktuvillen", "She lives in Timbuktuvillen"),
    ],
)
def test_wrong_becomes_right(before: str, after: str) -> None:
    assert _corrector().mask(before) == after


@given(st.text(max_size=200))
def test_a_text_without_the_wrong_words_stays(text: str) -> None:
    if WRONG.casefold() not in " ".join(text.casefold().split()):
        assert _corrector().mask(text) == text


@pytest.mark.parametrize(
    "correction",
    [
        {"wrong": "", "right": "x"},
        {"wrong": "x"},
        {"wrong": "x", "right": "an x"},
        {"wrong": "y" * 3_000, "right": "x"},
    ],
)
def test_a_correction_that_cannot_be_proved_is_refused(
    correction: dict[str, str],
) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        rectification.correction_of(Case(correction=correction))
    assert refusal.value.problem_code == "bad_correction"


@pytest.mark.slow
def test_a_case_corrects_every_place_and_proves_it(shared_world: World) -> None:
    world = shared_world
    own_entry = world.indexed(f"{MAIL} {WRONG}", payload={"text": f"yes, {WRONG}"})
    other = world.indexed(f"{OTHER} {WRONG}x")
    text = f"- {MAIL} {WRONG}\n- Boats\n"
    arguments = {"tier": "AGENT", "content": text, "mode": "append"}
    tools.call("memory.write", arguments, by=world.actor("ada"))
    maria = erasing.maria(world)
    case = erasing.opened(
        world,
        maria,
        CaseKind.RECTIFICATION,
        correction={"wrong": WRONG, "right": RIGHT},
    )
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    own_entry.refresh_from_db()
    assert own_entry.summary == f"{MAIL} {RIGHT}"
    assert RIGHT in own_entry.payload_text
    other.refresh_from_db()
    assert other.redacted_at is None
    assert Subject.objects.get(pk=maria.pk).aliases.count() == 2
    assert verify.verify(world.acme.id, by=world.system()).ok
    assert Certificate.objects.get(case=case).result == "complete"
    _files_say_the_right_thing()
    payload = JournalEntry.objects.get(entry_type="gdpr.rectified")
    assert WRONG not in payload.summary + payload.payload_text


def test_entries_without_the_wrong_words_leave_no_trace(shared_world: World) -> None:
    world = shared_world
    maria = erasing.maria(world)
    linked_entry = world.entry("Two boats were paid twice", subjects=(MAIL,))
    correction = {"wrong": MAIL.partition("@")[0], "right": "Marianne"}
    case = erasing.opened(world, maria, CaseKind.RECTIFICATION, correction=correction)
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    linked_entry.refresh_from_db()
    assert linked_entry.redacted_at is None


def test_an_address_is_corrected_as_a_whole_and_not_by_its_parts() -> None:
    corrector, word = rectification.Corrector, MAIL.partition("@")[0]
    assert corrector(_base(), word, "Marianne").sign_of_value(MAIL) is Sign.NONE
    assert corrector(_base(), MAIL, "m@new.example").sign_of_value(MAIL) is Sign.SURE


def _files_say_the_right_thing() -> None:
    live = Path(settings.DATA_DIR) / "files"
    texts = [path.read_text() for path in live.rglob("*.md")]
    assert any(RIGHT in text for text in texts)
    assert not any(f"{WRONG}\n" in text for text in texts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"first": "Maria", "last": "Kowalska", "mail": MAIL},
            {"first": "Maria", "last": "Nowak", "mail": MAIL},
        ),
        (
            {"family_name": "Kowalska", "given_name": "Maria", "mail": MAIL},
            {"family_name": "Nowak", "given_name": "Maria", "mail": MAIL},
        ),
        ({"first": "Jan", "last": "Kowalska"}, {"first": "Jan", "last": "Kowalska"}),
    ],
)
def test_words_in_two_fields_are_put_right(
    before: dict[str, str], after: dict[str, str]
) -> None:
    is_named = rectification.Corrector(_base(), "Maria Kowalska", "Maria Nowak")
    assert row_text.masked(is_named, before) == after
