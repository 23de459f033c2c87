"""The policy as the rules page shows it: what a person decides, and its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory.review import context_words
from memory.review.workbench import DAYS
from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop
from memory.scanner import policy_kinds, provenance, registry
from memory.scanner.model import Mode
from memory.scanner.policy_kinds import Kind, Price, Treatment
from memory.scanner.provenance import START_TIERS, Origin, Writer

KINDS: Final[dict[Kind, str]] = {
    Kind.MONEY: gettext_noop("Money and accounts"),
    Kind.RECIPIENTS: gettext_noop("Another recipient, account, limit or role"),
    Kind.LIMITS: gettext_noop("Limits and checks"),
    Kind.PERMISSIONS: gettext_noop("Permissions for somebody"),
    Kind.RETENTION: gettext_noop("Retention and deletion dates"),
    Kind.RECORDS: gettext_noop("Records of a person"),
    Kind.AUTHOR: gettext_noop("Something sent to the author"),
    Kind.SENDING: gettext_noop("Something sent to an address"),
    Kind.REQUESTS: gettext_noop("Other changes and approvals"),
}
NON_OPERATORS: Final = [
    origin for origin in Origin if origin not in (Origin.OPERATOR, Origin.PROMPT)
]
TREATMENTS: Final[dict[Treatment, str]] = {
    Treatment.CLEAN: gettext_noop("kept"),
    Treatment.MARKED: gettext_noop("marked suspicious"),
    Treatment.HELD: gettext_noop("held for a person"),
    Treatment.REFUSED: gettext_noop("refused"),
}
SETTINGS: Final[dict[str, str]] = {
    Mode.HOLD.value: gettext_noop("Hold"),
    Mode.OBSERVE.value: gettext_noop("Mark suspicious"),
    Mode.OFF.value: gettext_noop("Off"),
}
_BLOCKS: Final = gettext_noop("Block")
_DIFFERS: Final = gettext_noop("Differs by rule")
PRICES: Final[dict[str, Price]] = {
    gettext_noop("The demo shop’s five weeks"): policy_kinds.DEMO,
    gettext_noop("Half a year of a software team’s journal"): policy_kinds.JOURNAL,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """What becomes of a text of some origins; ``at_start`` in tiers read at the start.

    ``origins`` is empty when it is the same for everybody but operators.
    """

    origins: list[str]
    treatment: Treatment
    words: str
    at_start: str


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of the policy; ``rules`` are its rules with what each looks for."""

    kind: Kind
    words: str
    rules: list[tuple[str, str]]
    operators: Cell
    non_operators: list[Cell]
    setting: str
    is_changed: bool
    options: list[tuple[str, str]]
    held_count: int

    @property
    def per_day(self) -> float:
        """Held texts a day."""
        return self.held_count / DAYS


@dataclass(frozen=True, slots=True)
class Measured:
    """What the policy held of a collection of texts, measured once."""

    name: str
    price: Price


def _treatments(
    kind: Kind, origin: Origin, modes: Mapping[str, str]
) -> tuple[Treatment, Treatment]:
    """Return what becomes of a text in most tiers, and in those read at the start."""
    writer = Writer.OPERATOR if origin is Origin.OPERATOR else Writer.OWN
    usual, at_start = (
        policy_kinds.treatment(kind, provenance.context(origin, tier, writer), modes)
        for tier in (None, START_TIERS[0])
    )
    return usual, at_start


def _cells(
    kind: Kind, origins: Sequence[Origin], modes: Mapping[str, str]
) -> list[Cell]:
    """Return what becomes of a text, origins that are treated groups together."""
    groups: dict[tuple[Treatment, Treatment], list[str]] = {}
    for origin in origins:
        name = gettext(context_words.ORIGINS[origin])
        groups.setdefault(_treatments(kind, origin, modes), []).append(name)
    return [
        Cell(
            names if len(groups) > 1 else [],
            usual,
            gettext(TREATMENTS[usual]),
            gettext(TREATMENTS[at_start]) if at_start is not usual else "",
        )
        for (usual, at_start), names in groups.items()
    ]


def _setting(kind: Kind, modes: Mapping[str, str]) -> str:
    """Return the mode that all rules of a kind have, "" when they differ."""
    of_rules = {modes.get(rule, Mode.HOLD.value) for rule in policy_kinds.RULES[kind]}
    return of_rules.pop() if len(of_rules) == 1 else ""


def _setting_words(mode: str) -> str:
    names = SETTINGS | {Mode.BLOCK.value: _BLOCKS}
    return gettext(names.get(mode, _DIFFERS))


def lines(
    saved: Mapping[str, str], draft: Mapping[str, str], held_counts: Mapping[Kind, int]
) -> list[Line]:
    """Return every kind with its setting under a draft; ``held_counts`` of 30 days."""
    modes = {**saved, **draft}
    result = []
    for kind, words in KINDS.items():
        setting = _setting(kind, modes)
        options = [(f"{kind}:{m}", m) for m in SETTINGS if m != setting]
        result.append(
            Line(
                kind,
                gettext(words),
                [(r, gettext(registry.rule(r).why)) for r in policy_kinds.RULES[kind]],
                _cells(kind, [Origin.OPERATOR], modes)[0],
                _cells(kind, NON_OPERATORS, modes),
                _setting_words(setting),
                setting != _setting(kind, saved),
                [(value, _setting_words(mode)) for value, mode in options],
                held_counts.get(kind, 0),
            )
        )
    return result


def measured() -> list[Measured]:
    return [Measured(gettext(name), price) for name, price in PRICES.items()]


def modes_of(choices: Mapping[str, str]) -> dict[str, str]:
    """Return the modes of rules for modes of kinds; an unknown one is Invalid."""
    modes: dict[str, str] = {}
    for kind, mode in choices.items():
        if kind not in KINDS or mode not in SETTINGS:
            detail = gettext("There is no such policy.")
            raise errors.Invalid(detail, code="unknown_policy")
        modes |= dict.fromkeys(policy_kinds.RULES[Kind(kind)], mode)
    return modes
