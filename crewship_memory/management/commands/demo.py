"""``manage.py demo``: load the demo workspace, once."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from crewship_memory import bootstrap
from crewship_memory.demo import load


class Command(BaseCommand):
    """Load the demo workspace unless it exists."""

    help = "Load the demo workspace, once; print a login link for its admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **_options: Any) -> None:
        started = time.perf_counter()
        loaded = load.load()
        answer = {
            "workspace": loaded.workspace.slug,
            "workspace_id": loaded.workspace.id,
            "entries": loaded.entries,
            "seconds": round(time.perf_counter() - started, 2),
            "email": loaded.admin.email,
            "login_link": bootstrap.login_link(loaded.admin),
        }
        if as_json:
            self.stdout.write(json.dumps(answer))
            return
        summary = f"{loaded.entries} entries" if loaded.entries else "was there already"
        self.stdout.write(f"Workspace {loaded.workspace.slug}: {summary}")
        self.stdout.write(f"Sign in as {loaded.admin.email}: {answer['login_link']}")
