"""Which entries deserve an embedding: the whole table; and which words go into it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.index import policy

ALWAYS = {
    "peer.escalation",
    "summary.generated",
    "memory.consolidated",
    "approval.denied",
    "eval.regression_detected",
    "memory.recorded",
}
LOUD = {"keeper.decision", "mission.status_change"}
NEVER = {
    "exec.output_chunk",
    "container.metrics",
    "network.egress",
    "network.port_opened",
    "network.port_closed",
}
OTHERS = {
    "peer.conversation",
    "llm.call",
    "exec.command",
    "container.snapshot",
    "chat.user_message",
    "memory.searched",
    "memory.updated",
}
SEVERITIES = ("info", "notice", "warn", "error")
FLAGS: list[dict[str, Any]] = [{}, {"episodic": True}, {"episodic": False}]


def expected(entry_type: str, severity: str, refs: dict[str, Any]) -> bool:
    """Return the ruling, said another way than in the code."""
    if entry_type in NEVER:
        return False
    if entry_type in ALWAYS or refs.get("episodic"):
        return True
    return entry_type in LOUD and severity in ("warn", "error")


@pytest.mark.parametrize("entry_type", sorted(ALWAYS | LOUD | NEVER | OTHERS))
def test_the_whole_table(entry_type: str) -> None:
    for severity, refs in itertools.product(SEVERITIES, FLAGS):
        verdict = policy.judge(entry_type, severity, {}, refs)
        assert verdict.embeds is expected(entry_type, severity, refs), (severity, refs)
        assert verdict.why


@pytest.mark.parametrize("flag", ["true", 1, "1", [True], {"a": True}, None, 1.0])
def test_the_flag_is_true_and_nothing_like_it(flag: object) -> None:
    assert not policy.judge("llm.call", "error", {}, {"episodic": flag}).embeds


@pytest.mark.parametrize(
    ("payload", "embeds"),
    [
        ({"state": "escalated"}, True),
        ({"state": "Escalated"}, False),
        ({"state": "resolved"}, False),
        ({"state": ["escalated"]}, False),
        ({}, False),
    ],
)
def test_an_escalated_conversation_is_embedded(
    payload: dict[str, Any], embeds: bool
) -> None:
    assert policy.judge("peer.conversation", "info", payload, {}).embeds is embeds
    assert not policy.judge("llm.call", "error", payload, {}).embeds


def test_every_rule_says_why() -> None:
    assert policy.judge("network.egress", "error", {}, {"episodic": True}).why == (
        "network.egress is never embedded, by any flag"
    )
    assert (
        "only at warn and error" in policy.judge("keeper.decision", "info", {}, {}).why
    )


# ── Text ─────────────────────────────────────────────────────────────────────
def test_the_text_is_the_summary_and_what_people_wrote() -> None:
    payload = {
        "question": "May I refund?",
        "id": "ord_4711",
        "resolution": "Yes, once.",
        "reason": "Lost receipt",
        "risk_score": 0.4,
        "from_slug": "ada",
    }
    assert policy.text("Escalated", payload) == (
        "Escalated\nMay I refund?\nLost receipt\nYes, once."
    )


def test_strings_inside_human_keys_are_followed() -> None:
    payload = {
        "content": [{"text": "one"}, "two", {"other": "no"}],
        "message": {"a": "no"},
    }
    assert policy.text("s", payload) == "s\none\ntwo"


def test_nothing_is_said_twice_and_blank_says_nothing() -> None:
    assert (
        policy.text(" same ", {"reason": "same", "text": "  ", "message": ""}) == "same"
    )


@given(
    st.text(max_size=50),
    st.dictionaries(
        st.sampled_from(policy.HUMAN_KEYS), st.text(max_size=900), max_size=6
    ),
)
def test_the_text_is_capped(summary: str, payload: dict[str, str]) -> None:
    assert len(policy.text(summary, payload)) <= policy.TEXT_CHARS
