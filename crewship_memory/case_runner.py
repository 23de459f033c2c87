"""Start the run of due cases within a second.

The worker's few threads may be busy with an index or a night's work, and the message
that a case waits would wait behind it. So every process that serves the queue of
personal data, and ``up``, gives cases a thread of their own; which process runs a case
is settled in the database.
"""

from __future__ import annotations

from typing import Final

import structlog
from django.db import close_old_connections, connections

from crewship_memory import logs
from crewship_memory.stoppable_thread import StoppableThread
from gdpr import tasks
from gdpr.cases import leases
from gdpr.erasure import catch_up

LOOK_SECONDS: Final = 1.0
log = structlog.get_logger(__name__)


class CaseRunner(StoppableThread):
    """Polls for due cases and runs them; the lease of one cut off lets it resume."""

    def __init__(self) -> None:
        super().__init__("cases")

    def look(self) -> bool:
        """Run due cases; return whether there were any.

        Before them the erasures that a database lacks which was restored meanwhile.
        """
        catch_up.sweep()
        has_due_cases = bool(leases.due())
        if has_due_cases:
            tasks.run_due()
        return has_due_cases

    def run(self) -> None:
        while not self.ended.wait(LOOK_SECONDS):
            close_old_connections()
            try:
                with logs.own_run():
                    self.look()
            except Exception as error:  # noqa: BLE001  (the next look tries again)
                log.warning("cases_not_looked_for", error=type(error).__name__)
        connections.close_all()
