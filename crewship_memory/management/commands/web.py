"""``manage.py web``: pages and API only, for several processes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from crewship_memory import healthz, server
from crewship_memory.metrics import serving
from crewship_memory.wsgi import application
from gdpr.erasure import record_copies
from memory.installation import schema_version


class Command(BaseCommand):
    """Serve pages and API; worker and scheduler run elsewhere."""

    help = "Serve pages and API; `celery worker` and `celery beat` do the rest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--threads", type=int, default=8, help="request threads")

    def handle(self, **options: Any) -> None:
        """Serve until SIGTERM or Ctrl-C; several processes can share a port."""
        if not settings.REDIS_URL:
            message = "Set REDIS_URL: without it no worker hears of what is written. "
            raise CommandError(message + "For one machine there is `manage.py up`.")
        newer = schema_version.unknown()
        if newer:
            raise CommandError(schema_version.refusal(newer).detail)
        pending = healthz.waiting_migrations()
        if pending:
            message = f"{len(pending)} migrations wait. Run manage.py migrate first."
            raise CommandError(message)
        address = server.Address(
            options["host"], options["port"], options["threads"], is_shared=True
        )
        try:
            listener = server.bind(address)
            server.allow(address)
            connections.close_all()
            record_copies.keep()
            serving.start("web")
            server.serve(address, listener, application)
        except server.PortTaken as error:
            raise CommandError(str(error)) from None
