"""Nudges: counted since the agent wrote something down, summed per run, told once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from episodic.models import NudgeSent
from episodic.recall import nudges
from tests import factories
from tests.world import World


def write(world: World, count: int, person: str = "ada") -> None:
    """Append some entries of an agent."""
    names = [f"entry {n}" for n in range(count)]
    factories.append_many(world.actor(person), names, entry_type="run.completed")


def kinds(world: World, session: str | None = None, **extra: Any) -> list[str]:
    """Return the kinds of nudges that ada gets."""
    given_nudges = nudges.give(
        world.acme.id, world.agents["ada"].id, session, **{"keep": True, **extra}
    )
    return [nudge.kind for nudge in given_nudges]


def spend(world: World, kind: str = "llm.call", **fields: Any) -> None:
    """Append a call of ada's with a payload."""
    trace = fields.pop("trace", None)
    ts = fields.pop("ts", None)
    world.entry("spent", entry_type=kind, payload=fields, trace_id=trace, ts=ts)


def cost(world: World) -> nudges.Cost:
    """Return what ada's day came to."""
    return nudges.cost(world.acme.id, world.agents["ada"].id)


# ── Entries ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("count", "expected"), [(29, []), (30, ["entries"])])
def test_thirty_entries_are_told(world: World, count: int, expected: list[str]) -> None:
    write(world, count)
    assert kinds(world) == expected


@pytest.mark.parametrize("kind", ["memory.updated", "summary.generated"])
def test_writing_something_down_starts_anew(world: World, kind: str) -> None:
    write(world, 30)
    world.entry("written down", entry_type=kind)
    assert kinds(world) == []
    write(world, 29)
    assert kinds(world) == []
    write(world, 1)
    assert kinds(world) == ["entries"]


def test_only_the_agents_own_entries_count_and_reset(world: World) -> None:
    write(world, 29)
    write(world, 5, "lena")
    assert kinds(world) == []
    world.entry("lena's summary", by="lena", entry_type="summary.generated")
    write(world, 1)
    assert kinds(world) == ["entries"]


def test_the_count_ends_somewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nudges, "MAX_ROWS", 30)
    write(world, 31)
    agent_nudges = nudges.give(world.acme.id, world.agents["ada"].id, None, keep=True)
    assert agent_nudges[0].text.startswith("30 or more entries")


# ── Cost ─────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("payload", "dollars", "tokens"),
    [
        ({"cost_usd": 2.0, "usd": 9}, 2.0, 0),
        ({"usd": 2}, 2.0, 0),
        ({"cost": 2.5, "tokens": 7}, 2.5, 7),
        ({"total_tokens": 9, "tokens_in": 5}, 0, 9),
        ({"input_tokens": 5, "output_tokens": 6}, 0, 11),
        ({"prompt_tokens": 5, "completion_tokens": 1}, 0, 6),
        ({"cost_usd": "2", "usd": True, "cost": -4}, 0, 0),
        ({"cost_usd": 10**400}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_what_payloads_may_say(
    world: World, payload: dict[str, Any], dollars: float, tokens: int
) -> None:
    spend(world, **payload)
    total = cost(world)
    assert (total.calls, total.tokens, total.dollars) == (1, tokens, dollars)


def test_a_run_that_reports_calls_and_their_sum_counts_once(world: World) -> None:
    spend(world, trace="run_1", cost_usd=0.4, tokens=10)
    spend(world, trace="run_1", cost_usd=0.4, tokens=10)
    spend(world, "cost.incurred", trace="run_1", cost_usd=0.8)
    spend(world, "cost.incurred", trace="run_2", cost_usd=0.5)
    spend(world, cost_usd=0.1)
    total = cost(world)
    assert (total.calls, total.tokens) == (3, 20)
    assert total.dollars == pytest.approx(1.4)


def test_yesterday_and_other_agents_do_not_count(world: World) -> None:
    spend(world, cost_usd=5, ts=timezone.now() - timedelta(hours=25))
    world.entry("x", by="lena", entry_type="llm.call", payload={"usd": 5})
    assert cost(world).dollars == 0


def test_the_costs_of_several_agents_are_apart(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(world, trace="run_1", usd=2)
    world.entry(by="lena", entry_type="llm.call", payload={"usd": 5}, trace_id="run_1")
    world.entry(by="bob", entry_type="llm.call", payload={"usd": 9})
    ada, lena = (world.agents[name].id for name in ("ada", "lena"))
    costs = nudges.costs(world.acme.id, [ada, lena])
    assert costs == {ada: nudges.Cost(1, 0, 2.0), lena: nudges.Cost(1, 0, 5.0)}
    monkeypatch.setattr(nudges, "MOST_ROWS", 1)
    assert nudges.costs(world.acme.id, [ada, lena])[lena].is_capped


@pytest.mark.parametrize(
    ("limit", "cost", "expected"),
    [
        (None, 1.0, []),
        (None, 1.01, ["cost"]),
        (2, 1.5, []),
        (0.5, 0.6, ["cost"]),
        (0, 9, []),
    ],
)
def test_above_the_workspaces_limit(
    world: World, limit: Any, cost: float, expected: list[str]
) -> None:
    world.set(cost_limit_usd_per_day=limit)
    spend(world, cost_usd=cost)
    assert kinds(world) == expected


# ── Once per session ─────────────────────────────────────────────────────────
def test_a_session_is_told_once(world: World) -> None:
    write(world, 30)
    assert kinds(world, "s") == ["entries"]
    assert kinds(world, "s") == []
    assert kinds(world, "t") == ["entries"]


def test_kinds_are_told_apart(world: World) -> None:
    write(world, 30)
    assert kinds(world, "s") == ["entries"]
    spend(world, cost_usd=3)
    assert kinds(world, "s") == ["cost"]


def test_of_two_at_once_one_is_the_first(world: World) -> None:
    claim = (world.acme.id, world.agents["ada"].id, "d" * 64, "cost")
    assert nudges._claim(*claim)
    assert not nudges._claim(*claim)


def test_a_session_is_kept_as_a_digest_of_its_workspace(world: World) -> None:
    first, two = (nudges.digest(shop.id, "s") for shop in (world.acme, world.other))
    assert len({first, two, nudges.digest(world.acme.id, "t")}) == 3


def test_what_was_told_is_forgotten_after_thirty_days(world: World) -> None:
    write(world, 30)
    kinds(world, "old")
    NudgeSent.objects.update(sent_at=timezone.now() - timedelta(days=31))
    kinds(world, "new")
    assert nudges.forget() == 1
    assert NudgeSent.objects.count() == 1
