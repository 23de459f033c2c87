"""Holders of tables: find, erase, redact and verify."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.http import QueryDict

from episodic.consolidation import run as consolidation
from episodic.index import engine
from episodic.models import (
    AcceptedCause,
    ConsolidationProposal,
    HealthSnapshot,
    RecallCheck,
)
from episodic.recall import checks
from episodic.recall.request import Request
from episodic.summarisers.base import Rule
from gdpr.data_map import registry, row_text
from gdpr.data_map.base import Fate
from gdpr.models import AliasKind, Via
from memory import records, webhooks
from memory.journal import append as journal
from memory.journal import verify
from memory.models import (
    ArchivedEntry,
    IdempotencyRecord,
    JournalEntry,
    Record,
    SavedView,
    SubjectMention,
    Webhook,
    WebhookDelivery,
)
from memory.records.drafts import Draft
from memory.rules.entries import NewEntry, Priority
from memory.rules.permissions import system
from tests import factories
from tests.gdpr import kit
from tests.world import World

ANNA, BERT = kit.ANNA["name"], kit.BERT["name"]


# ── The journal ──────────────────────────────────────────────────────────────
def test_an_entry_about_one_goes_and_one_about_two_is_masked(world: World) -> None:
    anna, _bert = kit.subject(world), kit.subject(world, kit.BERT)
    own_row = world.entry(f"{ANNA} wants a refund")
    shared_row = world.entry(f"{ANNA.upper()} and {BERT} share an order")
    neutral = world.entry("Nothing to see")

    plan = kit.erase("journal", anna)

    assert plan == {own_row.id: Fate.DELETE, shared_row.id: Fate.REDACT}
    own_row.refresh_from_db()
    shared_row.refresh_from_db()
    neutral.refresh_from_db()
    assert (own_row.summary, own_row.payload_text) == ("", "{}")
    assert shared_row.summary == f"[erased] and {BERT} share an order"
    assert neutral.summary == "Nothing to see"
    assert verify.verify(world.acme.id, by=world.system()).ok
    assert kit.traces(anna, "journal", "word_index") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"payload": {"who": ANNA}},
        {"payload": {"deep": [{"x": ["Anna", "Kowalczyk"]}]}},
        {"payload": {ANNA: 1}},
        {"payload": {"tab": f"a\t{ANNA}\nb"}},
        {"payload": {"phone": 491512345678}},
        {"refs": {"user": kit.ANNA["email"]}},
        {"mission_id": kit.ANNA["email"]},
        {"trace_id": kit.ANNA["email"]},
        {"span_id": kit.ANNA["email"]},
        {"subjects": (kit.ANNA["email"],)},
    ],
)
def test_every_field_of_an_entry_is_searched_and_masked(
    world: World, fields: dict[str, Any]
) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    row = world.entry(f"{BERT} called", **fields)
    assert kit.fates("journal", anna) == {row.id: Fate.REDACT}
    assert kit.traces(anna, "journal")
    kit.erase("journal", anna)
    row.refresh_from_db()
    assert row.summary == f"{BERT} called"
    assert kit.traces(anna, "journal", "word_index") == []
    assert verify.verify(world.acme.id, by=world.system()).ok


def test_a_linked_entry_goes_though_its_text_names_nobody(world: World) -> None:
    anna = kit.subject(world)
    row = world.entry("The caller from this morning")
    kit.link(anna, "journal", row.id)
    assert kit.traces(anna, "journal") == ["journal linked entry"]
    assert kit.erase("journal", anna) == {row.id: Fate.DELETE}
    assert kit.traces(anna, "journal") == []


def test_an_entry_that_somebody_else_is_linked_to_is_masked(world: World) -> None:
    anna, bert = kit.subject(world), kit.subject(world, kit.BERT)
    row = world.entry(f"{ANNA} and the other caller")
    kit.link(bert, "journal", row.id)
    kit.link(anna, "journal", row.id, Via.MATCHED)
    assert kit.erase("journal", anna) == {row.id: Fate.REDACT}


def test_an_entry_that_mentions_a_stranger_is_masked(world: World) -> None:
    anna = kit.subject(world)
    row = world.entry("Two callers", subjects=(ANNA, "somebody@else.example"))
    assert kit.erase("journal", anna) == {row.id: Fate.REDACT}
    remaining = SubjectMention.objects.filter(entry=row).values_list("alias", flat=True)
    assert list(remaining) == ["somebody@else.example"]


def test_the_witness_of_a_priority_is_masked_and_the_chain_holds(world: World) -> None:
    anna = kit.subject(world)
    row = world.entry("Refund denied")
    by = world.actor("operator")
    journal.prioritise(row, Priority.PIN, f"{ANNA} asked for it", by=by)
    plan = kit.erase("journal", anna)
    assert list(plan.values()) == [Fate.REDACT]
    kit.erase("priorities", anna)
    assert kit.traces(anna, "journal", "priorities") == []
    assert verify.verify(world.acme.id, by=world.system()).ok


def test_another_workspace_is_never_touched(world: World) -> None:
    anna = kit.subject(world)
    other_entry = world.entry(f"{ANNA} wants a refund", by="olga")
    kit.erase_all(anna)
    other_entry.refresh_from_db()
    assert other_entry.summary == f"{ANNA} wants a refund"


def test_doing_it_again_finds_nothing_new(world: World) -> None:
    anna = kit.subject(world)
    world.entry(f"{ANNA} wants a refund")
    kit.erase_all(anna)
    second = kit.erase_all(anna)
    assert not any(Fate.DELETE in plan.values() for plan in second.values())


def test_many_entries_are_found_over_many_chunks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_text, "CHUNK", 3)
    anna = kit.subject(world)
    names = [f"{ANNA} {n}" if n % 2 else f"Nobody {n}" for n in range(20)]
    rows = factories.append_many(world.actor("ada"), names)
    expected = {row.id for n, row in enumerate(rows) if n % 2}
    assert set(kit.fates("journal", anna)) == expected


def test_an_export_has_bodies_and_masks_others(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    world.entry(f"{ANNA} and {BERT}", payload={"note": f"{BERT} paid"})
    holder, person = registry.by_name("journal"), registry.person(anna)
    (exported,) = holder.export(person, holder.find(person))
    assert exported["summary"] == f"{ANNA} and [someone else]"
    assert exported["payload"] == {"note": "[someone else] paid"}


def test_tokens_are_the_long_words_of_what_goes(world: World) -> None:
    anna = kit.subject(world)
    row = world.entry(f"{ANNA} wants a Rückerstattung", payload={"x": "umbrellas"})
    holder, person = registry.by_name("journal"), registry.person(anna)
    tokens = set(holder.tokens(person, [row.id]))
    assert tokens == {b"kowalczyk", "rückerstattung".encode(), b"umbrellas"}


# ── Derived from the journal ─────────────────────────────────────────────────
def test_vectors_edges_and_matrices_go_with_their_entry(world: World) -> None:
    anna = kit.subject(world)
    rows = [world.indexed(f"{ANNA} wants a refund {n}") for n in range(2)]
    for row in rows:
        kit.link(anna, "journal", row.id, Via.MATCHED)
    assert set(kit.fates("vectors", anna)) == {row.id for row in rows}
    assert kit.matches_in("relations", anna)
    registry.by_name("vectors").verify(registry.person(anna))
    kit.erase("journal", anna)
    assert kit.traces(anna, "vectors", "relations", "word_index") == []


def test_a_vector_that_stayed_is_a_trace(world: World) -> None:
    anna = kit.subject(world)
    row = world.indexed(f"{ANNA} wants a refund")
    # As if the index had not followed the erasure.
    JournalEntry.objects.filter(pk=row.pk).update(erased_at=factories.ago())
    assert "vectors vector" in kit.traces(anna, "vectors")


def test_questions_kept_in_memory_are_forgotten(world: World) -> None:
    anna = kit.subject(world)
    engine.embedder().embed_query(f"What did {ANNA} order?")
    engine.embedder().embed_query("What do others order?")
    assert kit.traces(anna, "caches") == ["caches question"]
    kit.erase("caches", anna)
    assert kit.traces(anna, "caches") == []
    assert engine.embedder().counts().size == 1


# ── Archive ──────────────────────────────────────────────────────────────────
def _archived(world: World, entry_id: str, **fields: Any) -> ArchivedEntry:
    values = {
        "id": entry_id,
        "workspace": world.acme,
        "seq": 1_000_000 + ArchivedEntry.objects.count(),
        "ts": factories.ago(90),
        "recorded_at": factories.ago(90),
        "entry_type": "llm.call",
        "severity": "info",
        "priority": "normal",
        "actor_type": "agent",
        "actor_id": world.agents["ada"].id,
        "summary": "A call",
        "payload_text": "{}",
        "original_size_bytes": 10,
        "commitment": "0" * 64,
        "entry_hash": "0" * 64,
    }
    return ArchivedEntry.objects.create(**{**values, **fields})


def test_archived_entries_keep_their_place_and_lose_their_words(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    payload = json.dumps({"asked": f"{ANNA} and {BERT}"})
    own_row = _archived(world, "j_1", summary=f"{ANNA} called")
    shared_row = _archived(world, "j_2", payload_text=payload)
    folded = _archived(world, "j_3", subjects="\nanna.k@example.com\n")
    linked = _archived(world, "j_4")
    kit.link(anna, "journal", linked.id)

    plan = kit.erase("archive", anna)

    assert plan == {
        own_row.id: Fate.DELETE,
        shared_row.id: Fate.REDACT,
        folded.id: Fate.DELETE,
        linked.id: Fate.DELETE,
    }
    shared_row.refresh_from_db()
    assert shared_row.payload == {"asked": f"[erased] and {BERT}"}
    assert ArchivedEntry.objects.filter(summary="", subjects="").count() == 3
    assert kit.traces(anna, "archive") == []


# ── Records and what was made from entries ───────────────────────────────────
def _record(world: World, content: str, **fields: Any) -> Record:
    by = world.actor("ada")
    draft = Draft(content=content, owner=records.owner_for(by), **fields)
    return records.save(draft, provenance="test", by=by).record


def test_a_record_goes_or_is_masked_with_its_sums(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    own_row = _record(world, f"{ANNA} likes tea")
    shared_row = _record(
        world, f"{ANNA} and {BERT} like tea", metadata={"by": kit.ANNA["email"]}
    )
    before = Record.objects.get(pk=shared_row.pk)

    assert kit.erase("records", anna) == {
        own_row.id: Fate.DELETE,
        shared_row.id: Fate.REDACT,
    }

    remaining = Record.objects.get(pk=shared_row.pk)
    assert remaining.content == f"[erased] and {BERT} like tea"
    assert remaining.metadata == {"by": "[erased]"}
    assert remaining.sha256 != before.sha256
    assert not Record.objects.filter(pk=own_row.pk).exists()
    kit.erase("journal", anna)
    assert kit.traces(anna, "records", "journal") == []


def test_a_record_remembered_for_a_person_is_theirs(world: World) -> None:
    anna = kit.subject(world)
    by = world.actor("ada")
    linked = _record(world, "Likes tea", subjects=(ANNA,))
    entry_id = str(linked.current_entry_id)
    kit.link(anna, "journal", entry_id)
    assert kit.erase("records", anna) == {linked.id: Fate.DELETE}
    assert records.find("tea", owner=records.owner_for(by), by=by) == []


def test_an_answer_kept_for_a_repeat_goes_with_its_entry(world: World) -> None:
    anna = kit.subject(world)
    body = {"entry_type": "peer.escalation", "summary": f"{ANNA} called"}
    reply = world.api("ada").post("/journal", body, headers={"Idempotency-Key": "k1"})
    assert reply.status == 201
    assert len(kit.fates("idempotency", anna)) == 1
    kit.erase("idempotency", anna)
    assert not IdempotencyRecord.objects.filter(workspace=world.acme).exists()


def test_a_message_to_a_webhook_goes_or_is_masked(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    hook = Webhook.objects.create(
        workspace=world.acme,
        url="https://hooks.example/1",
        events=["memory.health_band_changed"],
        created_by=kit.ANNA["email"],
    )
    bodies = (f"{ANNA} is red", f"{ANNA} and {BERT} are red")
    for summary in bodies:
        new = NewEntry(entry_type="memory.health_band_changed", summary=summary)
        (entry,) = journal.write([new], by=system(world.acme.id))
        webhooks.queue(entry)
    plan = kit.erase("deliveries", anna)
    assert sorted(plan.values()) == [Fate.DELETE, Fate.REDACT]
    (remaining,) = WebhookDelivery.objects.filter(webhook=hook)
    assert json.loads(remaining.body)["summary"] == f"[erased] and {BERT} are red"
    kit.erase("webhooks", anna)
    hook.refresh_from_db()
    assert (hook.created_by, hook.active) == ("[erased]", True)


def test_a_saved_view_goes_or_is_masked_inside_its_address(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    kit.alias(anna, "will", AliasKind.HANDLE)
    queries = (
        "q=Anna+Kowalczyk",
        "subject=will",
        "q=Anna+Kowalczyk+and+Bertram+Ohlsen&state=held&state=released",
        "q=will+it+ship",
    )
    for number, query in enumerate(queries):
        SavedView.objects.create(
            workspace=world.acme,
            user=world.people["operator"],
            page="journal",
            name=f"View {number}",
            query=query,
        )
    exported = registry.by_name("filters").export(
        registry.person(anna), kit.matches_in("filters", anna).values()
    )
    assert "Bertram" not in str(list(exported))
    plan = kit.erase("filters", anna)
    assert sorted(plan.values()) == [Fate.DELETE, Fate.DELETE, Fate.REDACT]
    rows = SavedView.objects.order_by("name").values_list("query", flat=True)
    masked, other = rows
    assert QueryDict(masked).dict() == {
        "q": "[erased] and Bertram Ohlsen", "state": "released",
    }  # fmt: skip
    assert QueryDict(masked).getlist("state") == ["held", "released"]
    assert other == "q=will+it+ship"
    assert kit.traces(anna, "filters") == []


def test_a_proposal_goes_or_is_masked_and_can_still_be_approved(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    rows = [world.entry(f"Refund {n} denied") for n in range(2)]
    crew, ids = world.crews["support"], tuple(row.id for row in rows)
    proposal = consolidation.propose(
        crew, Rule(f"Ask {ANNA}", "Ask.", 0.8, ids), "test"
    )
    two = consolidation.propose(
        crew, Rule(f"Tell {ANNA} and {BERT}", "Tell.", 0.8, ids), "test"
    )
    assert proposal is not None
    assert two is not None
    assert kit.erase("proposals", anna) == {
        proposal.id: Fate.DELETE,
        two.id: Fate.REDACT,
    }
    remaining = ConsolidationProposal.objects.get(crew=crew)
    assert remaining.pattern == f"Tell [erased] and {BERT}"
    path = f"/proposals/{remaining.id}/approve"
    assert (
        world.api("operator").post(path, {"version": remaining.version}).status == 200
    )
    assert kit.traces(anna, "proposals", "files") == []


def test_recall_checks_go_with_their_runs(world: World) -> None:
    anna = kit.subject(world)
    row, by = world.indexed("Refund denied"), world.actor("operator")
    check = checks.save("Anna", Request(query=f"What did {ANNA} say"), [row.id], by=by)
    assert kit.erase("recall_checks", anna) == {check.id: Fate.DELETE}
    assert not RecallCheck.objects.filter(pk=check.pk).exists()


def test_details_of_a_measurement_are_masked_and_numbers_stay(world: World) -> None:
    anna = kit.subject(world)
    row = HealthSnapshot.objects.create(
        workspace=world.acme,
        date=factories.ago().date(),
        computed_at=factories.ago(),
        score=80.0,
        details={"causes": [f"{ANNA} is stale", 7]},
    )
    assert kit.erase("health", anna) == {row.id: Fate.REDACT}
    row.refresh_from_db()
    assert (row.score, row.details) == (80.0, {"causes": ["[erased] is stale", 7]})


def test_the_reason_of_an_accepted_cause_goes(world: World) -> None:
    anna = kit.subject(world)
    row = AcceptedCause.objects.create(
        workspace=world.acme,
        metric="freshness",
        key="agent:x",
        reason=f"{ANNA} is on leave",
        accepted_by="x",
        accepted_at=factories.ago(),
        until=factories.ago(-1),
    )
    plan = kit.erase("health", anna)
    assert plan == {f"acceptedcause:{row.id}": Fate.DELETE}
    assert not AcceptedCause.objects.filter(pk=row.pk).exists()


# ── People who sign in ───────────────────────────────────────────────────────
def test_a_login_is_kept_with_a_reason_and_its_sessions_go(world: World) -> None:
    operator = world.people["operator"]
    subject = kit.subject(world, {"email": operator.email, "user_id": operator.id})
    world.page("operator")  # signs in
    plan = kit.erase_all(subject)
    assert set(plan["logins"].values()) == {Fate.KEEP}
    assert list(plan["sessions"].values()) == [Fate.DELETE]
    assert kit.traces(subject, "sessions", "logins") == []
    person = registry.person(subject)
    staying = {name.kind for name in registry.kept_names(person)}
    assert "email" in staying


def test_sessions_of_another_workspaces_people_are_not_looked_at(world: World) -> None:
    stranger = world.people["stranger"]
    subject = kit.subject(world, {"email": stranger.email, "user_id": stranger.id})
    world.page("stranger")
    store = SessionStore()
    store["note"] = stranger.email
    store.create()
    assert len(kit.fates("sessions", subject)) == 1  # nobody's
    assert kit.fates("logins", subject) == {}


def test_an_agent_with_a_persons_name_keeps_its_slug(world: World) -> None:
    subject = kit.subject(world, {"name": "Ada"})
    ada = world.agents["ada"]
    ada.name = "Ada's helper"
    ada.save()
    plan = kit.erase("tenancy", subject)
    ada.refresh_from_db()
    assert plan == {f"agent:{ada.id}": Fate.REDACT}
    assert (ada.name, ada.slug) == ("[erased]'s helper", "ada")
    assert kit.fates("tenancy", subject) == {f"agent:{ada.id}": Fate.KEEP}
    assert [name.value for name in registry.kept_names(registry.person(subject))] == [
        "Ada"
    ]


def test_the_one_who_acted_stays_in_the_audit_trail(world: World) -> None:
    operator = world.people["operator"]
    subject = kit.subject(world, {"user_id": operator.id})
    journal.prioritise(world.entry(), Priority.PIN, "watch", by=world.actor("operator"))
    assert kit.fates("journal", subject)["actor"] is Fate.KEEP
    kit.erase_all(subject)
    assert kit.fates("journal", subject) == {"actor": Fate.KEEP}
    assert JournalEntry.objects.filter(actor_id=operator.id).exists()


# ── Logs ─────────────────────────────────────────────────────────────────────
def test_we_write_no_log_file(world: World) -> None:
    subject = kit.subject(world)
    assert kit.traces(subject, "logs") == []
    kinds = {h["class"] for h in settings.LOGGING["handlers"].values()}
    assert kinds == {"logging.StreamHandler"}
