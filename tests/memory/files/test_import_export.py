"""Export and import: deterministic out, suspicious in."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.files import bundle_format, import_export
from memory.files.bundle_format import BadBundle, Document
from memory.files.import_export import Item
from memory.files.quarantine import HeldForReview
from memory.models import HeldFile, MemoryVersion
from tests.memory.files import kit
from tests.world import World

TREE = {
    "AGENT.md": "Knows refunds.",
    "CREW.md": "Shared.",
    "PERSONA.md": "Calm.",
    "pins.md": "Pinned.",
    "daily/2026-05-21.md": "---\nnot: a header\n---\nBusy.",
    "peers/jane.md": "Likes tea.",
}


def _fill(world: World) -> None:
    for label, text in TREE.items():
        kit.write(world, text, label, by="operator", of="ada")


def _import(
    world: World, documents: list[Document], crew: str = "", agent: str = ""
) -> list[Item]:
    by = world.system()
    into = import_export.scope(world.acme, crew, agent)
    return import_export.apply(import_export.plan(documents, into, by=by), by=by)


def _export(world: World) -> list[Document]:
    return import_export.export(import_export.scope(world.acme), by=world.system())


def _outcomes(items: list[Item]) -> dict[str, str]:
    return {item.path: item.outcome for item in items}


# ── Out and in again ─────────────────────────────────────────────────────────
def test_an_export_is_the_same_bytes_twice(world: World) -> None:
    _fill(world)
    first, second = (
        bundle_format.pack(bundle_format.members(_export(world), "acme"))
        for _ in range(2)
    )
    assert first == second


def test_what_is_exported_comes_back_as_it_was(world: World) -> None:
    _fill(world)
    bundle = bundle_format.pack(bundle_format.members(_export(world), "acme"))
    for label in TREE:
        kit.write(world, "changed", label, by="operator", of="ada")
    back = bundle_format.documents(bundle_format.unpack(io.BytesIO(bundle)))
    items = _import(world, back)
    assert set(_outcomes(items).values()) == {"written"}
    for label, text in TREE.items():
        assert kit.on_disk(world, label).read_text() == text
    newest = MemoryVersion.objects.order_by("-written_at").first()
    assert newest is not None
    assert newest.source == "import"
    second = _import(world, back)
    assert set(_outcomes(second).values()) == {"unchanged"}


def test_what_waits_for_review_is_never_exported(world: World) -> None:
    _fill(world)
    with pytest.raises(HeldForReview):
        kit.write(world, kit.POISON, "pins.md")
    members = bundle_format.members(_export(world), "acme")
    assert not any(b"previous instructions" in data for data in members.values())


def test_an_export_of_an_agent_leaves_the_others(world: World) -> None:
    _fill(world)
    kit.write(world, "bob's", by="bob")
    scope = import_export.scope(world.acme, "support", "ada")
    documents = import_export.export(scope, by=world.system())
    assert {doc.agent for doc in documents} == {"ada"}
    assert len(documents) == 5


def test_a_crewship_tree_is_read_untouched(world: World, tmp_path: Path) -> None:
    for label, text in TREE.items():
        kit.put(tmp_path / "in" / ".memory" / label, text)
    kit.put(tmp_path / "in" / ".memory" / "lessons.md", "x")
    kit.put(tmp_path / "in" / ".memory" / ".quarantine" / "a.md", "x")
    kit.put(tmp_path / "in" / ".memory" / "index.sqlite", "x")
    (tmp_path / "in" / ".memory" / "peers" / "bob.md").symlink_to("/etc/passwd")
    items = _import(world, bundle_format.load(tmp_path / "in"), "support", "ada")
    outcomes = _outcomes(items)
    assert sum(outcome == "written" for outcome in outcomes.values()) == len(TREE)
    assert sum(outcome == "refused" for outcome in outcomes.values()) == 4
    assert (
        kit.on_disk(world, "daily/2026-05-21.md").read_text()
        == TREE["daily/2026-05-21.md"]
    )


def test_a_json_export_is_read(world: World, tmp_path: Path) -> None:
    document = {
        "format": "okf",
        "documents": [
            {"path": "AGENT.md", "tier": "agent", "body": "Knows."},
            {"path": "daily/2026-05-21.md", "tier": "daily", "body": "Busy."},
            {"path": "../../etc/passwd", "tier": "agent", "body": "x"},
            {"path": "AGENT.md", "tier": "agent", "body": "again"},
            {"path": "pins.md"},
        ],
    }
    path = kit.put(tmp_path / "export.json", json.dumps(document))
    items = _import(world, bundle_format.load(path), "support", "ada")
    assert [item.outcome for item in items] == [
        "written",
        "written",
        "refused",
        "refused",
        "refused",
    ]


def test_one_failure_does_not_stop_the_others(world: World) -> None:
    documents = [
        Document("AGENT.md", "AGENT.md", kit.POISON),
        Document("pins.md", "pins.md", "x" * 9_000),
        Document("PERSONA.md", "PERSONA.md", " "),
        Document("peers/a.md", "peers/a.md", "a\x00b"),
        Document("daily/2026-05-21.md", "daily/2026-05-21.md", "Busy."),
    ]
    items = _import(world, documents, "support", "ada")
    assert [item.outcome for item in items] == [
        "held",
        "refused",
        "refused",
        "refused",
        "written",
    ]
    assert items[0].held_id == HeldFile.objects.get().id
    assert HeldFile.objects.get().source == "import"


def test_documents_need_to_know_whose_they_are(world: World) -> None:
    documents = [Document(n, n, "x") for n in ("AGENT.md", "CREW.md")]
    assert set(_outcomes(_import(world, documents)).values()) == {"refused"}
    with_crew = _outcomes(_import(world, documents, "support"))
    assert with_crew == {"AGENT.md": "refused", "CREW.md": "written"}
    foreign = [Document("x", "AGENT.md", "x", "billing", "bob")]
    assert _import(world, foreign, "support")[0].outcome == "refused"


def test_a_plan_writes_nothing(world: World) -> None:
    kit.write(world, "same", "pins.md")
    kit.write(world, "old")
    documents = [
        Document("AGENT.md", "AGENT.md", "new"),
        Document("pins.md", "pins.md", "same"),
        Document("peers/a.md", "peers/a.md", "a"),
    ]
    into = import_export.scope(world.acme, "support", "ada")
    items = import_export.plan(documents, into, by=world.system())
    assert [item.action for item in items] == ["replace", "same", "new"]
    assert kit.on_disk(world).read_text() == "old"


def test_a_text_that_is_not_the_exported_one_is_refused(world: World) -> None:
    _fill(world)
    files = bundle_format.members(_export(world), "acme")
    name = next(name for name in files if name.endswith("pins.md"))
    files[name] += b" and more"
    files["extra.md"] = b"x"
    outcomes = _outcomes(_import(world, bundle_format.documents(files)))
    assert outcomes[name] == outcomes["extra.md"] == "refused"


# ── Hostile bundles ──────────────────────────────────────────────────────────
def _zip(*names: str, data: bytes = b"x", kind: int = 0) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            info = zipfile.ZipInfo("AGENT.md")
            info.filename = info.orig_filename = name
            info.external_attr = kind << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    out.seek(0)
    return out


def _encrypted() -> io.BytesIO:
    raw = bytearray(_zip("AGENT.md").getvalue())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + at] |= 1
    return io.BytesIO(bytes(raw))


def _lying() -> io.BytesIO:
    """A zip whose directory says that a large member is small."""
    raw = bytearray(_zip("AGENT.md", data=b"x" * 8_000_000).getvalue())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = raw.index(mark) + at
        raw[start : start + 4] = (100).to_bytes(4, "little")
    return io.BytesIO(bytes(raw))


HOSTILE: dict[str, Callable[[], io.BytesIO]] = {
    "traversal": lambda: _zip("../AGENT.md"),
    "deep traversal": lambda: _zip("daily/../../AGENT.md"),
    "absolute": lambda: _zip("/etc/AGENT.md"),
    "backslash": lambda: _zip("..\\AGENT.md"),
    "drive": lambda: _zip("C:AGENT.md"),
    "nul": lambda: _zip("AGENT.md\x00.txt"),
    "dot": lambda: _zip("./AGENT.md"),
    "double slash": lambda: _zip("daily//2026-05-21.md"),
    "twice": lambda: _zip("AGENT.md", "AGENT.md"),
    "twice but for case": lambda: _zip("AGENT.md", "agent.md"),
    "not ascii": lambda: _zip("AGENT\u2024md"),
    "control": lambda: _zip("AGENT\x1b.md"),
    "long": lambda: _zip("a" * 301),
    "link": lambda: _zip("AGENT.md", data=b"/etc/passwd", kind=stat.S_IFLNK | 0o777),
    "pipe": lambda: _zip("AGENT.md", kind=stat.S_IFIFO | 0o600),
    "bomb": lambda: _zip("AGENT.md", data=b"\x00" * 100_000_000),
    "many bombs": lambda: _zip(
        *(f"peers/a{n}.md" for n in range(40)), data=b"x" * 10**6
    ),
    "many": lambda: _zip(*(f"peers/a{n}.md" for n in range(2_001))),
    "encrypted": _encrypted,
    "lying": _lying,
    "cut": lambda: io.BytesIO(_zip("AGENT.md").getvalue()[:-30]),
    "no zip": lambda: io.BytesIO(b"PK\x03\x04 nothing"),
    "empty": lambda: io.BytesIO(b""),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_hostile_zip_is_refused(name: str) -> None:
    with pytest.raises(BadBundle):
        bundle_format.unpack(HOSTILE[name]())


def test_a_harmless_zip_is_read() -> None:
    assert bundle_format.unpack(_zip("AGENT.md", "daily/2026-05-21.md")) == {
        "AGENT.md": b"x",
        "daily/2026-05-21.md": b"x",
    }


def test_a_document_over_a_mebibyte_is_refused(tmp_path: Path) -> None:
    kit.put(tmp_path / "in" / "AGENT.md", "x" * 1_100_000)
    with pytest.raises(BadBundle):
        bundle_format.load(tmp_path / "in")


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "{}", '{"documents": {}}', '{"documents": [1]}', "[" * 100_000],
)
def test_json_that_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadBundle):
        bundle_format.load(kit.put(tmp_path / "x.json", text))


def test_a_bundle_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadBundle):
        bundle_format.load(tmp_path / "nothing")


# ── Doors ────────────────────────────────────────────────────────────────────
def test_the_commands_plan_first(world: World, tmp_path: Path) -> None:
    _fill(world)
    target = tmp_path / "out.zip"
    call_command("memory_export", str(target), workspace="acme", stdout=io.StringIO())
    kit.write(world, "changed")
    out = io.StringIO()
    call_command("memory_import", str(target), workspace="acme", json=True, stdout=out)
    report = json.loads(out.getvalue())
    assert report["counts"] == {"same": 5, "replace": 1}
    assert kit.on_disk(world).read_text() == "changed"
    call_command(
        "memory_import",
        str(target),
        workspace="acme",
        apply=True,
        stdout=io.StringIO(),
    )
    assert kit.on_disk(world).read_text() == TREE["AGENT.md"]
    folder = tmp_path / "folder"
    call_command("memory_export", str(folder), workspace="acme", stdout=io.StringIO())
    assert len(bundle_format.load(folder)) == 6


def test_the_command_fails_when_a_document_was_kept_out(
    world: World, tmp_path: Path
) -> None:
    kit.put(tmp_path / "in" / "AGENT.md", kit.POISON)
    with pytest.raises(CommandError):
        call_command(
            "memory_import",
            str(tmp_path / "in"),
            workspace="acme",
            crew="support",
            agent="ada",
            apply=True,
            stdout=io.StringIO(),
        )


@pytest.mark.parametrize("actor", ["operator", "viewer", "compliance", "ada", "looker"])
def test_only_admins_import_over_the_api(world: World, actor: str) -> None:
    body: dict[str, Any] = {"documents": [], "apply": True}
    assert world.api(actor).post("/memory/import", body).status == 403


def test_the_api_takes_back_what_it_gave(world: World) -> None:
    _fill(world)
    exported = world.api("owner").post("/memory/export", {})
    assert exported.status == 200
    assert len(exported.data["documents"]) == 6
    kit.write(world, "changed")
    body = {**exported.data, "apply": True}
    response = world.api("owner").post("/memory/import", body)
    assert response.status == 200, response.data
    assert response.data["counts"] == {"unchanged": 5, "written": 1}
    other = world.api("stranger").post("/memory/export", {})
    assert other.data["documents"] == []
    ada = {"agent_id": world.agents["ada"].id}
    assert world.api("stranger").post("/memory/export", ada).status == 404
