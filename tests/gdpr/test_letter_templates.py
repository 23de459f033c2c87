"""The texts that letters start from: which one counts, editing, placeholders."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr.letters import built_in, drafts, placeholders, templates
from gdpr.letters.templates import Place
from gdpr.models import LetterOccasion, LetterTemplate
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World

RECEIVED = Place(occasion="received", kind="", language="en")


def saved(world: World, where: Place, body: str, version: int = 0) -> int:
    by = world.actor("compliance")
    return templates.save(where, "Hello", body, version, by=by).version


def body(world: World, kind: str, language: str) -> str:
    where = Place(occasion="received", kind=kind, language=language)
    return templates.in_force(world.acme.id, where).body


# ── Built in ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("language", built_in.LANGUAGES)
def test_built_in_texts_know_their_placeholders(language: str) -> None:
    texts = built_in.LANGUAGES[language].texts
    assert texts.keys() == built_in.LANGUAGES["en"].texts.keys()
    assert {occasion for occasion, _ in texts} == set(LetterOccasion.values)
    for subject, text in texts.values():
        for part in (subject, text):
            placeholders.require_known(part, "body")
        assert len(subject) <= templates.SUBJECT_CHARS - 60


@pytest.mark.parametrize("language", built_in.LANGUAGES)
def test_a_refusal_names_the_ground_the_authority_and_the_courts(language: str) -> None:
    _, text = built_in.LANGUAGES[language].texts[(LetterOccasion.REFUSED, "")]
    assert "{reason}" in text
    for article in (r"12\D+4", "77", "79"):
        assert re.search(article, text)


# ── Which text ───────────────────────────────────────────────────────────────
@pytest.mark.django_db
def test_the_most_particular_text_counts(world: World) -> None:
    assert "one month" in body(world, "access", "en")
    saved(world, RECEIVED, "Every kind")
    assert body(world, "access", "en") == "Every kind"
    saved(world, Place(occasion="received", kind="access", language="en"), "Access")
    assert body(world, "access", "en") == "Access"
    assert body(world, "erasure", "en") == "Every kind"
    # A region falls back to its language, an unknown language to English.
    assert body(world, "access", "en-GB") == "Access"
    assert "einen Monat" in body(world, "access", "de-AT")
    assert body(world, "access", "fr") == "Access"
    saved(world, Place(occasion="received", kind="", language="fr"), "Bonjour")
    assert body(world, "access", "fr-CA") == "Bonjour"
    other = templates.in_force(world.other.id, RECEIVED)
    assert other.own is None


@pytest.mark.django_db
def test_a_draft_says_when_its_text_is_in_another_language(world: World) -> None:
    by = world.actor("compliance")
    draft = drafts.make(make.opened(world), "received", "fr", by=by)
    assert (draft.language, draft.requested, draft.is_other_language) == (
        "en", "fr", True,
    )  # fmt: skip
    saved(
        world, Place(occasion="received", kind="", language="fr"), "{today} {request}"
    )
    draft = drafts.make(make.opened(world), "received", "fr", by=by)
    assert not draft.is_other_language
    assert re.match(r"\d{4}-\d\d-\d\d ", draft.body)


# ── Editing ──────────────────────────────────────────────────────────────────
@pytest.mark.django_db
def test_of_two_officers_the_second_is_told(world: World) -> None:
    assert saved(world, RECEIVED, "First") == 1
    with pytest.raises(errors.Conflict) as raised:
        saved(world, RECEIVED, "Second")
    assert raised.value.problem_code == "stale_version"
    assert saved(world, RECEIVED, "Second", 1) == 2
    with pytest.raises(errors.Conflict):
        templates.reset(RECEIVED, 1, by=world.actor("compliance"))
    templates.reset(RECEIVED, 2, by=world.actor("compliance"))
    assert not LetterTemplate.objects.exists()
    kinds = ("gdpr.letter_text_changed", "gdpr.letter_text_reset")
    assert [len(make.entries(world, kind)) for kind in kinds] == [2, 1]
    assert "First" not in str(make.entries(world, kinds[0])[0].payload)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{__class__}", "unknown_placeholder"),
        ("{name.__class__}", "unknown_placeholder"),
        ("{name!r}", "unknown_placeholder"),
        ("{name:>999999999}", "unknown_placeholder"),
        ("{}", "unknown_placeholder"),
        ("{0}", "unknown_placeholder"),
        ("{Name}", "unknown_placeholder"),
        ("{{name}}", "bad_placeholder"),
        ("{name", "bad_placeholder"),
        ("a } b", "bad_placeholder"),
        ("x" * 100_000, "too_large"),
    ],
)
def test_what_is_no_placeholder_is_refused(world: World, text: str, code: str) -> None:
    for act in (saved, _preview):
        with pytest.raises(errors.AppError) as raised:
            act(world, RECEIVED, text)
        assert raised.value.problem_code == code
    assert not LetterTemplate.objects.exists()


def _preview(world: World, where: Place, text: str) -> None:
    drafts.preview(where, "Hello", text, by=world.actor("compliance"))


@pytest.mark.django_db
@pytest.mark.parametrize("subject", ["A\r\nBcc: x@example.org", "A\x0bB", "{"])
def test_a_subject_is_one_line(world: World, subject: str) -> None:
    with pytest.raises(errors.Invalid):
        templates.save(RECEIVED, subject, "Hello", 0, by=world.actor("compliance"))


@pytest.mark.parametrize(
    ("occasion", "kind", "language", "code"),
    [
        ("birthday", "", "en", "unknown_occasion"),
        ("received", "portrait", "en", "unknown_kind"),
        ("done", "", "en", "kind_required"),
        ("done", "access", "not a language", "bad_language"),
    ],
)
def test_an_unknown_place_is_refused(
    occasion: str, kind: str, language: str, code: str
) -> None:
    with pytest.raises(errors.Invalid) as raised:
        templates.place(occasion, kind, language)
    assert raised.value.problem_code == code


@pytest.mark.django_db
def test_who_edits(world: World) -> None:
    for person in ("operator", "viewer"):
        with pytest.raises(errors.Forbidden):
            templates.save(RECEIVED, "A", "B", 0, by=world.actor(person))
        with pytest.raises(errors.Forbidden):
            templates.texts(world.actor(person))
    saved(world, RECEIVED, "Ours")
    assert "Ours" not in [row.body for row in templates.texts(world.actor("stranger"))]
    with pytest.raises(errors.NotFound):
        templates.reset(RECEIVED, 1, by=world.actor("stranger"))


# ── Filling ──────────────────────────────────────────────────────────────────
@given(st.dictionaries(st.sampled_from(sorted(placeholders.BY_NAME)), st.text()))
def test_values_are_put_in_once_and_never_read(values: dict[str, str]) -> None:
    names = sorted(placeholders.BY_NAME)
    text = "\n".join(f"<{name}>{{{name}}}" for name in names)
    filled, gaps = placeholders.fill(text, values)
    for name in names:
        if values.get(name, "").strip() and "\n" not in values[name]:
            assert f"<{name}>{values[name]}".rstrip() in filled
    needed = {item.name for item in placeholders.ALL if item.is_needed}
    assert set(gaps) == {name for name in needed if not values.get(name)}


def test_a_line_without_values_is_left_out() -> None:
    text = "{greeting}\n\nOfficer: {dpo_contact}\n\nSee {check_page} and {name}\n\nEnd"
    assert placeholders.fill(text, {"greeting": "Hello", "name": "Mara"})[0] == (
        "Hello\n\nSee  and Mara\n\nEnd"
    )
