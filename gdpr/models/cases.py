"""The tables of requests: a case, its plans, steps and events, and legal holds."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from gdpr.models.subjects import Subject
from memory.models import Workspace, ids


def _case_id() -> str:
    return ids.make("c")


def _hold_id() -> str:
    return ids.make("hold")


class CaseKind(models.TextChoices):
    """What a person may ask for."""

    ACCESS = "access", gettext_lazy("Access")
    ERASURE = "erasure", gettext_lazy("Erasure")
    RECTIFICATION = "rectification", gettext_lazy("Rectification")
    RESTRICTION = "restriction", gettext_lazy("Restriction")
    PORTABILITY = "portability", gettext_lazy("Portability")
    OBJECTION = "objection", gettext_lazy("Objection")


class CaseState(models.TextChoices):
    """The state of a case; ``gdpr.cases.state_machine`` has the transitions."""

    # The labels are also shown in lower case, within a sentence.

    RECEIVED = "received", pgettext_lazy("case", "Received")
    IDENTIFIED = "identified", pgettext_lazy("case", "Identity verified")
    PLANNED = "planned", pgettext_lazy("case", "Planned")
    APPROVED = "approved", pgettext_lazy("case", "Approved")
    RUNNING = "running", pgettext_lazy("case", "Running")
    VERIFYING = "verifying", pgettext_lazy("case", "Verifying")
    ON_HOLD = "on_hold", pgettext_lazy("case", "On hold")
    PARTIAL = "partial", pgettext_lazy("case", "Partial")
    COMPLETE = "complete", pgettext_lazy("case", "Complete")
    REFUSED = "refused", pgettext_lazy("case", "Refused")


class IdentityGround(models.TextChoices):
    """Why a person is erased although nobody verified who asks, without naming anybody.

    The certificate has it; the words beside it stay in the case while it is open.
    """

    ASKED_BY_EMPLOYER = "asked_by_employer", gettext_lazy("Their employer asked for it")
    OWN_DECISION = (
        "own_decision",
        gettext_lazy("The controller decided it without a request"),
    )
    AUTHORITY = "authority", gettext_lazy("An authority asked for it")
    DATA_WRONG = "data_wrong", gettext_lazy("The data is wrong, or of nobody real")
    OTHER = "other", gettext_lazy("Another ground, in the case while it is open")


OPEN: tuple[str, ...] = tuple(
    state.value
    for state in CaseState
    if state not in (CaseState.COMPLETE, CaseState.REFUSED)
)


class Case(models.Model):
    """One request of one person, from receipt to certificate.

    ``version`` is the optimistic lock of users, ``claimed_by`` and ``lease_until`` are
    the lock of runners. ``subject_ref`` stays when the subject's row is deleted.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_case_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject = models.ForeignKey(
        Subject, models.SET_NULL, null=True, related_name="cases"
    )
    subject_ref = models.CharField(max_length=32)
    kind = models.CharField(max_length=13, choices=CaseKind.choices)
    state = models.CharField(
        max_length=10, choices=CaseState.choices, default=CaseState.RECEIVED
    )
    # The state to return to when the last hold is released.
    held_from = models.CharField(max_length=10, blank=True)
    reason = models.TextField()
    requester = models.CharField(max_length=200, blank=True)
    ticket = models.CharField(max_length=120, blank=True)
    received_at = models.DateTimeField()
    due_at = models.DateTimeField()
    extended_until = models.DateTimeField(null=True, blank=True)
    extension_reason = models.TextField(blank=True)
    opened_at = models.DateTimeField(default=timezone.now)
    opened_by = models.CharField(max_length=254)
    opened_by_id = models.CharField(max_length=128)
    # Who made the API key that was used: a person as well, who may not approve.
    opened_key_maker = models.CharField(max_length=128, blank=True)
    assignee = models.CharField(max_length=254, blank=True)
    identity_how = models.CharField(max_length=400, blank=True)
    identity_by = models.CharField(max_length=254, blank=True)
    identity_at = models.DateTimeField(null=True, blank=True)
    identity_skipped_ground = models.CharField(
        max_length=17, choices=IdentityGround.choices, blank=True
    )
    identity_skipped_reason = models.TextField(blank=True)
    approved_by = models.CharField(max_length=254, blank=True)
    approved_by_id = models.CharField(max_length=128, blank=True)
    approved_key_maker = models.CharField(max_length=128, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_plan = models.CharField(max_length=64, blank=True)
    executed_by = models.CharField(max_length=254, blank=True)
    executed_by_id = models.CharField(max_length=128, blank=True)
    break_glass_reason = models.TextField(blank=True)
    refusal_reason = models.TextField(blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.CharField(max_length=254, blank=True)
    # Rectification: the wrong and the right text, until it is carried out.
    correction = models.JSONField(default=dict, blank=True)
    run = models.PositiveSmallIntegerField(default=0)
    result = models.JSONField(default=dict, blank=True)
    version = models.PositiveIntegerField(default=1)
    claimed_by = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    digest_sent_on = models.DateField(null=True, blank=True)

    class Meta:
        db_table = "gdpr_cases"
        ordering = ("due_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(kind__in=CaseKind.values), name="case_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=CaseState.values), name="case_state_known"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="case_has_reason"),
            models.CheckConstraint(
                condition=~Q(state="refused") | ~Q(refusal_reason=""),
                name="case_refusal_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(identity_skipped_ground="")
                | ~Q(identity_skipped_reason=""),
                name="case_identity_skip_has_reason",
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "state", "due_at"], name="case_urgent"),
            models.Index(fields=["workspace", "subject_ref"], name="case_of_subject"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.kind} {self.state}"


class CasePlan(models.Model):
    """A dry run over every holder. Its samples are erased when the case is closed.

    ``rows`` is place → [[row id, delete|redact|keep], …]: what the run will do, and
    what its hash covers. It holds ids, never texts.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="plans")
    number = models.PositiveSmallIntegerField()
    plan_hash = models.CharField(max_length=64)
    body = models.JSONField()
    rows = models.JSONField(default=dict)
    made_at = models.DateTimeField(default=timezone.now)
    made_by = models.CharField(max_length=254)
    made_by_id = models.CharField(max_length=128)
    made_key_maker = models.CharField(max_length=128, blank=True)

    class Meta:
        db_table = "gdpr_case_plans"
        ordering = ("case", "-number")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "case", "number"], name="plan_number_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.case_id} plan {self.number}"


class StepState(models.TextChoices):
    WAITING = "waiting", pgettext_lazy("step", "Waiting")
    RUNNING = "running", pgettext_lazy("step", "Running")
    DONE = "done", pgettext_lazy("step", "Done")
    DEFERRED = "deferred", pgettext_lazy("step", "Deferred by a hold")
    FAILED = "failed", pgettext_lazy("step", "Failed")


class CaseStep(models.Model):
    """One step of a run: a holder, or work on the database and its files."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="steps")
    run = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=32)
    title = models.CharField(max_length=120)
    state = models.CharField(
        max_length=8, choices=StepState.choices, default=StepState.WAITING
    )
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict, blank=True)
    fault = models.CharField(max_length=400, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "gdpr_case_steps"
        ordering = ("case", "run", "position")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "case", "run", "name"], name="case_step_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.case_id} {self.name} {self.state}"


class CaseEvent(models.Model):
    """The timeline of a case: state changes, comments, attachments by hash."""

    class Kind(models.TextChoices):
        MOVED = "moved", "Moved"
        NOTE = "note", "Comment"
        ATTACHMENT = "attachment", "Attachment"
        ALARM = "alarm", "Alarm"
        FACT = "fact", "Fact"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    state = models.CharField(max_length=10, blank=True)
    text = models.TextField()
    data = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(default=timezone.now)
    by = models.CharField(max_length=254)

    class Meta:
        db_table = "gdpr_case_events"
        ordering = ("case", "-id")

    def __str__(self) -> str:
        return f"{self.case_id} {self.kind}"


class Hold(models.Model):
    """A legal reason to keep a person's data; ``scope`` is ``all`` or one holder."""

    id = models.CharField(primary_key=True, max_length=32, default=_hold_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject = models.ForeignKey(Subject, models.CASCADE, related_name="holds")
    scope = models.CharField(max_length=24, default="all")
    ground = models.CharField(max_length=200, blank=True)
    reason = models.TextField()
    owner = models.CharField(max_length=254)
    review_at = models.DateTimeField()
    placed_at = models.DateTimeField(default=timezone.now)
    placed_by = models.CharField(max_length=254)
    released_at = models.DateTimeField(null=True, blank=True)
    released_by = models.CharField(max_length=254, blank=True)
    release_reason = models.TextField(blank=True)

    class Meta:
        db_table = "gdpr_holds"
        ordering = ("-placed_at", "id")
        constraints = (
            models.CheckConstraint(condition=~Q(reason=""), name="hold_has_reason"),
        )
        indexes = (
            models.Index(
                fields=["workspace", "subject"],
                condition=Q(released_at=None),
                name="hold_in_force",
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.scope}"
