"""The formulas of health, by hand, and what must hold for any input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.health import bands, forecast
from episodic.health.bands import Band
from episodic.health.metrics import (
    coherence,
    coverage,
    efficiency,
    freshness,
    reachability,
)
from episodic.health.metrics import table as metrics

PERCENT = st.floats(0, 100)
COSINE = st.floats(-1, 1)


@pytest.mark.parametrize(
    ("days", "value"),
    [(0, 100.0), (30, 50.0), (60, 25.0), (15, 70.7), (-3, 100.0)],
)
def test_freshness_halves_every_thirty_days(days: float, value: float) -> None:
    assert freshness.value(days) == value


@pytest.mark.parametrize(
    ("indexed", "embeddable", "value"),
    [(0, 0, None), (0, 4, 0.0), (3, 4, 75.0), (432, 844, 51.2), (5, 4, 100.0)],
)
def test_coverage_is_a_share(
    indexed: int, embeddable: int, value: float | None
) -> None:
    assert coverage.value(indexed, embeddable) == value


@pytest.mark.parametrize(
    ("nearest", "background", "value"),
    [
        (0.50, 0.20, 50.0),  # (0.5 − 0.2) / (0.8 − 0.2)
        (0.62, 0.21, 69.5),  # 0.41 / 0.59
        (0.95, 0.90, 100.0),  # goal is 0.95: (1 + 0.9) / 2
        (0.925, 0.90, 50.0),
        (0.10, 0.20, 0.0),
        (1.0, 1.0, 100.0),
    ],
)
def test_coherence_is_nearness_against_the_background(
    nearest: float, background: float, value: float
) -> None:
    assert coherence.value(nearest, background) == value


def test_of_words_that_as_many_summaries_share_the_first_are_named() -> None:
    words = [f"{letter}akery" for letter in "qwrtzpsdfghjklxcvbnm"]
    summaries = [" ".join(words), " ".join(reversed(words)), "zeppelin wakery"]
    assert coherence.shared_words(summaries) == ["wakery", "bakery"]
    assert coherence.shared_words(["zeppelin wakery"]) == []


def test_efficiency_is_full_at_the_cosine_that_links() -> None:
    values = [efficiency.value(mean) for mean in (0.0, 0.58, 0.80, 0.99, -0.2)]
    assert values == [0.0, 72.5, 100.0, 100.0, 0.0]


def test_reachability_is_a_share() -> None:
    values = [reachability.value(*counts) for counts in ((0, 0), (0, 2), (207, 432))]
    assert values == [None, 0.0, 47.9]


def test_the_score_of_the_visual_language_comes_out() -> None:
    values = {
        "freshness": 58.0, "coverage": 51.2, "coherence": 79.5,
        "efficiency": 72.1, "reachability": 47.9,
    }  # fmt: skip
    # 14.50 + 12.80 + 15.90 + 10.815 + 7.185
    assert metrics.score(values) == 61.2
    assert metrics.known_weight(values) == pytest.approx(1)


def test_what_has_no_data_is_left_out_of_the_score() -> None:
    assert metrics.score(dict.fromkeys(metrics.names())) is None
    assert metrics.score({}) is None
    values = {"freshness": 100.0, "coverage": 50.0, "coherence": None}
    assert metrics.score(values) == 75.0
    assert metrics.known_weight(values) == 0.5


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (None, Band.NONE), (0.0, Band.RED), (49.9, Band.RED), (50.0, Band.YELLOW),
        (74.9, Band.YELLOW), (75.0, Band.GREEN), (100.0, Band.GREEN),
    ],
)  # fmt: skip
def test_bands_start_at_their_limit(value: float | None, band: Band) -> None:
    assert bands.band(value) is band


@given(st.floats(0, 4_000), st.floats(0, 4_000))
def test_older_is_never_fresher(first: float, other: float) -> None:
    young, old = sorted((first, other))
    assert freshness.value(young) >= freshness.value(old)


@given(COSINE, COSINE, COSINE)
def test_nearer_is_never_less_coherent(first: float, other: float, back: float) -> None:
    far, nearest = sorted((first, other))
    low, high = coherence.value(far, back), coherence.value(nearest, back)
    assert 0 <= low <= high <= 100


@given(COSINE, COSINE, COSINE)
def test_a_closer_background_is_never_more_coherent(
    first: float, other: float, nearest: float
) -> None:
    low, high = sorted((first, other))
    if nearest < 1 and high < 1 - 1e-6:
        assert coherence.value(nearest, low) >= coherence.value(nearest, high)


@given(st.fixed_dictionaries(dict.fromkeys(metrics.names(), PERCENT)),
       st.sampled_from(metrics.names()), PERCENT)  # fmt: skip
def test_a_better_metric_never_lowers_the_score(
    values: dict[str, float], name: str, value: float
) -> None:
    better = values | {name: max(value, values[name])}
    before, after = metrics.score(values), metrics.score(better)
    assert before is not None and after is not None
    assert 0 <= before <= after <= 100


# ── The forecast ─────────────────────────────────────────────────────────────
def test_a_straight_fall_meets_its_limit_on_the_day() -> None:
    points = [(float(day), 85.0 - day) for day in range(6)]
    meets = forecast.crossing(points)
    assert meets is not None
    assert (meets.limit, meets.slope, meets.points) == (75.0, -1.0, 6)
    assert meets.days == pytest.approx(5)
    assert meets.soonest == pytest.approx(5)
    assert meets.latest == pytest.approx(5)
    assert meets.fit == pytest.approx(1)


def test_a_rise_is_told_as_well() -> None:
    meets = forecast.crossing([(float(day), 40.0 + 2 * day) for day in range(5)])
    assert meets is not None
    assert meets.limit == 50
    assert meets.days == pytest.approx(1)


@pytest.mark.parametrize(
    "values",
    [
        [80, 79, 78, 77],  # too few
        [80.0] * 9,  # does not move
        [90, 60, 95, 58, 91, 57, 94],  # no line
        [99, 98.8, 98.6, 98.4, 98.2],  # more than two weeks away
        [40, 39, 38, 37, 36, 35],  # red already
        [80, 79.95, 79.9, 79.85, 79.8],  # too slow
    ],
)
def test_what_is_no_trend_is_no_forecast(values: list[float]) -> None:
    assert forecast.crossing(list(enumerate(values))) is None


def test_a_shaky_line_gives_a_wide_span() -> None:
    values = [84, 81.5, 82.5, 80, 81, 78.5]
    meets = forecast.crossing([(float(i), v) for i, v in enumerate(values)])
    assert meets is not None
    assert meets.soonest < meets.days < meets.latest


def test_snapshots_of_one_day_make_no_line() -> None:
    assert forecast.line([(1.0, float(v)) for v in range(6)]) is None
