"""``manage.py gdpr_key``: the keys that sign certificates."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from gdpr.certificates import keys as signing_keys
from gdpr.models import SigningKey


def _line(row: SigningKey) -> str:
    state = "retired" if row.retired_at else "signs"
    return f"{row.key_id}  {row.public_key}  {state}"


class Command(BaseCommand):
    """List the keys, or make a new one and retire those before it."""

    help = "The keys that sign certificates: list them, or rotate."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=("list", "rotate"))
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, act: str, as_json: bool, **_options: Any) -> None:
        if act == "list":
            rows = signing_keys.published()
            if as_json:
                lines = [{"key_id": r.key_id, "public_key": r.public_key} for r in rows]
                self.stdout.write(json.dumps({"keys": lines}))
            else:
                self.stdout.write("\n".join(map(_line, rows)) or "No key was made yet.")
            return
        new_key, retired = signing_keys.rotate()
        if as_json:
            report = {
                "key_id": new_key.key_id,
                "public_key": new_key.public_key,
                "retired": [row.key_id for row in retired],
            }
            self.stdout.write(json.dumps(report))
            return
        self.stdout.write(f"New key: {_line(new_key)}")
        self.stdout.write(f"Retired: {len(retired)}; what they signed stays valid.")
