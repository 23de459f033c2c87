"""The command line: what outside programs and people are promised."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from crewship_memory import doctor, log_redaction
from crewship_memory.sqlite3 import options
from episodic.models import Embedding
from memory.accounts import api_keys, invitations, workspaces
from memory.journal import append as journal
from memory.models import Agent, JournalEntry, Membership, User, Workspace
from memory.rules.entries import NewEntry
from memory.rules.permissions import AgentRole, Role, system

pytestmark = pytest.mark.django_db
SHOP = "command-shop"


def output(name: str, *args: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(name, *args, stdout=out, **options)
    return out.getvalue()


def answer(name: str, *args: str) -> Any:
    return json.loads(output(name, *args, "--json"))


def refusal(name: str, *args: str) -> str:
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(name, *args, stdout=out)
    assert out.getvalue() == ""
    assert caught.value.returncode == 1
    return str(caught.value)


# ── bootstrap ────────────────────────────────────────────────────────────────
def test_bootstrap_makes_once_and_answers_the_same_ids_again() -> None:
    first = answer("bootstrap", "--workspace", SHOP, "--email", "Boss@Shop.example")
    second = answer("bootstrap", "--workspace", SHOP, "--email", "boss@shop.example")
    assert set(first["created"].values()) == {True}
    assert set(second["created"].values()) == {False}
    for name in ("workspace_id", "user_id", "email"):
        assert first[name] == second[name]
    member = Membership.objects.get(user_id=first["user_id"])
    assert (member.role, member.workspace.slug) == ("admin", SHOP)
    assert first["login_link"].startswith("/login/")


def test_bootstrap_takes_a_password_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "correct horse battery")
    args = ("--workspace", SHOP, "--email", "a@b.example", "--password-env")
    result = answer("bootstrap", *args, "SHOP_PASSWORD")
    assert result["login_link"] is None
    user = User.objects.get(pk=result["user_id"])
    assert user.check_password("correct horse battery")
    monkeypatch.setenv("SHOP_PASSWORD", "another")
    answer("bootstrap", *args, "SHOP_PASSWORD")
    user.refresh_from_db()
    assert user.check_password("correct horse battery")
    assert "NO_SUCH" in refusal("bootstrap", *args, "NO_SUCH")


@pytest.mark.parametrize(
    "args",
    [
        ("--email", "a@b.example"),
        ("--workspace", SHOP),
        ("--workspace", "Not A Slug", "--email", "a@b.example"),
        ("--workspace", SHOP, "--email", "nobody"),
    ],
)
def test_bootstrap_refuses_nonsense(args: tuple[str, ...]) -> None:
    assert refusal("bootstrap", *args)


# ── issue_key ────────────────────────────────────────────────────────────────
def issued(*args: str) -> Any:
    return answer("issue_key", "--workspace", SHOP, *args)


def test_a_key_for_an_agent_that_did_not_exist() -> None:
    result = issued("--crew", "desk", "--agent", "ada", "--create")
    actor = api_keys.authenticate(result["key"])
    assert actor is not None
    assert (actor.id, actor.crew_id) == (result["agent_id"], result["crew_id"])
    assert (actor.role, actor.agent_role) == (Role.AGENT, AgentRole.AGENT)
    second = issued("--crew", "desk", "--agent", "ada")
    assert second["agent_id"] == result["agent_id"]
    assert second["key"] != result["key"]


def test_a_lead_is_made_a_lead() -> None:
    result = issued("--crew", "desk", "--agent", "lena", "--role", "LEAD", "--create")
    assert Agent.objects.get(pk=result["agent_id"]).role == "LEAD"


@pytest.mark.parametrize("role", ["viewer", "operator", "compliance", "admin"])
def test_a_key_for_a_person_acts_in_its_role(role: str) -> None:
    email = f"{role}@shop.example"
    result = issued("--email", email, "--role", role, "--create")
    actor = api_keys.authenticate(result["key"])
    assert actor is not None
    assert actor.role.value == role
    assert (result["crew_id"], result["agent_id"]) == (None, None)


def test_a_person_is_an_operator_unless_said_otherwise() -> None:
    assert issued("--email", "x@shop.example", "--create")["role"] == "operator"


def test_a_key_alone_is_printed_without_json() -> None:
    out = output("issue_key", "--workspace", SHOP, "--crew", "d", "--agent", "a",
               "--create")  # fmt: skip
    assert out.startswith("cmk_")
    assert len(out.split()) == 1


def test_a_key_that_could_not_act_in_its_role_is_refused() -> None:
    issued("--email", "v@shop.example", "--role", "viewer", "--create")
    issued("--crew", "desk", "--agent", "ada", "--create")
    args = ("issue_key", "--workspace", SHOP)
    assert "viewer" in refusal(
        *args, "--email", "v@shop.example", "--role", "admin", "--create"
    )
    assert "AGENT" in refusal(
        *args, "--crew", "desk", "--agent", "ada", "--role", "LEAD"
    )


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--crew", "desk"),
        ("--agent", "ada"),
        ("--crew", "desk", "--agent", "ada", "--email", "a@b.example"),
        ("--crew", "desk", "--agent", "ada", "--role", "admin", "--create"),
        ("--email", "a@b.example", "--role", "LEAD", "--create"),
        ("--email", "a@b.example", "--role", "system", "--create"),
        ("--crew", "none", "--agent", "ada"),
        ("--email", "nobody@b.example"),
    ],
)
def test_issue_key_refuses_and_makes_nothing(args: tuple[str, ...]) -> None:
    workspaces.ensure_workspace(SHOP)
    count = JournalEntry.objects.count()
    assert refusal("issue_key", "--workspace", SHOP, *args)
    assert JournalEntry.objects.count() == count


def test_a_missing_workspace_is_named() -> None:
    agent = ("--crew", "a", "--agent", "b")
    assert "nowhere" in refusal("issue_key", "--workspace", "nowhere", *agent)
    assert "--workspace" in refusal("issue_key", *agent)


# ── The journal ──────────────────────────────────────────────────────────────
def write_lines(folder: Path, *rows: object) -> str:
    file = folder / "lines.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return str(file)


def test_an_import_creates_what_it_names(tmp_path: Path) -> None:
    row = {"entry_type": "a.b", "summary": "one", "crew": "desk", "agent": "ada"}
    file = write_lines(tmp_path, row, row)
    out = output("journal_import", file, "--workspace", SHOP, "--create")
    assert out == f"2 entries imported into {SHOP}\n"
    assert answer("journal_verify", "--workspace", SHOP)["ok"] is True


def test_bad_lines_are_numbered_on_standard_error(tmp_path: Path) -> None:
    good = {"entry_type": "a.b", "summary": "one"}
    file = write_lines(tmp_path, good, {"summary": "x"}, good)
    workspaces.ensure_workspace(SHOP)
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError, match="1 lines"):
        call_command("journal_import", file, workspace=SHOP, stdout=out, stderr=err)
    assert "line 2: entry_type" in err.getvalue()
    assert out.getvalue().startswith("2 entries")


def test_an_import_needs_a_workspace_and_a_file(tmp_path: Path) -> None:
    missing_path = str(tmp_path / "none.jsonl")
    assert "nowhere" in refusal(
        "journal_import", missing_path, "--workspace", "nowhere"
    )
    workspaces.ensure_workspace(SHOP)
    assert "none.jsonl" in refusal("journal_import", missing_path, "--workspace", SHOP)


def an_entry(shop: Workspace, entry_type: str = "peer.escalation") -> JournalEntry:
    new = NewEntry(entry_type=entry_type, summary="The till is stuck")
    return journal.write([new], by=system(shop.id))[0]


def test_verify_fails_on_a_changed_entry() -> None:
    shop, _ = workspaces.ensure_workspace(SHOP)
    entry = an_entry(shop)
    assert "holds" in output("journal_verify", "--workspace", SHOP)
    JournalEntry.objects.filter(pk=entry.pk).update(summary="All is well")
    out = io.StringIO()
    with pytest.raises(CommandError, match="broken"):
        call_command("journal_verify", "--workspace", SHOP, "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert report["ok"] is False
    assert report["breaks"][0]["entry_id"] == entry.id
    assert "nowhere" in refusal("journal_verify", "--workspace", "nowhere")


# ── The index ────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("args", [(), ("--workspace", SHOP)])
def test_the_index_is_brought_up_to_date(args: tuple[str, ...]) -> None:
    shop, _ = workspaces.ensure_workspace(SHOP)
    ids = {an_entry(shop).id for _ in range(3)}
    report = answer("episodic_index", *args)
    assert report["indexed"] >= 3
    assert (report["failed"], report["pending"]) == (0, 0)
    indexed = Embedding.objects.filter(pk__in=ids, state="indexed")
    assert indexed.count() == 3


def test_the_index_stops_at_its_limit() -> None:
    shop, _ = workspaces.ensure_workspace(SHOP)
    for _ in range(3):
        an_entry(shop)
    report = answer("episodic_index", "--workspace", SHOP, "--limit", "2")
    assert (report["indexed"], report["pending"]) == (2, 1)
    assert "nowhere" in refusal("episodic_index", "--workspace", "nowhere")


# ── The demo ─────────────────────────────────────────────────────────────────
def test_the_demo_is_loaded_once_and_its_chain_holds() -> None:
    first, second = answer("demo"), answer("demo")
    assert first["entries"] > 1_800
    assert second["entries"] == 0
    assert answer("journal_verify", "--workspace", "fairlead")["ok"] is True
    people = Membership.objects.filter(workspace_id=first["workspace_id"])
    assert {p.role for p in people} == {"admin", "operator", "compliance", "viewer"}
    assert not any(p.user.has_usable_password() for p in people)
    marked = JournalEntry.objects.exclude(priority="normal")
    assert marked.filter(workspace_id=first["workspace_id"]).exists()


# ── doctor ───────────────────────────────────────────────────────────────────
def doctored() -> tuple[bool, dict[str, Any]]:
    out = io.StringIO()
    with contextlib.suppress(CommandError):
        call_command("doctor", "--json", stdout=out)
    report = json.loads(out.getvalue())
    worst: dict[str, Any] = {}
    for check in report["checks"]:
        if worst.get(check["check"], "ok") != "fail":
            worst[check["check"]] = check["level"]
    return report["ok"], worst


def test_doctor_finds_a_sound_house_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    # The connections of tests alone wait for no disk, see tests/conftest.py.
    assert "synchronous=FULL" in options.OPTIONS["init_command"]
    assert doctor.PRAGMAS["synchronous"] == 2
    monkeypatch.setitem(doctor.PRAGMAS, "synchronous", 0)
    an_entry(workspaces.ensure_workspace(SHOP)[0])
    ok, worst = doctored()
    assert ok
    assert worst["database"] == worst["migrations"] == worst["chain"] == "ok"
    assert worst["embedder"] == "warn"  # the tests' embedder knows spelling only
    assert "ok" in output("doctor")


def test_doctor_notices_a_forged_end_of_a_chain() -> None:
    shop, _ = workspaces.ensure_workspace(SHOP)
    entry = an_entry(shop)
    JournalEntry.objects.filter(pk=entry.pk).update(entry_hash="0" * 64)
    ok, worst = doctored()
    assert not ok
    assert worst["chain"] == "fail"


def test_doctor_notices_a_data_folder_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "gone")
    ok, worst = doctored()
    assert not ok
    assert worst["data_folder"] == "fail"


@pytest.mark.sqlite
def test_doctor_asserts_what_durability_stands_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "PRAGMAS", {"synchronous": 1})
    (first, *_rest) = doctor.features()
    assert first.level == "fail"


# ── Logs ─────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("GET /api/v1/journal?q=secret", "GET /api/v1/journal/…"),
        ("key cmk_abc-DEF_123 used", "key cmk_… used"),
        ("Gone: /login/dXNlcg/abc-123/", "Gone: /login/…"),
        ("why? because", "why? because"),
    ],
)
def test_secrets_do_not_reach_the_log(text: str, clean: str) -> None:
    assert log_redaction.clean(text) == clean


# ── Accounts ─────────────────────────────────────────────────────────────────
def opened_by_somebody_else(email: str) -> User:
    """Return an account that was opened with another workspace's invitation."""
    elsewhere = system(workspaces.ensure_workspace("elsewhere")[0].id)
    invitation = invitations.invite(email, Role.VIEWER, by=elsewhere)
    path = invitations.link_path(invitation, by=elsewhere)
    return invitations.accept_as_new(path.split("/")[3], "correct horse battery")


def test_bootstrap_invites_an_account_that_somebody_else_opened() -> None:
    user = opened_by_somebody_else("boss@shop.example")
    args = ("--workspace", SHOP, "--email", "boss@shop.example")
    for _ in range(2):
        result = answer("bootstrap", *args)
        assert (result["login_link"], result["created"]["membership"]) == (None, False)
        assert result["invitation_link"].startswith("/login/invitation/")
    assert user.memberships.count() == 1
    assert "Accept " in output("bootstrap", *args)
    token = answer("bootstrap", *args)["invitation_link"].split("/")[3]
    invitation = invitations.by_token(token)
    assert invitation is not None
    assert invitations.accept(invitation.pk, user, token=token).role == "admin"
    assert answer("bootstrap", *args)["invitation_link"] is None


def test_issue_key_adds_no_account_that_somebody_else_opened() -> None:
    user = opened_by_somebody_else("x@shop.example")
    args = ("--workspace", SHOP, "--email", user.email, "--create")
    assert "accept an invitation first" in refusal("issue_key", *args)
    assert user.memberships.count() == 1
    # Whoever runs the installation vouches for accounts made on its command line.
    issued("--email", "y@shop.example", "--create")
    answer("bootstrap", "--workspace", "another", "--email", "y@shop.example")
    assert User.objects.get(email="y@shop.example").memberships.count() == 2


def test_a_password_link_is_printed_and_told() -> None:
    result = issued("--email", "y@shop.example", "--create")
    out = output("password_link", "--email", " Y@shop.example ")
    assert out.startswith("/login/password/")
    assert (
        answer("password_link", "--email", "y@shop.example")["user_id"]
        == (result["user_id"])
    )
    rows = JournalEntry.objects.filter(entry_type="member.link_made")
    assert {row.actor_id for row in rows} == {"password_link"}
    assert "No active account" in refusal("password_link", "--email", "z@shop.example")
    assert refusal("password_link")
    browser = Client()
    form_data = {
        "new_password1": "a long new phrase",
        "new_password2": "a long new phrase",
    }
    assert browser.post(out.strip(), form_data).status_code == 302
    assert browser.get("/").status_code == 200
    assert Client().post(out.strip(), form_data).status_code == 410


@pytest.mark.parametrize(
    "command",
    ["compact", "consolidate", "episodic_decay", "episodic_health", "episodic_index"],
)
@pytest.mark.usefixtures("world")
def test_an_empty_name_of_a_workspace_does_not_mean_all(command: str) -> None:
    with pytest.raises(CommandError, match="There is no workspace ''"):
        call_command(command, "--workspace", "")
