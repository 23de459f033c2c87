"""``manage.py gdpr_export``: everything about a person, as JSON or as a bundle."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gdpr.erasure import one_call
from gdpr.export import make as export
from gdpr.export import review
from gdpr.export.review import Decision
from gdpr.models import ExportState, WordVerdict
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
        parser.add_argument(
            "--cover-doubtful",
            action="store_true",
            help="With --out: cover doubtful words of other people, ask nobody.",
        )

    def handle(self, *, subject: str, workspace: str, **options: Any) -> None:
        out: Path | None = options["out"]
        try:
            by = system(one_call.workspace_of(subject, workspace), "gdpr_export")
            serving.require(by.workspace_id)
            if out is None:
                data = one_call.export_all(subject, by=by)
                self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2))
            else:
                cover = bool(options["cover_doubtful"])
                self._bundle(subject, options["reason"], out, by, cover=cover)
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        except OSError as error:
            raise CommandError(f"Cannot write {out}: {error.strerror}.") from None

    def _bundle(
        self, alias: str, reason: str, out: Path, by: Actor, *, cover: bool
    ) -> None:
        person = one_call.person(alias, by=by, must_be_named=True)
        bundle = export.make(export.request(person, reason=reason, by=by))
        if bundle.state == ExportState.REVIEW and cover:
            decision = Decision(verdict=WordVerdict.COVER, all_doubtful=True)
            bundle = export.make(review.decide(bundle, decision, by=by))
        if bundle.state == ExportState.REVIEW:
            count = review.waiting(bundle)
            raise CommandError(
                f"{bundle.id} waits for a decision on {count} words of other people:"
                " decide on its page and download it there, or use --cover-doubtful."
            )
        if bundle.state != ExportState.READY:
            raise CommandError(f"The export failed: {bundle.error}.")
        with out.open("xb") as file:
            out.chmod(0o600)
            file.writelines(export.read(bundle, by=by))
        export.remove(bundle, by=by)
        self.stdout.write(f"{bundle.counts['total']} rows about {person.id} in {out}")
