"""Prints the statements that distribute this database by workspace."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from memory import distribution


class Command(BaseCommand):
    """Prints a plan; changes nothing."""

    help = (
        "Prints the statements that distribute the tables by workspace over several"
        " PostgreSQL servers (Citus); changes nothing."
    )

    def handle(self, **_options: Any) -> None:
        if connection.vendor != "postgresql":
            message = "Only a PostgreSQL database can be distributed; this is SQLite."
            raise CommandError(message)
        with connection.cursor() as cursor:
            sentences = distribution.faults(cursor)
            statements = distribution.plan(cursor)
        if sentences:
            raise CommandError("\n".join(sentences))
        self.stdout.write("\n".join(statements))
