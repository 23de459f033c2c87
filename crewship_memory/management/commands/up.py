"""``manage.py up``: server, worker and scheduler in one process."""

from __future__ import annotations

import fcntl
import gc
import hashlib
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.core.wsgi import get_wsgi_application
from django.db import connections

from crewship_memory import (
    bootstrap,
    data_folder,
    healthz,
    process_end,
    server,
    startup_progress,
    worker_process,
)
from crewship_memory.background import BackgroundThreads
from crewship_memory.demo import load
from crewship_memory.metrics import serving
from crewship_memory.startup_progress import Progress
from gdpr.erasure import catch_up
from memory import freed_memory
from memory.installation import identity as installation
from memory.installation import restore_mark, schema_version
from memory.models import User


@contextmanager
def single_instance(step: Progress) -> Iterator[None]:
    """Hold a lock so that one process at a time prepares the folder."""
    with (settings.DATA_DIR / "up.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            step("Waiting for another start in the same data folder")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def static_fingerprint() -> str:
    """Return a digest over names, sizes and times of the static files."""
    parts = [settings.STORAGES["staticfiles"]["BACKEND"]]
    for finder in get_finders():
        for name, storage in finder.list(None):
            stat = Path(storage.path(name)).stat()
            parts.append(f"{name}:{stat.st_size}:{stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def collect_static() -> None:
    """Collect the static files unless they are the ones collected last."""
    mark: Path = settings.STATIC_ROOT / ".collected"
    fingerprint = static_fingerprint()
    if mark.exists() and mark.read_text(encoding="ascii") == fingerprint:
        return
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    mark.write_text(fingerprint, encoding="ascii")


def migrate(step: Progress) -> None:
    """Apply migrations; refuse a database that is too new or too old for this code."""
    if restore_mark.exists():
        raise CommandError(restore_mark.REASON)
    if names := schema_version.unknown():
        raise CommandError(schema_version.refusal(names).detail)
    if steps := schema_version.missing_steps():
        raise CommandError(schema_version.upgrade_refusal(steps))
    pending = len(healthz.waiting_migrations())
    step(f"Database: {pending} migrations to apply" if pending else "Database: current")
    if pending:
        call_command("migrate", interactive=False, verbosity=0)


def collect_garbage_again() -> None:
    """Turn the collector on, which ``manage.py`` turned off for the imports.

    What they made stays: the collector need not visit it.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def served_name() -> str:
    """Return a host name that ALLOWED_HOSTS accepts."""
    names = [name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"]
    return next(iter(names), "localhost")


class Command(BaseCommand):
    """Start server, worker and scheduler; stop on SIGTERM or Ctrl-C."""

    help = "Migrate, then serve pages and API and run scheduled tasks, in one process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--demo", action="store_true", help="load a demo workspace")
        parser.add_argument("--threads", type=int, default=8, help="request threads")

    def check(self, *args: Any, **options: Any) -> None:
        """Run the system checks, before anything else."""
        startup_progress.lines(self.stdout)("Configuration: checking")
        super().check(*args, **options)

    def handle(self, *, demo: bool, **options: Any) -> None:
        """Prepare, print the address, serve, stop."""
        collect_garbage_again()
        freed_memory.share()
        self._step = startup_progress.lines(self.stdout)
        address = server.Address(options["host"], options["port"], options["threads"])
        reason = data_folder.make_private()
        if reason is not None:
            raise CommandError(reason)
        try:
            listener = server.bind(address)
            user = self._prepare(demo=demo)
            self._welcome(address, user)
            self._serve(address, listener)
        except server.PortTaken as error:
            raise CommandError(str(error)) from None

    def _prepare(self, *, demo: bool) -> User | None:
        """Migrate and collect static files at the same time."""
        with single_instance(self._step), ThreadPoolExecutor(1) as pool:
            self._step("Static files: collecting, beside the database's steps")
            collecting = pool.submit(collect_static)
            migrate(self._step)
            user = self._people(demo=demo)
            if not collecting.done():
                self._step("Static files: still collecting")
            collecting.result()
        return user

    def _people(self, *, demo: bool) -> User | None:
        """Make sure that somebody can sign in; return who needs a link."""
        reason = installation.problem()
        if reason is not None:
            self.stderr.write(f"Not ready, nothing is written: {reason}")
            return None
        catch_up.at_start(self._step)
        if demo:
            return load.load(self._step).admin
        self._step("People: looking for the first admin")
        bootstrap.bootstrap_first()
        return bootstrap.first_admin() if bootstrap.has_no_sign_ins() else None

    def _welcome(self, address: server.Address, user: User | None) -> None:
        base = settings.PUBLIC_URL or address.url
        self.stdout.write(f"\n  Crewship Memory   {self.style.SUCCESS(base)}")
        if user is not None:
            link = bootstrap.login_link(user, base)
            self.stdout.write(f"  Sign in as {user.email}, once, with this link:")
            self.stdout.write(f"\n  {self.style.WARNING(link)}\n")
        self.stdout.write("  Ctrl-C stops.\n")
        self.stdout.flush()

    def _serve(self, address: server.Address, listener: Any) -> None:
        server.allow(address)
        connections.close_all()
        self._step("Worker and scheduler: starting")
        threads = BackgroundThreads()
        threads.start()
        serving.start("up")
        self._step("Web server: starting")
        host, port = listener.getsockname()[:2]

        def ready() -> None:
            # Not before: it takes the processor from what has to be there first.
            threads.warm_up()
            self._step("Ready: the web server answers")

        startup_progress.when_it_answers(ready, host, port, served_name())
        server.serve(address, listener, get_wsgi_application())
        worker_process.end_soon()
        threads.stop()
        process_end.flush_and_exit()
