"""What is lost, and what is repaired, when a key or a data folder is replaced."""

from __future__ import annotations

from typing import Final

from gdpr import bundle_files
from gdpr.certificates import keys as signing_keys
from gdpr.data_map import covered_words
from gdpr.erasure import shared_tombstones
from gdpr.models import (
    Case,
    CaseState,
    Correspondence,
    Export,
    ExportState,
    Letter,
    Suppression,
)
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


def losses(keys: set[str]) -> list[str]:
    """Return what cannot be recovered without the old ``keys``, a sentence each."""
    sentences = []
    if "journal" in keys:
        names = Suppression.objects.filter(lifted_at=None).count()
        cases = Case.objects.filter(state__in=_UNDER_WAY).count()
        sentences += [
            f"{names} suppressed names are no longer recognised: enter them again.",
            _RECORDS,
            f"{cases} cases under way have sealed names that no longer open.",
        ]
        sealed = Letter.objects.count() + Correspondence.objects.count()
        if sealed:
            sentences.append(f"{sealed} letters and addresses no longer open.")
    ready = list(Export.objects.filter(state=ExportState.READY))
    stored = sum(map(bundle_files.exists, ready))
    if "exports" in keys and stored:
        sentences.append(f"{stored} bundles for people do not open: make them again.")
    if len(ready) > stored:
        sentences.append(f"{len(ready) - stored} bundles for people are gone.")
    if signing_keys.problem() is not None:
        sentences.append(_SIGNING)
    return sentences


def adopt(keys: set[str]) -> None:
    """Sign erasure records and collect bundles again, with the new keys."""
    if "journal" in keys:
        shared_tombstones.sign_again()
    if "exports" in keys:
        # Their sealed words no longer open.
        waiting = Export.objects.filter(state=ExportState.REVIEW)
        covered_words.collect_again(waiting.values_list("pk", flat=True))
    if signing_keys.problem() is not None:
        signing_keys.rotate()


FOLLOWER: Final = Follower(losses, adopt)
