"""Whose records: who writes for whom, who reads whose, and what criteria select."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import records
from memory.files.paths import Owner
from memory.journal import visibility
from memory.models import Record
from memory.records import Amendment, Criteria, Order, Provenance, access
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from memory.rules.permissions import Actor
from tests.world import World

PROVENANCE = Provenance.AGENT_EXTRACTED


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def owner_of(world: World, name: str) -> Owner | None:
    """Return an agent, a crew or the workspace as an owner."""
    if name in world.agents:
        agent = world.agents[name]
        return Owner(agent.crew, agent)
    return Owner(world.crews[name]) if name in world.crews else None


def save(by: Actor, content: str = "Refunds end at $200.", **fields: Any) -> Record:
    fields.setdefault("owner", records.owner_for(by))
    draft = Draft(content=content, **fields)
    return records.save(draft, provenance=PROVENANCE, by=by).record


def contents(by: Actor, **criteria: Any) -> list[str]:
    page = records.page(Criteria(**criteria), order=Order.OLDEST, by=by)
    return [row.content for row in page.rows]


# ── Writing ──────────────────────────────────────────────────────────────────
OWNERS = ("ada", "lena", "bob", "olga", "support", "billing", "workspace")
FORBIDDEN: dict[str, dict[str, type[errors.AppError]]] = {
    "ada": {"support": errors.Forbidden}
    | dict.fromkeys(("lena", "bob", "olga", "billing", "workspace"), errors.NotFound),
    "lena": dict.fromkeys(
        ("ada", "bob", "olga", "billing", "workspace"), errors.NotFound
    ),
    "operator": {"olga": errors.NotFound},
    "viewer": dict.fromkeys(OWNERS, errors.Forbidden),
    "reader": dict.fromkeys(OWNERS, errors.Forbidden),
}


@pytest.mark.parametrize("actor", FORBIDDEN)
@pytest.mark.parametrize("name", OWNERS)
def test_who_writes_records_for_whom(world: World, actor: str, name: str) -> None:
    by, owner = world.actor(actor), owner_of(world, name)
    fault = FORBIDDEN[actor].get(name)
    draft = Draft(content="Fine.", owner=owner)
    ways: list[Any] = [
        lambda: records.prepare(draft, provenance=PROVENANCE, by=by),
        lambda: records.insert(draft, provenance=PROVENANCE, by=by),
        lambda: records.keep_all([draft], provenance=PROVENANCE, by=by),
    ]
    for way in ways:
        if fault is None:
            assert way()
        else:
            with pytest.raises(fault):
                way()
    assert Record.objects.exists() is (fault is None)


@pytest.mark.parametrize(
    ("actor", "fault"),
    [
        ("lena", errors.NotFound),
        ("bob", errors.NotFound),
        ("olga", errors.NotFound),
        ("stranger", errors.NotFound),
        ("viewer", errors.Forbidden),
    ],
)
def test_nobody_else_changes_or_supersedes_a_record(
    world: World, ada: Actor, actor: str, fault: type[errors.AppError]
) -> None:
    row, by = save(ada), world.actor(actor)
    new = Draft(content="Theirs.", owner=records.owner_for(by))
    ways: list[Any] = [
        lambda: records.amend(
            row, Amendment(content="Theirs."), provenance=PROVENANCE, by=by
        ),
        lambda: records.replace_content(row, new, expected=1, by=by),
        lambda: records.supersede([row], new, provenance=PROVENANCE, by=by),
    ]
    for way in ways:
        with pytest.raises(fault):
            way()
    assert [record.content for record in Record.objects.all()] == [row.content]


def test_a_crews_record_is_changed_by_its_lead_and_read_by_all(
    world: World, ada: Actor
) -> None:
    lena = world.actor("lena")
    row = save(lena, owner=records.owner_for(lena, is_shared=True))
    change = Amendment(content="Ours.")
    with pytest.raises(errors.Forbidden) as caught:
        records.amend(row, change, provenance=PROVENANCE, by=ada)
    assert caught.value.problem_code == "lead_only"
    records.amend(row, change, provenance=PROVENANCE, by=lena)
    assert contents(ada) == contents(lena) == ["Ours."]


# ── Owners ───────────────────────────────────────────────────────────────────
def test_an_agent_names_itself_or_its_crew(world: World, ada: Actor) -> None:
    support, billing = world.crews["support"].id, world.crews["billing"].id
    assert records.owner_for(ada) == owner_of(world, "ada")
    assert records.owner_for(ada, is_shared=True) == owner_of(world, "support")
    named = records.owner_for(ada, crew_id=support, agent_id=ada.id)
    assert named == owner_of(world, "ada")
    others: tuple[dict[str, Any], ...] = (
        {"agent_id": world.agents["lena"].id},
        {"crew_id": billing},
        {"crew_id": billing, "agent_id": ada.id},
    )
    for other in others:
        with pytest.raises(errors.NotFound):
            records.owner_for(ada, **other)


def test_a_person_names_any_owner_of_the_workspace(world: World) -> None:
    by, ada = world.actor("operator"), world.agents["ada"]
    support, billing = world.crews["support"].id, world.crews["billing"].id
    assert records.owner_for(by) is None
    assert records.owner_for(by, crew_id=support) == owner_of(world, "support")
    assert records.owner_for(by, agent_id=ada.id) == owner_of(world, "ada")
    both = records.owner_for(by, agent_id=ada.id, crew_id=support)
    assert both == owner_of(world, "ada")
    others: tuple[dict[str, Any], ...] = (
        {"agent_id": ada.id, "crew_id": billing},
        {"agent_id": world.agents["olga"].id},
        {"crew_id": world.crews["other/support"].id},
        {"agent_id": "nobody"},
    )
    for other in others:
        with pytest.raises(errors.NotFound):
            records.owner_for(by, **other)


# ── Reading ──────────────────────────────────────────────────────────────────
def test_an_owner_is_its_own_records_and_its_crews(world: World, ada: Actor) -> None:
    lena, operator = world.actor("lena"), world.actor("operator")
    save(ada, "Ada's.")
    save(lena, "Lena's.")
    save(lena, "The crew's.", owner=records.owner_for(lena, is_shared=True))
    save(world.actor("bob"), "Bob's.")
    save(operator, "The house's.", owner=None)
    mine = ["Ada's.", "The crew's."]
    everything = ["Ada's.", "Lena's.", "The crew's.", "Bob's.", "The house's."]
    assert contents(ada) == contents(ada, owner=owner_of(world, "ada")) == mine
    assert contents(ada, owner=owner_of(world, "support")) == ["The crew's."]
    assert contents(operator) == everything
    assert contents(operator, owner=owner_of(world, "ada")) == mine
    support = world.crews["support"].id
    assert contents(operator, crew_id=support) == everything[:3]
    assert contents(operator, agent_id=ada.id) == ["Ada's."]
    assert contents(ada, crew_id=support) == mine
    with pytest.raises(errors.NotFound):
        contents(ada, owner=owner_of(world, "lena"))
    with pytest.raises(errors.NotFound):
        contents(ada, owner=owner_of(world, "billing"))
    for foreign in ("olga", "other/support"):
        with pytest.raises(errors.NotFound):
            contents(operator, owner=owner_of(world, foreign))
    with pytest.raises(errors.NotFound):
        contents(operator, crew_id=world.crews["other/support"].id)
    with pytest.raises(errors.NotFound):
        contents(operator, agent_id=world.agents["olga"].id)


def test_ids_narrow_a_reach_and_never_widen_it(world: World, ada: Actor) -> None:
    mine, other = save(ada), save(world.actor("lena"))
    foreign = save(world.actor("olga"))
    ids = [mine.id, other.id, foreign.id]
    owner = records.owner_for(ada)
    save(ada, "Another.")

    def reached(owner: Owner | None, by: Actor) -> set[str]:
        return {row.id for row in access.reach(owner, by=by, among=ids)}

    assert reached(owner, ada) == {mine.id}
    assert reached(None, world.actor("viewer")) == {mine.id, other.id}
    with pytest.raises(errors.NotFound):
        access.reach(None, by=ada, among=ids)
    with pytest.raises(errors.NotFound):
        access.reach(owner, by=world.actor("olga"), among=ids)


def test_a_restricted_record_is_nobodys(world: World, ada: Actor) -> None:
    row, viewer = save(ada), world.actor("viewer")
    visibility.restrict(ada.workspace_id, [str(row.current_entry_id)])
    assert contents(ada) == contents(viewer) == []
    with pytest.raises(errors.NotFound):
        records.get(row.id, owner=None, by=viewer)


# ── What an agent cannot ask for ─────────────────────────────────────────────
def test_an_agent_gets_what_is_current_whatever_it_asks(
    world: World, ada: Actor
) -> None:
    old, due = save(ada, "Old."), timezone.now() + timedelta(hours=1)
    new = Draft(content="New.", owner=records.owner_for(ada))
    records.supersede([old], new, provenance=PROVENANCE, by=ada)
    past = save(ada, "Past.", expires_at=due)
    Record.objects.filter(pk=past.pk).update(expires_at=timezone.now())
    every = {"statuses": ("current", "superseded"), "expired": None}
    assert contents(ada, **every) == ["New."]
    viewer = world.actor("viewer")
    assert contents(viewer, **every) == ["Old.", "New.", "Past."]
    assert contents(viewer, statuses=("superseded",)) == ["Old."]
    assert contents(viewer) == ["New."]


def test_a_record_expires_at_its_moment(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = timezone.now() + timedelta(hours=1)
    row, lasting = save(ada, "Brief.", expires_at=due), save(ada, "Lasting.")
    assert not access.is_expired(lasting)
    for moment, is_over in (
        (due - timedelta(microseconds=1), False),
        (due, True),
        (due + timedelta(microseconds=1), True),
    ):
        monkeypatch.setattr(timezone, "now", lambda moment=moment: moment)
        assert access.is_expired(row) is is_over
        expected = ["Lasting."] if is_over else ["Brief.", "Lasting."]
        assert contents(ada) == expected


# ── Criteria ─────────────────────────────────────────────────────────────────
def test_every_criterion_narrows(ada: Actor) -> None:
    save(ada, "Red tea.", kind="fact", session_id="s1", confidence=0.5)
    save(ada, "Blue TEA.", external_id="e1", confidence=0.4, scope=Scope(user="u1"))
    assert contents(ada, kinds=("fact",)) == ["Red tea."]
    assert contents(ada, session_id="s1") == ["Red tea."]
    assert contents(ada, external_id="e1") == ["Blue TEA."]
    assert contents(ada, text="blue tea") == ["Blue TEA."]
    assert contents(ada, min_confidence=0.5) == ["Red tea."]
    assert contents(ada, min_confidence=0.4) == ["Red tea.", "Blue TEA."]
    assert contents(ada, provenances=("operator_curated",)) == []
    assert len(contents(ada, provenances=(PROVENANCE,))) == 2


def test_a_filter_narrows_in_the_database_already(ada: Actor) -> None:
    save(ada, "Red tea.", kind="fact")
    save(ada, "Blue tea.")
    fact = Criteria(filter={"field": "kind", "op": "eq", "value": "fact"})
    [row] = access.select(fact, by=ada)
    assert row.content == "Red tea."


@pytest.mark.parametrize(
    "fields",
    [
        {"under": "a\x00"},
        {"text": "a\x00"},
        {"session_id": "a\x00"},
        {"external_id": "a\ud800"},
        {"kinds": ("fact", "a\x00")},
        {"scope": Scope(user="a\x00")},
    ],
)
def test_criteria_that_no_database_takes_are_refused(
    ada: Actor, fields: dict[str, Any]
) -> None:
    with pytest.raises(errors.Invalid):
        contents(ada, **fields)
