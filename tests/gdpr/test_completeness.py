"""Every table and folder has a holder, or is listed as naming nobody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, models

from gdpr.data_map import registry
from tests.memory.files import kit as files
from tests.project import source
from tests.world import World

# Names that the code joins to the data folder.
_PATH_JOIN = re.compile(r'(?:DATA_DIR\)?|\bdata) / f?["\']([\w.]+)["\']')


def _tables() -> set[str]:
    return {table for holder in registry.ALL for table in holder.tables}


def _folders() -> set[str]:
    return {name for holder in registry.ALL for name in holder.files}


def test_every_table_has_a_holder_or_names_nobody() -> None:
    labels = {m._meta.label for m in apps.get_models(include_auto_created=True)}
    declared = _tables() | set(registry.KNOWN_HARMLESS)
    assert sorted(labels - declared) == [], (
        "these tables can name a person; who holds them?"
    )
    assert sorted(declared - labels) == [], "these tables are gone"


def test_a_table_is_not_both_held_and_harmless() -> None:
    assert _tables() & set(registry.KNOWN_HARMLESS) == set()


def test_reasons_are_sentences() -> None:
    reasons = {
        **registry.KNOWN_HARMLESS,
        **registry.HARMLESS_FILES,
        **registry.OUT_OF_REACH,
    }
    for name, reason in reasons.items():
        assert reason[0].isupper(), name
        assert reason.endswith("."), name


def test_every_text_column_of_a_held_table_is_looked_at() -> None:
    """A column added to a table of a holder has to be declared there."""
    uncovered = []
    for holder in registry.ALL:
        for table in getattr(holder, "_tables", ()):
            columns = {*table.words, *table.labels, *table.keeps, *table.facts}
            uncovered += [
                f"{table.label}.{name}"
                for name in sorted(_texts(table.model) - columns - SILENT)
                if f"{table.label}.{name}" not in SILENT
            ]
    assert uncovered == []


def test_no_column_is_called_silent_that_is_not_there() -> None:
    """The name of a removed column would hide a later column of that name."""
    tables = [
        table for holder in registry.ALL for table in getattr(holder, "_tables", ())
    ]
    existing = {name for table in tables for name in _texts(table.model)}
    existing |= {f"{t.label}.{name}" for t in tables for name in _texts(t.model)}
    assert sorted(SILENT - existing) == []


def test_every_text_column_of_the_other_tables_is_looked_at() -> None:
    """These holders name their columns in code: new ones have to be added there."""
    unknown = []
    for label, covered in COLUMNS.items():
        existing = _texts(apps.get_model(label)) - SILENT
        unknown += [
            f"{label}.{name}" for name in sorted(existing - set(covered.split()))
        ]
    assert unknown == []
    held_tables = {t for holder in registry.ALL for t in holder.tables}
    described = {
        table.label
        for holder in registry.ALL
        for table in getattr(holder, "_tables", ())
    }
    assert sorted(held_tables - described - set(COLUMNS)) == []


def _texts(model: type[models.Model]) -> set[str]:
    """Return the columns of a table that hold free text: no keys, no closed lists."""
    kinds = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
    return {
        field.attname
        for field in model._meta.concrete_fields
        if isinstance(field, kinds)
        and not field.is_relation
        and not field.primary_key
        and not field.choices
    }


# Tables whose holder is code: the text columns that it reads or leaves out.
_CHAINED = "commitment prev_hash entry_hash entry_type actor_id crew_id agent_id"
COLUMNS = {
    "memory.JournalEntry": "summary payload_text refs_text body mission_id trace_id"
    f" span_id priority_at_emit salt seal {_CHAINED}",
    "memory.SubjectMention": "alias folded",
    "memory.EntryWords": "words",
    "memory.WordCount": "workspace_id",
    "memory.ArchivedEntry": "summary payload_text subjects mission_id trace_id span_id"
    f" severity priority actor_type {_CHAINED}",
    "memory.MemoryFile": "key label path",
    "memory.MemoryVersion": "written_by author note source",
    "memory.StoredFile": "tree path body",
    "memory.MemoryChunk": "heading text",
    "episodic.Embedding": "vector crew_id agent_id last_error",
    "episodic.MemoryRelation": "",
    "episodic.MemoryMap": "model crews points",
    "sessions.Session": "session_data",
    "gdpr.Export": "counts error made_by last_read_by",
    "gdpr.ExportWord": "sealed",
    "gdpr.Subject": "display_name consent_note created_by",
    "gdpr.Alias": "value folded added_by",
    "gdpr.SubjectLink": "place row_id",
}

# Columns without free text of callers: digests, ids, values of a closed list.
SILENT = {
    "sha256", "fingerprint", "signature", "base_sha256", "rules_version", "family",
    "model", "provider", "kind", "provenance", "scope_key", "entry_id", "event",
    "key_digest", "body_digest", "digest", "prefix", "plan_hash", "approved_plan",
    "claimed_by", "subject_ref", "case_ref", "actor_id", "key_id",
    "memory.Record.turn_range",
    "gdpr.RowVerdict.place", "gdpr.RowVerdict.row_id", "gdpr.ProcessingPurpose.place",
    "gdpr.Recipient.ref", "gdpr.Recipient.doubt", "gdpr.Recipient.delivery_id",
    "gdpr.Recipient.sealed", "gdpr.RecipientContact.language",
    "memory.HeldFile.mode", "memory.HeldFile.source", "memory.HeldFile.tier",
    "memory.HeldFile.decision", "memory.BlockedSource.source",
    "memory.ReviewLabel.decision", "memory.ReviewLabel.origin",
    "memory.ReviewLabel.rules", "memory.ReviewLabel.tier", "memory.ReviewLabel.writer",
    "memory.ScannerProposal.subject", "memory.ScannerProposal.before",
    "memory.ScannerProposal.after", "memory.ScannerProposal.evidence",
    "memory.GatewayKey.scopes", "memory.GatewaySetup.mode",
    "memory.GatewaySetup.sealed_key", "memory.GatewaySetup.scope",
    "memory.AgentKey.scopes", "memory.OperatorKey.scopes",
    "memory.Webhook.events", "memory.Webhook.secret", "memory.User.language",
    "memory.JobRun.name", "memory.JobRun.slot",
    "memory.JobRun.params", "memory.JobRun.unit",
    "memory.User.password", "memory.ImportLine.import_id",
    "memory.WorkspaceSetting.name", "memory.WorkspaceSetting.sealed",
    "memory.PriorityChange.previous", "memory.PriorityChange.priority",
    "episodic.HealthSnapshot.crew_id",
    "episodic.AcceptedCause.crew_id", "episodic.AcceptedCause.metric",
    "episodic.AcceptedCause.key",
    "episodic.RecallCheck.expected",
    "episodic.LoggedQuestion.question_key", "episodic.LoggedQuestion.agent_id",
    "episodic.LoggedQuestion.crew_id", "episodic.LoggedQuestion.scope",
    "episodic.LoggedQuestion.mode", "episodic.LoggedQuestion.fusion",
    "episodic.LoggedQuestion.degraded", "episodic.LoggedHit.via",
    "episodic.ConsolidationProposal.pattern_key",
    "episodic.ConsolidationProposal.content_hash",
    "episodic.ConsolidationProposal.evidence",
    "episodic.ConsolidationProposal.summariser",
    "admin.LogEntry.object_id",
    "gdpr.Case.opened_key_maker", "gdpr.Case.approved_key_maker",
    "gdpr.CasePlan.made_key_maker",
    "gdpr.Case.opened_by_id", "gdpr.Case.approved_by_id", "gdpr.Case.executed_by_id",
    "gdpr.Case.held_from",
    "gdpr.CasePlan.rows", "gdpr.CasePlan.made_by_id",
    "gdpr.CaseEvent.state", "gdpr.CaseStep.name", "gdpr.CaseStep.title",
    "gdpr.Hold.scope",
    "gdpr.Certificate.result",
    "gdpr.Letter.language", "gdpr.Letter.sealed", "gdpr.LetterTemplate.language",
    "gdpr.Correspondence.language", "gdpr.Correspondence.sealed",
}  # fmt: skip


def test_every_folder_the_code_makes_has_a_holder_or_names_nobody() -> None:
    declared = _folders() | set(registry.HARMLESS_FILES)
    folders: dict[str, str] = {}
    for path in source.sources():
        for name in _PATH_JOIN.findall(path.read_text(encoding="utf-8")):
            folders.setdefault(name, source.name(path))
    assert {"files", "blobs", "locks", "keys"} <= set(folders)
    assert {name: at for name, at in folders.items() if name not in declared} == {}


def test_every_file_that_is_there_has_a_holder_or_names_nobody(world: World) -> None:
    files.write(world, "tea\n")
    world.held()
    database = Path(str(connection.settings_dict["NAME"])).name
    declared = _folders() | set(registry.HARMLESS_FILES)
    declared |= {f"{database}{end}" for end in ("", "-wal", "-shm", "-journal")}
    existing = {path.name for path in Path(settings.DATA_DIR).iterdir()}
    assert sorted(existing - declared) == []


def test_names_are_unique_and_fit_their_columns() -> None:
    names = [holder.name for holder in registry.ALL]
    assert len(names) == len(set(names))
    for holder in registry.ALL:
        assert len(holder.name) <= 24
        assert holder.title[0].isupper()


@pytest.mark.parametrize("name", [holder.name for holder in registry.ALL])
def test_an_unknown_person_is_nowhere(world: World, name: str) -> None:
    from tests.gdpr import kit

    subject = kit.subject(world, {"name": "Zebulon Quorthwaite"})
    holder, person = registry.by_name(name), registry.person(subject)
    if name == "subjects":
        assert len(list(holder.find(person))) == 2
        return
    assert list(holder.find(person)) == []
    assert list(holder.verify(person)) == []
    assert list(holder.kept_texts(person)) == []
    assert holder.erase(person, []) == 0
    assert holder.redact(person, []) == 0
    assert list(holder.export(person, [])) == []
    assert list(holder.tokens(person, [])) == []
