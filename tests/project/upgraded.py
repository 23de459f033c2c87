"""Migrates a data folder, works in it, and prints as JSON what came of it.

`tests/snapshots/earlier_data_folder.json` was made when each app still had many
migrations: two workspaces, a held text, an erasure with its certificate, and another
case whose plan was not confirmed.
"""

from __future__ import annotations

import json
import sys

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from crewship_memory import healthz  # noqa: E402
from gdpr import erasure  # noqa: E402
from gdpr.cases import workflow as cases  # noqa: E402
from gdpr.certificates import issue as certificates  # noqa: E402
from gdpr.models import Case, CaseState, Certificate  # noqa: E402
from memory import fulltext  # noqa: E402
from memory.journal import append as journal  # noqa: E402
from memory.journal import verify  # noqa: E402
from memory.models import EntryWords, JournalEntry, MemoryFile, Workspace  # noqa: E402
from memory.rules.entries import NewEntry  # noqa: E402
from memory.rules.permissions import system  # noqa: E402


def schema() -> set[str]:
    """Return tables, indexes and triggers as SQLite keeps them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master")
        return {name for (name,) in cursor.fetchall()}


def confirm(case: Case) -> str:
    """Run the waiting plan; return the case's state at its end."""
    by = system(case.workspace_id)
    plan_hash = case.plans.get().plan_hash
    phrase = cases.phrase(case, plan_hash)
    skip = ("own_decision", "Made before an upgrade that asks for a ground")
    erasure.start(case, plan_hash, phrase, by=by, skip_identity=skip)
    erasure.run(case.workspace_id, case.pk)
    return Case.objects.get(pk=case.pk).state


before = schema()
call_command("migrate", verbosity=0)
acme = Workspace.objects.get(slug="acme")
entries = JournalEntry.objects.filter(workspace=acme).count()
unworded = JournalEntry.objects.exclude(docid__in=EntryWords.objects.values("pk"))
new = journal.append(
    NewEntry(entry_type="harbour.noted", summary="Harbour cranes were painted"),
    by=system(acme.pk),
)
certificate = Certificate.objects.get()
matching = fulltext.matching(acme.pk, "cranes")
assert matching is not None
words = JournalEntry.objects.filter(matching)
facts = {
    "entries": entries,
    "files": MemoryFile.objects.filter(workspace=acme).count(),
    "waiting": healthz.waiting_migrations(),
    # Later migrations add to it, and one gave saved_filters another name.
    "lost_schema": sorted(n for n in before - schema() if "saved_filters" not in n),
    "without_words": unworded.count(),
    "chain": verify.verify(acme.pk, by=system(acme.pk)).ok,
    "words": [row.pk for row in words] == [new.pk],
    "certificate": certificates.verify(certificate.document).intact,
    "erasure": confirm(Case.objects.get(state=CaseState.PLANNED)),
}
sys.stdout.write(json.dumps(facts))
