"""Why a metric is not at 100: what costs how many points, and what would help.

Causes are read from a snapshot's details. The points of a metric's causes are shares of
what the metric costs the score; names and words are read anew, so nothing erased comes
back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from episodic.health.metrics import table as metrics
from episodic.health.metrics.base import Action, Explanation, Finding
from episodic.models import HealthSnapshot
from memory.models import Agent

PER_METRIC: Final = 3
MIN_POINTS: Final = 0.05
# Kinds of repair that cure their causes at once.
CURED: Final = ("index", "link")


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that pulls a metric down, by points of the score.

    ``key`` names it within its metric, ``repair`` the kind of repair that helps.
    """

    metric: str
    points: float
    title: str
    text: str
    action: Action
    key: str
    repair: str = ""
    accepted: bool = False

    @property
    def can_be_accepted(self) -> bool:
        """Whether people may accept it: a repair does not cure it at once."""
        return bool(self.key) and self.repair not in CURED


def of(snapshot: HealthSnapshot, agents: dict[str, str] | None = None) -> list[Cause]:
    """Return up to three causes for each metric, the costliest first.

    Given the slugs of the ``agents`` it reads nothing from the database and quotes no
    words, for lists of many scopes.
    """
    quotes = agents is None
    if agents is None:
        rows = Agent.objects.filter(workspace_id=snapshot.workspace_id)
        agents = dict(rows.values_list("id", "slug"))
    explanation = Explanation(snapshot, agents, quotes)
    points = metrics.points_lost(snapshot)
    causes: list[Cause] = []
    for metric in metrics.METRICS:
        details = snapshot.details.get(metric.name)
        # Details that were damaged were taken out; without them there is no cause.
        if points[metric.name] and details:
            findings = metric.explain(explanation, details)
            causes += _costliest(metric.name, points[metric.name], findings)
    return sorted(causes, key=lambda cause: -cause.points)


def _costliest(metric: str, points: float, findings: list[Finding]) -> list[Cause]:
    causes = [
        Cause(
            metric,
            round(points * min(1.0, finding.share), 1),
            finding.title,
            finding.text,
            finding.action,
            finding.key,
            finding.repair,
        )
        for finding in findings
    ]
    causes = [cause for cause in causes if cause.points >= MIN_POINTS]
    return sorted(causes, key=lambda cause: -cause.points)[:PER_METRIC]
