"""``manage.py gdpr_export``: everything about a person, as JSON or as a bundle."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gdpr.erasure import one_call
from gdpr.export import make as export
from gdpr.models import ExportState
from memory.ports import serving
from memory.rules import errors
from memory.rules.permissions import Actor, system


class Command(BaseCommand):
    """Print all data of a person as JSON, or write a bundle to a file."""

    help = "Export what is known about SUBJECT: JSON, or a zip of pages with --out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subject", metavar="SUBJECT")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument("--out", type=Path, metavar="FILE")
        parser.add_argument("--reason", default="")

    def handle(self, *, subject: str, workspace: str, **options: Any) -> None:
        out: Path | None = options["out"]
        try:
            by = system(one_call.workspace_of(subject, workspace), "gdpr_export")
            serving.require(by.workspace_id)
            if out is None:
                data = one_call.export_all(subject, by=by)
                self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2))
            else:
                self._bundle(subject, options["reason"], out, by)
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        except OSError as error:
            raise CommandError(f"Cannot write {out}: {error.strerror}.") from None

    def _bundle(self, alias: str, reason: str, out: Path, by: Actor) -> None:
        person = one_call.person(alias, by=by, must_be_named=True)
        bundle = export.make(export.request(person, reason=reason, by=by))
        if bundle.state != ExportState.READY:
            raise CommandError(f"The export failed: {bundle.error}.")
        with out.open("xb") as file:
            out.chmod(0o600)
            file.writelines(export.read(bundle, by=by))
        export.remove(bundle, by=by)
        self.stdout.write(f"{bundle.counts['total']} rows about {person.id} in {out}")
