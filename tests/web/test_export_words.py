"""The page on which an officer decides about other people's words in a bundle."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gdpr import erasure
from gdpr.cases import identity
from gdpr.export import make as export
from gdpr.export import review
from gdpr.models import CaseKind, Export, ExportState, GdprAction, RememberedWord
from tests.api import gdpr_operations
from tests.gdpr import erasing, kit
from tests.world import World

pytestmark = pytest.mark.django_db
HOSTILE = "<b>Ingrid</b> said {{ 7 }}"


@pytest.fixture
def bundle(shared_world: World) -> Export:
    return gdpr_operations.words_of(shared_world, kit.subject(shared_world))


def _text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def _page(world: World, row: Export, role: str = "compliance", query: str = "") -> Any:
    return world.page(role).get(f"/privacy/exports/{row.pk}/words/{query}")


def _post(world: World, row: Export, role: str = "compliance", **body: Any) -> Any:
    address = f"/privacy/exports/{row.pk}/words/{body.pop('query', '')}"
    return world.page(role).post(address, body)


@pytest.mark.parametrize(
    ("role", "status"),
    [("owner", 200), ("compliance", 200), ("operator", 403), ("viewer", 403),
     ("stranger", 404)],
)  # fmt: skip
def test_officers_of_the_workspace_read_and_decide(
    shared_world: World, bundle: Export, role: str, status: int
) -> None:
    assert _page(shared_world, bundle, role).status_code == status
    answer = _post(shared_world, bundle, role, decide="cover-all")
    assert answer.status_code == (302 if status == 200 else status)
    row = Export.objects.get(pk=bundle.pk)
    is_decided = row.state == ExportState.MAKING
    assert is_decided is (status == 200)


def test_nobody_is_sent_to_sign_in(shared_world: World, bundle: Export) -> None:
    answer = _page(shared_world, bundle, "nobody")
    assert (answer.status_code, "login" in answer["Location"]) == (302, True)


def test_the_page_shows_words_with_their_texts(
    shared_world: World, bundle: Export
) -> None:
    doubtful = _text(_page(shared_world, bundle))
    assert "1 word waits for a decision" in doubtful
    assert "A letter that Ingrid wrote to Karim Haddad" in doubtful
    assert 'translate="no">Karim Haddad<' not in doubtful
    sure = _text(_page(shared_world, bundle, query="?sure=1"))
    assert 'translate="no">Karim Haddad<' in sure
    assert GdprAction.objects.filter(action="view").count() == 2


def test_text_of_a_bundle_stays_text(shared_world: World) -> None:
    person = kit.subject(shared_world)
    entry = shared_world.entry(HOSTILE)
    kit.link(person, "journal", entry.id)
    row = export.make(export.request(person, by=shared_world.system()))
    page = _text(_page(shared_world, row))
    assert "&lt;b&gt;Ingrid&lt;/b&gt; said {{ 7 }}" in page
    assert "<b>Ingrid" not in page


def test_one_word_is_left_readable_and_remembered(
    shared_world: World, bundle: Export
) -> None:
    word = bundle.words.get(surely=False)
    answer = _post(shared_world, bundle, decide="leave", word=word.pk, remember="1")
    assert answer["Location"] == "/privacy/exports/"
    assert RememberedWord.objects.get().verdict == "leave"
    assert "Being made" in _text(
        shared_world.page("compliance").get("/privacy/exports/")
    )


def test_a_kind_is_covered_at_once(shared_world: World, bundle: Export) -> None:
    _post(shared_world, bundle, decide="cover", kind="name")
    assert review.waiting(Export.objects.get(pk=bundle.pk)) == 0


def test_a_sure_word_needs_a_reason_that_is_kept_on_the_page(
    shared_world: World, bundle: Export
) -> None:
    word = bundle.words.get(surely=True)
    query = "?sure=1"
    answer = _post(shared_world, bundle, query=query, decide="leave", word=word.pk)
    assert answer.status_code == 422
    assert "needs a reason" in _text(answer)
    answer = _post(
        shared_world, bundle, query=query, decide="leave", word=word.pk, reason="Hers"
    )
    assert answer["Location"].endswith("/words/?sure=1")
    assert bundle.words.get(pk=word.pk).verdict == "leave"


@pytest.mark.parametrize(
    "body", [{}, {"decide": "cover"}, {"decide": "burn-all"}, {"decide": "cover",
    "word": "x"}, {"decide": "cover", "word": "999999"}]
)  # fmt: skip
def test_what_is_no_decision_is_said_on_the_page(
    shared_world: World, bundle: Export, body: dict[str, str]
) -> None:
    answer = _post(shared_world, bundle, **body)
    assert answer.status_code == 422
    assert 'role="alert"' in _text(answer)


def test_a_decided_bundle_leads_back(shared_world: World, bundle: Export) -> None:
    _post(shared_world, bundle, decide="cover-all")
    for answer in (
        _page(shared_world, bundle),
        _post(shared_world, bundle, decide="cover-all"),
    ):
        assert (answer.status_code, answer["Location"]) == (302, "/privacy/exports/")


def test_the_lists_and_home_lead_to_the_page(
    shared_world: World, bundle: Export
) -> None:
    address = f"/privacy/exports/{bundle.pk}/words/"
    assert address in _text(shared_world.page("compliance").get("/privacy/exports/"))
    assert address in _text(shared_world.page("compliance").get("/"))
    assert address not in _text(shared_world.page("viewer").get("/"))


def test_the_case_says_what_it_waits_for(shared_world: World) -> None:
    world = shared_world
    world.entry(f"{erasing.NAME} met Ingrid")
    case = erasing.opened(world, erasing.maria(world), CaseKind.ACCESS)
    identity.verify(case, "Passport", by=world.actor("compliance"))
    erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    row = Export.objects.get()
    page = _text(world.page("compliance").get(f"/privacy/cases/{case.pk}/"))
    assert "Access: waits for your decision on 1 word" in page
    assert f"/privacy/exports/{row.pk}/words/" in page
    assert "Nothing is needed from you" not in page
    answer = _post(world, row, decide="cover-all")
    assert answer["Location"] == f"/privacy/cases/{case.pk}/"
