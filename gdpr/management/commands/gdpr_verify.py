"""``manage.py gdpr_verify``: check a certificate, with or without a database."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from gdpr.certificates import document
from gdpr.certificates import issue as certificates
from gdpr.certificates.document import Verdict


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(document.MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(document.MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None


def _named_keys(document_keys: Any) -> list[str]:
    """Return the public keys of a document that GET /gdpr/keys returned."""
    rows = document_keys.get("keys", []) if isinstance(document_keys, dict) else []
    return [str(row.get("public_key", "")) for row in rows if isinstance(row, dict)]


def trusted(options: list[str]) -> dict[str, str]:
    """Return the keys of ``--public-key``: base64, or a file of ``GET /gdpr/keys``."""
    keys: dict[str, str] = {}
    for option in options:
        texts = [option]
        if not _is_key(option) and Path(option).is_file():
            text = Path(option).read_text(encoding="utf-8").strip()
            texts = [text] if _is_key(text) else _named_keys(json.loads(text))
        for text in texts:
            if not _is_key(text):
                raise CommandError("--public-key is base64 of 32 bytes, or a file.")
            keys[document.key_id(text)] = text
    return keys


def _is_key(text: str) -> bool:
    try:
        document.decode(text, document.PUBLIC_BYTES)
    except document.Malformed:
        return False
    return True


def _judge(raw: bytes, public_keys: list[str], case_id: str) -> tuple[Verdict, str]:
    """Return the verdict, and what it was checked with."""
    if public_keys:
        verdict = document.verify(raw, trusted(public_keys), case_id=case_id)
        return verdict, "the public key that was given"
    try:
        verdict = certificates.verify(raw, case_id=case_id)
    except DatabaseError:
        verdict = document.verify(raw, {}, case_id=case_id)
        return verdict, "the key inside, which proves no more than that it is intact"
    return verdict, "the keys and the records of this installation"


class Command(BaseCommand):
    """Check a certificate; exit 1 when it is not valid."""

    help = "Check a certificate of erasure. Exit 1 when anything speaks against it."
    # It must run from a bare checkout, without a database.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="a certificate, - for standard input")
        parser.add_argument(
            "--public-key", action="append", default=[], metavar="KEY|FILE",
            help="trust this key, and ask no database",
        )  # fmt: skip
        parser.add_argument("--case", default="", help="the case it should be about")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, file: str, as_json: bool, **options: Any) -> None:
        raw = _read(file)
        try:
            verdict, by = _judge(raw, options["public_key"], options["case"])
        except (OSError, ValueError) as error:
            raise CommandError(f"--public-key: {type(error).__name__}.") from None
        if as_json:
            report = {
                "valid": verdict.valid,
                "key_id": verdict.key_id,
                "reasons": verdict.reasons,
                "explanations": verdict.sentences,
                "intact": verdict.intact,
                "checked_with": by,
            }
            self.stdout.write(json.dumps(report))
        else:
            self._print(verdict, by)
        if not verdict.valid:
            raise CommandError("Something speaks against this certificate.")

    def _print(self, verdict: Verdict, by: str) -> None:
        self.stdout.write(f"Checked with {by}.")
        for sentence in verdict.sentences:
            self.stdout.write(f"  ✗ {sentence}")
        content = verdict.content or {}
        if not verdict.valid:
            return
        self.stdout.write(f"  ✓ Valid. {content.get('statement', '')}")
        self.stdout.write(f"    Case {content['case_id']}, {content['result']}.")
        for title, lines in _lists(content):
            self.stdout.write(f"{title}:")
            for line in lines:
                self.stdout.write(f"  - {line}")


def _lists(content: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lists of a certificate: a title and its lines, none empty."""
    if content["version"] > 1:
        identifiers = content["identifiers"]
        searched, kept_rows = content["searched"], content["kept"]
        yield (
            f"Identifiers sought ({identifiers['count']})",
            [
                f"{line['kind']} {line['digest'][:16]}… in"
                f" {', '.join(line['sought_in']) or 'nothing: too short'}"
                for line in identifiers["list"]
            ],
        )
        yield "In these forms", _sentences(content["forms"])
        yield "Places searched", [_place(place) for place in searched["places"]]
        yield "Reading paths searched", _sentences(searched["reading_paths"])
        yield "How", searched["methods"]
        yield "Not searched", _sentences(content["not_searched"])
        yield (
            "What stays",
            [f"{line['place']}: {line['sentence']}" for line in kept_rows["rows"]]
            or ["No row that was found."],
        )
        yield "Identity", [content["identity"]["sentence"]]
    yield "What it does not prove", content.get("does_not_prove", [])


def _sentences(lines: list[dict[str, Any]]) -> list[str]:
    return [str(line["sentence"]) for line in lines]


def _place(place: dict[str, Any]) -> str:
    counts = ("deleted", "redacted", "kept", "found")
    numbers = ", ".join(f"{place[name]} {name}" for name in counts if place[name])
    return f"{place['title']}: {numbers}" if numbers else str(place["title"])
