"""The sealed audit log: what is done to a file is found, by us and by a stranger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from gdpr import audit_log
from gdpr.certificates import document, keys
from gdpr.models import ActionKind, GdprAction
from gdpr.reports import audit_export, register, seal
from memory.rules import errors
from tests.gdpr import kit
from tests.gdpr import requests as make
from tests.project import pages
from tests.world import World

KEY: Final = Ed25519PrivateKey.generate()
TRUSTED: Final = {document.key_id(document.public_of(KEY)): document.public_of(KEY)}


def sealed(rows: list[dict[str, Any]], key: Ed25519PrivateKey = KEY) -> list[bytes]:
    """Return the lines of a file, the manifest last."""
    chain = seal.Chain()
    lines = [chain.line(row) for row in rows]
    content = {"format": seal.FORMAT, "lines": len(rows), "last_line": chain.last}
    return [*lines, document.sign(content, key).encode() + b"\n"]


LINES: Final = sealed([{"id": f"ga_{number}", "scope": {}} for number in range(6)])


def reasons(lines: list[bytes], trusted: dict[str, str] = TRUSTED) -> list[str]:
    return [code for code, _ in seal.verify(lines, trusted).reasons]


def test_a_file_as_it_was_made_is_valid() -> None:
    verdict = seal.verify(LINES, TRUSTED)
    assert (verdict.valid, verdict.lines) == (True, 6)
    assert seal.verify(sealed([]), TRUSTED).valid


@given(st.data())
def test_a_changed_byte_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LINES) - 1))
    line = LINES[at]
    place = data.draw(st.integers(0, len(line) - 2))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    changed_rows = line[:place] + bytes([other]) + line[place + 1 :]
    assert reasons([*LINES[:at], changed_rows, *LINES[at + 1 :]])


@given(st.data())
def test_lines_taken_out_repeated_or_moved_are_found(data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(LINES) - 1), max_size=9))
    lines = [LINES[number] for number in order]
    assert (not reasons(lines)) == (order == list(range(len(LINES))))


def test_another_manifest_is_found() -> None:
    shorter = sealed([{"id": "ga_0", "scope": {}}])
    assert reasons([*LINES[:-1], shorter[-1]]) == ["wrong_count"]
    other_items = sealed(
        [{"id": f"ga_{number}", "scope": {"a": 1}} for number in range(6)]
    )
    assert reasons([*LINES[:-1], other_items[-1]]) == ["broken_chain"]
    assert reasons(LINES[:-1]) == ["no_manifest"]


def test_a_strangers_key_is_not_trusted() -> None:
    forged = sealed([{"id": "ga_0"}], Ed25519PrivateKey.generate())
    assert reasons(forged) == ["unknown_key"]


@pytest.mark.parametrize("line", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_line_is_refused(line: bytes) -> None:
    assert reasons([line, *LINES]) == ["malformed"]
    assert reasons([line]) in (["malformed"], ["no_manifest"])


def test_a_manifest_written_twice_into_one_line_is_refused() -> None:
    last = LINES[-1].replace(b'{"content"', b'{"content":{},"content"', 1)
    assert "tampered" in reasons([*LINES[:-1], last])


# ── The log of a workspace ───────────────────────────────────────────────────
def exported(world: World, person: str = "compliance") -> list[bytes]:
    actor = world.actor(person)
    period, _ = register.period_of(actor, None, None)
    with audit_export.make(actor, period).file as file:
        return file.read().splitlines(keepends=True)


def acted(world: World, count: int = 3) -> list[GdprAction]:
    person = make.subject(world)
    by = world.actor("owner")
    return [
        audit_log.note(person.pk, ActionKind.VIEW, by=by, scope={"what": f"row {n}"})
        for n in range(count)
    ]


def test_an_export_has_every_row_in_order_and_is_signed(world: World) -> None:
    rows = acted(world)
    lines = exported(world)
    assert [json.loads(line)["id"] for line in lines[:-1]] == [row.pk for row in rows]
    verdict = seal.verify(lines, keys.trusted())
    assert verdict.valid
    manifest = verdict.manifest or {}
    assert manifest["workspace_id"] == world.acme.id
    assert (manifest["lines"], manifest["rows_before"], manifest["rows_after"]) == (
        3, 0, 0,
    )  # fmt: skip
    [entry] = make.entries(world, "gdpr.actions_exported")
    assert (
        entry.payload["last_line"]
        == manifest["last_line"]
        == seal.digest(lines[-2].rstrip(b"\n"))
    )


def test_an_export_is_of_its_workspace_alone(world: World) -> None:
    acted(world)
    assert len(exported(world, "stranger")) == 1
    with pytest.raises(errors.Forbidden):
        exported(world, "operator")


def test_an_export_shows_no_registered_name(world: World) -> None:
    person = kit.subject(world)
    by, reason = world.actor("owner"), "Anna Kowalczyk asked"
    scope = {"note": {"of": "anna.k@example.com"}}
    audit_log.begin(person.pk, ActionKind.DELETE, by=by, reason=reason, scope=scope)
    text = b"".join(exported(world)).decode()
    assert "Kowalczyk" not in text
    assert "anna.k@" not in text
    assert "[name] asked" in text


# ── The command and a stranger's script ──────────────────────────────────────
def written(world: World, folder: Path) -> tuple[Path, Path]:
    """Return a file of the audit log, and one of the public keys."""
    acted(world)
    file, key_file = folder / "log.jsonl", folder / "keys.json"
    file.write_bytes(b"".join(exported(world)))
    rows = [{"public_key": row.public_key} for row in keys.published()]
    key_file.write_text(json.dumps({"keys": rows}))
    return file, key_file


def test_the_command_tells_a_whole_file_from_a_cut_one(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, key_file = written(world, tmp_path)
    call_command("gdpr_audit_verify", str(file))
    call_command("gdpr_audit_verify", str(file), "--public-key", str(key_file))
    assert capsys.readouterr().out.count("✓ 3 lines") == 2
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], *lines[2:]]))
    with pytest.raises(CommandError):
        call_command("gdpr_audit_verify", str(file), "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["valid"], report["reasons"]) == (False, ["broken_chain"])


def test_the_script_for_a_stranger_finds_the_same(world: World, tmp_path: Path) -> None:
    [block] = [
        block
        for block in pages.blocks("gdpr/README.md")
        if block.language == "python" and "last_line" in block.text
    ]
    script = tmp_path / "check.py"
    script.write_text(block.text)
    file, key_file = written(world, tmp_path)

    def run() -> int:
        command = [sys.executable, str(script), str(file), str(key_file)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert run() == 0
    lines = file.read_bytes().splitlines(keepends=True)
    for short_form in ([*lines[1:]], lines[:-1], [lines[1], lines[0], *lines[2:]]):
        file.write_bytes(b"".join(short_form))
        assert run() != 0
