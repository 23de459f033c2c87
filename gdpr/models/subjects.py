"""The tables of data subjects: their names, links to rows, suppressed names."""

from __future__ import annotations

import secrets
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from gdpr.matching import common_words
from gdpr.matching.matcher import Name
from memory.models import Workspace, ids


def _subject_id() -> str:
    return ids.make("sub")


class AliasKind(models.TextChoices):
    """What kind of name an alias is; the kind decides how it is matched."""

    USER_ID = "user_id", gettext_lazy("User id")
    EMAIL = "email", gettext_lazy("E-mail")
    PHONE = "phone", gettext_lazy("Phone")
    HANDLE = "handle", gettext_lazy("Handle")
    NAME = "name", gettext_lazy("Name")
    PATTERN = "pattern", gettext_lazy("Free pattern")


class Consent(models.TextChoices):
    """A person's consent to being remembered."""

    UNKNOWN = "unknown", pgettext_lazy("consent", "Never asked")
    GIVEN = "given", pgettext_lazy("consent", "Given")
    WITHDRAWN = "withdrawn", pgettext_lazy("consent", "Withdrawn")


class Subject(models.Model):
    """A person. After an erasure the row stays without a name, for its cases.

    ``opted_out_at`` and the suppression list keep new data about an erased person out;
    ``restricted_at`` keeps existing data out of use.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_subject_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="subjects")
    display_name = models.CharField(max_length=200, blank=True)
    consent = models.CharField(
        max_length=10, choices=Consent.choices, default=Consent.UNKNOWN
    )
    consent_note = models.CharField(max_length=400, blank=True)
    consent_at = models.DateTimeField(null=True, blank=True)
    opted_out_at = models.DateTimeField(null=True, blank=True)
    restricted_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)
    merged_into = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="merged"
    )
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=254)

    class Meta:
        db_table = "gdpr_subjects"
        ordering = ("-created_at", "id")
        indexes = (
            models.Index(fields=["workspace", "-created_at"], name="subject_newest"),
        )

    def __str__(self) -> str:
        return self.id


class Alias(models.Model):
    """One name of a person; ``folded`` is without case, accents and punctuation."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject = models.ForeignKey(Subject, models.CASCADE, related_name="aliases")
    kind = models.CharField(max_length=8, choices=AliasKind.choices)
    value = models.CharField(max_length=320)
    folded = models.CharField(max_length=640)
    added_at = models.DateTimeField(default=timezone.now)
    added_by = models.CharField(max_length=254)
    # None until existing rows have been searched for this alias.
    swept_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "gdpr_aliases"
        verbose_name_plural = "aliases"
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "subject", "kind", "folded"], name="alias_once"
            ),
        )
        indexes = (models.Index(fields=["workspace", "folded"], name="alias_folded"),)

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject_id}"

    @classmethod
    def names(cls, workspace_id: str, **of: Any) -> list[Name]:
        """Return the names of a workspace, or of one person (``subject_id``) there."""
        rows = cls.objects.filter(workspace_id=workspace_id, **of).order_by("pk")
        return [Name(*row) for row in rows.values_list("subject_id", "kind", "value")]

    @property
    def is_common(self) -> bool:
        """Whether it is an ordinary word that often means something else."""
        return common_words.is_common(self.kind, self.value)


class Via(models.TextChoices):
    """How a row came to be linked to a person."""

    NAMED = "named", gettext_lazy("Named by its writer")
    MATCHED = "matched", gettext_lazy("Found in its text")


class SubjectLink(models.Model):
    """One row of any table that is about a person, or names one.

    ``place`` is the name of a holder (``journal``, ``versions``, …), ``row_id`` the
    primary key there, as text. No foreign key, because the tables differ.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject = models.ForeignKey(Subject, models.CASCADE, related_name="links")
    place = models.CharField(max_length=24)
    row_id = models.CharField(max_length=64)
    via = models.CharField(max_length=8, choices=Via.choices)
    linked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_subject_links"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "subject", "place", "row_id"],
                name="subject_link_once",
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "place", "row_id"], name="link_of_row"),
        )

    def __str__(self) -> str:
        return f"{self.subject_id} in {self.place} {self.row_id}"


class Suppression(models.Model):
    """A suppressed name, as a keyed hash from which it cannot be read.

    ``words`` is the number of words of the folded alias, so that a text is split into
    phrases of that length before hashing.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    digest = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=AliasKind.choices)
    words = models.PositiveSmallIntegerField(default=1)
    subject_ref = models.CharField(max_length=32)
    case_ref = models.CharField(max_length=32, blank=True)
    since = models.DateTimeField(default=timezone.now)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=254, blank=True)
    lift_reason = models.TextField(blank=True)

    class Meta:
        db_table = "gdpr_suppressions"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "digest"],
                condition=models.Q(lifted_at=None),
                name="suppressed_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.digest[:12]}"


def make_stamp() -> str:
    """Return a new random value for ``PeopleStamp``."""
    return secrets.token_hex(8)


class PeopleStamp(models.Model):
    """A random value that changes whenever subjects or aliases of a workspace change.

    A process checks it before using cached names. A counter would not do: after a
    rolled back change it would reach the same number again.
    """

    workspace = models.OneToOneField(
        Workspace, models.CASCADE, primary_key=True, related_name="people_stamp"
    )
    stamp = models.CharField(max_length=16, default=make_stamp)

    class Meta:
        db_table = "gdpr_people_stamps"

    def __str__(self) -> str:
        return f"{self.workspace_id} at {self.stamp}"


class UnknownName(models.Model):
    """A row whose writer named somebody who is not a subject yet, as a keyed hash.

    When the alias is added later, the row is linked and this is deleted.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    digest = models.CharField(max_length=64)
    place = models.CharField(max_length=24)
    row_id = models.CharField(max_length=64)

    class Meta:
        db_table = "gdpr_unknown_names"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "digest", "place", "row_id"],
                name="unknown_name_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.place} {self.row_id}"


class Dismissal(models.Model):
    """The decision that an address found near a person is not theirs.

    A keyed digest of the address, so that it is not suggested again.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject = models.ForeignKey(Subject, models.CASCADE, related_name="dismissals")
    digest = models.CharField(max_length=64)
    decided_at = models.DateTimeField(default=timezone.now)
    decided_by = models.CharField(max_length=254)

    class Meta:
        db_table = "gdpr_dismissals"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "subject", "digest"], name="dismissed_once"
            ),
        )

    def __str__(self) -> str:
        return f"not of {self.subject_id}"


class Lifting(models.Model):
    """A restriction that was lifted: since when it applied, who lifted it, and why.

    ``lifted_at`` is empty where the reason is older than this table.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject = models.ForeignKey(Subject, models.CASCADE, related_name="liftings")
    restricted_at = models.DateTimeField(null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True, default=timezone.now)
    lifted_by = models.CharField(max_length=254, blank=True)
    reason = models.TextField()

    class Meta:
        db_table = "gdpr_liftings"
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"restriction of {self.subject_id} lifted"
