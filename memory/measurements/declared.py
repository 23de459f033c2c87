"""Declaring figures: each has one name, one meaning, and a bounded set of labels.

What is counted while work is done is a counter, histogram or gauge of Prometheus's
client; what is read at a scrape is a ``Computed``. No label names a person, a tenant,
a crew or an agent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Literal, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

Kind = Literal["counter", "gauge", "histogram"]
# How the values of several processes become one.
Mode = Literal["livesum", "livemostrecent", "max"]
Value = tuple[Sequence[str], float]
T = TypeVar("T", Counter, Gauge)

PREFIX: Final = "crewship_"
# Where Prometheus's client keeps what is counted in a process of its own.
RECORDED: Final = CollectorRegistry()


@dataclass(frozen=True, slots=True)
class Figure:
    """A name as it is exported, without ``_bucket`` and the like of a histogram."""

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()
    # Counted while work is done, and not read at a scrape.
    is_recorded: bool = True

    @property
    def series(self) -> tuple[str, ...]:
        """The names of its samples."""
        if self.kind == "histogram":
            return tuple(f"{self.name}_{end}" for end in ("bucket", "sum", "count"))
        return (self.name,)

    def family(self, values: Iterable[Value]) -> Metric:
        """Return it as Prometheus's client writes it."""
        cls = CounterMetricFamily if self.kind == "counter" else GaugeMetricFamily
        family = cls(self.name, self.text, labels=self.labels)
        for labels, value in values:
            family.add_metric(list(labels), value)
        return family


_figures: dict[str, Figure] = {}


def figures() -> list[Figure]:
    """Return every declared figure, by name."""
    return sorted(_figures.values(), key=lambda figure: figure.name)


def _declare(figure: Figure) -> Figure:
    if figure.name in _figures:
        message = f"There is a figure {figure.name} already."
        raise RuntimeError(message)
    _figures[figure.name] = figure
    return figure


def counter(name: str, text: str, labels: Sequence[str]) -> Counter:
    """Declare a counter with labels; ``name`` is without prefix and ``_total``."""
    _declare(Figure(f"{PREFIX}{name}_total", "counter", text, tuple(labels)))
    return Counter(f"{PREFIX}{name}", text, labels, registry=RECORDED)


def histogram(
    name: str, text: str, labels: Sequence[str], buckets: Sequence[float]
) -> Histogram:
    """Declare a histogram of seconds with labels."""
    _declare(Figure(f"{PREFIX}{name}", "histogram", text, tuple(labels)))
    return Histogram(
        f"{PREFIX}{name}", text, labels, registry=RECORDED, buckets=buckets
    )


def gauge(name: str, text: str, labels: Sequence[str], mode: Mode) -> Gauge:
    """Declare a gauge with labels that a process sets."""
    _declare(Figure(f"{PREFIX}{name}", "gauge", text, tuple(labels)))
    return Gauge(
        f"{PREFIX}{name}", text, labels, registry=RECORDED, multiprocess_mode=mode
    )


class Single(Generic[T]):
    """A figure without labels, made at its first use.

    Prometheus's client makes the file of a figure without labels as soon as it is
    declared; a command that counts nothing would leave one behind.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] = make
        self._lock = threading.Lock()
        self._figure: T | None = None

    def __call__(self) -> T:
        with self._lock:
            if self._figure is None:
                self._figure = self._make()
            return self._figure


def single_counter(name: str, text: str) -> Single[Counter]:
    """Declare a counter without labels."""
    _declare(Figure(f"{PREFIX}{name}_total", "counter", text))
    return Single(partial(Counter, f"{PREFIX}{name}", text, registry=RECORDED))


def single_gauge(name: str, text: str, mode: Mode) -> Single[Gauge]:
    """Declare a gauge without labels that a process sets."""
    _declare(Figure(f"{PREFIX}{name}", "gauge", text))
    make = partial(
        Gauge, f"{PREFIX}{name}", text, registry=RECORDED, multiprocess_mode=mode
    )
    return Single(make)


def computed(
    name: str, text: str, labels: Sequence[str] = (), kind: Kind = "gauge"
) -> Figure:
    """Declare a figure that is read at a scrape."""
    end = "_total" if kind == "counter" else ""
    name = f"{PREFIX}{name}{end}"
    return _declare(Figure(name, kind, text, tuple(labels), is_recorded=False))
