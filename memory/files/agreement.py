"""How often people agreed with each rule, counted from the labels of decisions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from memory.models import Label, ReviewLabel
from memory.rules import intervals
from memory.rules.permissions import Actor

MAX_DECISIONS: Final = 5_000
# With fewer decisions a share says too little.
FEW_DECISIONS: Final = 10


@dataclass(frozen=True, slots=True)
class Agreement:
    """How people decided about texts in which a rule matched."""

    confirmed: int
    released: int

    @property
    def decided(self) -> int:
        """The number of decisions about texts in which the rule matched."""
        return self.confirmed + self.released

    @property
    def is_enough(self) -> bool:
        """Whether there are enough decisions for a share."""
        return self.decided >= FEW_DECISIONS

    @property
    def precision(self) -> int | None:
        """The share that people confirmed, in percent; None without decisions."""
        return round(100 * self.confirmed / self.decided) if self.decided else None

    @property
    def interval(self) -> tuple[float, float]:
        """The share that people confirm lies here, in 95 of 100 cases like this."""
        return intervals.wilson(self.confirmed, self.decided)

    @property
    def low(self) -> int:
        """The lower end of the interval, in percent."""
        return round(100 * self.interval[0])

    @property
    def high(self) -> int:
        """The upper end of the interval, in percent."""
        return round(100 * self.interval[1])


NONE: Final = Agreement(0, 0)


def agreement(actor: Actor) -> dict[str, Agreement]:
    """Return, by rule, how often people confirmed what it held and how often not.

    Discarded and redacted texts count for every rule that matched in them, released
    texts against. Only the newest decisions count.
    """
    actor.require("scanner.read")
    rows = ReviewLabel.objects.filter(workspace_id=actor.workspace_id)
    newest = rows.order_by("-decided_at", "-pk").values_list("label", "rules")
    confirmed: dict[str, int] = defaultdict(int)
    released: dict[str, int] = defaultdict(int)
    for label, rules in newest[:MAX_DECISIONS].iterator(chunk_size=500):
        tally = confirmed if label == Label.ATTACK else released
        for rule in rules:
            tally[rule["rule"]] += 1
    names = confirmed.keys() | released.keys()
    return {name: Agreement(confirmed[name], released[name]) for name in names}
