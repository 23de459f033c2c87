"""Which tables a backup has, their columns, and the order that foreign keys ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.db import connection, models

# What is worked out again, or of one machine and moment; by label, with the reason.
LEFT_OUT: Final = {
    "memory.EntryWords": "The words of entries: written again from the entries.",
    "memory.WordCount": "How many entries hold a word: counted again when asked for.",
    "memory.WorkerProcess": "The processes that run.",
    "memory.WordChange": "A log for processes that run.",
    "episodic.EmbeddingChange": "A log for processes that run.",
    "gdpr.ForgetOrder": "A log for processes that run.",
    "gdpr.LiveProcess": "The processes that run.",
    "sessions.Session": "Who is signed in: everybody signs in again.",
    "memory.StoredFile": "Bodies: a backup has them by themselves, wherever they are.",
    "memory.SealedKey": "Keys: a backup has them by themselves, wherever they are.",
    "gdpr.ErasureLine": "The erasures files: a backup has them by themselves.",
}
# What a move copies with the rows, where bodies are in the database it moves from.
_BODIES: Final = frozenset(
    {"memory.StoredFile", "memory.SealedKey", "gdpr.ErasureLine"}
)
# PostgreSQL has vectors apart from the embeddings whose rows they are in here.
POSTGRES_TABLES: Final = ("journal_vectors", "journal_vector_counts")
_KINDS: Final[tuple[tuple[type[models.Field[Any, Any]], str], ...]] = (
    (models.BooleanField, "bool"),
    (models.DateTimeField, "moment"),
    (models.DateField, "date"),
    (models.JSONField, "json"),
    (models.BinaryField, "bytes"),
    (models.FloatField, "float"),
    (models.IntegerField, "int"),
    (models.CharField, "text"),
    (models.TextField, "text"),
)
KINDS: Final = frozenset(kind for _, kind in _KINDS)


@dataclass(frozen=True, slots=True)
class Column:
    """A column and the form of its values in a backup."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table, its columns, and the one that puts its rows in order."""

    name: str
    columns: tuple[Column, ...]
    key: str


def _kind(field: models.Field[Any, Any]) -> str:
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    for field_class, kind in _KINDS:
        if isinstance(field, field_class):
            return kind
    message = f"A backup does not know the column {field.model.__name__}.{field.name}."
    raise TypeError(message)


def _table(model: type[models.Model]) -> Table:
    fields = model._meta.concrete_fields
    columns = tuple(Column(str(field.column), _kind(field)) for field in fields)
    return Table(model._meta.db_table, columns, str(model._meta.pk.column))


def _needed(model: type[models.Model]) -> set[type[models.Model]]:
    """Return the models whose rows have to be there before this one's."""
    related = {f.related_model for f in model._meta.concrete_fields if f.is_relation}
    return {m for m in related if isinstance(m, type) and m is not model}


def _in_order(rest: Iterable[type[models.Model]]) -> list[type[models.Model]]:
    ordered: list[type[models.Model]] = []
    remaining = list(rest)
    while remaining:
        ready = [m for m in remaining if _needed(m).isdisjoint(remaining)]
        if not ready:
            message = f"Tables need each other: {[m._meta.label for m in remaining]}"
            raise TypeError(message)
        ordered += ready
        remaining = [m for m in remaining if m not in ready]
    return ordered


def all_tables(*, with_bodies: bool = False) -> list[Table]:
    """Return the tables of a backup, each after those that it refers to."""
    all_models = apps.get_models(include_auto_created=True)
    left_out = set(LEFT_OUT) - (_BODIES if with_bodies else set())
    stored = [
        model
        for model in all_models
        if model._meta.managed and model._meta.label not in left_out
    ]
    return [_table(model) for model in _in_order(stored)]


def left_out_here() -> list[str]:
    """Return the tables that a restore leaves empty, if the database has them."""
    names = set(connection.introspection.table_names())
    listed = [apps.get_model(label)._meta.db_table for label in LEFT_OUT]
    return [name for name in (*listed, *POSTGRES_TABLES) if name in names]
