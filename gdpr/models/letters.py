"""Letters to a person about their request: texts to start from, address, letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from gdpr.models import sealed
from gdpr.models.cases import Case, CaseKind
from memory.models import Workspace, ids


def _letter_id() -> str:
    return ids.make("let")


class LetterOccasion(models.TextChoices):
    """What a letter tells the person."""

    RECEIVED = "received", pgettext_lazy("letter", "The request arrived")
    EXTENDED = "extended", pgettext_lazy("letter", "The deadline was extended")
    DONE = "done", pgettext_lazy("letter", "The request was carried out")
    REFUSED = "refused", pgettext_lazy("letter", "The request was refused")
    PARTLY_DONE = "partly_done", pgettext_lazy("letter", "It was carried out in part")


class LetterWay(models.TextChoices):
    """How a letter left."""

    MAIL = "mail", pgettext_lazy("letter", "By e-mail")
    POST = "post", pgettext_lazy("letter", "By post, or handed over")


class AddressSource(models.TextChoices):
    """Where the address of a case comes from."""

    OFFICER = "officer", pgettext_lazy("address", "Entered by an officer")
    FORM = "form", pgettext_lazy("address", "From the request form, by a mailed link")
    FORWARDED = "forwarded", pgettext_lazy("address", "From a forwarded request")


class LetterTemplate(models.Model):
    """A workspace's own text for an occasion, a kind of request and a language.

    An empty ``kind`` is the text for every kind that has none of its own.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    occasion = models.CharField(max_length=11, choices=LetterOccasion.choices)
    kind = models.CharField(max_length=13, choices=CaseKind.choices, blank=True)
    language = models.CharField(max_length=35)
    subject = models.CharField(max_length=200)
    body = models.TextField()
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=254)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_letter_templates"
        ordering = ("occasion", "kind", "language")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "occasion", "kind", "language"],
                name="letter_template_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.occasion} {self.kind} {self.language}"


class Correspondence(models.Model):
    """Where the answer to a request goes: sealed, and gone when it was answered."""

    case = models.OneToOneField(
        Case, models.CASCADE, primary_key=True, related_name="correspondence"
    )
    workspace = models.ForeignKey(Workspace, models.CASCADE)
    language = models.CharField(max_length=35)
    source = models.CharField(max_length=9, choices=AddressSource.choices)
    sealed = models.BinaryField()
    changed_by = models.CharField(max_length=254)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_correspondence"

    def __str__(self) -> str:
        return str(self.case_id)

    @property
    def _row(self) -> str:
        return f"correspondence {self.workspace_id} {self.case_id}"

    def seal(self, values: Mapping[str, str]) -> None:
        """Set name and addresses; the caller saves."""
        self.sealed = sealed.seal(self._row, values)

    def opened(self) -> dict[str, str]:
        """Return name and addresses, or raise DoesNotOpen."""
        return sealed.unseal(self._row, self.sealed)


class Letter(models.Model):
    """One letter, sealed. Without ``sent_at`` it was kept and not sent.

    ``claimed_at`` is when a process began to mail it. ``keep_until`` is set when it is
    sent: a later change of the setting does not move it.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_letter_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="letters")
    occasion = models.CharField(max_length=11, choices=LetterOccasion.choices)
    language = models.CharField(max_length=35)
    sealed = models.BinaryField()
    kept_at = models.DateTimeField(default=timezone.now)
    kept_by = models.CharField(max_length=254)
    way = models.CharField(max_length=4, choices=LetterWay.choices, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    sent_by = models.CharField(max_length=254, blank=True)
    keep_until = models.DateField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "gdpr_letters"
        ordering = ("-kept_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(sent_at=None) | (~Q(way="") & Q(keep_until__isnull=False)),
                name="letter_sent_some_way",
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "keep_until"], name="letter_ends"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.occasion}"

    @property
    def _row(self) -> str:
        return f"letter {self.workspace_id} {self.id}"

    def seal(self, content: Mapping[str, Any]) -> None:
        """Set subject, body and to whom it goes; the caller saves."""
        self.sealed = sealed.seal(self._row, content)

    def opened(self) -> dict[str, Any]:
        """Return subject, body and to whom it went, or raise DoesNotOpen."""
        return sealed.unseal(self._row, self.sealed)
