"""Helpers for tests of holders: subjects, matches, erasure, raw searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection, models

from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from gdpr.models import Alias, AliasKind, Subject, SubjectLink, Via
from memory.rules import tokenizer
from tests import processes
from tests.world import World

ANNA: Final = {
    "name": "Anna Kowalczyk",
    "email": "anna.k@example.com",
    "phone": "+49 151 2345678",
}
BERT: Final = {"name": "Bertram Ohlsen", "email": "bert@example.com"}


def subject(world: World, names: Mapping[str, str] = ANNA) -> Subject:
    """Return a subject with one alias of each given kind."""
    subject_row = Subject.objects.create(
        workspace=world.acme, display_name=next(iter(names.values())), created_by="test"
    )
    for kind, value in names.items():
        alias(subject_row, value, AliasKind(kind))
    return subject_row


def alias(person_row: Subject, value: str, kind: AliasKind = AliasKind.NAME) -> Alias:
    return Alias.objects.create(
        workspace_id=person_row.workspace_id,
        subject=person_row,
        kind=kind,
        value=value,
        folded=tokenizer.fold(value),
        added_by="test",
    )


def link(person_row: Subject, place: str, row_id: str, via: Via = Via.NAMED) -> None:
    """Link a row to a subject, as a writer that names them does."""
    SubjectLink.objects.get_or_create(
        workspace_id=person_row.workspace_id,
        subject=person_row,
        place=place,
        row_id=row_id,
        defaults={"via": via},
    )


def matches_in(name: str, person_row: Subject) -> dict[str, RowMatch]:
    """Return row id → match of one holder."""
    holder, person = registry.by_name(name), registry.person(person_row)
    return {match.row_id: match for match in holder.find(person)}


def fates(name: str, person_row: Subject) -> dict[str, Fate]:
    """Return row id → fate of one holder's matches."""
    return {
        row_id: match.fate for row_id, match in matches_in(name, person_row).items()
    }


def erase(name: str, person_row: Subject) -> dict[str, Fate]:
    """Carry out one holder's plan; return the plan."""
    holder, person = registry.by_name(name), registry.person(person_row)
    return _carry_out(holder, person)


def _carry_out(holder: Holder, person: Person) -> dict[str, Fate]:
    plan = {match.row_id: match.fate for match in holder.find(person)}
    holder.erase(person, _of(plan, Fate.DELETE))
    holder.redact(person, _of(plan, Fate.REDACT))
    return plan


def _of(plan: Mapping[str, Fate], fate: Fate) -> list[str]:
    return [row_id for row_id, match in plan.items() if match is fate]


def erase_all(person_row: Subject) -> dict[str, dict[str, Fate]]:
    """Erase a subject in every holder, in the order of the registry."""
    person = registry.person(person_row)
    plans = {}
    for holder in registry.ALL:
        if not holder.derived or holder.name == "caches":
            plans[holder.name] = _carry_out(holder, person)
    return plans


def traces(person_row: Subject, *names: str) -> list[str]:
    """Return the holders' remaining traces of a subject, as ``place what``."""
    person = registry.person(person_row)
    return [
        f"{trace.place} {trace.description}"
        for holder in registry.ALL
        if not names or holder.name in names
        for trace in holder.verify(person)
    ]


# ── Raw search ───────────────────────────────────────────────────────────────
def in_tables(text: str) -> dict[str, int]:
    """Return ``app.Model.column`` → rows that hold a text, over every table."""
    from django.apps import apps

    hits: dict[str, int] = defaultdict(int)
    for model in apps.get_models(include_auto_created=True):
        for column in _texts(model):
            for value in model._default_manager.values_list(column, flat=True):
                if text.lower() in _plain(value).lower():
                    hits[f"{model._meta.label}.{column}"] += 1
    return dict(hits)


def _texts(model: type[models.Model]) -> list[str]:
    kinds = (
        models.CharField,
        models.TextField,
        models.JSONField,
        models.BinaryField,
    )
    return [f.attname for f in model._meta.concrete_fields if isinstance(f, kinds)]


def _plain(value: object) -> str:
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    return str(value)


def in_files(text: str) -> dict[str, int]:
    """Return path → how often the bytes of a file or its name hold a text."""
    hits = {}
    for path in files():
        place = path.relative_to(settings.DATA_DIR).as_posix()
        raw = processes.bytes_of(path).lower() + place.lower().encode()
        count = raw.count(text.lower().encode())
        if count:
            hits[place] = count
    return hits


def in_folders(text: str) -> dict[str, int]:
    """Return ``in_files`` without the database's own files and the keys.

    Keys are random characters, which now and then spell a short word.
    """
    return {
        path: n
        for path, n in in_files(text).items()
        if "/" in path and not path.startswith("keys/")
    }


def files() -> Iterator[Path]:
    """Yield every regular file below the data folder."""
    return (path for path in Path(settings.DATA_DIR).rglob("*") if path.is_file())


def flush_bytes() -> None:
    """Rewrite the database's file, so that it holds live rows only."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for index in ("journal_fts", "chunks_fts"):
                cursor.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert cursor.fetchone()[0] == 0


def deleted(plan: Mapping[str, Fate]) -> Sequence[str]:
    return _of(plan, Fate.DELETE)
