"""Words of bundles that wait for a decision: sealed, because they name other people."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from gdpr import encrypted_file
from gdpr.data_map.base import Person
from gdpr.matching.matcher import Sign
from gdpr.models import Export, ExportState, ExportWord
from memory.installation import identity as installation

_NAME: Final = "words of "


@dataclass(frozen=True, slots=True)
class Sighting:
    """A word as it is written, and pieces of text around it."""

    word: str
    snippets: tuple[str, ...]


def _key(export_id: str) -> bytes:
    return encrypted_file.key_for(installation.key("exports"), _NAME + export_id)


def sealed(export_id: str, sightings: Iterable[Sighting]) -> Iterator[bytes]:
    """Yield each sighting encrypted with a key of its bundle."""
    key = _key(export_id)
    for sighting in sightings:
        target = io.BytesIO()
        sealer = encrypted_file.Sealer(target, key)
        sealer.write(json.dumps([sighting.word, *sighting.snippets]).encode())
        sealer.close()
        yield target.getvalue()


def opened(export_id: str, rows: Iterable[ExportWord]) -> Iterator[Sighting]:
    """Yield the sighting of each row; raise ``Broken`` where the key is another."""
    key = _key(export_id)
    for row in rows:
        data = io.BytesIO(bytes(row.sealed))
        text = b"".join(encrypted_file.decrypted_pieces(data, key))
        word, *snippets = json.loads(text)
        yield Sighting(word, tuple(snippets))


def collect_again(export_ids: Iterable[str]) -> int:
    """Delete the words of waiting bundles and have them collected again."""
    with transaction.atomic():
        rows = Export.objects.filter(pk__in=list(export_ids), state=ExportState.REVIEW)
        ids = list(rows.select_for_update().values_list("pk", flat=True))
        ExportWord.objects.filter(export_id__in=ids).delete()
        return Export.objects.filter(pk__in=ids).update(state=ExportState.MAKING)


def naming(person: Person) -> Iterator[tuple[Export, Sign]]:
    """Yield other people's waiting bundles whose words name a person, and how surely.

    What does not open is no name to anybody.
    """
    rows = Export.objects.filter(
        workspace_id=person.workspace_id, state=ExportState.REVIEW
    )
    for export in rows.exclude(subject_ref=person.subject_id).order_by("pk"):
        sign = Sign.NONE
        try:
            for sighting in opened(export.pk, export.words.iterator()):
                for text in (sighting.word, *sighting.snippets):
                    sign = max(sign, person.matcher.sign(text))
        except encrypted_file.Broken:
            continue
        if sign is not Sign.NONE:
            yield export, sign
