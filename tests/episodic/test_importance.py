"""Importance: the numbers of the design document, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.index import importance

# Type → info, notice, warn, error; copied from the document, not computed.
TABLE = {
    "peer.escalation": (0.70, 0.75, 0.85, 0.95),
    "peer.conversation": (0.50, 0.55, 0.65, 0.75),
    "summary.generated": (0.65, 0.70, 0.80, 0.90),
    "memory.consolidated": (0.70, 0.75, 0.85, 0.95),
    "approval.denied": (0.65, 0.70, 0.80, 0.90),
    "eval.regression_detected": (0.80, 0.85, 0.95, 1.00),
    "keeper.decision": (0.60, 0.65, 0.75, 0.85),
    "mission.status_change": (0.55, 0.60, 0.70, 0.80),
    "anything.else": (0.50, 0.55, 0.65, 0.75),
}
TYPES = st.sampled_from(sorted(TABLE))
SEVERITIES = st.sampled_from(["info", "notice", "warn", "error"])
PRIORITIES = st.sampled_from(["normal", "high", "pin", "permanent"])


@pytest.mark.parametrize("entry_type", TABLE)
def test_base_by_type_and_severity(entry_type: str) -> None:
    result = [
        importance.base(entry_type, severity, "normal")
        for severity in ("info", "notice", "warn", "error")
    ]
    assert result == pytest.approx(TABLE[entry_type], abs=1e-12)


@pytest.mark.parametrize(
    ("priority", "info", "loud"),
    [
        ("normal", 0.5, 1.0),
        ("pin", 0.80, 1.0),
        ("high", 0.85, 1.0),
        ("permanent", 0.95, 1.0),
    ],
)
def test_a_priority_is_a_floor_and_never_lowers(
    priority: str, info: float, loud: float
) -> None:
    assert importance.base("llm.call", "info", priority) == pytest.approx(info)
    assert importance.base("eval.regression_detected", "error", priority) == loud


@pytest.mark.parametrize(
    ("days", "factor"),
    [
        (-5, 1.0),
        (0, 1.0),
        (7, 0.961),
        (30, 0.833),
        (90, 0.5),
        (161, 0.106),
        (162, 0.1),
        (9_999, 0.1),
    ],
)
def test_recency(days: float, factor: float) -> None:
    assert importance.recency(days) == pytest.approx(factor, abs=0.0005)


@pytest.mark.parametrize(
    ("references", "factor"),
    [(-1, 1.0), (0, 1.0), (1, 1.125), (3, 1.25), (7, 1.375), (10, 1.432), (15, 1.5),
     (26, 1.594), (100, 1.832), (255, 2.0)],
)  # fmt: skip
def test_boost(references: int, factor: float) -> None:
    assert importance.boost(references) == pytest.approx(factor, abs=0.0005)


@pytest.mark.parametrize(
    ("entry_type", "severity", "priority", "days", "references", "value"),
    [
        ("peer.escalation", "warn", "high", 90, 10, 0.609),
        ("peer.escalation", "warn", "normal", 180, 26, 0.136),
        ("llm.call", "info", "normal", 0, 0, 0.5),
        ("llm.call", "info", "permanent", 400, 0, 0.95),
        ("llm.call", "info", "pin", 400, 0, 0.08),
        ("eval.regression_detected", "error", "normal", 0, 255, 1.0),
    ],
)
def test_worked_examples(
    entry_type: str,
    severity: str,
    priority: str,
    days: float,
    references: int,
    value: float,
) -> None:
    result = importance.explain(
        entry_type, severity, priority, days=days, references=references
    )
    assert result.value == pytest.approx(value, abs=0.0005)


@given(TYPES, SEVERITIES, PRIORITIES, st.floats(0, 1e6), st.integers(0, 10**9))
def test_it_stays_in_the_unit_and_the_permanent_above_their_floor(
    entry_type: str, severity: str, priority: str, days: float, references: int
) -> None:
    result = importance.explain(
        entry_type, severity, priority, days=days, references=references
    )
    assert 0 <= result.value <= 1
    if priority == "permanent":
        assert result.value >= 0.95


@given(TYPES, SEVERITIES, st.floats(0, 400), st.floats(0, 400), st.integers(0, 99))
def test_older_is_never_heavier_and_recalled_never_lighter(
    entry_type: str, severity: str, days: float, extra_days: float, references: int
) -> None:
    def value(age: float, times: int) -> float:
        return importance.explain(
            entry_type, severity, "normal", days=age, references=times
        ).value

    assert value(days + extra_days, references) <= value(days, references)
    assert value(days, references + 1) >= value(days, references)
