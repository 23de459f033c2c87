"""What a check stored in English is shown in the reader's language."""

from __future__ import annotations

import pytest
from django.utils import translation

from episodic.models import RecallCheck, RecallCheckRun
from episodic.recall import findings, ranking
from tests.world import World

TEXTS = {
    "It was erased.": "Er wurde gelöscht.",
    "It is rank 2 of 40: one place below the cut.": (
        "Der Eintrag hat Rang 2 von 40: einen Platz unter dem Schnitt."
    ),
    "It is rank 12 of 40: 2 places below the cut. Against hit 10 it is ahead by its"
    " words and its meaning (cosine 0.62) and behind by the words around it.": (
        "Der Eintrag hat Rang 12 von 40: 2 Plätze unter dem Schnitt. Gegenüber"
        " Treffer 10 liegt er vorn durch seine Wörter und seine Bedeutung"
        " (Kosinus 0,62) und zurück durch die Wörter um ihn herum."
    ),
    "It cannot be in the answer: outside the scope own.": (
        "Der Eintrag kann nicht in der Antwort stehen: außerhalb des Bereichs own."
    ),
    "It cannot be in the answer: it is older than since, it was erased.": (
        "Der Eintrag kann nicht in der Antwort stehen: er ist älter als „Seit“,"
        " er wurde gelöscht."
    ),
    "It cannot be in the answer: exec.command is not embedded unless refs.episodic is"
    " true.": (
        "Der Eintrag kann nicht in der Antwort stehen: exec.command wird nur"
        " eingebettet, wenn refs.episodic true ist."
    ),
    "No ranking put it on the list: pending for 12 s, tried 3 times: timeout: The"
    " embedder did not answer in time..": (
        "Keine Rangliste hat den Eintrag aufgenommen: Status pending seit 12 s,"
        " 3-mal versucht: timeout: Das Einbettungsmodell hat nicht rechtzeitig"
        " geantwortet.."
    ),
    "No ranking put it on the list: rank 61 of 70 by cosine × importance, cosine"
    " 0.621, importance 0.90; the ranking ends at 50.": (
        "Keine Rangliste hat den Eintrag aufgenommen: Rang 61 von 70 nach Kosinus ×"
        " Wichtigkeit, Kosinus 0,621, Wichtigkeit 0,90; die Rangliste endet bei 50."
    ),
    # Its words are those of the question, whatever they mean.
    "No ranking put it on the list: error, file; side by side as in the question:"
    " “error file” found, but below rank 50 or filtered; “last week” is a time, and"
    " not searched as words.": (
        "Keine Rangliste hat den Eintrag aufgenommen: error, file; nebeneinander wie"
        " in der Frage: „error file“ gefunden, aber unter Rang 50 oder ausgefiltert;"
        " „last week“ ist eine Zeit und wird nicht als Wörter gesucht."
    ),
    "No ranking put it on the list: error found, but below rank 50 or filtered.": (
        "Keine Rangliste hat den Eintrag aufgenommen: error gefunden, aber unter Rang"
        " 50 oder ausgefiltert."
    ),
    "It was in a box. Nobody knows why.": "It was in a box. Nobody knows why.",
    "": "",
}


@pytest.mark.parametrize("stored", TEXTS)
def test_a_stored_finding_is_read_in_german(stored: str) -> None:
    with translation.override("de"):
        assert findings.in_words(stored) == TEXTS[stored]


@pytest.mark.parametrize("stored", TEXTS)
def test_a_stored_finding_is_the_same_in_english(stored: str) -> None:
    assert findings.in_words(stored) == stored


def page(world: World) -> str:
    headers = {"Accept-Language": "de"}
    response = world.page("operator").get("/recall/checks/", headers=headers)
    return str(response.content.decode())


def test_the_page_of_the_checks_shows_them_in_german(world: World) -> None:
    row = world.entry("A tent", entry_type="exec.command")
    data = {"query": "zeppelin", "name": "tents", "more": row.id}
    world.page("operator").post("/recall/checks/save/", data)
    stored = RecallCheckRun.objects.get().missing[0]["finding"]
    text = page(world)
    assert "Der Eintrag kann nicht in der Antwort stehen: exec.command wird" in text
    assert stored not in text
    check = RecallCheck.objects.get()
    note = ranking._UNAVAILABLE.format(reason="timeout")
    RecallCheckRun.objects.create(
        workspace_id=check.workspace_id, recall_check=check, result="refused", note=note
    )
    text = page(world)
    assert "Rangliste nach Bedeutung nicht verfügbar (timeout): nur Wörter" in text
