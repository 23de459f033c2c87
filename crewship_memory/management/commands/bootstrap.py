"""``manage.py bootstrap``: make a workspace and its admin; safe to repeat."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from crewship_memory import bootstrap
from crewship_memory.bootstrap import Bootstrapped
from memory.rules import errors


class Command(BaseCommand):
    """Make a workspace with an admin; existing ones stay as they are."""

    help = "Make a workspace and its admin; safe to run again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="SLUG")
        parser.add_argument("--email", metavar="ADDR")
        parser.add_argument(
            "--password-env",
            metavar="NAME",
            help="environment variable that holds the password",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, **options: Any) -> None:
        for name in ("workspace", "email"):
            if not options[name]:
                raise CommandError(f"--{name} is missing.")
        password = self._password(options["password_env"])
        try:
            result = bootstrap.bootstrap(
                options["workspace"], options["email"], password
            )
        except (errors.AppError, ValidationError) as error:
            raise CommandError(str(error)) from None
        answer = _answer(result)
        if options["as_json"]:
            self.stdout.write(json.dumps(answer))
        else:
            self._print(answer)

    def _password(self, name: str | None) -> str | None:
        if name is None:
            return None
        password = os.environ.get(name, "")
        if not password:
            raise CommandError(f"The environment variable {name} is empty or not set.")
        return password

    def _print(self, answer: dict[str, Any]) -> None:
        self.stdout.write(f"Workspace {answer['workspace']} ({answer['workspace_id']})")
        self.stdout.write(f"Admin     {answer['email']} ({answer['user_id']})")
        if answer["login_link"]:
            self.stdout.write(f"Sign in   {answer['login_link']}")
        if answer["invitation_link"]:
            self.stdout.write(f"Accept    {answer['invitation_link']}")
            self.stdout.write(
                "The account was opened with a link of another workspace, so its owner"
                " signs in and accepts with this one, within three days."
            )


def _answer(result: Bootstrapped) -> dict[str, Any]:
    """Return the result; a link only for an admin who has no password."""
    user, invitation = result.user, result.invitation
    signs_in = not user.has_usable_password() and not invitation
    link = bootstrap.login_link(user) if signs_in else None
    return {
        "workspace": result.workspace.slug,
        "workspace_id": result.workspace.id,
        "email": user.email,
        "user_id": user.id,
        "created": {
            "workspace": result.made_workspace,
            "user": result.made_user,
            "membership": result.made_member,
        },
        "login_link": link,
        "invitation_link": bootstrap.absolute(invitation) if invitation else None,
    }
