"""Migrations whose statements differ between SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import StateApps

# The statements per database, by Django's name of its vendor.
Statements = Mapping[str, Sequence[str]]


def operation(forwards: Statements, backwards: Statements) -> migrations.RunPython:
    """Return the operation that executes the statements of the database at hand."""

    def execute(statements: Statements, editor: BaseDatabaseSchemaEditor) -> None:
        for statement in statements[editor.connection.vendor]:
            editor.execute(statement, params=None)

    def run(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        execute(forwards, editor)

    def take_back(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        execute(backwards, editor)

    return migrations.RunPython(run, take_back)
