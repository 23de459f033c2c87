"""The home page, the workspace switch and the navigation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from episodic.embedders import base
from episodic.embedders.hashing import HashingEmbedder
from episodic.embedders.none import NoEmbedder
from episodic.health import overview
from episodic.index import engine
from episodic.index import status as index_status
from episodic.index import sweep as index
from memory import overview as workspace_overview
from memory.accounts import workspaces
from memory.models import JournalEntry
from memory.rules.entries import Severity
from memory.rules.permissions import Role, system
from tests.world import World

HTMX = {"HX-Request": "true"}


class Broken:
    """An embedder that is configured and never answers."""

    name = "ollama"
    model = "nomic"
    dim = None

    def embed_documents(self, _texts: object) -> base.Vectors:
        raise base.Unreachable("Nobody answers.")

    def embed_query(self, _text: str) -> base.Vectors:
        raise base.Unreachable("Nobody answers.")


def _text(response: object) -> str:
    return response.content.decode()  # type: ignore[attr-defined,no-any-return]


# ── The finding ──────────────────────────────────────────────────────────────
def _status(**counts: float) -> index_status.Status:
    status: dict[str, object] = {
        "embeddable": 0, "indexed": 0, "pending": 0, "failed": 0,
        "model": "m", "dim": 3, "oldest_pending_seconds": None,
    }  # fmt: skip
    return index_status.Status(**(status | counts))  # type: ignore[arg-type]


ANSWERS = base.Status(base.State.ANSWERING)
FAILS = base.Status(base.State.FAILING, base.Reason.TIMEOUT)


@pytest.mark.parametrize(
    ("counts", "embedder_status", "name", "finding"),
    [
        ({}, ANSWERS, "none",
         "Recall is by words alone: no embedder is configured"),
        ({"embeddable": 9, "pending": 9}, FAILS, "ollama",
         "The embedder does not answer: recall is by words alone"),
        ({"embeddable": 9, "failed": 1}, ANSWERS, "local:minilm",
         "1 entry cannot be recalled by meaning"),
        ({"embeddable": 20, "pending": 14, "oldest_pending_seconds": 190}, ANSWERS,
         "local:minilm", "14 entries wait for a vector; the oldest for 3 minutes"),
        ({"embeddable": 1, "pending": 1, "oldest_pending_seconds": 0.4}, ANSWERS,
         "local:minilm", "1 entry waits for a vector"),
        ({"embeddable": 2, "pending": 2, "oldest_pending_seconds": 90_000.0}, ANSWERS,
         "local:minilm", "2 entries wait for a vector; the oldest for 1 day"),
        ({}, ANSWERS, "local:minilm", "No memory here can be recalled by meaning yet"),
        ({"embeddable": 1, "indexed": 1}, ANSWERS, "local:minilm",
         "The one memory here can be recalled by meaning"),
        ({"embeddable": 1_612, "indexed": 1_612}, base.Status(), "local:minilm",
         "All 1,612 memories can be recalled by meaning"),
    ],
)  # fmt: skip
def test_the_worst_is_said_first(
    counts: dict[str, float], embedder_status: base.Status, name: str, finding: str
) -> None:
    assert overview.finding(_status(**counts), embedder_status, name) == finding


def test_a_broken_embedder_is_work_for_an_operator_and_a_finding_for_others(
    world: World,
) -> None:
    engine.use(Broken())
    world.indexed(entry_type="peer.escalation", severity=Severity.WARN)
    page = _text(world.page("operator").get("/"))
    assert "<h1>The embedder does not answer" in page
    assert "there is no answer at its address" in page
    page = _text(world.page("viewer").get("/"))
    assert "<h1>Nothing waits for you</h1>" in page
    assert "The embedder does not answer</a>" in page


def test_without_an_embedder_nothing_pretends_to_answer(world: World) -> None:
    engine.use(NoEmbedder())
    page = _text(world.page("viewer").get("/"))
    assert "no embedder is configured" in page
    assert "Not configured" in page


def test_the_hashing_embedder_is_called_what_it_is(world: World) -> None:
    engine.use(HashingEmbedder())
    world.indexed(entry_type="peer.escalation")
    card = overview.card(world.actor("owner"))
    assert (card.embedder.colour, card.share) == ("yellow", 100.0)
    assert "not meaning" in card.embedder.note


# ── The page ─────────────────────────────────────────────────────────────────
def test_home_shows_crews_escalations_and_what_was_loud(world: World) -> None:
    entry = world.indexed(
        "Courier lost a parcel", entry_type="peer.escalation", severity=Severity.WARN
    )
    world.entry("Run broke", entry_type="run.failed", severity=Severity.ERROR)
    page = _text(world.page("viewer").get("/"))
    assert "The one memory here can be recalled by meaning" in page
    assert f"/journal/{entry.pk}/" in page
    assert "Courier lost a parcel" in page
    assert "Run broke" in page
    assert "1 error · 0 warnings" in page
    assert "lena, ada" in page or "ada, lena" in page


def test_erased_entries_leave_their_place_to_readable_ones(world: World) -> None:
    for number in range(7):
        world.entry(f"Run {number} broke", entry_type="run.failed",
                    severity=Severity.ERROR)  # fmt: skip
    newest = JournalEntry.objects.filter(entry_type="run.failed").latest("seq")
    JournalEntry.objects.filter(pk=newest.pk).update(erased_at=timezone.now())
    page = _text(world.page("viewer").get("/"))
    assert newest.pk not in page
    assert "Run 0 broke" in page


def test_panels_with_nothing_to_say_are_not_there(world: World) -> None:
    page = _text(world.page("operator").get("/"))
    for heading in ("What waits", "Escalations", "Warnings and errors"):
        assert heading not in page
    assert "No agent has escalated" not in page


def test_hostile_summaries_stay_text(world: World) -> None:
    world.entry(
        "<img src=x onerror=alert(1)>",
        entry_type="peer.escalation",
        severity=Severity.WARN,
    )
    page = _text(world.page("viewer").get("/"))
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def test_other_workspaces_do_not_show(world: World) -> None:
    world.entry("Olga's secret", by="olga", entry_type="run.failed",
                severity=Severity.ERROR)  # fmt: skip
    assert "secret" not in _text(world.page("owner").get("/"))
    assert "secret" in _text(world.page("stranger").get("/"))


def test_the_live_part_comes_alone_and_leaves_the_headline(world: World) -> None:
    response = world.page("viewer").get("/", headers=HTMX)
    page = _text(response)
    assert 'id="machine"' in page
    assert "<h1" not in page
    assert "hx-swap-oob" not in page
    assert "<html" not in page
    assert "HX-Request" in response.headers["Vary"]


def test_panels_of_memory_wait_for_the_first_entry(world: World) -> None:
    page = _text(world.page("viewer").get("/"))
    assert "Connect the first agent" in page
    assert "What each crew wrote" not in page
    world.entry("Refund denied")
    page = _text(world.page("viewer").get("/"))
    assert "Connect the first agent" not in page
    assert "What each crew wrote" in page


def test_home_leads_to_what_waits_for_review(world: World) -> None:
    case = world.held()
    page = _text(world.page("operator").get("/"))
    assert "1 text is held</h1>" in page
    assert f"/quarantine/{case.pk}/" in page
    viewed = JournalEntry.objects.filter(entry_type="memory.held_viewed")
    assert not viewed.exists()
    assert f"/quarantine/{case.pk}/" not in _text(world.page("viewer").get("/"))


def test_home_asks_the_same_number_of_questions_for_many_crews(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        crew, _ = workspaces.ensure_crew(f"crew-{number}", by=world.actor("owner"))
        workspaces.ensure_agent(f"agent-{number}", crew, by=world.actor("owner"))
    client = world.page("viewer")
    with django_assert_max_num_queries(32):
        assert client.get("/").status_code == 200


def test_the_week_is_seven_spans_that_end_now(world: World) -> None:
    def week() -> tuple[int, ...]:
        crews = workspace_overview.activity(world.actor("owner")).crews
        assert [crew.slug for crew in crews] == ["billing", "support", "no crew"]
        return crews[1].week

    before, now = week(), timezone.now()
    for back in (0, 1, 30, 30, 160, 200):
        world.entry(ts=now - timedelta(hours=back))
    added = tuple(new - old for new, old in zip(week(), before, strict=True))
    assert added == (1, 0, 0, 0, 0, 2, 2)


# ── Which workspace ──────────────────────────────────────────────────────────
def test_a_member_of_two_workspaces_switches(world: World) -> None:
    owner = world.people["owner"]
    workspaces.set_member(owner, Role.VIEWER, by=system(world.other.id))
    client = world.page("owner")
    assert 'name="workspace"' in _text(client.get("/"))
    answer = client.post("/workspace/choose/", {"workspace": world.other.pk})
    assert answer.headers["Location"] == "/"
    assert "You work in other now, as viewer." in _text(client.get("/"))
    assert client.get("/workspace/keys/").status_code == 403


def test_nobody_switches_to_a_workspace_that_is_not_theirs(world: World) -> None:
    client = world.page("owner")
    answer = client.post("/workspace/choose/", {"workspace": world.other.pk})
    assert answer.status_code == 404
    assert client.get("/workspace/choose/").status_code == 405


def test_somebody_without_a_workspace_reads_why(world: World) -> None:
    world.people["lone"], _ = workspaces.ensure_user("lone@nowhere.example")
    client = world.page("lone")
    page = client.get("/")
    assert page.status_code == 200
    assert "You belong to no workspace yet" in _text(page)
    response = client.get("/workspace/agents/")
    assert response.status_code == 401
    assert "lone@nowhere.example is signed in and belongs to none yet" in _text(
        response
    )
    assert "cmk_" not in _text(response)


def test_nobody_is_sent_to_sign_in(world: World) -> None:
    response = world.page("nobody").get("/")
    assert response.headers["Location"] == "/accounts/login/?next=/"


# ── The frame ────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("user", "sees"), [("owner", True), ("viewer", False)])
def test_the_rail_links_only_to_what_opens(
    world: World, user: str, *, sees: bool
) -> None:
    page = _text(world.page(user).get("/workspace/agents/"))
    assert ('href="/workspace/keys/"' in page) is sees
    assert 'href="/admin/"' not in page
    assert 'action="/accounts/logout/" method="post"' in page


def test_pages_carry_no_inline_script_or_style(world: World) -> None:
    for path in ("/", "/workspace/agents/", "/workspace/keys/", "/workspace/members/"):
        page = _text(world.page("owner").get(path))
        assert " style=" not in page, path
        assert " onclick=" not in page, path
        assert "<script>" not in page, path


def test_an_unknown_address_is_a_page_of_ours(world: World) -> None:
    for user in ("viewer", "nobody"):
        response = world.page(user).get("/journal-of-nobody/")
        assert response.status_code == 404
        assert "There is nothing here under this address" in _text(response)


def test_the_index_state_is_a_word_and_a_colour(world: World) -> None:
    world.entry(entry_type="peer.escalation")
    engine.use(HashingEmbedder())
    card = overview.card(world.actor("viewer"))
    assert (card.colour, card.word) == ("yellow", "Draining")
    engine.use(NoEmbedder())
    assert overview.card(world.actor("viewer")).word == "Stopped"
    engine.use(Broken())
    assert index.sweep().failed == 1
    assert overview.card(world.actor("viewer")).embedder.word == "No answer"
