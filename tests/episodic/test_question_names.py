"""Names in a question, and whose names an asker may be helped by."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from episodic import scopes
from episodic.recall import name_index, question_names
from episodic.recall.common_names import is_common
from episodic.recall.name_index import Name
from episodic.scopes import Reach
from memory.models import Agent, Crew, User
from tests.world import World


def names(question: str, reach: Reach) -> list[str]:
    """Return the labels of the names in a question."""
    return [m.name.label for m in question_names.mentions(question, reach)]


def whole_reach(world: World) -> Reach:
    return Reach(world.acme.id, "workspace")


def add_agent(world: World, slug: str, name: str, crew: str = "support") -> Agent:
    return Agent.objects.create(
        workspace=world.acme, crew=world.crews[crew], slug=slug, name=name
    )


def test_a_name_is_matched_as_a_whole_word(world: World) -> None:
    reach = whole_reach(world)
    for question in (
        "what did lena decide", "LENA on retries", "lena's notes", "notes of Lena’s",
        "ask @lena", "was war Lenas Entscheidung", "(lena) retries", "lena: retries",
        "what did le\u0301na decide", "what did Léna decide",
    ):  # fmt: skip
        assert names(question, reach) == ["lena"], question
    for question in (
        "lenas", "helena", "lena_x", "lena-2", "x-lena", "lena.py", "/home/lena/x",
        "post@lena.example", "lena@corp.example", "api.lena", "le na",
    ):  # fmt: skip
        assert names(question, reach) == [], question


def test_a_mention_says_where_it_stands_and_whom_it_means(world: World) -> None:
    question = "What did lena tell bob?"
    first, second = question_names.mentions(question, whole_reach(world))
    assert question[first.start : first.end] == first.text == "lena"
    assert first.name.agent_ids == first.name.actor_ids == {world.agents["lena"].id}
    assert second.name.agent_ids == {world.agents["bob"].id}


def test_a_display_name_a_dashed_slug_and_the_longest_name_win(world: World) -> None:
    short = add_agent(world, "zora", "Zora")
    long = add_agent(world, "zora-night-writer", "Zóra Nightly")
    reach = whole_reach(world)
    for question, agent in {
        "what did zora do": short,
        "what did zora-night-writer do": long,
        "what did ZORA NIGHTLY do": long,
    }.items():
        (mention,) = question_names.mentions(question, reach)
        assert mention.name.agent_ids == {agent.id}, question


def test_a_short_name_that_begins_a_longer_one_ends_a_question(world: World) -> None:
    add_agent(world, "joey", "Joey")
    add_agent(world, "joey-tribbiani", "Joey Tribbiani")
    assert names("who called Joey", whole_reach(world)) == ["joey"]
    assert names("who called Joey Tribbiani", whole_reach(world)) == ["joey-tribbiani"]


def test_agents_of_one_name_are_all_meant(world: World) -> None:
    pair = {
        add_agent(world, "zora", "Zora").id,
        add_agent(world, "zora", "Zora", "billing").id,
    }
    (mention,) = question_names.mentions("what did zora do", whole_reach(world))
    assert mention.name.agent_ids == pair


@pytest.mark.parametrize("slug", ["scout", "writer", "main", "rose", "qa"])
def test_an_ordinary_word_is_a_name_only_without_doubt(world: World, slug: str) -> None:
    add_agent(world, slug, slug)
    reach = whole_reach(world)
    for text in (
        "what did {} decide", "what was written by {}", "why {} said no", "ask @{}",
        "the {} agent on retries", "agent {} on retries", "why is {}'s note gone",
    ):  # fmt: skip
        assert names(text.format(slug), reach) == [slug], text
    for text in (
        "which {} is used", "the {} is down", "{} of the build", "a new {} for it",
        "WHICH {} IS USED", "the {}'s block", "did {} for retries land",
    ):  # fmt: skip
        assert names(text.format(slug), reach) == [], text


def test_a_capital_tells_a_name_only_inside_an_english_sentence(world: World) -> None:
    add_agent(world, "scout", "Scout")
    reach = whole_reach(world)
    assert names("why is Scout unhappy with retries", reach) == ["scout"]
    for question in (
        "Scout the retries", "It broke. Scout the retries", "why is SCOUT in env",
        "Which Scout Is Used Here", "wie ist der Scout gebaut",
    ):  # fmt: skip
        assert names(question, reach) == [], question


def test_a_crew_is_named_like_an_agent(world: World) -> None:
    reach = whole_reach(world)
    for question in (
        "what did support decide", "the support crew on refunds", "team support",
        "refunds by @support",
    ):  # fmt: skip
        (mention,) = question_names.mentions(question, reach)
        assert mention.name.crew_ids == {world.crews["support"].id}, question
    assert names("do we support refunds, support desk", reach) == []


def test_people_are_names_for_people_only(world: World) -> None:
    user = User.objects.get(pk=world.actor("viewer").id)
    User.objects.filter(pk=user.pk).update(name="Márta Kovač")
    question = "what did marta kovac approve"
    (mention,) = question_names.mentions(question, whole_reach(world))
    assert mention.name == Name("Márta Kovač", actor_ids=frozenset({user.pk}))
    for person in ("ada", "lena"):
        reach = scopes.reach(None, None, None, by=world.actor(person))
        assert names(question, reach) == []


def test_an_id_is_taken_as_written(world: World) -> None:
    own = Reach(world.acme.id, "own", agent_id=world.agents["ada"].id)
    foreign = world.agents["olga"].id
    (mention,) = question_names.mentions(f"what did {foreign} do", own)
    assert mention.name.agent_ids == mention.name.actor_ids == {foreign}
    assert names("agent_0123456789abcdef", own) == ["agent_0123456789abcdef"]
    assert names("agent_0123456789abcdeff x_agent_0123456789abcdef", own) == []


@pytest.mark.parametrize(
    ("person", "visible"),
    [
        ("owner", ["ada", "lena", "bob", "support", "billing"]),
        ("lena", ["ada", "lena", "support"]),
        ("ada", ["ada", "support"]),
        ("stranger", ["olga", "support"]),
    ],
)
def test_only_names_in_reach_are_known(
    world: World, person: str, visible: list[str]
) -> None:
    reach = scopes.reach(None, None, None, by=world.actor(person))
    question = "@ada @lena @bob @olga @support @billing"
    expected = [name for name in question.replace("@", "").split() if name in visible]
    assert names(question, reach) == expected


def test_an_agent_asks_the_same_of_a_hidden_name_and_of_none(world: World) -> None:
    reach = scopes.reach(None, None, None, by=world.actor("ada"))

    def request(question: str) -> tuple[list[str], list[str]]:
        name_index.clear()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            results = names(question, reach)
        return results, [query["sql"] for query in queries]

    assert request("what did bob decide") == request("what did zyx decide")
    before = request("what did bob decide")
    Agent.objects.filter(pk=world.agents["bob"].id).delete()
    assert request("what did bob decide") == before


def test_a_question_reads_the_names_once(world: World) -> None:
    reach = whole_reach(world)
    names("what did lena decide", reach)
    with CaptureQueriesContext(connection) as queries:
        assert names("what did ada decide", reach) == ["ada"]
    assert len(queries) == 0


def test_a_new_a_renamed_and_a_deleted_agent_are_followed_at_once(
    world: World,
) -> None:
    reach = whole_reach(world)
    assert names("what did zora decide", reach) == []
    agent = add_agent(world, "zora", "Zora")
    assert names("what did zora decide", reach) == ["zora"]
    agent.slug = agent.name = "zelda"
    agent.save()
    assert names("what did zora tell zelda", reach) == ["zelda"]
    agent.delete()
    assert names("what did zelda decide", reach) == []


def test_a_change_elsewhere_is_followed_after_some_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach, clock = whole_reach(world), [100.0]
    stopped = SimpleNamespace(monotonic=lambda: clock[0])
    monkeypatch.setattr("episodic.recall.name_index.time", stopped)
    assert names("what did zora decide", reach) == []
    Agent.objects.filter(pk=world.agents["bob"].id).update(slug="zora")
    assert names("what did zora decide", reach) == []
    clock[0] += name_index.FRESH_SECONDS
    assert names("what did zora decide", reach) == ["zora"]


def test_what_is_kept_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_index, "MAX_REACHES", 3)
    agents = list(world.agents.values())
    for agent in agents:
        name_index.of(Reach(agent.workspace_id, "own", agent_id=agent.id))
    assert len(agents) > 3
    assert name_index.clear() == 3
    monkeypatch.setattr(name_index, "MAX_NAMES", 2)
    name_index.of(Reach(world.acme.id, "own", agent_id=world.agents["ada"].id))
    name_index.of(whole_reach(world))
    assert name_index.clear() == 1


def test_names_read_while_they_are_dropped_are_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = name_index._names

    def drop_names(reach: Reach) -> object:
        forms = list(read(reach))
        name_index.clear()
        return forms

    monkeypatch.setattr(name_index, "_names", drop_names)
    name_index.of(whole_reach(world))
    assert name_index.clear() == 0


def test_what_an_ordinary_word_is() -> None:
    for word in ("scout", "writers", "may", "reviewer", "qa", "support", "friday"):
        assert is_common(word), word
    for word in ("lena", "rhea", "silas", "tomas", "bjorn", "zora"):
        assert not is_common(word), word


@pytest.mark.django_db
@given(text=st.text(alphabet=st.sampled_from("lena @.-_'sAd\u0301ß\n🦊"), max_size=60))
def test_any_text_is_read(text: str) -> None:
    names_by_words = {
        ("lena",): Name("lena"),
        ("ad",): Name("ad"),
        ("ad", "s"): Name("ad-s"),
    }
    index = name_index.NameIndex(names_by_words, {"lena": (1,), "ad": (2, 1)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_index, "of", lambda _: index)
        for mention in question_names.mentions(text, Reach("ws_1", "workspace")):
            assert text[mention.start : mention.end] == mention.text


def test_crews_of_another_workspace_are_nobodys(world: World) -> None:
    Crew.objects.create(workspace=world.other, slug="zeta", name="Zeta")
    assert names("what did zeta decide", whole_reach(world)) == []
