"""The workbench of the scanner rules: hits, decisions, a draft and its save."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from memory import scanner, workspace_settings
from memory.files import policy, quarantine
from memory.models import HeldFile, JournalEntry
from memory.review import decide as review
from memory.review import rule_tester, workbench
from memory.review.decide import Decision
from memory.review.workbench import RuleFilter
from memory.rules import errors
from memory.workspace_settings import declarations
from tests.memory.files import kit
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

RULE = "override.instructions"


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def ids(world: World, **filters: str) -> list[str]:
    """Return the ids of the rules that match, in their order."""
    listing = workbench.listing(world.actor("operator"), RuleFilter(**filters), {})
    return [line.card.rule.id for line in listing.matching]


def backdate(case: HeldFile, days: int) -> None:
    """Let a case have arrived some days ago."""
    then = timezone.now() - timedelta(days=days)
    HeldFile.objects.filter(pk=case.pk).update(received_at=then)


# ── The list ─────────────────────────────────────────────────────────────────
def test_hits_are_counted_by_day_in_this_workspace_only(world: World) -> None:
    case, old = hold_text(world), hold_text(world, label="pins.md")
    backdate(old, 40)
    rule = case.findings[0]["rule"]

    hits = workbench.daily_hits(world.actor("operator"))
    assert hits.by_rule[rule] == [0] * 29 + [1]
    assert not hits.is_cut

    backdate(old, 3)
    assert workbench.daily_hits(world.actor("operator")).by_rule[rule][-4:] == [
        1,
        0,
        0,
        1,
    ]
    assert workbench.daily_hits(world.actor("stranger")).by_rule == {}


def test_a_count_that_ends_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbench, "MAX_HITS", 1)
    case = hold_text(world)
    hold_text(world, label="pins.md")
    hits = workbench.daily_hits(world.actor("operator"))
    assert sum(hits.by_rule[case.findings[0]["rule"]]) == 1
    assert hits.is_cut


def test_rules_are_found_by_words_id_family_and_state(world: World) -> None:
    rule = hold_text(world).findings[0]["rule"]
    policy.set_rule(RULE, "off", by=world.actor("owner"))
    all_ids = [item.id for item in scanner.rules()]

    assert ids(world) == all_ids
    assert ids(world, q="override.instr") == [RULE]
    assert RULE in ids(world, q="IGNORE instructions reader")
    assert ids(world, q="zeppelin") == []
    assert all(name.startswith("secrets.") for name in ids(world, family="secrets"))
    assert ids(world, state="changed") == ids(world, state="off") == [RULE]
    assert rule in ids(world, state="hit")
    assert {*ids(world, state="hit"), *ids(world, state="quiet")} == {*all_ids}


def test_rules_are_sorted_by_hits_weight_and_precision(world: World) -> None:
    operator, case = world.actor("operator"), hold_text(world)
    review.decide(case, Decision.RELEASE, version=1, reason="A quotation", by=operator)
    hit = {finding["rule"] for finding in case.findings}
    assert set(ids(world, sort="hits")[: len(hit)]) == hit
    assert set(ids(world, sort="precision")[: len(hit)]) == hit
    weights = [scanner.rule(name).weight for name in ids(world, sort="weight")]
    assert weights == sorted(weights, reverse=True)


def test_a_page_beyond_the_last_is_the_last(world: World) -> None:
    listing = workbench.listing(world.actor("operator"), RuleFilter(), {}, page=99)
    total, before = len(scanner.rules()), (listing.pages - 1) * workbench.PAGE
    assert listing.page == listing.pages
    assert 0 < len(listing.rows) == total - before <= workbench.PAGE


# ── The draft ────────────────────────────────────────────────────────────────
def test_all_lines_of_a_draft_are_saved_each_with_its_entry(world: World) -> None:
    owner = world.actor("owner")
    policy.set_rule("override.bare_previous", "observe", by=owner)
    draft = {RULE: "off", "tier:daily": "redact", "source:web": "block"}
    draft["override.bare_previous"] = "hold"
    assert {change.key for change in policy.save(draft, by=owner)} == set(draft)

    assert quarantine.rule_modes(world.acme.id) == {RULE: "off"}
    actions = workspace_settings.value(world.acme.id, declarations.SCANNER_POLICY)
    assert actions == {"tier:daily": "redact", "source:web": "block"}
    entries = JournalEntry.objects.filter(entry_type__startswith="scanner.")
    lines = [entry.payload for entry in entries.order_by("seq")]
    assert {"rule": RULE, "previous": "hold", "mode": "off"} in lines
    assert {"policy": "source:web", "previous": "default", "action": "block"} in lines
    assert entries.count() == 5

    assert policy.save(draft, by=owner) == []
    assert entries.count() == 5


def test_a_draft_goes_back_to_the_defaults(world: World) -> None:
    owner = world.actor("owner")
    policy.save({RULE: "off", "tier:daily": "block"}, by=owner)
    policy.save({RULE: "hold", "tier:daily": ""}, by=owner)
    stored = workspace_settings.settings_page(owner)
    assert not stored["scanner_rules"].is_set
    assert not stored["scanner_policy"].is_set


def test_what_somebody_changed_meanwhile_is_a_conflict(world: World) -> None:
    owner = world.actor("owner")
    draft, base = {RULE: "off", "tier:daily": "block"}, {RULE: "hold", "tier:daily": ""}
    policy.set_rule(RULE, "block", by=owner)
    with pytest.raises(errors.Conflict):
        policy.save(draft, by=owner, base=base)
    with pytest.raises(errors.Conflict):
        policy.save(draft, by=owner, base={RULE: "block"})

    assert quarantine.rule_modes(world.acme.id) == {RULE: "block"}
    (stale,) = policy.later_changes(owner, base)
    assert (stale.key, stale.before, stale.after) == (RULE, "hold", "block")

    policy.set_rule("override.bare_previous", "off", by=owner)
    assert len(policy.save(draft, by=owner, base=base | {RULE: "block"})) == 2


@pytest.mark.parametrize(
    "draft",
    [{"no.rule": "off"}, {RULE: "maybe"}, {"tier:nope": "hold"}, {"tier:daily": "x"}],
)
def test_a_draft_with_an_unknown_line_changes_nothing(
    world: World, draft: dict[str, str]
) -> None:
    with pytest.raises(errors.Invalid):
        policy.save(draft | {"source:web": "block"}, by=world.actor("owner"))
    assert policy.changes(world.actor("owner"), {"source:web": ""}) == []


def test_only_an_admin_saves(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        policy.save({RULE: "off"}, by=world.actor("operator"))
    with pytest.raises(errors.Forbidden):
        policy.changes(world.actor("viewer"), {RULE: "off"})


def test_a_text_is_tried_under_the_draft(world: World) -> None:
    operator = world.actor("operator")
    rules = {finding.rule for finding in scanner.scan(kit.POISON).findings}
    draft = dict.fromkeys(rules, "off") | {"source:web": "allow"}

    now = rule_tester.attempt(operator, kit.POISON, "web")
    assert (now.verdict.verdict, now.saved, now.action) == ("held", None, "")
    then = rule_tester.attempt(operator, kit.POISON, "web", draft)
    assert then.verdict.findings == ()
    assert then.saved is not None
    assert then.saved.is_held
    assert then.action == "allow"
    blocked = rule_tester.attempt(
        operator, kit.POISON, "web", dict.fromkeys(rules, "block")
    )
    assert blocked.action == "block"
    assert quarantine.rule_modes(world.acme.id) == {}
