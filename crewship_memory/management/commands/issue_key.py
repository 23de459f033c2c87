"""``manage.py issue_key``: a bearer key for an agent or a person's program."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crewship_memory import issue_key
from memory.accounts.api_keys import Issued
from memory.models import AgentKey
from memory.rules import errors


def _answer(issued: Issued) -> dict[str, Any]:
    """Return the key and its owner; the key cannot be read again."""
    key = issued.key
    agent = key.agent if isinstance(key, AgentKey) else None
    user = None if isinstance(key, AgentKey) else key.user
    return {
        "key": issued.token,
        "id": key.id,
        "workspace_id": key.workspace_id,
        "crew_id": agent.crew_id if agent else None,
        "agent_id": agent.id if agent else None,
        "user_id": user.id if user else None,
        "end_user": (key.end_user or None) if isinstance(key, AgentKey) else None,
        "role": agent.role if agent else getattr(key, "role", None),
    }


class Command(BaseCommand):
    """Issue a key and print it, once."""

    help = "Issue a bearer key for an agent (--crew --agent) or a person (--email)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--crew", metavar="SLUG")
        parser.add_argument("--agent", metavar="SLUG")
        parser.add_argument("--email", metavar="ADDR")
        parser.add_argument(
            "--end-user",
            metavar="ID",
            help="of an agent's key: opens the memory tools for this user alone",
        )
        parser.add_argument(
            "--role",
            metavar="ROLE",
            help="AGENT or LEAD; for a person viewer, operator, compliance or admin",
        )
        parser.add_argument(
            "--create", action="store_true", help="make what is missing"
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, **options: Any) -> None:
        """Print the key alone, or everything as one JSON object."""
        if not options["workspace"]:
            raise CommandError("--workspace is missing.")
        names = [field.name for field in fields(issue_key.KeyRequest)]
        try:
            issued = issue_key.issue(
                issue_key.KeyRequest(**{n: options[n] for n in names})
            )
        except errors.AppError as error:
            raise CommandError(error.detail) from None
        answer = _answer(issued)
        self.stdout.write(json.dumps(answer) if options["as_json"] else answer["key"])
