"""The harnesses of our providers: a workspace made for the suite, removed afterwards.

Every check runs in a crew of its own, so that none sees the data of another. The remote
provider uses real HTTP to a server that is started here, on a loopback port.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from django.conf import settings
from django.core.servers.basehttp import (
    ThreadedWSGIServer,
    WSGIRequestHandler,
    get_internal_wsgi_application,
)
from django.db import IntegrityError, transaction

from memory import records
from memory.accounts import api_keys, workspaces
from memory.files import paths as file_paths
from memory.files.paths import Owner
from memory.installation import bodies
from memory.models import Agent, Crew, JournalEntry, MemoryFile, Record, Workspace
from memory.providers import base, native, remote, tierfiles
from memory.providers.base import Binding, Provider
from memory.providers.parity.base import Harness, NotApplicable
from memory.records.drafts import Draft
from memory.rules import permissions, tiers
from memory.rules.permissions import AgentRole
from memory.rules.tiers import Place
from memory.stored_files import trees

HANG_SECONDS: Final = 3.0
DELETE_ATTEMPTS: Final = 5
CAST: Final = (
    ("agent", AgentRole.AGENT),
    ("lead", AgentRole.LEAD),
    ("other", AgentRole.AGENT),
)


class ParityCrew:
    """A crew with two agents and a lead, new for every check."""

    def __init__(self, workspace: Workspace, number: int) -> None:
        actor = permissions.system(workspace.id, "parity")
        self.workspace = workspace
        self.crew, _ = workspaces.ensure_crew(f"crew-{number}", by=actor)
        self.agents: dict[str, Agent] = {}
        self.tokens: dict[str, str] = {}
        for name, role in CAST:
            agent, _ = workspaces.ensure_agent(name, self.crew, by=actor, role=role)
            self.agents[name] = agent
            self.tokens[name] = api_keys.issue_agent_key(agent, by=actor).token

    def binding(self, name: str) -> Binding:
        """Return the binding of an agent; that of ``nobody`` is the workspace alone."""
        if name == "nobody":
            system_actor = permissions.system(self.workspace.id, "parity")
            return Binding(by=system_actor, workspace_id=self.workspace.id)
        actor = api_keys.authenticate(self.tokens[name])
        if actor is None:
            raise NotApplicable("the key of the suite was revoked")
        return Binding(
            by=actor,
            workspace_id=self.workspace.id,
            agent_id=actor.id,
            crew_id=self.crew.id,
        )


def place(label: str) -> Place:
    """Return the place of a label; NotApplicable when it is none."""
    result = tiers.split(label)
    if result is None:
        raise NotApplicable(f"{label} is no label")
    return result


def never_answer(_: Binding) -> None:
    """Simulate a store that does not answer."""
    threading.Event().wait(HANG_SECONDS)


def raise_os_error(_: Binding) -> None:
    """Simulate a store that is down; the message must not reach the caller."""
    message = f"no route to {settings.DATA_DIR}"
    raise OSError(message)


class WorkspaceHarness(Harness):
    """The base of harnesses whose agents live in a workspace."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.workspace, self.folder, self._number = workspace, folder, 0
        self.cast = ParityCrew(workspace, 0)

    def reset(self) -> None:
        """Run the next check in a new crew."""
        self._number += 1
        self.cast = ParityCrew(self.workspace, self._number)

    def binding(self, role: str = "agent") -> Binding:
        return self.cast.binding(role)

    @property
    def owner(self) -> Owner:
        """The agent as an owner of files."""
        return file_paths.owner_of_agent(self.cast.agents["agent"])

    def secrets(self) -> tuple[str, ...]:
        """Folders and keys."""
        return (str(settings.DATA_DIR), str(self.folder), *self.cast.tokens.values())


class LocalHarness(WorkspaceHarness):
    """The base of harnesses of providers whose store this installation has."""

    make: ClassVar[type[tierfiles.TierFiles] | type[native.Native]]
    seconds = base.LOCAL_SECONDS

    def provider(self, role: str = "agent") -> Provider:
        return self.make(self.binding(role))

    def unbound(self) -> Provider:
        return self.make(None)

    def hanging(self) -> Provider:
        """Return the provider over a store that does not answer."""
        return self.make(self.binding(), never_answer)


class FilesHarness(LocalHarness):
    """Tier files: a folder allows every hook, a database those without links."""

    name = tierfiles.NAME
    make = tierfiles.TierFiles

    def _path(self, label: str) -> Path:
        if bodies.in_database():
            raise NotApplicable("the files are rows: there are no links and no folders")
        root = trees.folder(trees.FILES).root
        return root.joinpath(*self.owner.parts(place(label)))

    def poison(self, label: str, text: str) -> None:
        """Write the file without the file writer."""
        file_paths.file_store().write(self.owner.parts(place(label)), text.encode())

    def link(self, label: str) -> Callable[[], str]:
        """Put a symbolic link in place of a file."""
        target = self.folder / f"target-{self._number}"
        target.write_text("untouched")
        path = self._path(label)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        return target.read_text

    def broken(self, fault: str) -> Provider:
        """Return the provider over a faulty folder."""
        if bodies.in_database() and fault != "down":
            raise NotApplicable("the files are rows: there is no folder")
        data = self.folder / secrets.token_hex(4)
        if fault == "a file":
            data.write_text("not a folder")
        elif fault == "unwritable":
            data.mkdir(mode=0o500)
            if os.access(data, os.W_OK):
                raise NotApplicable("this user may write everywhere (root)")
        elif fault == "down":
            return tierfiles.TierFiles(self.binding(), raise_os_error)
        return tierfiles.TierFiles(self.binding(), partial(tierfiles.probe, data=data))

    @contextmanager
    def busy(self, label: str) -> Iterator[None]:
        """Hold a file's lock."""
        with file_paths.file_store().locked(self.owner.path(place(label))):
            yield

    def unremovable(self, label: str) -> Provider:
        """Put a folder where the file should be."""
        self._path(label).mkdir(parents=True)
        return self.provider()

    def traces(self) -> frozenset[str]:
        """Return every name in the tree."""
        if bodies.in_database():
            rows = file_paths.file_store().raw((self.workspace.slug,))
            return frozenset(file.path for file in rows)
        root = trees.folder(trees.FILES).root / self.workspace.slug
        return frozenset(str(path.relative_to(root)) for path in root.rglob("*"))


class RecordsHarness(LocalHarness):
    """Records: rows in a database, which has no links and no folders."""

    name = native.NAME
    make = native.Native
    forgets_by_subject = True

    def poison(self, label: str, text: str) -> None:
        """Insert a record without scanning it."""
        item_place, binding = place(label), self.binding()
        draft = Draft(
            content=text,
            owner=self.owner,
            kind=item_place.tier.value,
            external_id=label,
        )
        records.insert(draft, provenance="parity", by=binding.by)

    def broken(self, fault: str) -> Provider:
        """Return the provider over a database that is down."""
        if fault != "down":
            raise NotApplicable("records are stored in a database, not in a folder")
        return native.Native(self.binding(), raise_os_error)

    def traces(self) -> frozenset[str]:
        """Return every row that a health check could leave behind."""
        stored = Record.objects.filter(workspace=self.workspace)
        rows = stored.values_list("id", "version")
        count = JournalEntry.objects.filter(workspace=self.workspace).count()
        return frozenset({f"{count} entries", *(f"{name} {n}" for name, n in rows)})


class RemoteHarness(FilesHarness):
    """Real HTTP to a server started here, which stores tier files."""

    name = remote.NAME
    seconds = base.REMOTE_SECONDS

    def __init__(self, workspace: Workspace, folder: Path, url: str) -> None:
        super().__init__(workspace, folder)
        self.url = url

    def provider(self, role: str = "agent") -> Provider:
        """Return the provider with the key of an agent."""
        return self._at(self.url, role)

    def _at(self, url: str, role: str = "agent") -> Provider:
        key = self.cast.tokens.get(role, self.cast.tokens["agent"])
        return remote.Remote(self.binding(role), url=url, key=key, private=True)

    def unbound(self) -> Provider:
        return remote.Remote(None, url=self.url, key=self.cast.tokens["agent"])

    def broken(self, fault: str) -> Provider:
        """Return the provider with an address on which no server listens."""
        if fault != "down":
            raise NotApplicable("the folder is the server's; it is tested there")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        return self._at(f"http://127.0.0.1:{port}")

    def hanging(self) -> Provider:
        """Return the provider with a server that accepts but never answers."""
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        threading.Timer(HANG_SECONDS, silent.close).start()
        return self._at(f"http://127.0.0.1:{silent.getsockname()[1]}")

    def secrets(self) -> tuple[str, ...]:
        """Also the address."""
        return (*super().secrets(), "127.0.0.1", self.url)


# ── Start and removal ─────────────────────────────────────────
class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the suite reports the results."""


@contextmanager
def local_server() -> Iterator[str]:
    """Serve this process's application on a free loopback port; yield its address."""
    httpd = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet)
    httpd.set_app(get_internal_wsgi_application())
    if settings.SECURE_SSL_REDIRECT:
        # As if encrypted: any other request would be sent to HTTPS.
        httpd.base_environ["HTTPS"] = "on"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        httpd.server_close()


def remove_workspace(workspace: Workspace) -> None:
    """Remove the workspace with its rows, files, blobs and locks."""
    store = file_paths.file_store()
    files = MemoryFile.objects.filter(workspace=workspace)
    for path in files.values_list("path", flat=True):
        store.forget_lock(path)
    data, workspace_id, slug = Path(settings.DATA_DIR), workspace.pk, workspace.slug
    _delete(workspace_id)
    # After the rows: rows without their folder would look like a lost folder.
    shutil.rmtree(data / "files" / slug, ignore_errors=True)
    shutil.rmtree(data / "blobs" / workspace_id, ignore_errors=True)


def _delete(workspace_id: str) -> None:
    """Remove the rows, while scheduled jobs may still write for the workspace."""
    for attempts_left in reversed(range(DELETE_ATTEMPTS)):
        try:
            with transaction.atomic():
                Crew.objects.filter(workspace_id=workspace_id).delete()
                Workspace.objects.filter(pk=workspace_id).delete()
        except IntegrityError:
            # A job added a row after the rows to delete had been read.
            if not attempts_left:
                raise
        else:
            return


@contextmanager
def open_harness(name: str) -> Iterator[Harness]:
    """Yield the harness of a built-in provider."""
    workspace, _ = workspaces.ensure_workspace(
        f"parity-{secrets.token_hex(6)}", "Parity"
    )
    with tempfile.TemporaryDirectory(prefix="crewship-parity-") as folder:
        try:
            if name == remote.NAME:
                with local_server() as url:
                    yield RemoteHarness(workspace, Path(folder), url)
            elif name == native.NAME:
                yield RecordsHarness(workspace, Path(folder))
            else:
                yield FilesHarness(workspace, Path(folder))
        finally:
            remove_workspace(workspace)
