"""Fit the weights of the combined rules to labelled texts, without some of them.

The weights are searched rule by rule on a grid, as they were when the rules were made:
what a change gains in held attacks (a source of many texts counts by the root of their
number) against what it costs in held honest texts.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from memory.scanner import registry
from memory.scanner.scoring import HELD_FROM, WINDOW

Array = np.ndarray[Any, np.dtype[Any]]

GRID: Final = (0, 0.2, 0.3, 0.4, 0.48, 0.55, 0.62, 0.68, 0.76, 0.82, 0.88)
# A rule stays where this many attacks of other sources carry it.
LEAST_TEXTS: Final = 3
_ROUNDS: Final = 4
# The order in which weights are set decides what a search ends with.
_SEARCHES: Final = 3
# What a held honest text costs, in held attacks of a source of one text.
_PRICE: Final = 0.2
_DEARER: Final = {"ops": 1.5, "chat": 1.5}
RULES: Final = tuple(rule.id for rule in registry.RULES if rule.combinations)
_COLUMN: Final = {rule: number for number, rule in enumerate(RULES)}


class Item(NamedTuple):
    """A finding: its line, how much its context leaves of the weight, and its place."""

    line: str
    factor: float
    weight: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text and what a scan of it finds."""

    text: str
    source: str
    tier: str
    is_attack: bool
    is_held: bool
    # Each window of the text that no other one contains.
    windows: tuple[tuple[Item, ...], ...]
    lines: frozenset[str]


def rule_of(line: str) -> str:
    """The rule of a line, which is named ``rule#number``."""
    return line.partition("#")[0]


def item(line: str, weight: float, start: int, end: int, *, is_hidden: bool) -> Item:
    """A finding with the share of the rule's weight that its context left."""
    rule = registry.rule(rule_of(line))
    full = rule.weight
    # A rule that is found in hidden text counts more.
    is_raised = is_hidden and full >= 0.6 and not line.startswith("hidden_text.")
    factor = weight / (full + (1 - full) / 2 if is_raised else full or 1.0)
    return Item(line, 1.0 if factor > 0.999 else factor, weight, start, end)


def windows(items: Sequence[Item]) -> tuple[tuple[Item, ...], ...]:
    """The windows that decide, as scoring makes them, without those within others."""
    active = sorted(items, key=lambda finding: finding.start)
    spans: list[tuple[int, int]] = []
    first = 0
    for last, current in enumerate(active):
        while active[first].end < current.start - WINDOW:
            first += 1
        if spans and spans[-1][0] == first:
            spans.pop()
        spans.append((first, last + 1))
    return tuple(tuple(active[start:end]) for start, end in spans)


class _Evidence:
    """The windows of examples as arrays: what is certain, and what the weights say."""

    def __init__(self, examples: Sequence[Example], excluded: Collection[str]) -> None:
        rows = [
            (number, window)
            for number, example in enumerate(examples)
            for window in example.windows
        ]
        shape = len(rows), len(RULES)
        self.example = np.array([number for number, _ in rows], dtype=np.int64)
        self.count = len(examples)
        self.full, self.mention = np.zeros(shape), np.zeros(shape)
        self.clean, self.least = np.ones(len(rows)), np.zeros(len(rows))
        for place, (_, window) in enumerate(rows):
            self._read(place, window, excluded)

    def _read(
        self, place: int, window: Iterable[Item], excluded: Collection[str]
    ) -> None:
        fixed: dict[str, float] = {}
        for line, factor, weight, _, _ in window:
            if line in excluded:
                continue
            rule, is_mention = rule_of(line), factor < 1.0
            column = _COLUMN.get(rule)
            if column is not None:
                matrix = self.mention if is_mention else self.full
                matrix[place, column] = max(matrix[place, column], factor)
            elif is_mention:
                self.least[place] = max(self.least[place], weight)
            else:
                fixed[rule] = max(fixed.get(rule, 0.0), weight)
        for weight in fixed.values():
            self.clean[place] *= 1.0 - weight

    def verdicts(self, weights: Array) -> Array:
        """Which examples the weights hold."""
        return self._any(self._scores(weights, slice(None)))

    def _scores(self, weights: Array, rows: Any) -> Array:
        clean = self.clean[rows] * np.prod(1.0 - self.full[rows] * weights, axis=1)
        mention = np.max(self.mention[rows] * weights, axis=1, initial=0.0)
        scores: Array = 1.0 - clean * (1.0 - np.maximum(mention, self.least[rows]))
        return scores

    def _any(self, scores: Array) -> Array:
        flags = np.zeros(self.count, dtype=bool)
        np.logical_or.at(flags, self.example, scores.round(4) >= HELD_FROM)
        return flags

    def rows_of(self, column: int) -> Array:
        """The windows of all examples that a rule is found in, each example whole."""
        own = (self.full[:, column] > 0) | (self.mention[:, column] > 0)
        rows: Array = np.flatnonzero(np.isin(self.example, self.example[own]))
        return rows

    def gains(self, weights: Array, column: int, values: Array, rows: Array) -> Array:
        """What each value of the grid is worth in the windows of a rule."""
        owners, where = np.unique(self.example[rows], return_inverse=True)
        worth = []
        for value in GRID:
            weights[column] = value
            flags = np.zeros(len(owners), dtype=bool)
            is_over = self._scores(weights, rows).round(4) >= HELD_FROM
            np.logical_or.at(flags, where, is_over)
            worth.append(values[owners][flags].sum())
        return np.array(worth)


def _values(examples: Sequence[Example]) -> Array:
    counts = Counter(example.source for example in examples if example.is_attack)
    return np.array(
        [
            counts[example.source] ** -0.5
            if example.is_attack
            else -_PRICE * _DEARER.get(example.tier, 1.0)
            for example in examples
        ]
    )


def lines_without_others(
    training: Iterable[Example], lines: Collection[str]
) -> set[str]:
    """Lines that too few attacks of these examples carry."""
    texts: dict[str, set[str]] = defaultdict(set)
    for example in training:
        if example.is_attack:
            for line in example.lines:
                texts[line].add(example.text)
    return {line for line in lines if len(texts[line]) < LEAST_TEXTS}


def _search(evidence: _Evidence, values: Array, seed: int) -> Array:
    """Set one weight after the other to its best value, until none changes."""
    weights = np.zeros(len(RULES))
    places = [(column, evidence.rows_of(column)) for column in range(len(RULES))]
    order = random.Random(seed)  # noqa: S311  (an order, no secret)
    for _ in range(_ROUNDS):
        before = weights.copy()
        order.shuffle(places)
        for column, rows in places:
            current = weights[column]
            worth = evidence.gains(weights, column, values, rows)
            best = int(np.argmax(worth))
            is_better = worth[best] > worth[GRID.index(current)] + 1e-9
            weights[column] = GRID[best] if is_better else current
        if (before == weights).all():
            break
    return weights


def fit(training: Sequence[Example], excluded: Collection[str]) -> Array:
    """The best weights of the combined rules that some searches find."""
    evidence, values = _Evidence(training, excluded), _values(training)
    # What the other rules hold alone says nothing about these.
    values[evidence.verdicts(np.zeros(len(RULES)))] = 0.0
    searches = [_search(evidence, values, seed) for seed in range(_SEARCHES)]
    return max(searches, key=lambda weights: values[evidence.verdicts(weights)].sum())


def verdicts(
    examples: Sequence[Example], weights: Array | None, excluded: Collection[str]
) -> list[bool]:
    """Which examples some weights hold; without any, those that the rules have."""
    if weights is None:
        weights = np.array([registry.rule(rule).weight for rule in RULES])
    return [bool(value) for value in _Evidence(examples, excluded).verdicts(weights)]
