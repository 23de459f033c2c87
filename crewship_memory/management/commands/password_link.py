"""``manage.py password_link``: a link to choose a new password."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crewship_memory import bootstrap
from memory.rules import errors


class Command(BaseCommand):
    """Print a one-time link with which an account gets a new password."""

    help = "Print a one-time link, valid three days, to choose a new password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", metavar="ADDR")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, **options: Any) -> None:
        """Print the link alone, or everything as one JSON object."""
        if not options["email"]:
            raise CommandError("--email is missing.")
        try:
            user, link = bootstrap.password_link(options["email"])
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        answer = {"email": user.email, "user_id": user.id, "link": link}
        self.stdout.write(json.dumps(answer) if options["as_json"] else link)
