"""Places of vectors in a plane, groups of places, and words that tell groups apart."""

from __future__ import annotations

import numpy as np
import pytest

from episodic.map import clusters, points, projection, telling_words
from episodic.map.projection import Floats


def vectors(count: int, topics: int = 4, dim: int = 32) -> Floats:
    """Return unit vectors of some topics, one topic after the other in turn."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(topics, dim))
    values = centres[np.arange(count) % topics] + 0.3 * rng.normal(size=(count, dim))
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def positions(values: Floats) -> Floats:
    nearest = projection.neighbours(values)
    return projection.spread(projection.layout(projection.components(values), nearest))


def test_the_first_components_are_those_of_the_largest_variance() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(500, 6)).astype(np.float32) * [9, 5, 1, 1, 1, 1]
    places = projection.components(values.astype(np.float32))
    assert abs(np.corrcoef(places[:, 0], values[:, 0])[0, 1]) > 0.99
    assert abs(np.corrcoef(places[:, 1], values[:, 1])[0, 1]) > 0.99


def test_the_same_vectors_have_the_same_places() -> None:
    values = vectors(300)
    assert np.array_equal(positions(values), positions(values.copy()))


def test_neighbours_are_those_of_the_largest_cosine() -> None:
    values = vectors(400)
    nearest = projection.neighbours(values)
    products = values @ values.T
    np.fill_diagonal(products, -2)
    expected = -np.sort(-products, axis=1)[:, : projection.NEIGHBOURS]
    assert nearest.cosines == pytest.approx(expected, abs=1e-5)
    assert (nearest.rows != np.arange(400)[:, None]).all()


def test_neighbours_lie_closer_than_by_components_alone() -> None:
    values = vectors(400, topics=12)
    nearest, sampled = projection.neighbours(values), np.arange(400)
    before = projection.trustworthiness(nearest, projection.components(values), sampled)
    after = projection.trustworthiness(nearest, positions(values), sampled)
    assert after > before + 0.1


@pytest.mark.parametrize("count", [3, 4, 11, 12])
def test_few_or_equal_vectors_have_places_too(count: int) -> None:
    places = positions(np.repeat(vectors(1), count, axis=0))
    assert np.isfinite(places).all()
    assert points.on_grid(places).max() <= points.GRID
    assert len(clusters.groups(places)) == count


def test_places_on_the_grid_keep_their_proportions() -> None:
    places = np.array([[0, 0], [4, 0], [2, 1]], dtype=np.float32)
    grid = points.on_grid(places).astype(int)
    width, height = np.ptp(grid, axis=0)
    assert width == points.GRID - 2
    assert grid.min() > 0
    assert height == pytest.approx(points.GRID / 4, abs=1)


def test_topics_become_groups_of_their_own() -> None:
    places = np.array(
        [[x + dx / 100, 0] for x in (0, 50, 90) for dx in range(30)][:-5],
        dtype=np.float32,
    )
    groups = clusters.groups(places)
    owners = [set(groups[start : start + 30].tolist()) for start in (0, 30, 60)]
    assert not owners[0] & owners[1]
    assert not owners[1] & owners[2]
    sizes = np.bincount(groups)
    assert (np.diff(sizes) <= 0).all()


def test_words_that_all_groups_share_tell_nothing() -> None:
    words = telling_words.telling(
        {
            0: ["The order refund is late", "An order refund was denied"],
            1: ["The order parcel is lost", "An order parcel arrived"],
            2: ["One more text"],
        }
    )
    assert words[0][0] == "refund"
    assert words[1][0] == "parcel"
    assert words[2] == []
