"""The recall explorer and the index page."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from typing import Any

import pytest

from episodic.embedders.none import NoEmbedder
from episodic.index import engine, reference_counts
from episodic.index import sweep as index
from episodic.models import Embedding, State
from episodic.recall import examples
from tests import factories
from tests.world import World

SWAP = {"HX-Request": "true", "HX-Boosted": "true", "HX-Target": "explorer"}


def ask(world: World, person: str = "viewer", **query: Any) -> tuple[int, str]:
    """Return status and text of the explorer."""
    response = world.page(person).get("/recall/", query)
    return response.status_code, response.content.decode()


def fill(world: World, count: int = 8) -> list[Any]:
    """Append and embed a few entries that share words."""
    names = [f"Refund number {n} without a receipt" for n in range(count)]
    rows = factories.append_many(world.actor("ada"), names)
    index.sweep()
    return rows


# ── Before the first question ────────────────────────────────────────────────
def test_examples_come_from_the_workspace_itself(world: World) -> None:
    world.indexed("Parcel stuck in Lulea: the courier is silent")
    world.indexed("Theirs alone", by="olga")
    _, text = ask(world)
    assert "Parcel stuck in Lulea</bdi>" in text
    assert f"agent_id={world.agents['ada'].id}" in text
    assert "Theirs alone" not in text


def test_without_entries_the_page_says_so(world: World) -> None:
    status, text = ask(world)
    assert status == 200
    assert "No agent has written anything that deserves an embedding." in text


def test_an_example_is_a_question_that_finds_its_entry(world: World) -> None:
    row = world.indexed("Headlamp filter counts lumens, not watts")
    _, text = ask(world)
    link = re.search(r'<li><a href="([^"]+)"', text)
    assert link is not None
    answer = world.page("viewer").get(unescape(link[1])).content.decode()
    assert f"/journal/{row.id}/" in answer


@pytest.mark.parametrize(
    ("summary", "question"),
    [
        ("Short", "Short"),
        ("A clause that is long enough. And more", "A clause that is long enough"),
        ("Too: soon to be cut", "Too: soon to be cut"),
        ("word " * 30, ("word " * 12).strip()),
        ("  spaced \n out ", "spaced out"),
    ],
)
def test_a_question_is_the_first_clause(summary: str, question: str) -> None:
    assert examples._question(summary) == question


# ── The answer ───────────────────────────────────────────────────────────────
def test_an_answer_shows_both_legs_and_the_cut(world: World) -> None:
    fill(world)
    status, text = ask(world, query="refund without a receipt", k="3")
    assert status == 200
    for expected in (
        "All rankings answered",
        "Ranks of the dense ranking",
        "Ranks of the word ranking",
        "Ranks of the context ranking",
        "Answer: all signals added up",
        "by centred cosine",
        "Below K = 3.",
        "left out: a<",
        '<rect class="two"',
    ):
        assert expected in text
    answer = text.split("Answer with the contribution", 1)[1]
    assert answer.split("Below K = 3.")[0].count('class="row"') == 3


def test_the_word_leg_never_shows_a_score(world: World) -> None:
    fill(world, 3)
    _, text = ask(world, query="refund")
    ranking = text.split("Ranks of the word ranking", 1)[1].split("</table>", 1)[0]
    assert re.search(r"\d\.\d", ranking) is None


def test_asking_marks_nothing(world: World) -> None:
    rows = fill(world)
    ask(world, query="refund")
    ask(world, query="refund", entry_id=rows[0].id)
    assert reference_counts.reference_counts.flush() == 0
    assert not Embedding.objects.filter(reference_count__gt=0).exists()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"mode": "dense"}, "Answer: the dense ranking alone"),
        ({"mode": "sparse"}, "Answer: the word ranking alone"),
        ({"fusion": "rrf"}, "Answer: both rankings fused"),
        ({"scope": "own"}, "Answer: all signals added up"),
        (
            {"entry_types": ["peer.escalation", "agent.created"]},
            "Answer: all signals added up",
        ),
        (
            {"since": "2020-01-01", "until": "2100-01-01"},
            "Answer: all signals added up",
        ),
        ({"min_score": "0.99"}, "Answer: all signals added up"),
        ({"walk_depth": "1"}, "Answer: all signals added up"),
        ({"legs": "all"}, "Answer: all signals added up"),
    ],
)
def test_every_way_of_asking_is_answered(
    world: World, query: dict[str, Any], expected: str
) -> None:
    fill(world)
    ada = world.agents["ada"].id
    status, text = ask(world, query="refund", agent_id=ada, **query)
    assert status == 200
    assert expected in text
    assert "What would ada recall?" in text


def _hits(text: str) -> list[str]:
    """Return the sentences of why each hit is there."""
    return re.findall(r'<small class="reason">([^<]*)</small>', text)


def test_each_hit_says_why_it_is_there(world: World) -> None:
    noise = [f"Weather report {n}: rain and wind" for n in range(9)]
    factories.append_many(world.actor("bob"), noise)
    first = world.entry("Deploy failed on the eu cluster", trace_id="t1")
    second = world.entry("It was rolled back by hand", trace_id="t1")
    index.sweep()
    _, text = ask(world, query="deploy failed", k="2")
    assert f"/journal/{first.id}/" in text
    reasons = _hits(text.split("Below K")[0])
    assert reasons[0].startswith("Says deploy and failed, among the nearest in meaning")
    assert reasons[1].startswith("Says no word of the question, ")
    assert "the words stand around it, beside hit 1" in reasons[1]
    context = text.split("Ranks of the context ranking", 1)[1].split("</table>")[0]
    assert f"/journal/{second.id}/" in context
    assert "deploy, failed" in context
    for fusion, reason in (("rrf", "Rank 1 by words (deploy and failed), rank 1"),):
        _, text = ask(world, query="deploy failed", fusion=fusion)
        assert _hits(text)[0].startswith(reason)
        assert "Context ranking" not in text
        assert "by cosine × importance" in text


def test_the_bar_says_its_numbers_and_they_add_up(world: World) -> None:
    fill(world)
    _, text = ask(world, query="refund number 3", k="1")
    line = text.split("Answer with the contribution", 1)[1]
    label = re.search(r'aria-label="(meaning [^"]+)"', line)
    assert label is not None
    numbers = [float(n) for n in re.findall(r"\d\.\d+", label[1])]
    around = numbers.pop(2)
    assert around == pytest.approx(sum(numbers[2:5]), abs=0.002)
    score = re.search(r"<strong>(\d\.\d{4})</strong>", line)
    assert score is not None
    assert sum(numbers) == pytest.approx(float(score[1]), abs=0.005)
    for kind in ("", "two", "three", "four"):
        assert f'<rect class="{kind}" x=' in line


def test_what_the_question_prefers_stands_below_it(world: World) -> None:
    world.indexed("Refund denied", by="lena")
    fill(world, 2)
    _, text = ask(world, query="what did lena decide about the refund last Friday")
    assert re.search(r"Prefers entries of Friday [^.]*\(from “last Friday”\)\.", text)
    assert "Prefers entries of lena." in text
    assert "as the question prefers" in " ".join(_hits(text))
    for plain in ({"query": "refund"}, {"query": "refund by lena", "fusion": "rrf"}):
        assert 'id="preferences"' not in ask(world, **plain)[1]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_an_outage_of_the_embedder_is_told(world: World, mode: str) -> None:
    fill(world)
    engine.use(NoEmbedder())
    status, text = ask(world, query="refund receipt", mode=mode)
    assert status == 200
    assert "Degraded: dense ranking unavailable (not_configured): words only" in text
    assert "The dense ranking did not answer." in text
    assert "Words only" in text


def test_nothing_found_says_so(world: World) -> None:
    status, text = ask(world, query="zyzzyva", mode="sparse")
    assert status == 200
    assert "Nothing in this reach matches." in text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("k", "0"),
        ("k", "51"),
        ("k", "five"),
        ("mode", "psychic"),
        ("fusion", "cold"),
        ("scope", "everything"),
        ("agent_id", "a_nobody"),
        ("crew_id", "c_nowhere"),
        ("since", "soon"),
        ("min_score", "2"),
        ("min_score", "nan"),
        ("walk_depth", "9"),
        ("entry_types", "no.such"),
        ("query", " "),
        ("query", "x" * 4001),
        ("query", "a\x00b"),
    ],
)
def test_a_bad_field_has_its_fault_beside_it(
    world: World, field: str, value: str
) -> None:
    status, text = ask(world, **{"query": "refund", field: value})
    assert status == 422
    assert f'id="r-{field}_error"' in text


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"scope": "own"}, "scope"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "until"),
    ],
)
def test_a_refusal_of_the_service_stands_beside_its_field(
    world: World, query: dict[str, str], field: str
) -> None:
    status, text = ask(world, query="refund", **query)
    assert status == 422
    assert f'id="r-{field}_error"' in text


def test_an_agent_of_another_crew_is_a_fault(world: World) -> None:
    status, text = ask(
        world,
        query="refund",
        agent_id=world.agents["ada"].id,
        crew_id=world.crews["billing"].id,
    )
    assert status == 422
    assert 'id="r-crew_id_error"' in text


@pytest.mark.parametrize("query", ['"', "NEAR(", "' OR 1=1 --", "<b>bold</b>", "?!"])
def test_hostile_questions_break_nothing(world: World, query: str) -> None:
    fill(world, 2)
    status, text = ask(world, query=query)
    assert status == 200
    assert "<b>bold" not in text


def test_what_agents_wrote_is_shown_as_text(world: World) -> None:
    evil = "<script>alert(1)</script> refund <img src=x onerror=alert(2)>"
    row = world.indexed(evil)
    _, text = ask(world, query="refund", entry_id=row.id)
    main = text.split("<main", 1)[1]
    assert "<script" not in main
    assert "<img" not in main
    _, text = ask(world)
    assert "<script>alert" not in text


def test_the_workspace_next_door_is_never_recalled(world: World) -> None:
    world.indexed("Refund secret of theirs", by="olga")
    _, text = ask(world, query="refund secret of theirs")
    assert "/journal/j_" not in text


# ── The same question elsewhere ──────────────────────────────────────────────
def test_the_command_asks_the_api_the_same(world: World) -> None:
    rows = fill(world)
    ada = world.agents["ada"].id
    question = 'it\'s a refund; $(rm -rf /) "quoted"'
    _, text = ask(world, query=question, agent_id=ada, k="3", scope="own")
    command = re.search(r'<pre class="code" id="curl"[^>]*>(.*?)</pre>', text, re.S)
    assert command is not None
    words = shlex.split(unescape(command[1]).replace("\\\n", " "))
    body = json.loads(words[words.index("-d") + 1])
    assert body["query"] == question
    assert words[2].endswith("/api/v1/episodic/recall")
    reply = world.api("viewer").post("/episodic/recall", body)
    assert reply.status == 200
    assert {hit["entry_id"] for hit in reply.data["hits"]} <= {row.id for row in rows}


def test_a_swap_gets_the_region_and_a_clean_address(world: World) -> None:
    fill(world, 2)
    query = {"query": "refund", "agent_id": "", "since": "", "k": "5"}
    response = world.page("viewer").get("/recall/", query, headers=SWAP)
    text = response.content.decode()
    assert "<html" not in text
    assert 'id="explorer"' in text
    assert 'role="status"' in text
    assert response["HX-Push-Url"] == "/recall/?query=refund&k=5"


def test_the_result_is_announced(world: World) -> None:
    fill(world)
    _, text = ask(world, query="refund", k="3")
    match = re.search(r'id="said" role="status">(.*?)</p>', text)
    assert match is not None
    assert match[1].startswith("3 entries are returned, 5 more found below the cut")


# ── Why not this one? ────────────────────────────────────────────────────────
def test_why_an_entry_is_below_the_cut(world: World) -> None:
    rows = fill(world)
    _, answer = ask(world, query="refund receipt", k="1")
    first = re.search(
        r"/journal/(j_\w+)/", answer.split("contribution of each ranking")[1]
    )
    assert first is not None
    other = next(row for row in rows if row.id != first[1])
    status, text = ask(world, query="refund receipt", k="1", entry_id=other.id)
    assert status == 200
    needed = re.search(r"With K = (\d+) it would be returned", text)
    assert needed is not None
    link = re.search(r'href="([^"]+)"[^>]*>Recall with K = ', text)
    assert link is not None
    deeper = world.page("viewer").get(unescape(link[1])).content.decode()
    assert "It is in the answer" in deeper
    for check in ("Policy", "State", "Scope", "Filters", "Dense", "Words", "Cut"):
        assert f">{check}</span>" in text


def test_another_workspaces_entry_is_no_entry_here(world: World) -> None:
    foreign = world.indexed("Theirs", by="olga")
    for query in ({}, {"query": "refund"}):
        status, text = ask(world, entry_id=foreign.id, **query)
        absent, _ = ask(world, entry_id="j_0", **query)
        assert (status, absent) == (422, 422)
        assert "There is no such entry here." in text
        assert "Theirs" not in text


def test_an_entry_without_a_question_offers_its_own_words(world: World) -> None:
    row = world.indexed("Refund of the century")
    status, text = ask(world, entry_id=row.id)
    assert status == 200
    link = re.search(r'href="([^"]+)"[^>]*>Ask with its own words', text)
    assert link is not None
    answer = world.page("viewer").get(unescape(link[1])).content.decode()
    assert "It is in the answer, at rank 1." in answer


# ── The index ────────────────────────────────────────────────────────────────
def test_the_index_page_tells_how_complete_it_is(world: World) -> None:
    fill(world, 3)
    world.entry("Not yet read")
    text = world.page("viewer").get("/recall/index/").content.decode()
    assert "3 of 4 can be found by meaning" in text
    assert "Index now" not in text


def test_what_failed_stands_first_with_its_error(world: World) -> None:
    rows = fill(world, 3)
    Embedding.objects.filter(pk=rows[1].pk).update(
        state=State.FAILED, attempts=6, last_error="timeout: <b>too</b> slow"
    )
    text = world.page("operator").get("/recall/index/").content.decode()
    table = text.split("What waits, table", 1)[1]
    assert rows[1].id in table
    assert rows[0].id not in table
    assert "timeout: &lt;b&gt;too&lt;/b&gt; slow" in table


def test_without_an_embedder_the_page_names_the_way_out(world: World) -> None:
    fill(world, 2)
    engine.use(NoEmbedder())
    text = world.page("operator").get("/recall/index/").content.decode()
    assert "CREWSHIP_EMBEDDER is none" in text
    assert "/recall/index/run/" not in text


@pytest.mark.parametrize(
    ("person", "status"),
    [("owner", 302), ("operator", 302), ("compliance", 403), ("viewer", 403)],
)
def test_operators_index_what_waits(world: World, person: str, status: int) -> None:
    row = world.entry("Waiting")
    assert world.page(person).post("/recall/index/run/").status_code == status
    indexed = Embedding.objects.filter(pk=row.pk, state=State.INDEXED).exists()
    assert indexed is (status == 302)


@pytest.mark.parametrize(("person", "status"), [("operator", 302), ("viewer", 403)])
def test_operators_index_one_entry(world: World, person: str, status: int) -> None:
    row = world.entry("Waiting")
    path = f"/recall/entries/{row.id}/index/"
    response = world.page(person).post(path)
    assert response.status_code == status
    if status == 302:
        assert response["Location"] == f"/journal/{row.id}/"


def test_another_workspaces_entry_cannot_be_indexed(world: World) -> None:
    foreign = world.entry("Theirs", by="olga")
    path = f"/recall/entries/{foreign.id}/index/"
    assert world.page("operator").post(path).status_code == 404


def test_an_index_run_is_told(world: World) -> None:
    row = world.entry("Waiting")
    browser = world.page("operator")
    page_text = browser.post("/recall/index/run/", follow=True).content.decode()
    assert "Indexed 1 entry" in page_text
    page_text = browser.post("/recall/index/run/", follow=True).content.decode()
    assert "Nothing was indexed" in page_text
    engine.use(NoEmbedder())
    path = f"/recall/entries/{row.id}/index/"
    response = browser.post(path, follow=True)
    assert response.status_code == 503
    assert "no embedder is configured" in response.content.decode()


@pytest.mark.parametrize("path", ["/recall/", "/recall/index/"])
def test_nobody_is_sent_to_sign_in(world: World, path: str) -> None:
    response = world.page("nobody").get(path)
    assert response["Location"].startswith("/accounts/login/")


def test_pages_cost_a_bounded_number_of_queries(
    world: World, django_assert_max_num_queries: Any
) -> None:
    rows = fill(world, 40)
    browser = world.page("operator")
    with django_assert_max_num_queries(17):
        browser.get("/recall/")
    with django_assert_max_num_queries(48):
        browser.get("/recall/", {"query": "refund", "k": "20"})
    with django_assert_max_num_queries(60):
        browser.get("/recall/", {"query": "refund", "entry_id": rows[0].id})
    with django_assert_max_num_queries(18):
        browser.get("/recall/index/")
