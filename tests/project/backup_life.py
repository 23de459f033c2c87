"""What happens on a machine of the drill: ``python -m tests.project.backup_life ACT``.

Prints what came of it as JSON. Runs on the database and folder of its environment.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from crewship_memory.backup import make  # noqa: E402
from episodic.models import Embedding  # noqa: E402
from episodic.recall import search as recall  # noqa: E402
from episodic.recall.request import Request  # noqa: E402
from episodic.vectors import pg_store  # noqa: E402
from gdpr.cases import privacy_settings  # noqa: E402
from gdpr.models import Certificate, ErasureLine, Subject  # noqa: E402
from memory.files import paths, tools, versions  # noqa: E402
from memory.installation import restore_mark  # noqa: E402
from memory.journal import append as journal  # noqa: E402
from memory.journal import verify  # noqa: E402
from memory.models import (  # noqa: E402
    Installation,
    JournalEntry,
    MemoryFile,
    MemoryVersion,
    SealedKey,
    StoredFile,
    Workspace,
)
from memory.ports import serving  # noqa: E402
from memory.rules.entries import NewEntry  # noqa: E402
from memory.rules.permissions import system  # noqa: E402
from tests import world as worlds  # noqa: E402
from tests.gdpr import erasing, kit  # noqa: E402
from tests.world import World  # noqa: E402

ACME = "acme"


def _world() -> World:
    """Return the world that ``begin`` made, perhaps on another machine."""
    worlds._standing[:] = [Path(os.environ["DRILL_WORLD"]).read_bytes()]
    return worlds.shared_worlds()


def begin() -> dict[str, Any]:
    """Found two workspaces; Otto is erased with a certificate, Maria is there."""
    worlds.stand()
    Path(os.environ["DRILL_WORLD"]).write_bytes(worlds._standing[0])
    world = worlds.shared_worlds()
    otto = erasing.otto(world)
    world.indexed(f"{erasing.OTHER} asked about harbours")
    case = erasing.erased(world, otto)
    erasing.maria(world)
    world.indexed(f"{erasing.MAIL} asked about {erasing.WORD}")
    world.indexed("Boats need paint every spring")
    content = f"- {erasing.NAME} prefers {erasing.WORD}\n- Boats"
    arguments = {"tier": "AGENT", "content": content, "mode": "append"}
    tools.call("memory.write", arguments, by=world.actor("ada"))
    return {"otto": case.state, "days": privacy_settings.of(world.acme.id).backup_days}


def erase() -> dict[str, Any]:
    """Erase Maria, as an officer would."""
    world = _world()
    case = erasing.erased(world, Subject.objects.get(display_name=erasing.NAME))
    certificate = Certificate.objects.get(case=case)
    lines = json.loads(certificate.document)["content"]["not_searched"]
    backups = [line["sentence"] for line in lines if line["code"] == "backups"]
    return {"state": case.state, "backups": backups}


def look() -> dict[str, Any]:
    """Say what a reader finds."""
    workspace = Workspace.objects.get(slug=ACME)
    by = system(workspace.pk)
    answer = recall.search(Request(query="paint boats", mark=False), by=by)
    texts = (erasing.MAIL, erasing.NAME, erasing.WORD)
    return {
        "tables": sorted({n for text in texts for n in kit.in_tables(text)}),
        "files": sorted(
            path.name
            for path in Path(settings.DATA_DIR).rglob("*")
            if path.is_file() and any(t.encode() in path.read_bytes() for t in texts)
        ),
        "is_served": serving.refusal() is None,
        "is_marked": restore_mark.exists(),
        "ready": Client(headers={"host": "localhost"}).get("/readyz").json()["reasons"],
        "chain": verify.verify(workspace.pk, by=by).ok,
        "recalled": [hit.entry.summary for hit in answer.hits][:1],
        "memory": [_file_text(file) for file in MemoryFile.objects.order_by("path")],
        "entries": JournalEntry.objects.filter(workspace=workspace).count(),
        "place": _place(),
        "types": sorted(
            JournalEntry.objects.filter(
                workspace=workspace, entry_type__startswith="installation."
            ).values_list("entry_type", flat=True)
        ),
    }


def _file_text(file: MemoryFile) -> str:
    stored = paths.file_store().read(paths.parts_of(file))
    return stored.data.decode() if stored is not None else ""


def _place() -> dict[str, Any]:
    """Say where bodies, keys and vectors are."""
    root = Path(settings.DATA_DIR)
    files = [path for path in root.rglob("*") if path.is_file()]
    in_column = Embedding.objects.exclude(vector=b"").filter(dim__gt=0).count()
    vectors, indexes = in_column, 0
    if pg_store.is_used():
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM journal_vectors")
            vectors = cursor.fetchone()[0]
            cursor.execute(
                "SELECT count(*) FROM pg_index i"
                " JOIN pg_class c ON c.oid = i.indexrelid"
                " JOIN pg_am a ON a.oid = c.relam"
                " WHERE a.amname = 'hnsw' AND i.indisvalid"
            )
            indexes = cursor.fetchone()[0]
    return {
        "recorded": Installation.objects.get().bodies,
        "rows": StoredFile.objects.count(),
        "sealed": sorted(SealedKey.objects.values_list("name", flat=True)),
        "lines": ErasureLine.objects.count(),
        "folder": sorted(
            {p.relative_to(root).parts[0] for p in files if p.parent != root}
        ),
        "keys": sorted(path.name for path in (root / "keys").iterdir()),
        "embeddings": Embedding.objects.filter(dim__gt=0).count(),
        "vectors": vectors,
        "in_column": in_column,
        "indexes": indexes,
    }


def append_until_told() -> dict[str, Any]:
    """Append and write files until the standard input ends; return what was answered.

    Each acknowledged entry is a line before.
    """
    world, number = _world(), 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        new = NewEntry(
            entry_type="harbour.noted", summary=f"Crane {number} was painted"
        )
        entry = journal.append(new, by=system(world.acme.pk))
        arguments = {"tier": "AGENT", "content": f"- {number}", "mode": "replace"}
        tools.call("memory.write", arguments, by=world.actor("ada"))
        sys.stdout.write(f"{entry.pk}\n")
        sys.stdout.flush()
        number += 1
    return {"number": number}


def count_bodies() -> dict[str, Any]:
    """Say whether every version has its bytes, and every live file is its newest."""
    blobs = {parts[-1] for parts in versions.blobs().walk()}
    rows = MemoryVersion.objects.exclude(sha256="").filter(committed=True)
    return {
        "missing": [v.pk for v in rows if v.sha256 not in blobs],
        "stale": [
            file.path
            for file in MemoryFile.objects.exclude(sha256="")
            if file.versions.filter(committed=True).order_by("-number")[0].sha256
            != file.sha256
            or not _file_text(file)
        ],
        "entries": list(JournalEntry.objects.values_list("pk", flat=True)),
    }


def killed_at(name: str, *command: str) -> dict[str, Any]:
    """Run a command of ours; the process dies at the named step."""
    steps: Counter[str] = Counter()

    def kill(step: str) -> None:
        steps[step] += 1
        if step == name:
            os.kill(os.getpid(), signal.SIGKILL)

    make.step = kill
    call_command(*command)
    return dict(steps)


def ready() -> dict[str, Any]:
    """Say why it is not ready, and whether a workspace is served."""
    answer = Client(headers={"host": "localhost"}).get("/readyz").json()
    return {"ready": answer["reasons"], "is_served": serving.refusal() is None}


ACTS = {
    "ready": ready,
    "begin": begin,
    "erase": erase,
    "look": look,
    "append": append_until_told,
    "bodies": count_bodies,
}

if __name__ == "__main__":
    act, *rest = sys.argv[1:]
    result = killed_at(*rest) if act == "kill" else ACTS[act]()
    sys.stdout.write(json.dumps(result) + "\n")
