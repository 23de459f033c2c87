"""Recipients of a person's data (Article 19): whom it went to, notices, answers."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from gdpr.models.cases import Case
from memory.models import Workspace, ids


def _recipient_id() -> str:
    return ids.make("rcp")


def _no_ids() -> dict[str, Any]:
    return {}


class RecipientKind(models.TextChoices):
    """What a recipient is; ``other`` was added by an officer."""

    WEBHOOK = "webhook", pgettext_lazy("recipient", "Webhook")
    GATEWAY = "gateway", pgettext_lazy("recipient", "Memory gateway")
    PROVIDER = "provider", pgettext_lazy("recipient", "Remote provider")
    EMBEDDER = "embedder", pgettext_lazy("recipient", "Service for vectors")
    MODEL = "model", pgettext_lazy("recipient", "Language model")
    MAIL = "mail", pgettext_lazy("recipient", "Mail server")
    BUNDLES = "bundles", pgettext_lazy("recipient", "Bundles that were downloaded")
    FILES = "files", pgettext_lazy("recipient", "Files of the journal")
    OTHER = "other", pgettext_lazy("recipient", "Added by hand")


class NoticeState(models.TextChoices):
    """How far the notice to a recipient is; ``info`` is listed without a notice."""

    INFO = "info", pgettext_lazy("notice", "For information")
    WAITING = "waiting", pgettext_lazy("notice", "Waits for the end of the run")
    TO_NOTIFY = "to_notify", pgettext_lazy("notice", "To notify")
    QUEUED = "queued", pgettext_lazy("notice", "On its way")
    NOTIFIED = "notified", pgettext_lazy("notice", "Notified")
    DELIVERED = "delivered", pgettext_lazy("notice", "Delivered")
    ANSWERED = "answered", pgettext_lazy("notice", "Answered")
    NOT_POSSIBLE = "not_possible", pgettext_lazy("notice", "Not possible")
    FAILED = "failed", pgettext_lazy("notice", "Failed")


class NoticeWay(models.TextChoices):
    """How a notice reaches its recipient."""

    WEBHOOK = "webhook", pgettext_lazy("way of a notice", "Signed event")
    FORGET = "forget", pgettext_lazy("way of a notice", "Call to forget")
    MAIL = "mail", pgettext_lazy("way of a notice", "E-mail")
    HAND = "hand", pgettext_lazy("way of a notice", "By hand")


class NoNoticeGround(models.TextChoices):
    """Why a recipient is not notified, in the words of Article 19."""

    NOT_POSSIBLE = "not_possible", gettext_lazy("It is not possible")
    DISPROPORTIONATE = (
        "disproportionate",
        gettext_lazy("It would be a disproportionate effort"),
    )


class RecipientAnswer(models.TextChoices):
    """What a recipient says it did."""

    CARRIED_OUT = "carried_out", gettext_lazy("They carried it out")
    NOT_HELD = "not_held", gettext_lazy("They hold nothing about the person")
    REFUSED = "refused", gettext_lazy("They refuse")


# What still needs somebody or something, an answer left aside.
OPEN_NOTICES: tuple[str, ...] = (
    NoticeState.WAITING, NoticeState.TO_NOTIFY, NoticeState.QUEUED, NoticeState.FAILED,
)  # fmt: skip
SENT_NOTICES: tuple[str, ...] = (NoticeState.NOTIFIED, NoticeState.DELIVERED)


class Recipient(models.Model):
    """One recipient of a case, kept with ids and counts, without the person's name.

    ``ref`` is what it is here: the id of a webhook or a set-up. ``doubt`` is the code
    of why it is not certain that it received something, empty when it is. ``evidence``
    has the ids of entries and messages that it received. ``sealed`` has, encrypted and
    only until a remote provider answered, the identifiers that it is to forget.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_recipient_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="recipients")
    kind = models.CharField(max_length=8, choices=RecipientKind.choices)
    ref = models.CharField(max_length=64)
    name = models.CharField(max_length=254, blank=True)
    received = models.TextField(blank=True)
    doubt = models.CharField(max_length=24, blank=True)
    count = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    evidence = models.JSONField(default=_no_ids, blank=True)
    added_at = models.DateTimeField(default=timezone.now)
    added_by = models.CharField(max_length=254)
    # ── The notice ───────────────────────────────────────────────────────────
    state = models.CharField(
        max_length=12, choices=NoticeState.choices, default=NoticeState.WAITING
    )
    way = models.CharField(max_length=8, choices=NoticeWay.choices, blank=True)
    # A message of the webhook's own queue, which sends and repeats it.
    delivery_id = models.CharField(max_length=32, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    released_at = models.DateTimeField(null=True, blank=True)
    notified_at = models.DateTimeField(null=True, blank=True)
    notified_by = models.CharField(max_length=254, blank=True)
    last_error = models.CharField(max_length=200, blank=True)
    sealed = models.TextField(blank=True)
    # How many items a remote provider says it removed.
    removed = models.PositiveIntegerField(null=True, blank=True)
    # ── Without a notice ─────────────────────────────────────────────────────
    ground = models.CharField(max_length=16, choices=NoNoticeGround.choices, blank=True)
    reason = models.TextField(blank=True)
    decided_by = models.CharField(max_length=254, blank=True)
    # ── The answer ───────────────────────────────────────────────────────────
    answer = models.CharField(
        max_length=11, choices=RecipientAnswer.choices, blank=True
    )
    answered_on = models.DateField(null=True, blank=True)
    answer_note = models.TextField(blank=True)
    answered_by = models.CharField(max_length=254, blank=True)

    class Meta:
        db_table = "gdpr_recipients"
        ordering = ("added_at", "id")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "case", "kind", "ref"], name="recipient_once"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=RecipientKind.values), name="recipient_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=NoticeState.values), name="notice_state_known"
            ),
            models.CheckConstraint(
                condition=~Q(state="not_possible") | ~Q(reason=""),
                name="no_notice_has_reason",
            ),
        )
        indexes = (
            models.Index(fields=["state", "next_attempt_at"], name="notice_due"),
            models.Index(fields=["workspace", "state"], name="notice_of_workspace"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.kind} {self.state}"


class RecipientContact(models.Model):
    """Where notices to a recipient go, by its host or name, for a whole workspace."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    name = models.CharField(max_length=254)
    email = models.CharField(max_length=254)
    language = models.CharField(max_length=8, default="en")
    changed_at = models.DateTimeField(default=timezone.now)
    changed_by = models.CharField(max_length=254)

    class Meta:
        db_table = "gdpr_recipient_contacts"
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "name"], name="recipient_contact_once"
            ),
        )

    def __str__(self) -> str:
        return f"contact {self.pk}"
