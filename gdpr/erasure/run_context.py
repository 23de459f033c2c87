"""The context of a run: its case, plan, person, and lease."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import structlog
from django.db import DatabaseError, connections

from gdpr import cache_version
from gdpr.cases import decided_rows, leases, sealed_names
from gdpr.cases import workflow as cases
from gdpr.cases.leases import LeaseLost
from gdpr.data_map import registry
from gdpr.data_map.base import Person
from gdpr.matching.matcher import Name
from gdpr.models import Case, CaseKind, CasePlan, CaseStep, Subject, SubjectLink
from gdpr.subjects import rectification
from gdpr.verification.search import Tokens
from memory.installation import identity as installation
from memory.jobs import time_box
from memory.rules import permissions
from memory.rules.permissions import Actor

BEAT_SECONDS: Final = 10.0
# The kind of the display name among the sealed names; no alias has it.
DISPLAY_NAME: Final = "display"
log = structlog.get_logger(__name__)


class ProcessEnds(LeaseLost):
    """This process was asked to end; the next runner goes on."""

    code, title = "process_ends", "The worker stops"
    sentence = "The worker of this run stops; another one goes on with it."


@dataclass
class Run:
    """One runner's claim on a case. ``lease_lost`` is set when another has it."""

    case: Case
    runner: str
    tokens: Tokens = field(default_factory=Tokens)
    lease_lost: threading.Event = field(default_factory=threading.Event)
    _known: tuple[object, Person] | None = field(default=None, repr=False)

    @property
    def by(self) -> Actor:
        return permissions.system(self.case.workspace_id, "gdpr")

    @property
    def officer(self) -> Actor:
        """The user who set it running, for the audit log."""
        return Actor(
            role=permissions.Role.SYSTEM,
            workspace_id=self.case.workspace_id,
            id=self.case.executed_by_id or "gdpr",
            label=self.case.executed_by or "gdpr",
        )

    @property
    def subject(self) -> Subject:
        subject = self.case.subject
        assert subject is not None  # noqa: S101  (subjects are kept, without names)
        return subject

    @cached_property
    def plan(self) -> CasePlan:
        """The approved plan, which does not change while the case runs."""
        plan = cases.latest_plan(self.case)
        assert plan is not None  # noqa: S101  (nothing runs without a plan)
        return plan

    @property
    def is_rectification(self) -> bool:
        """Whether texts are corrected instead of erased."""
        return self.case.kind == CaseKind.RECTIFICATION

    def person(self) -> Person:
        """Return the person, by the names in the tables or the sealed ones."""
        base = decided_rows.with_decisions(registry.person(self.subject), self.case)
        sealed = sealed_names.get(self.case)
        if self.is_rectification:
            return rectification.person(base, *self.correction(sealed))
        if sealed is None:
            return base
        names = [name for name in sealed if name.kind != DISPLAY_NAME]
        matcher = registry.matcher_of(names, base.others_matcher.names_known)
        return replace(base, matcher=matcher)

    def person_now(self) -> Person:
        """Return the person, read again only when names or links changed.

        Its memo starts empty, because entries may have come.
        """
        links = SubjectLink.objects.filter(workspace_id=self.case.workspace_id)
        last = links.order_by("-pk").values_list("pk", flat=True).first()
        now = (cache_version.current(self.case.workspace_id), last)
        if self._known is None or self._known[0] != now:
            self._known = (now, self.person())
        return replace(self._known[1], memo={})

    def correction(self, sealed: list[Name] | None) -> tuple[str, str]:
        """Return the wrong and the right text, from the sealed names or the case."""
        if sealed is None:
            return rectification.correction_of(self.case)
        return sealed[0].value, sealed[1].value

    def steps(self) -> dict[str, CaseStep]:
        return {step.name: step for step in leases.steps(self.case)}

    @contextmanager
    def step(self, name: str) -> Iterator[CaseStep]:
        """Begin or resume a step, and finish it when the block ends without a fault."""
        step = leases.begin(self.steps()[name])
        yield step
        leases.finish(step)

    def renew_lease(self) -> None:
        """Renew the lease; raise LeaseLost when another runner has or is to have it.

        Raises NotReady when the data folder is missing: nothing in it could be erased,
        and a search of it would prove nothing.
        """
        if time_box.is_ending():
            raise ProcessEnds
        installation.require()
        if self.lease_lost.is_set() or not leases.renew(self.case, self.runner):
            self.lease_lost.set()
            raise LeaseLost

    def check_lease(self) -> None:
        """Raise LeaseLost when another runner has the case; for long steps."""
        if time_box.is_ending():
            raise ProcessEnds
        if self.lease_lost.is_set():
            raise LeaseLost


@contextmanager
def heartbeat(run: Run) -> Iterator[None]:
    """Renew the lease from a thread while the block runs."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_SECONDS):
            try:
                if not leases.renew(run.case, run.runner):
                    run.lease_lost.set()
                    break
            except DatabaseError:
                log.warning("gdpr_heartbeat_missed", case=run.case.id)
        connections.close_all()

    thread = threading.Thread(target=beat, name=f"heart of {run.case.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
