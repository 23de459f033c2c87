"""The tables of the index: embeddings, its progress, the log of changes, relations."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from memory.models import JournalEntry, Workspace


class State(models.TextChoices):
    """The state of an embedding; failed rows are tried again at growing intervals.

    A withheld one keeps its vector and takes part in no search.
    """

    PENDING = "pending"
    INDEXED = "indexed"
    FAILED = "failed"
    WITHHELD = "withheld"


class Embedding(models.Model):
    """The vector of one entry: little-endian float32, L2-normalised, ``dim`` wide.

    ``indexed_at`` is when the entry was first embedded and never moves, so that
    embedding it again with another model does not make it look younger.
    """

    entry = models.OneToOneField(
        JournalEntry, models.CASCADE, primary_key=True, related_name="embedding"
    )
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    # The entry's place in its chain, so that the queue needs no join.
    seq = models.BigIntegerField(default=0)
    crew_id = models.CharField(max_length=128, null=True)  # noqa: DJ001
    agent_id = models.CharField(max_length=128, null=True)  # noqa: DJ001
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    vector = models.BinaryField(default=b"")
    dim = models.PositiveIntegerField(default=0)
    model = models.CharField(max_length=120, blank=True)
    indexed_at = models.DateTimeField(null=True)
    embedded_at = models.DateTimeField(null=True)
    importance_score = models.FloatField(default=0.5)
    reference_count = models.PositiveIntegerField(default=0)
    last_referenced_at = models.DateTimeField(null=True)
    policy_version = models.PositiveSmallIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=200, blank=True)
    next_attempt_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "journal_embeddings"
        constraints = (
            models.CheckConstraint(
                condition=Q(importance_score__gte=0) & Q(importance_score__lte=1),
                name="importance_in_unit",
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "model", "state"], name="embedding_of"),
            models.Index(
                fields=["workspace", "-seq"],
                name="embedding_waiting",
                condition=~Q(state="indexed"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.entry_id} {self.state}"


class IndexState(models.Model):
    """How far the sweep has read a workspace's journal, and under which policy."""

    workspace = models.OneToOneField(Workspace, models.CASCADE, primary_key=True)
    seq = models.BigIntegerField(default=0)
    policy_version = models.PositiveSmallIntegerField(default=0)

    class Meta:
        db_table = "journal_index_states"

    def __str__(self) -> str:
        return f"{self.workspace_id} read to {self.seq}"


class EmbeddingChange(models.Model):
    """A change of the index, read by every process's matrix.

    Rows are written by database triggers, so nothing that touches an embedding can be
    missed. Kind ``trim`` says that changes up to number ``entry_id`` were dropped.
    """

    id = models.BigAutoField(primary_key=True)
    workspace_id = models.CharField(max_length=32)
    entry_id = models.CharField(max_length=32)
    kind = models.CharField(max_length=6)

    class Meta:
        db_table = "embedding_changes"
        indexes = (
            models.Index(fields=["workspace_id", "id"], name="embedding_change_of"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.kind}"


class MemoryRelation(models.Model):
    """An edge between two entries, written from the newer to the older one.

    It is read both ways. ``weight`` is the cosine for similar, 1 otherwise.
    """

    class Kind(models.TextChoices):
        """What an edge says; contradicts is reserved and readable."""

        SIMILAR = "similar"
        SUPPORTS = "supports"
        CONTRADICTS = "contradicts"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    src = models.ForeignKey(
        JournalEntry, models.CASCADE, related_name="relations_out", db_index=False
    )
    dst = models.ForeignKey(
        JournalEntry, models.CASCADE, related_name="relations_in", db_index=False
    )
    relation = models.CharField(max_length=12, choices=Kind.choices)
    weight = models.FloatField(default=1.0)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "memory_relations"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "src", "dst", "relation"], name="relation_once"
            ),
            models.CheckConstraint(
                condition=~Q(src=models.F("dst")), name="relation_not_to_itself"
            ),
        )
        indexes = (models.Index(fields=["workspace", "dst"], name="relation_back"),)

    def __str__(self) -> str:
        return f"{self.src_id} {self.relation} {self.dst_id}"
