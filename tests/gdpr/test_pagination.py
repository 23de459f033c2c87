"""Lists of holds, certificates, suppressed names and bundles: no row is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr import suppression
from gdpr.cases import legal_holds
from gdpr.certificates import issue as certificates
from gdpr.models import Certificate, Export, Hold, Subject, Suppression
from gdpr.pagination import PageQuery
from gdpr.subjects import consents
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db


def walk_pages(world: World, path: str, **params: Any) -> list[str]:
    """Return the ids of all pages, two per page, in order."""
    ids: list[str] = []
    cursor = None
    for _ in range(20):
        query = {**params, "limit": 2} | ({"cursor": cursor} if cursor else {})
        page = world.api("compliance").get(path, query)
        assert page.status == 200, page.data
        assert len(page.data["items"]) <= 2
        ids += [str(item["id"]) for item in page.data["items"]]
        cursor = page.data["next_cursor"]
        if cursor is None:
            return ids
    raise AssertionError("the list has no end")


def hold_history(world: World) -> Subject:
    """Return a person with five holds of the same time, two of them released."""
    subject, now = make.subject(world), timezone.now()
    for number in range(5):
        Hold.objects.create(
            workspace=world.acme, subject=subject, reason="Audit", owner="x",
            placed_by="x", review_at=now + timedelta(days=number // 2),
            released_at=now if number > 2 else None,
        )  # fmt: skip
    return subject


def test_holds_in_force_come_before_those_that_ended(world: World) -> None:
    subject = hold_history(world)
    ids = walk_pages(world, "/gdpr/holds")
    active = Hold.objects.filter(released_at=None).order_by("review_at", "pk")
    released = Hold.objects.exclude(released_at=None).order_by("-released_at", "-pk")
    assert ids == [hold.pk for hold in [*active, *released]]
    assert walk_pages(world, "/gdpr/holds", state="released") == ids[3:]
    assert walk_pages(world, f"/gdpr/subjects/{subject.pk}/holds") == ids
    assert legal_holds.counts(world.actor("compliance"))[0] == 3


def test_a_cursor_is_of_one_list_and_one_workspace(world: World) -> None:
    hold_history(world)
    first = world.api("compliance").get("/gdpr/holds", {"limit": 2}).data
    cursor = first["next_cursor"]
    other = {"limit": 2, "cursor": cursor, "state": "released"}
    assert world.api("compliance").get("/gdpr/holds", other).code == "bad_cursor"
    with pytest.raises(errors.NotFound):
        legal_holds.page(world.actor("stranger"), PageQuery(limit=2, cursor=cursor))


def test_every_certificate_can_be_opened_also_one_that_was_replaced(
    world: World,
) -> None:
    by, issued = world.actor("compliance"), []
    case = make.running(world)
    for run in range(3):
        case.run = run + 1
        case.save()
        issued.append(certificates.issue(case, make.facts("partial")))
    rows = Certificate.objects.order_by("-issued_at", "-pk")
    assert walk_pages(world, "/gdpr/certificates") == [row.pk for row in rows]
    assert certificates.replaced(rows) == {issued[0].pk, issued[1].pk}
    page = world.page("compliance")
    page_list = page.get("/privacy/certificates/").content.decode()
    for row in issued:
        assert f'href="/privacy/certificates/{row.pk}/"' in page_list
        page_text = page.get(f"/privacy/certificates/{row.pk}/").content.decode()
        assert row.pk in page_text
        assert ("The newest of this case" in page_text) is (row is not issued[2])
        file = page.get(f"/privacy/certificates/{row.pk}.json")
        assert file.content.decode() == row.document
        answer = world.api("compliance").get(f"/gdpr/certificates/{row.pk}")
        assert answer.body.decode() == row.document
        for suffix in ("/", ".json"):
            path = f"/privacy/certificates/{row.pk}{suffix}"
            assert world.page("stranger").get(path).status_code == 404
            assert world.page("operator").get(path).status_code == 403
    assert certificates.count(by) == 3


def test_names_kept_out_are_told_page_by_page(world: World) -> None:
    by = world.actor("compliance")
    names = [NewAlias("email", f"m{number}@example.org") for number in range(5)]
    subject = subjects.create("Maria", names, by=by)
    consents.note(subject.pk, "withdrawn", opted_out=True, by=by)
    rows = Suppression.objects.order_by("-since", "-pk")
    ids = walk_pages(world, "/gdpr/suppressions")
    assert ids == [str(row.pk) for row in rows]
    suppression.lift(rows[0].pk, "Came back", by=by)
    assert walk_pages(world, "/gdpr/suppressions") == ids[1:]
    assert walk_pages(world, "/gdpr/suppressions", lifted="true") == ids
    assert suppression.count_active(by) == 4


def test_bundles_are_told_page_by_page(world: World) -> None:
    subject, now = make.subject(world), timezone.now()
    for _ in range(3):
        Export.objects.create(
            workspace=world.acme, subject_ref=subject.pk, made_at=now, made_by="x",
            expires_at=now,
        )  # fmt: skip
    rows = Export.objects.order_by("-made_at", "-pk")
    assert walk_pages(world, "/gdpr/exports") == [row.pk for row in rows]


@pytest.mark.parametrize("path", ["holds", "certificates", "kept-out", "exports"])
def test_a_page_says_where_the_next_one_is(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gdpr.web.views.PAGE", 1)
    subject, now = hold_history(world), timezone.now()
    case = make.running(world)
    for run in (1, 2):
        case.run = run
        case.save()
        certificates.issue(case, make.facts("partial"))
        Export.objects.create(
            workspace=world.acme, subject_ref=subject.pk, made_at=now, made_by="x",
            expires_at=now,
        )  # fmt: skip
        Suppression.objects.create(
            workspace=world.acme, digest=str(run), kind="name", subject_ref=subject.pk
        )
    answer = world.page("compliance").get(f"/privacy/{path}/")
    page_text = answer.content.decode()
    assert 'rel="next"' in page_text
    cursor = answer.context["next_cursor"]
    further = world.page("compliance").get(f"/privacy/{path}/", {"cursor": cursor})
    assert further.status_code == 200
    assert "Newest" in further.content.decode()
