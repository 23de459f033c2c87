"""The words of entries for the word ranking, and the log of what changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:
    _BigIntegerField = models.BigIntegerField[int, int]
else:
    _BigIntegerField = models.BigIntegerField


class RowNumberField(_BigIntegerField):
    """A primary key that is SQLite's own row number: the table needs no second tree."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        if connection.vendor == "sqlite":
            return "integer"
        return super().db_type(connection)


class EntryWords(models.Model):
    """The words of one entry as numbers (``memory.word_index.terms`` packs them).

    Written with the entry. Database triggers delete the row with the entry, and when
    its text changes; a row that is missing is computed from the text. On PostgreSQL the
    table has further columns and its key begins with the workspace
    (``memory.word_index.pg_table``).
    """

    docid = RowNumberField(primary_key=True)
    words = models.BinaryField()

    class Meta:
        db_table = "journal_words"
        verbose_name_plural = "entry words"

    def __str__(self) -> str:
        return str(self.docid)


class WordChange(models.Model):
    """A change of an entry that is in the word index, read by every process's index.

    Triggers on SQLite write it; new entries are found by their number. Kind is
    ``words`` (another text), ``flags`` (anything else the index keeps), ``del``, or
    ``trim``: changes up to number ``docid`` were dropped. On PostgreSQL only ``words``
    is logged: the words of these entries have to be written again.
    """

    id = models.BigAutoField(primary_key=True)
    workspace_id = models.CharField(max_length=32)
    docid = models.BigIntegerField()
    kind = models.CharField(max_length=5)

    class Meta:
        db_table = "word_changes"
        indexes = (models.Index(fields=["workspace_id", "id"], name="word_change_of"),)

    def __str__(self) -> str:
        return f"{self.id} {self.kind}"


class WordCount(models.Model):
    """How many usable, embedded entries of a workspace hold a term; on PostgreSQL only.

    ``seq`` is the last entry of the chain when they were counted, ``words`` the length
    of their texts. What else ``term`` may be says ``memory.word_index.frequencies``. A
    database trigger deletes the counts of an entry's terms when its text leaves.
    """

    id = models.BigAutoField(primary_key=True)
    workspace_id = models.CharField(max_length=32)
    term = models.BigIntegerField()
    seq = models.BigIntegerField()
    entries = models.BigIntegerField()
    words = models.BigIntegerField(default=0)

    class Meta:
        db_table = "word_counts"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace_id", "term"], name="word_counts_unique"
            ),
        )

    def __str__(self) -> str:
        return f"{self.workspace_id} {self.term}"
