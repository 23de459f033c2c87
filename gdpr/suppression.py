"""Suppressed names, stored as keyed hashes: texts that name them are refused.

A text is cut into every piece that could be such a name, and the pieces are hashed the
same way. Patterns are not suppressed: they have no single text. A name of one word is
looked for only where a writer names a person, because too many people share it. A
handle that is an ordinary word, or very short, is looked for only behind an @, and,
like such a user id, where a writer names a person: in ``subjects``, in the subject of a
record or a card, in a JSON field that holds a person. The word alone matches nothing.
The same goes for the initial and surname of a name, which several people share.
A text of a single word may be a first name and a surname written together.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import cache_version, pagination
from gdpr.matching import (
    common_words,
    name_fields,
    normalize,
    patterns,
    phones,
    spellings,
)
from gdpr.matching.matcher import Name
from gdpr.models import Alias, Subject, Suppression
from gdpr.pagination import Page, PageQuery
from memory.journal import append as journal
from memory.rules import entries, errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor


class Digest(NamedTuple):
    """A suppressed name: its keyed hash, its kind, its number of words."""

    digest: str
    kind: str
    words: int


# In place of the number of words: the name is not looked for in free text.
MARKED: Final = 0
_TWO_WORDS: Final = 2
_DOMAIN: Final = b"crewship suppression v1\x00"
_PHONE_TAIL: Final = 8
_KINDS: Final = ("user_id", "email", "phone", "handle", "name")
_PIECES: Final = frozenset({"user_id", "handle"})
# An @ outside an address; what follows it is cut into words like any text.
_AT: Final = re.compile(r"(?<![a-z0-9])@")
_BEHIND: Final = 40
_MAIL: Final = re.compile(r"[\w.+\-]{1,64}@[\w\-]+(?:\.[\w\-]+){0,8}")


def _key(workspace_id: str) -> bytes:
    return hmac.digest(journal.key(), _DOMAIN + workspace_id.encode(), "sha256")


def _hash(key: bytes, kind: str, text: str) -> str:
    data = f"{kind}\x00{text}".encode()
    return hashlib.blake2b(data, digest_size=32, key=key).hexdigest()


def _hashed_form(kind: str, value: str) -> tuple[str, int] | None:
    """Return the text of an alias to hash and its number of words; None for no hash."""
    text = patterns.folded(kind, value)
    if kind == "phone":
        return (text[-_PHONE_TAIL:], 1) if len(text) >= phones.MIN_DIGITS else None
    tokens = list(spellings.TOKEN.finditer(text))
    if not tokens or kind not in _KINDS:
        return None
    if kind == "name":
        return " ".join(token[0] for token in tokens), len(tokens)
    if kind == "email":
        local, at, domain = text.rpartition("@")
        return (f"{local.partition('+')[0]}{at}{domain}", 1) if at else None
    return text[tokens[0].start() : tokens[-1].end()], len(tokens)


def digests_of(workspace_id: str, names: Iterable[Name]) -> list[Digest]:
    """Return the digests of names, without duplicates."""
    key = _key(workspace_id)
    digests: dict[str, Digest] = {}
    for name in names:
        form = _hashed_form(name.kind, name.value)
        if form is not None:
            digest = _hash(key, name.kind, form[0])
            is_common = name.kind in _PIECES and common_words.is_common(
                name.kind, name.value
            )
            words = MARKED if is_common else form[1]
            digests[digest] = Digest(digest, name.kind, words)
    return list(digests.values())


def _initials_of(workspace_id: str, names: Iterable[Name]) -> list[Digest]:
    """Return the digests of initial and surname, marked: several people share them."""
    key = _key(workspace_id)
    of_names = (name.value for name in names if name.kind == "name")
    forms = [spellings.initial_of(patterns.words(value)) for value in of_names]
    hashes = dict.fromkeys(_hash(key, "name", form) for form in forms if form)
    return [Digest(digest, "name", MARKED) for digest in hashes]


def unknown_name_digest(workspace_id: str, text: str) -> str:
    """Return the keyed hash of a name as a writer gave it, its kind unknown."""
    plain = patterns.folded("handle", text)
    return _hash(_key(workspace_id), "unknown", plain)


def dismissal_digest(workspace_id: str, kind: str, text: str) -> str:
    """Return the keyed hash of an address that was dismissed for a person."""
    return _hash(_key(workspace_id), f"aside {kind}", patterns.folded(kind, text))


# ── Looking for them ─────────────────────────────────────────────────────────
def _pieces(
    text: str, word_counts: Mapping[str, Collection[int]]
) -> Iterator[tuple[str, str, str]]:
    """Return (kind, form, piece) of everything in a text that could be a name."""
    for view in _views(text):
        if "email" in word_counts and "@" in view:
            for match in _MAIL.finditer(view):
                form = _hashed_form("email", match[0].rstrip(".-_"))
                if form:
                    yield "email", form[0], match[0]
        if "phone" in word_counts:
            for start, end, number in phones.candidates(view):
                yield "phone", number.digits[-_PHONE_TAIL:], view[start:end]
        yield from _word_runs(view, word_counts)
    if lengths := word_counts.get("name"):
        for view in spellings.of_text(text):
            yield from _word_runs(view, {"name": lengths})


def _views(text: str) -> list[str]:
    return [
        normalize.fold(text),
        *(view.text for view in normalize.escaped_views(text)),
    ]


def _words_behind_at(text: str) -> Iterator[str]:
    """Return what follows each @ of a text: the first word, and the first two."""
    for view in _views(text):
        for at in _AT.finditer(view):
            behind = list(spellings.TOKEN.finditer(view, at.end(), at.end() + _BEHIND))[
                :2
            ]
            if behind and behind[0].start() == at.end():
                for token in behind:
                    yield view[at.end() : token.end()]


def _word_runs(
    view: str, sizes: Mapping[str, Collection[int]]
) -> Iterator[tuple[str, str, str]]:
    for kind, lengths in sizes.items():
        if kind in _PIECES:
            for run, _, _ in spellings.runs(view, [n for n in lengths if n]):
                yield kind, run, run
        elif kind == "name":
            for run, words, gap in spellings.runs(view, [n for n in lengths if n > 1]):
                yield from ((kind, form, run) for form in spellings.of_run(words, gap))


def suppressed_pieces(
    workspace_id: str, text: str, digests: Collection[Digest]
) -> list[str]:
    """Return the pieces of a text, folded, whose keyed hash is among digests."""
    return [piece for piece, _ in _suppressed(workspace_id, text, digests)]


def _suppressed(
    workspace_id: str, text: str, digests: Collection[Digest]
) -> list[tuple[str, str]]:
    """Return the pieces of a text whose hash is among digests, and their names."""
    free = [digest for digest in digests if digest.words != MARKED]
    free_digests, key = {digest for digest, _, _ in free}, _key(workspace_id)
    word_counts: dict[str, set[int]] = {}
    for digest in free:
        word_counts.setdefault(digest.kind, set()).add(digest.words)
    pieces = _pieces(name_fields.json_as_text(text), word_counts)
    hits = [
        (piece, piece if kind == "phone" else form)
        for (kind, form), piece in {(k, f): piece for k, f, piece in pieces}.items()
        if _hash(key, kind, form) in free_digests
    ]
    marked = {digest for digest, _, words in digests if words == MARKED}
    if marked:
        handles = (f"@{word}" for word in _words_behind_at(text))
        hits += [
            (handle, handle)
            for handle in handles
            if _hash(key, "handle", handle[1:]) in marked
        ]
    # The whole value of a field that holds a person counts, an ordinary word too.
    all_digests = {digest for digest, _, _ in digests}
    names = name_fields.people(text) if digests else ()
    hits += [(n, n) for n in names if is_named(workspace_id, n, all_digests)]
    return list(dict.fromkeys(hits))


def names_in(workspace_id: str, text: str, digests: Collection[Digest]) -> list[str]:
    """Return the suppressed names in a text; find ordinary words in free text too."""
    all_digests = [
        Digest(digest, kind, count)
        for digest, kind, words in digests
        for count in ((1, 2) if words == MARKED else (words,))
    ]
    pairs = _suppressed(workspace_id, text, all_digests)
    return list(dict.fromkeys(name for _, name in pairs))


def is_named(workspace_id: str, subject: str, hashes: Collection[str]) -> bool:
    """Whether a writer's name for a person is among digests, as any kind of alias."""
    key = _key(workspace_id)
    forms = ((kind, _hashed_form(kind, subject)) for kind in _KINDS)
    if any(form and _hash(key, kind, form[0]) in hashes for kind, form in forms):
        return True
    return any(
        _hash(key, "name", form) in hashes for form in spellings.of_field(subject)
    )


def _is_joined_name(workspace_id: str, text: str, digests: Collection[Digest]) -> bool:
    """Whether a whole text is the two words of a name among digests, as one word."""
    hashes = {d.digest for d in digests if d.kind == "name" and d.words == _TWO_WORDS}
    key = _key(workspace_id)
    return bool(hashes) and any(
        _hash(key, "name", form) in hashes for form in spellings.of_word(text)
    )


def refuse(
    workspace_id: str,
    digests: Collection[Digest],
    texts: Iterable[str],
    subjects: Iterable[str],
) -> None:
    """Raise Conflict ``subject_suppressed`` when a text or subject is suppressed."""
    hashes = {digest for digest, _, _ in digests}
    subject_names = list(subjects)
    if any(is_named(workspace_id, subject, hashes) for subject in subject_names) or any(
        suppressed_pieces(workspace_id, text, digests)
        or _is_joined_name(workspace_id, text, digests)
        for text in (*texts, *subject_names)
        if text
    ):
        detail = gettext(
            "The text is about a person who was erased or opted out; nothing was kept."
        )
        raise errors.Conflict(detail, code="subject_suppressed")


# ── Keeping the list ─────────────────────────────────────────────────────────
def active(workspace_id: str) -> list[Digest]:
    """Return the digests in force."""
    rows = Suppression.objects.filter(workspace_id=workspace_id, lifted_at=None)
    fields = rows.order_by("pk").values_list("digest", "kind", "words")
    return [Digest(*row) for row in fields]


def restore(
    workspace_id: str, digests: Iterable[Digest], *, subject_ref: str, case_ref: str
) -> int:
    """Add the digests that are not in force; return how many were added."""
    with transaction.atomic():
        active_digests = {digest for digest, _, _ in active(workspace_id)}
        rows = [
            Suppression(
                workspace_id=workspace_id,
                digest=digest,
                kind=kind,
                words=words,
                subject_ref=subject_ref,
                case_ref=case_ref,
            )
            for digest, kind, words in digests
            if digest not in active_digests
        ]
        Suppression.objects.bulk_create(rows, ignore_conflicts=True)
        if rows:
            cache_version.bump(workspace_id)
    return len(rows)


def suppress(subject: Subject, *, case_ref: str = "") -> int:
    """Suppress a person's names; safe to repeat. Return how many were added."""
    names = Alias.names(subject.workspace_id, subject_id=subject.pk)
    digests = [
        *digests_of(subject.workspace_id, names),
        *_initials_of(subject.workspace_id, names),
    ]
    return restore(
        subject.workspace_id, digests, subject_ref=subject.pk, case_ref=case_ref
    )


def page(
    actor: Actor, page_query: PageQuery, *, lifted: bool = False
) -> Page[Suppression]:
    """Return a page, newest first; with ``lifted`` also those that were lifted."""
    actor.require("gdpr.read")
    rows = Suppression.objects.filter(workspace_id=actor.workspace_id)
    rows = rows if lifted else rows.filter(lifted_at=None)
    question = ["suppressions", lifted]
    return pagination.newest(rows, "since", page_query, question, actor.workspace_id)


def count_active(actor: Actor) -> int:
    actor.require("gdpr.read")
    rows = Suppression.objects.filter(workspace_id=actor.workspace_id)
    return rows.filter(lifted_at=None).count()


def lift(suppression_id: int, reason: str, *, by: Actor) -> Suppression:
    """Lift a suppression; the row stays, with the reason."""
    by.require("gdpr.manage")
    if not reason.strip() or not entries.is_storable(reason):
        detail = gettext("Say why the name may come back.")
        raise errors.Invalid(detail, code="reason_required")
    with transaction.atomic():
        rows = Suppression.objects.select_for_update()
        row = rows.filter(pk=suppression_id, workspace_id=by.workspace_id).first()
        if row is None:
            raise errors.NotFound
        if row.lifted_at is not None:
            detail = gettext("It was lifted before.")
            raise errors.Conflict(detail, code="already_lifted")
        row.lifted_at, row.lifted_by = timezone.now(), by.label
        row.lift_reason = reason.strip()
        row.save(update_fields=["lifted_at", "lifted_by", "lift_reason"])
        new = NewEntry(
            entry_type="gdpr.suppression_lifted",
            severity=Severity.WARN,
            summary=f"A suppressed name of {row.subject_ref} may come back",
            payload={"subject_id": row.subject_ref, "kind": row.kind},
        )
        journal.write([new], by=by)
    return row
