"""Alert rules, dashboard and their pages name only what the program exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml
from prometheus_client.process_collector import ProcessCollector

from crewship_memory.metrics import scrape
from memory.measurements import declared
from tests.project import pages, source

FOLDER: Final = source.ROOT / "crewship_memory" / "monitoring"
ALERTS: Final = "alerts.yaml"
DASHBOARD: Final = "dashboard.json"
SEVERITIES: Final = {"warning", "critical"}
# Prometheus gives these to every series that it scrapes.
OWN_LABELS: Final = {"instance", "job"}
OWN_SERIES: Final = {"up"}
# The words of its language that are no name of a series.
FUNCTIONS: Final = set(
    "sum min max avg count rate increase histogram_quantile topk absent time by and"
    " or unless without on ignoring humanizePercentage".split()
)
TOKEN: Final = re.compile(
    r'(?P<text>"[^"]*")|(?P<range>\[[^\]]*\])|(?P<word>[A-Za-z_:][\w:]*)'
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<sign>[^\s\w])|(?P<space>\s+)"
)
Series = tuple[str, frozenset[str]]


def exported() -> dict[str, set[str]]:
    """Return every series with its labels."""
    assert scrape  # its modules declare what is read at a scrape
    by_series = {
        series: set(figure.labels) | ({"le"} if series.endswith("_bucket") else set())
        for figure in declared.figures()
        for series in figure.series
    }
    own = (s.name for f in ProcessCollector(registry=None).collect() for s in f.samples)
    return by_series | {name: {"pid", "role"} for name in own}


def tokens(expression: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts of an expression's tokens, in order."""
    at = 0
    while at < len(expression):
        match = TOKEN.match(expression, at)
        assert match is not None, expression[at:]
        at = match.end()
        if match.lastgroup != "space":
            yield str(match.lastgroup), match[0]


def read(expression: str) -> tuple[list[Series], set[str]]:
    """Return the series of an expression with the labels they are chosen by, and the
    labels that it groups by.
    """
    series: list[tuple[str, set[str]]] = []
    groups, within, previous = set[str](), "", ""
    for kind, text in tokens(expression):
        if text == "{":
            within = "selector"
        elif text == "(" and previous in ("by", "without", "on", "ignoring"):
            within = "group"
        elif text in ("}", ")"):
            within = ""
        elif kind == "word" and within == "selector":
            series[-1][1].add(text)
        elif kind == "word" and within == "group":
            groups.add(text)
        elif kind == "word" and text not in FUNCTIONS:
            series.append((text, set()))
        previous = text
    return [(name, frozenset(labels)) for name, labels in series], groups


def rules() -> list[dict[str, Any]]:
    content = yaml.safe_load((FOLDER / ALERTS).read_text(encoding="utf-8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    content = json.loads((FOLDER / DASHBOARD).read_text(encoding="utf-8"))
    return [panel for panel in content["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    of_panels = (t["expr"] for panel in panels() for t in panel["targets"])
    return [*(rule["expr"] for rule in rules()), *of_panels]


def faults(expression: str) -> list[str]:
    """Return what an expression names that the program does not export."""
    labels_of, (series, groups) = exported(), read(expression)
    unknown = [name for name, _ in series if name not in labels_of.keys() | OWN_SERIES]
    available = set(OWN_LABELS)
    for name, labels in series:
        own = labels_of.get(name, set())
        available |= own
        unknown += [f"{name}{{{label}}}" for label in labels - own - OWN_LABELS]
    unknown += [f"by {label}" for label in groups - available]
    if "histogram_quantile" in expression:
        is_bucket = all(name.endswith("_bucket") for name, _ in series)
        unknown += [] if is_bucket and "le" in groups else ["a quantile of no buckets"]
    return unknown


# ── Names ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("expression", expressions())
def test_an_expression_names_what_is_exported(expression: str) -> None:
    assert faults(expression) == []


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("sum(crewship_request_total)", "crewship_request_total"),
        ("crewship_requests_total{route='x'}", "crewship_requests_total{route}"),
        ("sum by (crew) (crewship_requests_total)", "by crew"),
        (
            "histogram_quantile(0.9, sum by (le) (crewship_recall_seconds_sum))",
            "by le",
        ),
        (
            "histogram_quantile(0.9, crewship_recall_seconds_bucket)",
            "a quantile of no buckets",
        ),
    ],
)
def test_a_wrong_name_is_noticed(expression: str, fault: str) -> None:
    assert fault in faults(expression.replace("'", '"'))


def test_labels_have_values_that_the_program_writes() -> None:
    """A state that nobody writes would keep an alert silent for ever."""
    words = {
        '"5xx"', '"total"', '"single"', '"ok"', '"failed"', '"answered"', '"erasure"',
        '"partial"', '"1.0"', '"crewship"', '""',
    }  # fmt: skip
    texts = {text for e in expressions() for kind, text in tokens(e) if kind == "text"}
    patterns = {text for text in texts if re.search(r"[|*]", text)}
    assert texts - patterns == words
    assert patterns == {
        '"api/v1/.*"',
        '"worker|up"',
        '"clock|up"',
        '"index_sweep|files_sweep|gdpr_cases"',
    }


# ── Rules and panels ─────────────────────────────────────────────────────────
def test_every_rule_says_how_grave_it_is_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) >= 20
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in SEVERITIES
        assert rule["annotations"].keys() == {"summary", "action"}
        assert all(text.endswith(".") for text in rule["annotations"].values())


def test_every_alert_has_its_row_on_the_page() -> None:
    rows = [name for row in pages.rows(pages.OPERATING, "Alert")
            for name in pages.codes(row[0])]  # fmt: skip
    assert sorted(rows) == sorted(rule["alert"] for rule in rules())


def test_panels_lie_beside_each_other_and_every_figure_is_shown() -> None:
    cells_used: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert cells_used.isdisjoint(cells), panel["title"]
        assert max(x for x, _ in cells) < 24
        cells_used |= cells
    names_used = {name for e in expressions() for name, _ in read(e)[0]}
    hidden = {f.name for f in declared.figures() if not names_used & set(f.series)}
    assert hidden == set()


def test_the_table_of_metrics_is_complete() -> None:
    """Two tables: the machine's and the installation's."""
    table = {
        name: set(pages.codes(row[1]))
        for row in pages.rows(pages.OPERATING, "Metric")
        for name in pages.codes(row[0])
    }
    assert table == {figure.name: set(figure.labels) for figure in declared.figures()}
