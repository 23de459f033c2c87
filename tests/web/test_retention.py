"""The pages of retention: adding a rule, its dry run, switching it, and who may."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gdpr.models import RetentionRule
from tests import factories
from tests.api.gdpr_operations import retention_rule
from tests.world import World

pytestmark = pytest.mark.django_db
LIST = "/privacy/retention/"
RULE = {"place": "journal", "kind": "llm.call", "days": "30", "reason": "Old"}


def test_from_a_rule_to_what_it_erases(world: World) -> None:
    factories.append(world.actor("ada"), entry_type="llm.call", ts=factories.ago(40))
    page = world.page("owner")
    rule_url = page.post(LIST, RULE)["Location"]
    rule = RetentionRule.objects.get()
    trial = page.get(rule_url).content.decode()
    assert "It would erase 1 row" in trial
    switch = reverse("privacy:switch_retention", args=[rule.pk])
    page.post(switch, {"active": "on", "due": "1", "shown_days": "30"})
    assert "1 row is due tonight" in page.get(rule_url).content.decode()
    page.post(reverse("privacy:change_retention", args=[rule.pk]), {"days": "50"})
    rule.refresh_from_db()
    assert (rule.days, rule.active) == (50, False)
    page.post(reverse("privacy:remove_retention", args=[rule.pk]))
    assert not RetentionRule.objects.exists()


def test_a_fault_keeps_what_was_typed(world: World) -> None:
    answer = world.page("owner").post(LIST, {**RULE, "kind": "gdpr.erased"})
    assert answer.status_code == 422
    assert 'value="gdpr.erased"' in answer.content.decode()


def test_more_rows_than_the_page_showed_are_not_switched_on(world: World) -> None:
    rule, page = retention_rule(world), world.page("owner")
    factories.append(world.actor("ada"), entry_type="llm.call", ts=factories.ago(40))
    switch = reverse("privacy:switch_retention", args=[rule.pk])
    answer = page.post(switch, {"active": "on", "due": "0"}, follow=True)
    assert "more than the dry run showed" in answer.content.decode()
    rule.refresh_from_db()
    assert not rule.active


@pytest.mark.parametrize(
    ("person", "list_status", "rule", "adding"),
    [
        ("owner", 200, 200, 422),
        ("compliance", 200, 200, 403),
        ("operator", 403, 403, 403),
        ("viewer", 403, 403, 403),
        ("stranger", 200, 404, 422),
    ],
)
def test_who_sees_and_who_decides(
    world: World, person: str, list_status: int, rule: int, adding: int
) -> None:
    url = reverse("privacy:retention_rule", args=[retention_rule(world).pk])
    page = world.page(person)
    assert page.get(LIST).status_code == list_status
    assert page.get(url).status_code == rule
    assert page.post(LIST, {}).status_code == adding
