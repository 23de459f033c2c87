"""Settings of a workspace: declared, validated, stored, journaled, sealed."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from memory import workspace_settings
from memory.installation import encryption
from memory.journal import verify
from memory.models import JournalEntry, WorkspaceSetting
from memory.rules import errors
from memory.rules.permissions import Role
from memory.workspace_settings import Kind, Setting, catalogue, declarations
from tests.world import World

KEY = "cmk_remote-key-0123456789"
URL = "https://memory.example.com/base"
GOOD: dict[str, Any] = {
    "fusion": "rrf",
    "recall_log": True,
    "recall_log_days": 7,
    "versions_retention_days": 7,
    "cost_limit_usd_per_day": 2.5,
    "provider": "native",
    "tools_require_user": True,
    "turns_use_memories": True,
    "remote_provider_url": URL,
    "remote_provider_key": KEY,
    "scanner_rules": {"override.instructions": "observe"},
    "scanner_policy": {"tier:daily": "redact"},
    "scanner_weights": {"override.instructions": "0.25"},
    "two_person": True,
    "require_identity": True,
    "allow_break_glass": False,
    "time_zone": "Europe/Berlin",
    "export_days": 30,
    "backup_days": 10,
    "letter_days": 20,
    "digest": False,
    "intake": True,
    "controller": "Acme AG",
    "controller_contact": "privacy@acme.example",
    "recipient_answer_days": 7,
    "dpo_contact": "Dora Pohl, +41 61 000 00 00",
    "supervisory_authority": "The authority of Basel",
    "automated_decisions": "No agent decides alone.",
    "third_countries": "None.",
}
BAD: dict[str, list[Any]] = {
    "fusion": ["", "sum", 1, ["rrf"], {"rrf": 1}],
    "recall_log": ["on", 1, []],
    "recall_log_days": [0, 366, "7", 7.5, True],
    "versions_retention_days": [-1, 3_651, "7", 7.5, True, [7]],
    "cost_limit_usd_per_day": [-0.1, 1e7, float("nan"), float("inf"), "1", False],
    "provider": ["attic", "", 3],
    "remote_provider_url": [
        "", "x", "ftp://a.example", "https://u:p@a.example", "http://127.0.0.1",
        "http://10.0.0.8:80/x", "http://[::1]/", "http://169.254.169.254/latest",
        "https://a.example/#x", "https://a.example/?key=1", "https://" + "a" * 600, 7,
    ],
    "remote_provider_key": ["", " ", "a b", "käse", "a\nb", "x" * 501, 7],
    "scanner_rules": [{"no.rule": "off"}, {"override.instructions": "?"}, [], "off"],
    "scanner_weights": [
        {"no.rule": "0.10"}, {"override.instructions": "0.99"}, {"secrets.x": "0.1"},
        {"override.instructions": "-0.5"}, {"override.instructions": 0.25}, 0.25,
        {"policy.money": "0.10"},
    ],
    "scanner_policy": [{"tier:nope": "hold"}, {"tier:daily": "explode"}, 3],
    "two_person": ["yes", 1, 0, "true"],
    "time_zone": ["Mars/Base", "", "../etc/passwd", "x" * 65, 3],
    "export_days": [0, 91, "14"],
    "controller": ["", "x" * 501, 3],
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_set(world: World) -> None:
    """Begin with a workspace in which nobody changed a setting."""
    WorkspaceSetting.objects.all().delete()


def _last(world: World, kind: str) -> JournalEntry:
    rows = JournalEntry.objects.filter(workspace=world.acme, entry_type=kind)
    return rows.latest("seq")


def _page(world: World) -> workspace_settings.Page:
    return workspace_settings.settings_page(world.actor("owner"))


# ── The declarations ─────────────────────────────────────────────────────────
def test_every_setting_has_an_example_here() -> None:
    assert {setting.name for setting in workspace_settings.declared()} == set(GOOD)


@pytest.mark.parametrize("name", GOOD)
def test_a_declaration_is_whole(name: str) -> None:
    setting = workspace_settings.by_name(name)
    for text in (setting.label, setting.help, setting.readers, setting.group):
        assert text
    assert setting.help.endswith(".") and setting.readers.endswith(".")
    if not setting.is_secret and setting.default not in ("", {}):
        assert setting.clean(setting.default) == setting.default
    assert (setting.kind is Kind.CHOICE) == bool(setting.choices())


def test_a_name_is_taken_once() -> None:
    with pytest.raises(RuntimeError, match="already"):
        catalogue.declare(declarations.FUSION)
    with pytest.raises(errors.NotFound):
        workspace_settings.by_name("nothing")


def test_the_settings_of_a_group_stand_together() -> None:
    groups = [setting.group for setting in workspace_settings.declared()]
    assert len(set(groups)) == sum(
        before != after for before, after in zip([None, *groups], groups, strict=False)
    )


# ── Changing ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", GOOD)
def test_a_setting_is_set_and_put_back(world: World, name: str) -> None:
    setting, by = workspace_settings.by_name(name), world.actor("owner")
    assert not _page(world)[name].is_set
    workspace_settings.change({name: GOOD[name]}, by=by)
    state = _page(world)[name]
    assert (state.is_set, state.changed_by) == (True, by.label)
    assert state.changed_at is not None
    assert state.value == (None if setting.is_secret else GOOD[name])
    if not setting.is_secret:
        assert workspace_settings.value(world.acme.id, setting) == GOOD[name]
        assert workspace_settings.value(world.other.id, setting) == setting.default
    workspace_settings.change({name: None}, by=by)
    state = _page(world)[name]
    assert (state.is_set, state.changed_by) == (False, by.label)
    if not setting.is_secret:
        assert workspace_settings.value(world.acme.id, setting) == setting.default
    assert verify.verify(world.acme.id, by=by).ok


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in BAD for value in BAD[name]]
)
def test_a_bad_value_is_refused_and_not_repeated(
    world: World, name: str, value: Any
) -> None:
    changes = {"fusion": "rrf", name: value}
    with pytest.raises(errors.Invalid) as caught:
        workspace_settings.change(changes, by=world.actor("owner"))
    assert caught.value.problem_code == "bad_setting"
    problem = json.dumps(caught.value.fields) + caught.value.detail
    assert name in problem
    if isinstance(value, str) and len(value) > 10:
        assert value not in problem
    assert not WorkspaceSetting.objects.exists()


def test_all_or_nothing_and_unknown_names(world: World) -> None:
    changes = {"fusion": "rrf", "colour": "red", "export_days": 0}
    with pytest.raises(errors.Invalid) as caught:
        workspace_settings.change(changes, by=world.actor("owner"))
    faults: Any = caught.value.fields["errors"]
    assert [fault["field"] for fault in faults] == ["colour", "export_days"]
    assert not WorkspaceSetting.objects.exists()


@pytest.mark.parametrize(
    "user", ["operator", "compliance", "viewer", "ada", "looker", "reader"]
)
def test_only_admins_change_them(world: World, user: str) -> None:
    for name, value in GOOD.items():
        with pytest.raises(errors.Forbidden):
            workspace_settings.change({name: value}, by=world.actor(user))
    assert not WorkspaceSetting.objects.exists()


@pytest.mark.parametrize("user", ["operator", "compliance", "viewer", "ada"])
def test_only_admins_read_them(world: World, user: str) -> None:
    with pytest.raises(errors.Forbidden):
        workspace_settings.settings_page(world.actor(user))


def test_the_same_again_is_no_change(world: World) -> None:
    by = world.actor("owner")
    assert len(workspace_settings.change({"fusion": "rrf"}, by=by)) == 1
    before = JournalEntry.objects.count()
    assert workspace_settings.change({"fusion": "rrf"}, by=by) == []
    assert workspace_settings.change({"digest": None}, by=by) == []
    assert JournalEntry.objects.count() == before


def test_a_page_that_is_old_changes_nothing(world: World) -> None:
    by, version = world.actor("owner"), _page(world).version
    workspace_settings.change({"fusion": "rrf"}, by=by, version=version)
    with pytest.raises(errors.Conflict) as caught:
        workspace_settings.change({"fusion": "convex"}, by=by, version=version)
    assert caught.value.problem_code == "settings_changed"
    assert workspace_settings.value(world.acme.id, declarations.FUSION) == "rrf"
    now = _page(world).version
    workspace_settings.change({"fusion": "convex"}, by=by, version=now)
    assert _page(world).version > now


def test_of_two_at_once_one_finds_the_page_changed(shared_world: World) -> None:
    version = _page(shared_world).version
    gate, results = threading.Barrier(2), []

    def act(value: str) -> None:
        by = shared_world.actor("owner")
        gate.wait()
        try:
            workspace_settings.change({"fusion": value}, by=by, version=version)
            results.append("done")
        except errors.Conflict:
            results.append("conflict")
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=(v,)) for v in ("rrf", "convex")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["conflict", "done"]


# ── The journal ──────────────────────────────────────────────────────────────
def test_a_change_is_in_the_journal_with_its_actor(world: World) -> None:
    world.set(fusion="rrf", cost_limit_usd_per_day=3)
    entry = _last(world, "workspace.settings_changed")
    assert entry.payload["changed"] == {"fusion": "rrf", "cost_limit_usd_per_day": 3}
    assert entry.payload["was"] == {"fusion": "convex", "cost_limit_usd_per_day": 1}
    assert (entry.actor_type, entry.actor_id) == ("user", world.people["owner"].id)


def test_each_kind_of_setting_keeps_its_own_entry(world: World) -> None:
    world.set(provider="native", two_person=True, scanner_policy={"tier:daily": "hold"})
    assert _last(world, "provider.chosen").payload["previous"] == "tierfiles"
    assert _last(world, "gdpr.settings_changed").severity == "notice"
    assert _last(world, "scanner.policy_changed").payload["action"] == "hold"
    workspace_settings.change(
        {"two_person": False}, by=world.actor("owner"), reason="Alone here"
    )
    weaker = _last(world, "gdpr.settings_changed")
    assert (weaker.severity, weaker.payload["was"]) == ("warn", {"two_person": True})
    assert weaker.payload["reason"] == "Alone here"


@pytest.mark.parametrize("name", ["two_person", "require_identity"])
def test_a_safeguard_is_not_switched_off_without_a_reason(
    world: World, name: str
) -> None:
    with pytest.raises(errors.Invalid) as caught:
        world.set(**{name: False, "fusion": "rrf"})
    assert caught.value.problem_code == "reason_required"
    assert not WorkspaceSetting.objects.exists()


# ── Secrets ──────────────────────────────────────────────────────────────────
def test_a_secret_is_sealed_and_in_no_row_and_no_entry(world: World) -> None:
    world.set(remote_provider_url=URL, remote_provider_key=KEY)
    row = WorkspaceSetting.objects.get(name="remote_provider_key")
    assert row.value is None and KEY not in row.sealed
    assert workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY) == KEY
    assert workspace_settings.secret(world.other.id, declarations.REMOTE_KEY) == ""
    entry = _last(world, "workspace.settings_changed")
    assert entry.payload["changed"]["remote_provider_key"] == "set"
    texts = JournalEntry.objects.values_list("summary", "payload_text", "body")
    assert KEY not in str(list(texts))
    assert KEY not in repr(_page(world)["remote_provider_key"])


def test_a_seal_opens_in_its_own_row_alone(world: World) -> None:
    world.set(remote_provider_key=KEY)
    row = WorkspaceSetting.objects.get(name="remote_provider_key")
    WorkspaceSetting.objects.create(
        workspace=world.other, name=row.name, sealed=row.sealed
    )
    with pytest.raises(encryption.Broken):
        workspace_settings.secret(world.other.id, declarations.REMOTE_KEY)


def test_a_secret_of_a_lost_key_file_is_broken(
    world: World, settings: Settings
) -> None:
    world.set(remote_provider_key=KEY)
    settings.GATEWAY_KEY = "another"
    with pytest.raises(encryption.Broken):
        workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY)


def test_another_address_forgets_the_key(world: World) -> None:
    """A key is never sent to another server."""
    world.set(remote_provider_url=URL, remote_provider_key=KEY)
    world.set(remote_provider_url=URL)
    assert workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY) == KEY
    world.set(remote_provider_url="https://evil.example.com")
    assert workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY) == ""
    entry = _last(world, "workspace.settings_changed")
    assert entry.payload["changed"]["remote_provider_key"] == "not set"
    world.set(remote_provider_url=URL, remote_provider_key=KEY)
    assert workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY) == KEY
    world.set(remote_provider_url=None)
    assert workspace_settings.secret(world.acme.id, declarations.REMOTE_KEY) == ""


# ── What stands in the table and is not known ────────────────────────────────
def test_what_cannot_be_read_is_the_default(world: World) -> None:
    for name, value in (("fusion", "sum"), ("two_person", "yes"), ("digest", None)):
        WorkspaceSetting.objects.create(workspace=world.acme, name=name, value=value)
        setting: Setting[Any] = workspace_settings.by_name(name)
        assert workspace_settings.value(world.acme.id, setting) == setting.default
    assert _page(world)["fusion"].value == "convex"


def test_a_table_loses_only_what_is_no_longer_known(world: World) -> None:
    stored_text = {"gone.rule": "off", "override.instructions": "off"}
    WorkspaceSetting.objects.create(
        workspace=world.acme, name="scanner_rules", value=stored_text
    )
    modes = workspace_settings.value(world.acme.id, declarations.SCANNER_RULES)
    assert modes == {"override.instructions": "off"}


def test_the_house_itself_may_change_them(world: World) -> None:
    by = world.system()
    assert by.role is Role.SYSTEM
    workspace_settings.change({"fusion": "rrf"}, by=by)
    assert _page(world)["fusion"].changed_by == by.label
