"""A stage for the parity suite: a workspace that is made for it and removed after it.

Every check plays in a crew of its own, so that none sees what another left. The remote
provider talks real HTTP to a server that is started here, on a loopback port.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

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
from memory.files.storage import digest
from memory.models import Agent, Crew, JournalEntry, MemoryFile, Record, Workspace
from memory.providers import base, native, remote, tierfiles
from memory.providers.base import Bound, Provider
from memory.providers.parity.base import Harness, NotApplicable
from memory.records.drafts import Draft
from memory.rules import permissions, tiers
from memory.rules.permissions import AgentRole
from memory.rules.tiers import Place

HANG_SECONDS: Final = 3.0
TRIES: Final = 5
CAST: Final = (
    ("agent", AgentRole.AGENT),
    ("lead", AgentRole.LEAD),
    ("other", AgentRole.AGENT),
)


class Cast:
    """A crew with two agents and a lead, new for every check."""

    def __init__(self, workspace: Workspace, number: int) -> None:
        house = permissions.system(workspace.id, "parity")
        self.workspace = workspace
        self.crew, _ = workspaces.ensure_crew(f"crew-{number}", by=house)
        self.agents: dict[str, Agent] = {}
        self.tokens: dict[str, str] = {}
        for who, role in CAST:
            agent, _ = workspaces.ensure_agent(who, self.crew, by=house, role=role)
            self.agents[who] = agent
            self.tokens[who] = api_keys.issue_agent_key(agent, by=house).token

    def bound(self, who: str) -> Bound:
        """Return somebody's binding; nobody's is the workspace alone."""
        if who == "nobody":
            house = permissions.system(self.workspace.id, "parity")
            return Bound(by=house, workspace_id=self.workspace.id)
        actor = api_keys.authenticate(self.tokens[who])
        if actor is None:
            raise NotApplicable("the key of the stage was revoked")
        return Bound(
            by=actor,
            workspace_id=self.workspace.id,
            agent_id=actor.id,
            crew_id=self.crew.id,
        )


def place(label: str) -> Place:
    """Return the place a label names."""
    found = tiers.split(label)
    if found is None:
        raise NotApplicable(f"{label} is no label")
    return found


def hang(_bound: Bound) -> None:
    """Stand for a store that does not answer."""
    threading.Event().wait(HANG_SECONDS)


def fault(_bound: Bound) -> None:
    """Stand for a store that is down; the message must not come through."""
    message = f"no route to {settings.DATA_DIR}"
    raise OSError(message)


class OnStage(Harness):
    """What the three harnesses share."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.workspace, self.folder, self._number = workspace, folder, 0
        self.cast = Cast(workspace, 0)

    def reset(self) -> None:
        """Play the next check in a new crew."""
        self._number += 1
        self.cast = Cast(self.workspace, self._number)

    def bound(self, who: str = "agent") -> Bound:
        """Return whose memory it is."""
        return self.cast.bound(who)

    def secrets(self) -> tuple[str, ...]:
        """Folders and keys."""
        return (str(settings.DATA_DIR), str(self.folder), *self.cast.tokens.values())


class FilesHarness(OnStage):
    """Tier files: everything can be done to a folder."""

    name = tierfiles.NAME
    seconds = base.LOCAL_SECONDS

    def provider(self, who: str = "agent") -> Provider:
        """Return the provider."""
        return tierfiles.TierFiles(self.bound(who))

    def unbound(self) -> Provider:
        """Return the provider for nobody."""
        return tierfiles.TierFiles(None)

    def _path(self, label: str) -> Path:
        owner = file_paths.owner_of_agent(self.cast.agents["agent"])
        return file_paths.vault().root.joinpath(*owner.parts(place(label)))

    def poison(self, label: str, text: str) -> None:
        """Write behind the scribe's back."""
        path = self._path(label)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, label: str) -> Callable[[], str]:
        """Put a symbolic link in place of a file."""
        target = self.folder / f"target-{self._number}"
        target.write_text("untouched")
        path = self._path(label)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        return target.read_text

    def broken(self, how: str) -> Provider:
        """Return the provider over a folder that is not as it should be."""
        data = self.folder / secrets.token_hex(4)
        if how == "a file":
            data.write_text("not a folder")
        elif how == "unwritable":
            data.mkdir(mode=0o500)
            if _is_writable(data):
                raise NotApplicable("this user may write everywhere (root)")
        elif how == "down":
            return tierfiles.TierFiles(self.bound(), fault)
        return tierfiles.TierFiles(self.bound(), partial(tierfiles.probe, data=data))

    def hung(self) -> Provider:
        """Return the provider over a folder that does not answer."""
        return tierfiles.TierFiles(self.bound(), hang)

    @contextmanager
    def busy(self, label: str) -> Iterator[None]:
        """Hold a file's lock."""
        owner = file_paths.owner_of_agent(self.cast.agents["agent"])
        with file_paths.vault().locked(owner.path(place(label))):
            yield

    def unremovable(self, label: str) -> Provider:
        """Put a folder where the file should be."""
        self._path(label).mkdir(parents=True)
        return self.provider()

    def traces(self) -> frozenset[str]:
        """Return every name in the tree."""
        root = file_paths.vault().root / self.workspace.slug
        return frozenset(str(path.relative_to(root)) for path in root.rglob("*"))


def _is_writable(folder: Path) -> bool:
    try:
        (folder / "probe").touch()
    except OSError:
        return False
    return True


class RecordsHarness(OnStage):
    """Records: rows in a database, which has no links and no folders."""

    name = native.NAME
    seconds = base.LOCAL_SECONDS
    forgets_by_subject = True

    def provider(self, who: str = "agent") -> Provider:
        """Return the provider."""
        return native.Native(self.bound(who))

    def unbound(self) -> Provider:
        """Return the provider for nobody."""
        return native.Native(None)

    def poison(self, label: str, text: str) -> None:
        """Save a record past the gate."""
        where, bound = place(label), self.bound()
        draft = Draft(
            content=text,
            owner=file_paths.owner_of_agent(self.cast.agents["agent"]),
            kind=where.tier.value,
            external_id=label,
        )
        records.insert(draft, provenance="parity", by=bound.by)

    def broken(self, how: str) -> Provider:
        """Return the provider over a database that is down."""
        if how != "down":
            raise NotApplicable("records rest in a database, not in a folder")
        return native.Native(self.bound(), fault)

    def hung(self) -> Provider:
        """Return the provider over a database that does not answer."""
        return native.Native(self.bound(), hang)

    def traces(self) -> frozenset[str]:
        """Return every row that a look could leave behind."""
        mine = {"workspace": self.workspace}
        rows = Record.objects.filter(**mine).values_list("id", "version")
        last = JournalEntry.objects.filter(**mine).count()
        return frozenset({f"{last} entries", *(f"{name} {n}" for name, n in rows)})


class RemoteHarness(FilesHarness):
    """Real HTTP to a server of ours, which keeps tier files."""

    name = remote.NAME
    seconds = base.REMOTE_SECONDS

    def __init__(self, workspace: Workspace, folder: Path, url: str) -> None:
        super().__init__(workspace, folder)
        self.url = url

    def provider(self, who: str = "agent") -> Provider:
        """Return the provider with somebody's key."""
        return self._at(self.url, who)

    def _at(self, url: str, who: str = "agent") -> Provider:
        key = self.cast.tokens.get(who, self.cast.tokens["agent"])
        return remote.Remote(self.bound(who), url=url, key=key, private=True)

    def unbound(self) -> Provider:
        """Return the provider for nobody."""
        return remote.Remote(None, url=self.url, key=self.cast.tokens["agent"])

    def broken(self, how: str) -> Provider:
        """Return the provider with an address where nobody listens."""
        if how != "down":
            raise NotApplicable("the folder is the other side's; it is tried there")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        return self._at(f"http://127.0.0.1:{port}")

    def hung(self) -> Provider:
        """Return the provider with a server that takes calls and never answers."""
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        threading.Timer(HANG_SECONDS, silent.close).start()
        return self._at(f"http://127.0.0.1:{silent.getsockname()[1]}")

    def secrets(self) -> tuple[str, ...]:
        """Also the address."""
        return (*super().secrets(), "127.0.0.1", self.url)


# ── Putting it up and taking it down ─────────────────────────────────────────
class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the suite says what happened."""


@contextmanager
def server() -> Iterator[str]:
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


def strike(workspace: Workspace) -> None:
    """Remove the workspace with its rows, files, blobs and locks."""
    data = Path(settings.DATA_DIR)
    paths = MemoryFile.objects.filter(workspace=workspace)
    for name in paths.values_list("path", flat=True):
        lock = data / "locks" / f"{digest(name.encode())[:32]}.lock"
        lock.unlink(missing_ok=True)
    home, slug = workspace.pk, workspace.slug
    _delete(home)
    # After the rows: files without their folder would look like a folder that is lost.
    shutil.rmtree(data / "files" / slug, ignore_errors=True)
    shutil.rmtree(data / "blobs" / home, ignore_errors=True)


def _delete(workspace_id: str) -> None:
    """Remove the rows; the clock may write for this workspace while we do."""
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                Crew.objects.filter(workspace_id=workspace_id).delete()
                Workspace.objects.filter(pk=workspace_id).delete()
        except IntegrityError:
            # A sweep added a row after what is to go had been read.
            if not left:
                raise
        else:
            return


@contextmanager
def up(name: str) -> Iterator[Harness]:
    """Yield the harness of a provider that comes with the house."""
    workspace, _ = workspaces.ensure_workspace(
        f"parity-{secrets.token_hex(6)}", "Parity"
    )
    with tempfile.TemporaryDirectory(prefix="crewship-parity-") as folder:
        try:
            if name == remote.NAME:
                with server() as url:
                    yield RemoteHarness(workspace, Path(folder), url)
            elif name == native.NAME:
                yield RecordsHarness(workspace, Path(folder))
            else:
                yield FilesHarness(workspace, Path(folder))
        finally:
            strike(workspace)
