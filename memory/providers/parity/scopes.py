"""Whose memory it is: bindings, labels and their inverse, other agents, other crews."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from memory.providers.base import Forget, ProviderError, Recall, Retain
from memory.providers.parity.base import Hand, Harness, check, expect, refused


def _retain(hand: Hand, **named: Any) -> Callable[[], object]:
    asked = Retain(
        workspace_id=hand.bound.workspace_id,
        tier="AGENT",
        key="",
        content="Smuggled.",
        mode="replace",
    )
    return lambda: hand.provider.retain(replace(asked, **named))


def _recall(hand: Hand, **named: Any) -> Callable[[], object]:
    asked = Recall(workspace_id=hand.bound.workspace_id, query="anything")
    return lambda: hand.provider.recall(replace(asked, **named))


@check("P16", "Unbound: retain, recall and forget say not initialized")
def unbound(harness: Harness) -> None:
    """Never a guess at whose memory it is."""
    provider = harness.unbound()
    asked = Retain(workspace_id="", tier="AGENT", key="", content="x", mode="replace")
    refused(lambda: provider.retain(asked), code="not_initialized")
    refused(
        lambda: provider.recall(Recall(workspace_id="", query="x")),
        code="not_initialized",
    )
    refused(
        lambda: provider.forget(Forget(workspace_id="", id="AGENT.md")),
        code="not_initialized",
    )


@check("P17", "Unbound stays unbound, whatever workspace a request names")
def unbound_named(harness: Harness) -> None:
    """A request binds nothing."""
    provider, workspace_id = harness.unbound(), harness.bound().workspace_id
    refused(
        lambda: provider.recall(Recall(workspace_id=workspace_id, query="x")),
        code="not_initialized",
    )


for _number, _field in (("P19", "workspace"), ("P20", "agent"), ("P21", "crew")):

    @check(_number, f"A request for another {_field} is refused and names {_field}")
    def _another(harness: Harness, what: str = _field) -> None:
        hand = Hand(harness)
        act = _recall(hand, **{f"{what}_id": "somebody-else"})
        refused(act, what, code="scope_mismatch")


@check("P22", "Empty ids in a request are no override")
def empty_ids(harness: Harness) -> None:
    """They mean whom the provider is bound to."""
    hand = Hand(harness)
    _retain(hand, agent_id="", crew_id="", workspace_id="")()
    expect(hand.sources("smuggled") == ["AGENT.md"], "nothing was kept")


@check("P23", "Ids that match exactly pass")
def exact_ids(harness: Harness) -> None:
    """All three of them."""
    hand = Hand(harness)
    _retain(hand, agent_id=hand.bound.agent_id, crew_id=hand.bound.crew_id)()
    expect(hand.sources("smuggled") == ["AGENT.md"], "nothing was kept")


@check("P24", "Another workspace blocks retain")
def blocks_retain(harness: Harness) -> None:
    """Typed."""
    refused(_retain(Hand(harness), workspace_id="ws_x"), code="scope_mismatch")


@check("P25", "Another agent blocks recall")
def blocks_recall(harness: Harness) -> None:
    """Typed."""
    refused(_recall(Hand(harness), agent_id="agent_x"), code="scope_mismatch")


@check("P26", "Another workspace blocks forget")
def blocks_forget(harness: Harness) -> None:
    """And the item stays."""
    hand = Hand(harness)
    hand.retain("Stays.")
    asked = Forget(workspace_id="ws_x", id="AGENT.md")
    refused(lambda: hand.provider.forget(asked), code="scope_mismatch")
    expect(hand.forget("AGENT.md") == 1, "the item went")


@check("P27", "A retain refused for its scope writes nothing")
def refused_writes_nothing(harness: Harness) -> None:
    """Nothing at all."""
    hand = Hand(harness)
    refused(_retain(hand, agent_id="agent_x"), code="scope_mismatch")
    expect(hand.forget("AGENT.md") == 0, "something was written")


# ── Labels ───────────────────────────────────────────────────────────────────
def _goes_around(harness: Harness, tier: str, key: str, label: str) -> None:
    hand = Hand(harness, "lead")
    done = hand.retain("The axolotl waits.", tier, key)
    expect(done.id == label, f"the id is {done.id}, not {label}")
    expect(label in hand.sources("axolotl", tier), "the source is not the label")
    expect(hand.forget(label) == 1, "the label does not lead back")


for _number, _tier, _key, _label in (
    ("P09", "AGENT", "", "AGENT.md"),
    ("P10", "CREW", "", "CREW.md"),
    ("P12", "pins", "", "pins.md"),
    ("P14", "daily", "2026-05-21", "daily/2026-05-21.md"),
    ("P15", "peers", "maria", "peers/maria.md"),
):

    @check(_number, f"{_tier} {_key or 'without a key'} and {_label} are inverses")
    def _inverse(
        harness: Harness, tier: str = _tier, key: str = _key, label: str = _label
    ) -> None:
        _goes_around(harness, tier, key, label)


for _number, _label in (("P11", "PERSONA.md"), ("P13", "lessons.md")):

    @check(_number, f"{_label} is an id, and read-only for agents")
    def _closed(harness: Harness, label: str = _label) -> None:
        refused(lambda: Hand(harness).forget(label), code="read_only_tier")


for _number, _label in (
    ("P45", " "),
    ("P46", "notes.md"),
    ("P47", "daily/2026/05"),
    ("P48", "peers.md/x"),
):

    @check(_number, f"“{_label}” is no id")
    def _no_id(harness: Harness, label: str = _label) -> None:
        refused(lambda: Hand(harness).forget(label), "forget: resolve")


# ── Beyond the original list ─────────────────────────────────────────────────
@check("X11", "Another agent of the crew neither finds nor forgets an agent's items")
def other_agent(harness: Harness) -> None:
    """The same label is another item."""
    mine, theirs = Hand(harness), Hand(harness, "other")
    mine.retain("The private okapi.")
    expect(not theirs.sources("okapi"), "another agent reads it")
    expect(theirs.forget("AGENT.md") == 0, "another agent forgets it")
    expect(mine.sources("okapi") == ["AGENT.md"], "the item went")


@check("X12", "The crew's tier is read by its agents and written by its lead only")
def crew_tier(harness: Harness) -> None:
    """Retain and forget alike."""
    agent, lead = Hand(harness), Hand(harness, "lead")
    lead.retain("The crew's tapir.", "CREW")
    expect(agent.sources("tapir") == ["CREW.md"], "the crew's item is not found")
    refused(lambda: agent.retain("Mine now.", "CREW"), code="lead_only")
    refused(lambda: agent.forget("CREW.md"), code="lead_only")
    expect(lead.forget("CREW.md") == 1, "the lead cannot forget it")


@check("X13", "Keys that are no keys are refused")
def odd_keys(harness: Harness) -> None:
    """Traversal, odd dates, tricks of Unicode, NUL."""
    hand = Hand(harness)
    keys = ("../x", "a/b", "2026-02-30 ", "MARIA", "mári", "a\x00b", "..", "x" * 65)
    for key in keys:
        for tier in ("peers", "daily"):
            refused(partial(hand.retain, "x", tier, key), "retain:")
    refused(lambda: hand.retain("x", "peers"), "retain:", "key")
    refused(lambda: hand.retain("x", "daily", "2026-02-30"), "retain:", "date")


@check("X14", "No message tells a folder, an address or a key")
def silent_messages(harness: Harness) -> None:
    """Whatever was refused."""
    hand, secrets = Hand(harness), harness.secrets()
    acts: tuple[Callable[[], object], ...] = (
        lambda: hand.retain("x", "lessons"),
        lambda: hand.retain("", "AGENT"),
        lambda: hand.retain("z" * 5_000),
        lambda: hand.recall(" "),
        lambda: hand.forget("/etc/passwd"),
        lambda: hand.forget(subject="x") if not harness.forgets_by_subject else None,
        _recall(hand, workspace_id="ws_x"),
    )
    for act in acts:
        try:
            act()
        except ProviderError as error:
            for secret in secrets:
                told = secret in f"{error} {error!r} {error.fields}"
                expect(not told, "a message holds a folder, an address or a key")
