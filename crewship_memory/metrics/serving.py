"""What a process that serves does for its figures, from its start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import structlog
from django.conf import settings
from django.db import connections
from prometheus_client import start_http_server
from prometheus_client.core import Metric

from crewship_memory.metrics import scrape
from crewship_memory.metrics.pulse import Pulse
from memory.measurements import folder, processes

# Those without a web server of their own.
# It keeps nothing in memory, and needs no connection.
CLOCK: Final = "clock"
EXPORTING: Final = frozenset({"worker", CLOCK})
log = structlog.get_logger(__name__)


def start(role: str, *, is_child: bool = False) -> None:
    """Register this process, and tell its figures to the others until it ends.

    A child of a worker answers no scrapes: its parent does.
    """
    processes.register(role)
    place = folder.current()
    if place is not None:
        with suppress(OSError):
            folder.remove_forsaken(place)
    if role in EXPORTING and settings.METRICS_PORT and not is_child:
        _export(settings.METRICS_HOST, settings.METRICS_PORT)
    if role != CLOCK:
        Pulse().start()


def _export(host: str, port: int) -> None:
    """Answer scrapes of this machine's figures at a port of their own.

    Of several processes with one port the first answers, for all of them.
    """
    try:
        start_http_server(port, host, registry=scrape.registry(_of_machine))
    except OSError as error:
        log.warning("metrics_port_not_bound", port=port, why=error.strerror)


def _of_machine() -> Iterator[Metric]:
    """Yield the figures; a thread for each scrape keeps no connection."""
    figures: Iterable[Metric] = scrape.of_machine()
    try:
        yield from figures
    finally:
        connections.close_all()
