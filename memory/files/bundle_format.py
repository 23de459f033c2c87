"""The format of bundles of memory files; a bundle to be read is untrusted.

Equal contents make equal bytes.

A bundle is a folder or a zip of Markdown with a short header, and ``manifest.json``. A
Crewship ``.memory`` tree and Crewship's JSON export are read too. Nothing is unpacked:
members are read into memory one by one, with limits on the decompressed bytes.
"""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from memory.rules import errors, tiers
from memory.rules.json_structure import is_within
from memory.stored_files.store import digest

FORMAT: Final = "crewship-memory-bundle"
MANIFEST: Final = "manifest.json"
DOCUMENT_BYTES: Final = 1024 * 1024
BUNDLE_BYTES: Final = 32 * 1024 * 1024
MEMBERS: Final = 2_000
# Ten fields per document: more than an export has.
_VALUES: Final = 10 * MEMBERS + 1_000
# The document and its header.
_MEMBER_BYTES: Final = DOCUMENT_BYTES + 4_096
_RATIO, _RATIO_FROM = 200, 256 * 1024
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_FENCE: Final = "---\n"
_KINDS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BadBundle(errors.Invalid):
    """The whole bundle is refused; nothing of it was imported."""

    code, title = "bad_bundle", "Bundle refused"


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a bundle. Without an owner it goes to the import's target.

    ``fault`` says why it cannot be imported; the text is empty then.
    """

    path: str
    label: str
    text: str
    crew: str | None = None
    agent: str | None = None
    fault: str = ""

    @property
    def facts(self) -> dict[str, str | None]:
        """What an export says about it, beside its path and text."""
        sha256 = digest(self.text.encode())
        owner_fields = {"crew": self.crew, "agent": self.agent, "label": self.label}
        return {**owner_fields, "sha256": sha256}


# ── Writing ──────────────────────────────────────────────────────────────────
def head(workspace: str) -> dict[str, Any]:
    """Return what an export says about itself."""
    return {"format": FORMAT, "version": 1, "workspace": workspace}


def members(documents: Sequence[Document], workspace: str) -> dict[str, bytes]:
    """Return a bundle's files by name, the same for the same documents."""
    files, entries = {}, []
    for doc in sorted(documents, key=lambda doc: doc.path):
        facts = doc.facts
        lines = "".join(f"{name}: {json.dumps(facts[name])}\n" for name in facts)
        files[doc.path] = f"{_FENCE}{lines}{_FENCE}{doc.text}".encode()
        entries.append({"path": doc.path, "bytes": len(doc.text.encode()), **facts})
    manifest = {**head(workspace), "documents": entries}
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    return {MANIFEST: f"{text}\n".encode(), **files}


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a zip that does not depend on when or where it was made."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, 0o600 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return out.getvalue()


# ── Reading members ──────────────────────────────────────────────────────────
def _check_name(name: str, names: set[str]) -> None:
    parts = name.split("/")
    if len(name) > 300 or not name.isascii() or not name.isprintable():
        raise BadBundle("A member has a name that no memory file has.")
    if "\\" in name or ":" in name or any(part in ("", ".", "..") for part in parts):
        raise BadBundle(f"A member leads out of the bundle: {name!r}.")
    if name.casefold() in names:
        raise BadBundle(f"The bundle names {name!r} twice.")
    names.add(name.casefold())


class _Budget:
    """Counts members and decompressed bytes while a bundle is read."""

    def __init__(self) -> None:
        self.left, self.count = BUNDLE_BYTES, 0

    def read(self, source: IO[bytes], name: str) -> bytes:
        """Read a member whole; a large one is refused before it is in memory."""
        self.count += 1
        if self.count > MEMBERS:
            raise BadBundle(f"A bundle may hold {MEMBERS:,} files.")
        limit = min(_MEMBER_BYTES, self.left)
        data = source.read(limit + 1)
        if len(data) > limit:
            raise BadBundle(
                f"{name!r} is too large: a document may hold {DOCUMENT_BYTES:,} bytes "
                f"and a bundle {BUNDLE_BYTES:,}."
            )
        self.left -= len(data)
        return data


def unpack(source: IO[bytes]) -> dict[str, bytes]:
    """Return a zip's files by name; raise BadBundle for anything unusual."""
    try:
        with zipfile.ZipFile(source) as archive:
            return _unpack(archive)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise BadBundle("The file is no zip that can be read whole.") from error
    except (RuntimeError, ValueError, UnicodeError, zlib.error) as error:
        raise BadBundle("The zip is damaged or encrypted.") from error


def _unpack(archive: zipfile.ZipFile) -> dict[str, bytes]:
    infos = archive.infolist()
    if len(infos) > 2 * MEMBERS:
        raise BadBundle(f"A bundle may hold {MEMBERS:,} files.")
    names: set[str] = set()
    budget, files = _Budget(), {}
    for info in infos:
        # The name as it is written in the zip, before zipfile cuts it at a NUL.
        _check_name(info.orig_filename.removesuffix("/"), names)
        if info.is_dir():
            continue
        _check_kind(info)
        with archive.open(info) as file:
            files[info.filename] = budget.read(file, info.filename)
    return files


def _check_kind(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise BadBundle(f"{info.filename!r} is a link or a device.")
    if info.flag_bits & 0x1:
        raise BadBundle(f"{info.filename!r} is encrypted.")
    if info.compress_type not in _KINDS:
        raise BadBundle(f"{info.filename!r} is compressed in an unusual way.")
    swollen = info.file_size > _RATIO * max(1, info.compress_size)
    if info.file_size > _RATIO_FROM and swollen:
        raise BadBundle(f"{info.filename!r} grows more than {_RATIO} times.")


def read_folder(root: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return a folder's files by name, and the skipped paths with the reason."""
    budget, contents, reasons = _Budget(), dict[str, bytes](), dict[str, str]()
    for folder, names, files in os.walk(root):
        names.sort()
        for name in sorted(files):
            path = Path(folder) / name
            label = path.relative_to(root).as_posix()
            try:
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                reasons[label] = "is a link, or cannot be read"
                continue
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    reasons[label] = "is no plain file"
                else:
                    contents[label] = budget.read(file, label)
        for path in (Path(folder) / name for name in names):
            if path.is_symlink():
                label = path.relative_to(root).as_posix()
                reasons[label] = "is a link to a folder"
    return contents, reasons


# ── Parsing ──────────────────────────────────────────────────────────────────
def load(path: Path) -> list[Document]:
    """Return the documents of a folder, a zip or a JSON export."""
    try:
        if path.is_dir():
            files, reasons = read_folder(path)
            faults = [Document(n, n, "", fault=reason) for n, reason in reasons.items()]
            return [*documents(files), *faults]
        if path.stat().st_size > BUNDLE_BYTES:
            raise BadBundle(f"A bundle may hold {BUNDLE_BYTES:,} bytes.")
        with path.open("rb") as file:
            if zipfile.is_zipfile(file):
                file.seek(0)
                return documents(unpack(file))
            file.seek(0)
            return from_json(file.read(BUNDLE_BYTES + 1))
    except OSError as error:
        raise BadBundle(f"The bundle cannot be read: {error.strerror}.") from None


def documents(files: Mapping[str, bytes]) -> list[Document]:
    """Return the documents of a bundle's files: by its manifest, else as a tree."""
    if MANIFEST in files:
        return _of_manifest(files)
    parsed = [_plain(name, _text(data)) for name, data in sorted(files.items())]
    if all(doc.fault for doc in parsed):
        raise BadBundle("Nothing here looks like memory files.")
    return parsed


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _plain(path: str, text: str | None) -> Document:
    label = path.removeprefix(".memory/")
    place = tiers.split(label)
    if place is None:
        return Document(path, label, "", fault="is no memory file")
    if place.tier in tiers.SYSTEM_TIERS:
        fault = f"{place.tier.value} has a writer of its own"
        return Document(path, label, "", fault=fault)
    if text is None:
        return Document(path, label, "", fault="is not UTF-8 text")
    return Document(path, label, text)


def _json(data: bytes) -> Any:
    if not is_within(data, values=_VALUES):
        raise BadBundle("The JSON of the bundle nests too deep or holds too much.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise BadBundle("The JSON of the bundle cannot be read.") from None


def _entries(data: Any) -> list[dict[str, Any]]:
    entries = data.get("documents") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise BadBundle("The bundle lists no documents.")
    if len(entries) > MEMBERS:
        raise BadBundle(f"A bundle may hold {MEMBERS:,} files.")
    return entries


def _of_manifest(files: Mapping[str, bytes]) -> list[Document]:
    manifest = _json(files[MANIFEST])
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BadBundle("The manifest is of another format.")
    paths: set[str] = set()
    parsed = [_of_ours(entry, files, paths) for entry in _entries(manifest)]
    extra = sorted(set(files) - {doc.path for doc in parsed} - {MANIFEST})
    strays = [Document(n, n, "", fault="is not in the manifest") for n in extra]
    return [*parsed, *strays]


def _of_ours(
    entry: dict[str, Any], files: Mapping[str, bytes], paths: set[str]
) -> Document:
    path, label = str(entry.get("path")), str(entry.get("label"))
    if path in paths or path not in files:
        fault = "is listed twice" if path in paths else "is listed but not there"
        return Document(path, label, "", fault=fault)
    paths.add(path)
    text = _text(files[path])
    body = _without_header(text) if text is not None else None
    if body is None:
        return Document(path, label, "", fault="is not UTF-8 text")
    if digest(body.encode()) != entry.get("sha256"):
        return Document(path, label, "", fault="is not the text that was exported")
    if tiers.split(label) is None:
        return Document(path, label, "", fault="is no memory file")
    return Document(path, label, body, _name(entry, "crew"), _name(entry, "agent"))


def _without_header(text: str) -> str:
    if not text.startswith(_FENCE):
        return text
    head, fence, body = text[len(_FENCE) :].partition(f"\n{_FENCE}")
    return body if fence and len(head) < 4_096 else text


def _name(entry: Mapping[str, Any], field: str) -> str | None:
    value = entry.get(field)
    return value if isinstance(value, str) and value else None


def from_json(data: bytes) -> list[Document]:
    if len(data) > BUNDLE_BYTES:
        raise BadBundle(f"A bundle may hold {BUNDLE_BYTES:,} bytes.")
    return from_entries(_entries(_json(data)))


def from_entries(entries: Iterable[Mapping[str, Any]]) -> list[Document]:
    """Return the documents of entries with ``path``, ``body`` and perhaps an owner."""
    parsed: list[Document] = []
    for entry in entries:
        path, body = entry.get("path"), entry.get("body")
        if not isinstance(path, str) or not isinstance(body, str):
            name = path if isinstance(path, str) else "?"
            parsed.append(Document(name, name, "", fault="needs path and body"))
        elif len(body.encode("utf-8", "replace")) > DOCUMENT_BYTES:
            parsed.append(Document(path, path, "", fault="is over 1 MiB"))
        elif _name(entry, "crew"):
            label = str(entry.get("label", ""))
            crew, agent = _name(entry, "crew"), _name(entry, "agent")
            fault = "" if tiers.split(label) else "is no memory file"
            parsed.append(Document(path, label, body, crew, agent, fault))
        else:
            parsed.append(_plain(path, body))
    return parsed
