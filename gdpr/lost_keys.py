"""What personal data work loses when a key or a data folder is given up."""

from __future__ import annotations

from typing import Final

from gdpr.certificates import keys as signing_keys
from gdpr.erasure import tombstones
from gdpr.export import storage
from gdpr.models import Case, CaseState, Export, ExportState, Suppression
from memory.data_folder_adoption import Follower

_UNDER_WAY: Final = (CaseState.RUNNING, CaseState.VERIFYING)
_RECORDS: Final = (
    "The records of erasures are signed again as they stand; after a restore they find"
    " rows by their ids, no longer by names."
)
_SIGNING: Final = (
    "The key that signs certificates is retired and a new one is made; what the old one"
    " signed stays valid."
)


def losses(changed: set[str]) -> list[str]:
    """Return what cannot be had back, a sentence each."""
    found = []
    if "journal" in changed:
        names = Suppression.objects.filter(lifted_at=None).count()
        cases = Case.objects.filter(state__in=_UNDER_WAY).count()
        found += [
            f"{names} suppressed names are no longer recognised: enter them again.",
            _RECORDS,
            f"{cases} cases under way have sealed names that no longer open.",
        ]
    ready = list(Export.objects.filter(state=ExportState.READY))
    here = sum(storage.path(row).is_file() for row in ready)
    if "exports" in changed and here:
        found.append(f"{here} bundles for people do not open: make them again.")
    if len(ready) > here:
        found.append(f"{len(ready) - here} bundles for people are gone.")
    if signing_keys.problem() is not None:
        found.append(_SIGNING)
    return found


def adopt(changed: set[str]) -> None:
    """Sign the erasures' records with the new key, and make a signing key if needed."""
    if "journal" in changed:
        tombstones.sign_again()
    if signing_keys.problem() is not None:
        signing_keys.rotate()


FOLLOWER: Final = Follower(losses, adopt)
