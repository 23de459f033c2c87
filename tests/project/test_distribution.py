"""Every table can be divided by workspace, and the plan of it names each once."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from episodic.models import MemoryRelation
from memory import distribution
from memory.models import EntryWords
from tests import factories
from tests.world import World

TABLE = re.compile(r"create_(?:reference|distributed)_table\('(\w+)'")


def _plan() -> list[str]:
    out = StringIO()
    call_command("shard_plan", stdout=out)
    return out.getvalue().splitlines()


@pytest.mark.postgres
def test_each_table_follows_the_rule(db: None) -> None:
    with connection.cursor() as cursor:
        assert distribution.faults(cursor) == []


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "CREATE TABLE odd (workspace_id text, id bigint PRIMARY KEY)",
            "odd: odd_pkey: the key does not begin with workspace_id.",
        ),
        ("CREATE TABLE odd (workspace_id text, id bigint)", "odd: has no key."),
        (
            "CREATE UNIQUE INDEX odd ON journal_entries (docid)",
            "journal_entries: the unique index odd does not begin with workspace_id.",
        ),
        (
            "ALTER TABLE users ADD odd varchar(32) REFERENCES memory_maps",
            "users: users_odd_fkey: it is copied and refers to what is divided.",
        ),
    ],
    ids=["key", "no key", "index", "reference"],
)
def test_a_table_that_breaks_the_rule_is_named(
    db: None, statement: str, sentence: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        assert distribution.faults(cursor) == [sentence]
        with pytest.raises(CommandError, match=re.escape(sentence)):
            call_command("shard_plan", stdout=StringIO())


@pytest.mark.postgres
def test_a_new_table_gets_its_keys(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE odd (workspace_id varchar(32) NOT NULL,"
            " id bigint PRIMARY KEY, parent_id bigint UNIQUE REFERENCES odd (id))"
        )
        distribution.rekey(cursor)
        distribution.rekey(cursor)
        assert distribution.faults(cursor) == []
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = 'odd'::regclass AND contype <> 'n' ORDER BY 1"
        )
        definitions = [row[0] for row in cursor.fetchall()]
    [foreign, key, unique] = definitions
    assert "(workspace_id, parent_id) REFERENCES odd(workspace_id, id)" in foreign
    assert key == "PRIMARY KEY (workspace_id, id)"
    assert unique == "UNIQUE (workspace_id, parent_id)"


@pytest.mark.postgres
def test_the_keys_go_back_to_what_they_were(db: None) -> None:
    definitions = (
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)"
        " FROM pg_constraint WHERE contype IN ('p', 'u', 'f') ORDER BY 1, 2"
    )
    with connection.cursor() as cursor:
        cursor.execute(definitions)
        before = cursor.fetchall()
        distribution.rekey_back(cursor)
        assert "records: records_pkey: the key does not begin with workspace_id." in (
            distribution.faults(cursor)
        )
        distribution.rekey(cursor)
        cursor.execute(definitions)
        assert cursor.fetchall() == before


@pytest.mark.postgres
def test_no_row_refers_to_a_row_of_another_workspace(world: World) -> None:
    own = factories.append(world.actor("ada"))
    foreign = factories.append(world.actor("olga"))
    assert own.workspace_id != foreign.workspace_id
    with pytest.raises(IntegrityError), transaction.atomic():
        MemoryRelation.objects.create(
            workspace_id=own.workspace_id, src=own, dst=foreign, relation="similar"
        )
        connection.check_constraints()


@pytest.mark.postgres
def test_rows_whose_workspaces_disagree_are_named_and_nothing_is_changed(
    world: World,
) -> None:
    rows = [factories.append(world.actor(name)) for name in ("ada", "olga")]
    with connection.cursor() as cursor:
        # PostgreSQL alters no table whose foreign keys are still to be checked.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        distribution.rekey_back(cursor)
        MemoryRelation.objects.create(
            workspace_id=world.acme.id, src=rows[0], dst=rows[1], relation="similar"
        )
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        sentence = (
            r"row of memory_relations has another workspace_id than the row of"
            rf" journal_entries.*{rows[1].id}"
        )
        with (
            pytest.raises(IntegrityError, match=f"(?s){sentence}"),
            transaction.atomic(),
        ):
            distribution.rekey(cursor)


@pytest.mark.postgres
def test_a_row_is_reached_by_its_id_alone_through_an_index(db: None) -> None:
    """The admin, a save and a related row name no workspace."""
    with connection.cursor() as cursor:
        tables = set(distribution.divided(cursor))
        for model in apps.get_models():
            # The words of an entry are always looked up within their workspace.
            if model._meta.db_table not in tables or model is EntryWords:
                continue
            cursor.execute(
                "SELECT count(*) FROM pg_index i JOIN pg_attribute a"
                " ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
                " WHERE i.indrelid = %s::regclass AND i.indpred IS NULL"
                " AND a.attname = %s",
                [model._meta.db_table, model._meta.pk.column],
            )
            assert cursor.fetchone()[0], model


@pytest.mark.postgres
def test_the_plan_names_each_table_once_after_those_it_refers_to(db: None) -> None:
    names = [match[1] for line in _plan() if (match := TABLE.search(line))]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
            " AND tablename NOT IN (SELECT c.relname FROM pg_class c"
            " WHERE c.relispartition)"
        )
        tables = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text"
            " FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid"
        )
        references = cursor.fetchall()
    assert sorted(names) == sorted(tables)
    for table, target in references:
        assert names.index(table) > names.index(target), table


@pytest.mark.sqlite
def test_sqlite_is_refused_with_the_reason(db: None) -> None:
    with pytest.raises(CommandError, match="this is SQLite"):
        call_command("shard_plan")
