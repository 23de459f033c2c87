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
    its text changes; a row that is missing is computed from the text.
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
    ``trim``: changes up to number ``docid`` were dropped.
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
