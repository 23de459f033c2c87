"""Texts and passages that a person allowed: alone they are not held again.

A person allows one text when releasing it, or approves what was proposed because
reviewers released it again and again. What was proposed lets no text pass with a
finding of hidden text or secrets, unless the person who approved it said so.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Final

from django.db.models import Q

from memory import scanner
from memory.models import Clearance, Cleared
from memory.scanner import Family, Unit, Verdict
from memory.stored_files.store import digest

GUARDED: Final = frozenset({Family.HIDDEN_TEXT.value, Family.SECRETS.value})
Scan = Callable[[str], Verdict]


def is_guarded(text: str) -> bool:
    """Whether the shipped rules find hidden text or secrets in a text."""
    return any(finding.family in GUARDED for finding in scanner.scan(text).findings)


def is_cleared(workspace_id: str, text: str) -> bool:
    """Whether a person cleared this text for good.

    The fingerprint ignores invisible characters, and a person cleared only what was
    visible: a text with hidden characters is cleared only when the bytes are the same.
    """
    rows = Clearance.objects.filter(
        workspace_id=workspace_id,
        kind=Cleared.TEXT,
        fingerprint=scanner.fingerprint(text),
    )
    if scanner.has_unseen(text):
        rows = rows.filter(held__sha256=digest(text.encode("utf-8", "replace")))
    clearance = rows.only("allows_all").first()
    return clearance is not None and (clearance.allows_all or not is_guarded(text))


# ── Passages ─────────────────────────────────────────────────────────────────
def passages(workspace_id: str) -> Mapping[str, bool]:
    """Return the fingerprints of allowed passages, and whether they allow all."""
    rows = Clearance.objects.filter(workspace_id=workspace_id, kind=Cleared.PASSAGE)
    return dict(rows.values_list("fingerprint", "allows_all"))


def fingerprints(text: str) -> list[tuple[str, Unit]]:
    """Return the sentences and lines of a text, each with its fingerprint."""
    return [
        (scanner.fingerprint(text[unit.start : unit.end]), unit)
        for unit in scanner.units(text)
    ]


def without(text: str, allowed: Container[str]) -> str:
    """Return a text with a line break in place of each allowed passage."""
    parts = [
        "\n" if fingerprint in allowed else text[unit.start : unit.end]
        for fingerprint, unit in fingerprints(text)
    ]
    return "".join(parts)


def passes_without(workspace_id: str, text: str, scan: Scan) -> bool:
    """Whether a held text passes once the allowed passages are left out of it."""
    allowed = passages(workspace_id)
    if not allowed or scanner.has_unseen(text):
        return False
    rest = without(text, allowed)
    if rest == text:
        return False
    if is_guarded(text):
        for_all = {name for name, allows_all in allowed.items() if allows_all}
        rest = without(text, for_all)
        return not is_guarded(rest) and not scan(rest).is_held
    return not scan(rest).is_held


def has_approved(workspace_id: str) -> bool:
    """Whether more was allowed here than texts by those who released them."""
    rows = Clearance.objects.filter(workspace_id=workspace_id)
    return rows.filter(Q(kind=Cleared.PASSAGE) | Q(allows_all=False)).exists()
