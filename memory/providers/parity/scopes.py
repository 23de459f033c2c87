"""Whose memory it is: bindings, labels and their inverse, other agents, other crews."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from memory.providers.base import Forget, ProviderError, Recall, Retain
from memory.providers.parity.base import Client, Harness, check, expect, expect_refusal
from memory.rules.translation import gettext_noop


def _retain(client: Client, **fields: Any) -> Callable[[], object]:
    request = Retain(
        workspace_id=client.binding.workspace_id,
        tier="AGENT",
        key="",
        content="Smuggled.",
        mode="replace",
    )
    return lambda: client.provider.retain(replace(request, **fields))


def _recall(client: Client, **fields: Any) -> Callable[[], object]:
    request = Recall(workspace_id=client.binding.workspace_id, query="anything")
    return lambda: client.provider.recall(replace(request, **fields))


@check("P16", gettext_noop("Unbound: retain, recall and forget say not initialized"))
def unbound(harness: Harness) -> None:
    provider = harness.unbound()
    request = Retain(workspace_id="", tier="AGENT", key="", content="x", mode="replace")
    expect_refusal(lambda: provider.retain(request), code="not_initialized")
    expect_refusal(
        lambda: provider.recall(Recall(workspace_id="", query="x")),
        code="not_initialized",
    )
    expect_refusal(
        lambda: provider.forget(Forget(workspace_id="", id="AGENT.md")),
        code="not_initialized",
    )


@check("P17", gettext_noop("Unbound stays unbound, whatever workspace a request names"))
def unbound_named(harness: Harness) -> None:
    provider, workspace_id = harness.unbound(), harness.binding().workspace_id
    expect_refusal(
        lambda: provider.recall(Recall(workspace_id=workspace_id, query="x")),
        code="not_initialized",
    )


for _number, _field, _text in (
    (
        "P19",
        "workspace",
        gettext_noop("A request for another workspace is refused and names workspace"),
    ),
    (
        "P20",
        "agent",
        gettext_noop("A request for another agent is refused and names agent"),
    ),
    (
        "P21",
        "crew",
        gettext_noop("A request for another crew is refused and names crew"),
    ),
):

    @check(_number, _text)
    def _other_scope(harness: Harness, field: str = _field) -> None:
        client = Client(harness)
        act = _recall(client, **{f"{field}_id": "somebody-else"})
        expect_refusal(act, field, code="scope_mismatch")


@check("P22", gettext_noop("Empty ids in a request are no override"))
def empty_ids(harness: Harness) -> None:
    client = Client(harness)
    _retain(client, agent_id="", crew_id="", workspace_id="")()
    expect(client.sources("smuggled") == ["AGENT.md"], "nothing was kept")


@check("P23", gettext_noop("Ids that match exactly pass"))
def exact_ids(harness: Harness) -> None:
    client = Client(harness)
    _retain(client, agent_id=client.binding.agent_id, crew_id=client.binding.crew_id)()
    expect(client.sources("smuggled") == ["AGENT.md"], "nothing was kept")


@check("P24", gettext_noop("Another workspace blocks retain"))
def blocks_retain(harness: Harness) -> None:
    expect_refusal(_retain(Client(harness), workspace_id="ws_x"), code="scope_mismatch")


@check("P25", gettext_noop("Another agent blocks recall"))
def blocks_recall(harness: Harness) -> None:
    expect_refusal(_recall(Client(harness), agent_id="agent_x"), code="scope_mismatch")


@check("P26", gettext_noop("Another workspace blocks forget"))
def blocks_forget(harness: Harness) -> None:
    client = Client(harness)
    client.retain("Stays.")
    request = Forget(workspace_id="ws_x", id="AGENT.md")
    expect_refusal(lambda: client.provider.forget(request), code="scope_mismatch")
    expect(client.forget("AGENT.md") == 1, "the item went")


@check("P27", gettext_noop("A retain refused for its scope writes nothing"))
def refused_writes_nothing(harness: Harness) -> None:
    client = Client(harness)
    expect_refusal(_retain(client, agent_id="agent_x"), code="scope_mismatch")
    expect(client.forget("AGENT.md") == 0, "something was written")


# ── Labels ───────────────────────────────────────────────────────────────────
def _expect_round_trip(harness: Harness, tier: str, key: str, label: str) -> None:
    client = Client(harness, "lead")
    result = client.retain("The axolotl waits.", tier, key)
    expect(result.id == label, f"the id is {result.id}, not {label}")
    expect(label in client.sources("axolotl", tier), "the source is not the label")
    expect(client.forget(label) == 1, "the label does not lead back")


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
        _expect_round_trip(harness, tier, key, label)


for _number, _label in (("P11", "PERSONA.md"), ("P13", "lessons.md")):

    @check(_number, f"{_label} is an id, and read-only for agents")
    def _closed(harness: Harness, label: str = _label) -> None:
        expect_refusal(lambda: Client(harness).forget(label), code="read_only_tier")


for _number, _label in (
    ("P45", " "),
    ("P46", "notes.md"),
    ("P47", "daily/2026/05"),
    ("P48", "peers.md/x"),
):

    @check(_number, f"“{_label}” is no id")
    def _no_id(harness: Harness, label: str = _label) -> None:
        expect_refusal(lambda: Client(harness).forget(label), "forget: resolve")


# ── Beyond the original list ─────────────────────────────────────────────────
@check(
    "X11",
    gettext_noop(
        "Another agent of the crew neither finds nor forgets an agent's items"
    ),
)
def other_agent(harness: Harness) -> None:
    agent, other = Client(harness), Client(harness, "other")
    agent.retain("The private okapi.")
    expect(not other.sources("okapi"), "another agent reads it")
    expect(other.forget("AGENT.md") == 0, "another agent forgets it")
    expect(agent.sources("okapi") == ["AGENT.md"], "the item went")


@check(
    "X12",
    gettext_noop("The crew's tier is read by its agents and written by its lead only"),
)
def crew_tier(harness: Harness) -> None:
    agent, lead = Client(harness), Client(harness, "lead")
    lead.retain("The crew's tapir.", "CREW")
    expect(agent.sources("tapir") == ["CREW.md"], "the crew's item is not found")
    expect_refusal(lambda: agent.retain("Mine now.", "CREW"), code="lead_only")
    expect_refusal(lambda: agent.forget("CREW.md"), code="lead_only")
    expect(lead.forget("CREW.md") == 1, "the lead cannot forget it")


@check("X13", gettext_noop("Keys that are no keys are refused"))
def odd_keys(harness: Harness) -> None:
    client = Client(harness)
    keys = ("../x", "a/b", "2026-02-30 ", "MARIA", "mári", "a\x00b", "..", "x" * 65)
    for key in keys:
        for tier in ("peers", "daily"):
            expect_refusal(partial(client.retain, "x", tier, key), "retain:")
    expect_refusal(lambda: client.retain("x", "peers"), "retain:", "key")
    expect_refusal(lambda: client.retain("x", "daily", "2026-02-30"), "retain:", "date")


@check("X14", gettext_noop("No message tells a folder, an address or a key"))
def silent_messages(harness: Harness) -> None:
    client, secrets = Client(harness), harness.secrets()
    acts: tuple[Callable[[], object], ...] = (
        lambda: client.retain("x", "lessons"),
        lambda: client.retain("", "AGENT"),
        lambda: client.retain("z" * 5_000),
        lambda: client.recall(" "),
        lambda: client.forget("/etc/passwd"),
        lambda: client.forget(subject="x") if not harness.forgets_by_subject else None,
        _recall(client, workspace_id="ws_x"),
    )
    for act in acts:
        try:
            act()
        except ProviderError as error:
            for secret in secrets:
                is_leaked = secret in f"{error} {error!r} {error.fields}"
                expect(not is_leaked, "a message holds a folder, an address or a key")
