"""States, faults and results in German: said once, whole, and not to everybody."""

from __future__ import annotations

from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from episodic.consolidation import bulk as proposals_bulk
from episodic.health import index_job
from episodic.index import sweep
from episodic.map import compute
from episodic.models import Embedding, State
from gdpr.cases import state_machine, transitions
from gdpr.models import CaseState
from gdpr.subjects import profile
from memory import scanner
from memory.accounts import members_bulk
from memory.models import Membership
from memory.review import rescan
from memory.rules import errors
from memory.rules.bulk import Pick
from tests.gdpr import requests as make
from tests.memory.files import kit
from tests.web.test_proposals import proposed
from tests.world import World

GERMAN = {"Accept-Language": "de"}
STORED = "timeout: The embedder did not answer in time."
READ = "timeout: Das Einbettungsmodell hat nicht rechtzeitig geantwortet."


def test_the_state_of_a_case_within_a_german_sentence(world: World) -> None:
    case = make.opened(world)
    case.state, case.closed_at = CaseState.VERIFYING, timezone.now()
    with translation.override("de"), pytest.raises(errors.Conflict) as refusal:
        transitions.target_state(case, state_machine.Verb.APPROVE)
    assert "„in Prüfung“" in refusal.value.detail
    case.save()
    by = world.actor("compliance")
    assert case.subject is not None
    with translation.override("de"):
        texts = {m.text for m in profile.of(case.subject.pk, by=by).timeline}
    assert "Löschung: in Prüfung" in texts
    texts = {m.text for m in profile.of(case.subject.pk, by=by).timeline}
    assert "Erasure verifying" in texts


def test_why_an_embedding_failed_is_read_in_german(world: World) -> None:
    row = world.entry("Refund denied")
    sweep.sweep()
    rows = Embedding.objects.filter(pk=row.id)
    rows.update(state=State.FAILED, attempts=5, indexed_at=None, last_error=STORED)
    page = world.page("operator").get(
        reverse("memory:entry", args=[row.id]), headers=GERMAN
    )
    assert READ in page.content.decode()
    with translation.override("de"):
        (line,) = index_job.lines(world.acme.id, [{"id": row.id}])
    assert line.why == READ
    reply = world.api("operator").get(f"/journal/{row.id}")
    assert reply.data["embedding"]["last_error"] == STORED


def test_why_the_map_was_not_computed_is_read_in_german(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_workspace_id: str) -> int:
        raise errors.NotFound

    monkeypatch.setattr(compute, "compute", fail)
    client = world.page("operator")
    page = client.post("/map/compute/", headers=GERMAN, follow=True)
    text = unescape(page.content.decode())
    with translation.override("de"):
        sentence = translation.gettext(errors.NotFound.sentence)
    assert sentence in text
    assert errors.NotFound.sentence not in text


def test_a_replay_counts_by_kind_whatever_the_language(world: World) -> None:
    kit.write(world, "Good text.")
    with translation.override("de"):
        replay = rescan.replay(world.actor("operator"), {})
    kinds = {tally.kind for tally in replay.tallies}
    assert kinds == {"memory file", "journal summary"}
    rule = next(iter(scanner.scan(kit.POISON).findings)).rule
    page = world.page("operator").get(
        f"/quarantine/rules/{rule}/", {"mode": "off"}, headers=GERMAN
    )
    assert '<th scope="row">Gedächtnisdatei</th>' in page.content.decode()


def test_results_of_many_are_translated_where_they_are_shown(world: World) -> None:
    member = Membership.objects.get(user=world.people["viewer"])
    row, by = proposed(world), world.actor("operator")
    with translation.override("de"):
        picks = [Pick(str(member.pk), "viewer")]
        (change,) = members_bulk.change_role(world.actor("owner"), picks, "operator")
        picks = [Pick(str(member.pk), "operator")]
        (removal,) = members_bulk.remove(world.actor("owner"), picks)
        picks = [Pick(str(row.pk), str(row.version))]
        (rejection,) = proposals_bulk.reject(by, picks, reason="Nein")
    assert (change.state, removal.state) == ("operator", "removed")
    assert rejection.state == "rejected"
