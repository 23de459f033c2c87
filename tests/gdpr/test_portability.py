"""Portability (Article 20) and objection (Article 21) as cases."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from gdpr.cases import dry_run, transitions
from gdpr.cases import workflow as cases
from gdpr.erasure import runner, start
from gdpr.export import make as export
from gdpr.export import portable
from gdpr.models import Case, Export, GdprAction, Subject
from memory.models import JournalEntry
from memory.rules import errors
from tests import factories
from tests.gdpr import erasing, kit
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db


def carried_out(world: World, person: Subject, kind: str) -> Case:
    """Return a case of a kind, carried out."""
    by = world.actor("compliance")
    case = make.opened(world, subject=person, kind=kind)
    plan = dry_run.make(case, by=by)
    case = transitions.case(by, case.id)
    start(case, plan.plan_hash, cases.phrase(case, plan.plan_hash), by=by)
    runner.run(world.acme.id, case.id)
    return transitions.case(by, case.id)


def opened(world: World, row: Export) -> dict[str, Any]:
    """Return file name → content of a bundle."""
    data = b"".join(export.read(row, by=world.actor("compliance")))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_portability_ends_with_a_file_and_its_schema(world: World) -> None:
    person = erasing.maria(world)
    bert = kit.subject(world, kit.BERT)
    text = f"{person.display_name} wants tea, {bert.display_name} coffee"
    entry = world.entry(text)
    case = carried_out(world, person, "portability")
    assert case.state == "complete"
    row = export.exports(world.actor("compliance")).get(case=case)
    files = opened(world, row)
    assert sorted(files) == ["data.json", "index.html", "schema.json"]
    data, schema = json.loads(files["data.json"]), json.loads(files["schema.json"])
    assert schema == portable.schema()
    assert set(data) == set(schema["required"]) == set(schema["properties"])
    assert set(data["data"]) == set(schema["properties"]["data"]["required"])
    row_texts = {row["id"]: row["summary"] for row in data["data"]["journal"]}
    assert person.display_name in row_texts[entry.id]
    assert bert.display_name not in files["data.json"]
    # Our own work about the request is no part of it.
    assert case.id not in files["data.json"]
    assert GdprAction.objects.filter(case_ref=case.id, action="export").exists()


def test_what_was_covered_is_counted_in_the_file_alone(world: World) -> None:
    """Words of places that it does not have concern nobody, the officer least."""
    person = erasing.maria(world)
    world.entry(f"{person.display_name} met Karim Haddad")
    by = world.actor("compliance")
    case = make.opened(world, subject=person, kind="portability", reason="Ask Ingrid")
    row = export.make(export.request(person, case=case, by=by))
    assert row.state == "ready", row.state
    files = opened(world, row)
    data = json.loads(files["data.json"])
    assert data["other_people"]["covered"] == {"name": 1}
    assert row.counts["places"].keys() == set(portable.PLACES)
    form = portable.schema()["properties"]["other_people"]
    assert set(data["other_people"]) == set(form["required"]) == set(form["properties"])


def test_an_objection_stops_use_and_new_texts(world: World) -> None:
    person = erasing.maria(world)
    entry = world.entry(f"{person.display_name} wants tea")
    case = carried_out(world, person, "objection")
    assert case.state == "complete"
    row = JournalEntry.objects.get(pk=entry.pk)
    assert row.restricted_at is not None
    assert person.display_name in row.summary
    person.refresh_from_db()
    assert person.opted_out_at is not None
    with pytest.raises(errors.Conflict) as error:
        factories.append(world.actor("ada"), summary=f"{person.display_name} again")
    assert error.value.problem_code == "subject_suppressed"
