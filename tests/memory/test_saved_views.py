"""Saved views: a person's own, page by page, within limits."""

from __future__ import annotations

import pytest

from memory.accounts import saved_views
from memory.models import ViewPage
from memory.rules import errors
from tests.world import World

JOURNAL = ViewPage.JOURNAL


def test_a_saved_view_is_ones_own(world: World) -> None:
    viewer, owner = world.actor("viewer"), world.actor("owner")
    view = saved_views.save(viewer, JOURNAL, " From  pages ", "q=refund")
    assert view.name == "From pages"
    assert saved_views.saved(owner, JOURNAL) == []
    with pytest.raises(errors.NotFound):
        saved_views.forget(owner, JOURNAL, view.id)
    assert saved_views.forget(viewer, JOURNAL, view.id) == "From pages"
    assert saved_views.saved(viewer, JOURNAL) == []


def test_a_name_is_replaced_on_its_own_page_only(world: World) -> None:
    operator = world.actor("operator")
    saved_views.save(operator, JOURNAL, "Mine", "q=refund")
    saved_views.save(operator, ViewPage.QUARANTINE, "Mine", "state=held")
    saved_views.save(operator, JOURNAL, "Mine", "q=parcel")
    queries = {
        page: [view.query for view in saved_views.saved(operator, page)]
        for page in (JOURNAL, ViewPage.QUARANTINE)
    }
    assert queries == {JOURNAL: ["q=parcel"], ViewPage.QUARANTINE: ["state=held"]}


@pytest.mark.parametrize(
    ("name", "query", "code"),
    [
        ("  ", "q=refund", "bad_name"),
        ("n" * 61, "q=refund", "bad_name"),
        ("Long", "q=" + "x" * 499, "query_too_long"),
    ],
)
def test_what_does_not_fit_is_refused(
    world: World, name: str, query: str, code: str
) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        saved_views.save(world.actor("viewer"), JOURNAL, name, query)
    assert refusal.value.problem_code == code
    assert saved_views.saved(world.actor("viewer"), JOURNAL) == []


def test_beyond_the_limit_only_a_saved_name_is_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "LIMIT", 1)
    viewer = world.actor("viewer")
    saved_views.save(viewer, JOURNAL, "Mine", "q=refund")
    saved_views.save(viewer, ViewPage.RECORDS, "Mine", "q=refund")
    saved_views.save(viewer, JOURNAL, "Mine", "q=parcel")
    with pytest.raises(errors.Conflict):
        saved_views.save(viewer, JOURNAL, "Another", "q=refund")


def test_a_page_that_one_may_not_read_has_no_views(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        saved_views.save(world.actor("viewer"), ViewPage.QUARANTINE, "Mine", "")
