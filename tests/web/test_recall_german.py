"""Recall, the map and an entry's life in German: words here, numbers for scripts."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from episodic.index import sweep
from episodic.map import compute
from episodic.models import (
    Embedding,
    LoggedQuestion,
    RecallCheck,
    RecallCheckRun,
    State,
)
from episodic.recall import ranking
from tests.episodic.test_questions import logged
from tests.world import World

UNAVAILABLE = "dense ranking unavailable (timeout): words only"


def german(world: World, path: str, person: str = "operator", **query: str) -> str:
    browser = world.page(person)
    response = browser.get(path, query, headers={"Accept-Language": "de"})
    return str(response.content.decode())


def test_why_an_entry_is_where_it_is(world: World) -> None:
    row = world.indexed("Refund of the tent denied")
    query = {"query": "last week refund tent", "entry_id": row.id}
    text = german(world, "/recall/", **query)
    assert "Der Eintrag steht in der Antwort, auf Rang 1." in text
    assert re.search(r"Gewicht 0,\d\d durch Typ und Schweregrad", text)
    assert "peer.escalation wird immer eingebettet" in text
    assert "Bevorzugt den Zeitraum" in text
    # What goes to a model and to a shell is as it always is.
    assert "&quot;query&quot;: &quot;last week refund tent&quot;" in text
    block = text.partition('id="block"')[2].partition("</pre>")[0]
    assert "Refund of the tent denied" in block
    assert "Eintrag" not in block


def test_the_same_question_by_key_is_answered_in_english(world: World) -> None:
    row = world.indexed("Refund denied")
    ada = world.api("ada", **{"Accept-Language": "de"})
    reply = ada.post("/episodic/why", {"query": "refund", "entry_id": row.id})
    assert "It is in the answer, at rank 1." in reply.data["finding"]


def test_what_a_check_found_is_kept_in_english(world: World) -> None:
    row = world.entry("A tent", entry_type="exec.command")
    browser = world.page("operator")
    data = {"query": "zeppelin", "name": "tents", "more": row.id}
    headers = {"Accept-Language": "de"}
    browser.post("/recall/checks/save/", data, headers=headers)
    check = RecallCheck.objects.get()
    browser.post(f"/recall/checks/{check.id}/run/", headers=headers)
    findings = [run.missing[0]["finding"] for run in RecallCheckRun.objects.all()]
    assert findings
    assert all("It cannot be in the answer" in finding for finding in findings)


def test_why_an_answer_had_no_dense_ranking_is_stored_in_english(world: World) -> None:
    logged(world, degraded=UNAVAILABLE)
    text = german(world, "/recall/questions/", show="degraded")
    assert "Rangliste nach Bedeutung nicht verfügbar (timeout): nur Wörter" in text
    assert LoggedQuestion.objects.get().degraded == UNAVAILABLE
    with translation.override("de"):
        assert ranking.degraded_text("another reason") == "another reason"
        assert ranking.degraded_text(None) == ""


def test_an_error_of_the_embedder_is_stored_in_english(world: World) -> None:
    row = world.entry("Refund denied")
    stored = "timeout: The embedder did not answer in time."
    sweep.sweep()
    rows = Embedding.objects.filter(pk=row.id)
    rows.update(state=State.FAILED, attempts=5, indexed_at=None, last_error=stored)
    words = "timeout: Das Einbettungsmodell hat nicht rechtzeitig geantwortet."
    assert words in german(world, "/recall/index/")
    assert words in german(world, f"/recall/entries/{row.id}/")
    assert rows.get().last_error == stored


def test_numbers_of_drawings_keep_their_point(world: World) -> None:
    rows = [world.indexed(f"Refund {word}") for word in ("denied", "paid", "late")]
    sweep.sweep()
    compute.compute(world.acme.id)
    pages = {
        "/recall/": {"query": "refund"},
        f"/recall/entries/{rows[0].id}/": {},
        "/map/": {"query": "refund"},
    }
    for path, query in pages.items():
        text = german(world, path, **query)
        numbers = re.findall(r' (?:[xyr]|c[xy]|d|width|height|viewBox)="([^"]+)"', text)
        assert numbers
        assert not [number for number in numbers if "," in number], path
    points = world.page("viewer").get("/map/points/", headers={"Accept-Language": "de"})
    assert all(isinstance(x, int) for x in points.json()["x"])


@pytest.mark.parametrize("min_score", ["0.2", "0,2"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_a_decimal_sign_is_a_point_or_a_comma(
    world: World, min_score: str, language: str
) -> None:
    world.indexed()
    response = world.page("operator").get(
        "/recall/",
        {"query": "refund", "min_score": min_score},
        headers={"Accept-Language": language},
    )
    assert response.status_code == 200
    assert f'value="{min_score}"' in response.content.decode()
