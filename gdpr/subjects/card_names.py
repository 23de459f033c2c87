"""A card's key that is a person's id or address, written as keys are, is their alias.

Agents name a card after whom it is about. The key stands in the name of a file, in
the entries about its versions and wherever the card is quoted, so that it is sought,
shown, hashed and refused like every alias once a request about the person is planned.
"""

from __future__ import annotations

from collections.abc import Iterator

from gdpr.matching import slugs
from gdpr.models import Alias, AliasKind, Subject
from gdpr.subjects import registry
from memory.models import HeldFile, MemoryFile
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier


def _keys(workspace_id: str) -> Iterator[str]:
    for model in (MemoryFile, HeldFile):
        cards = model.objects.filter(workspace_id=workspace_id, tier=Tier.PEERS)
        yield from cards.exclude(key="").values_list("key", flat=True).iterator()


def _handles(subject: Subject) -> Iterator[str]:
    """Yield what is to be registered, perhaps again."""
    names = Alias.names(subject.workspace_id, subject_id=subject.pk)
    forms = set(slugs.forms(names))
    if not forms:
        return
    for key in _keys(subject.workspace_id):
        for form in forms:
            if slugs.is_unambiguous(form) and slugs.is_in(form, key):
                yield form
            elif form == key:
                # A number or a word: it means the person as the name of this file only.
                yield Place(Tier.PEERS, key).label


def register(subject: Subject, *, by: Actor) -> int:
    """Register the keys of cards about a person as handles; return how many are new."""
    folded = set(subject.aliases.values_list("folded", flat=True))
    count = 0
    for handle in sorted(set(_handles(subject)) - folded):
        alias = registry.NewAlias(AliasKind.HANDLE, handle)
        try:
            registry.add_alias(subject.pk, alias, by=by)
        except errors.Conflict:
            # Somebody else's as well: rows with it are doubtful as they are.
            continue
        count += 1
    return count
