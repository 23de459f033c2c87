"""Every place in the code that appends to the journal, and how to make it append.

The table is compared with the source: a new place without a row here fails a test.
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from crewship_memory.backup import record
from crewship_memory.demo import load
from episodic.consolidation import undo
from episodic.health import accepted, causes, fixes
from episodic.health import snapshots as health
from episodic.models import ConsolidationProposal, HealthSnapshot, ProposalState
from episodic.recall import checks, questions, what_if
from episodic.recall.request import Request
from gdpr.cases import actions as case_actions
from gdpr.cases import reminder_email
from gdpr.cases.queries import CaseQuery
from gdpr.certificates import keys as signing_keys
from gdpr.erasure import replay, tombstones
from gdpr.erasure.tombstones import Record
from gdpr.letters import retention as letters_retention
from gdpr.models import Correspondence
from gdpr.reports import calendar_feed, case_list, register
from gdpr.retention import apply
from gdpr.retention import rules as retention_rules
from gdpr.subjects import restriction
from memory import (
    bodies_move,
    data_folder_adoption,
    journal_import,
    secret_change,
    tool_registry,
    webhooks,
    workspace_settings,
)
from memory.accounts import api_keys, invitations, workspaces
from memory.files import policy
from memory.installation import identity as installation
from memory.installation import keys
from memory.integrations import agent_tools, selftest_runs
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway import users
from memory.journal import append as journal
from memory.journal import compaction, export
from memory.journal.queries import JournalFilter
from memory.models import Installation, JournalEntry, ScannerProposal, User
from memory.providers import parity_runs, registry
from memory.review import proposals
from memory.review.decide import Decision
from memory.rules.entries import NewEntry, Priority
from memory.rules.permissions import Role
from tests import factories
from tests.api import gdpr_operations
from tests.api.operations import BY_ID
from tests.gdpr import erasing, letter_kit
from tests.gdpr import requests as make
from tests.memory.files import learning
from tests.memory.gateway import upstream
from tests.project import source
from tests.world import World

Drive = Callable[[World], object]
Site = tuple[str, str]

VERBS: Final = ("write", "append", "append_batch", "prioritise")
# Load generators, run by hand on databases of their own.
OUTSIDE: Final = ("crewship_memory/bench/",)


# ── What the source holds ────────────────────────────────────────────────────
def _calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Return every call with the name of the innermost function around it."""
    stack: list[tuple[ast.AST, str]] = [(tree, "<module>")]
    while stack:
        node, name = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = node.name
        if isinstance(node, ast.Call):
            yield name, node
        stack += [(child, name) for child in ast.iter_child_nodes(node)]


def _appends(call: ast.Call) -> bool:
    target = call.func
    if not isinstance(target, ast.Attribute) or target.attr not in VERBS:
        return False
    return isinstance(target.value, ast.Name) and target.value.id == "journal"


def in_source() -> set[Site]:
    """Return (file, function) of every call that appends to the journal."""
    sites = set()
    for path in source.sources():
        name = source.name(path)
        if name.startswith(OUTSIDE):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        sites |= {(name, place) for place, call in _calls(tree) if _appends(call)}
    return sites


# ── How to reach them ────────────────────────────────────────────────────────
def operation(name: str, person: str = "") -> Drive:
    """Return a drive that calls one operation of the API."""

    def drive(world: World) -> None:
        operation_ = BY_ID[name]
        path = operation_.url(world)
        body = operation_.body(world) if operation_.body else None
        reply = world.api(person or operation_.caller).send(
            operation_.method, path, body
        )
        assert reply.status < 300, reply.body

    return drive


def _indexed(world: World) -> None:
    world.entry()
    operation("index_now")(world)


def _consolidated(world: World) -> None:
    for _ in range(10):
        world.entry("Refund refused")
    operation("consolidate_run")(world)


def _fell(world: World) -> None:
    world.indexed()
    health.take(world.acme.id)
    snapshots = HealthSnapshot.objects.filter(workspace_id=world.acme.id)
    snapshots.update(score=F("score") - 60)
    health.take(world.acme.id)


def _repaired(world: World) -> None:
    world.indexed()
    health.take(world.acme.id)
    fixes.fix("link", world.actor("operator"))


def _rejection_undone(world: World) -> None:
    operation("reject_proposal")(world)
    proposal = ConsolidationProposal.objects.get(state=ProposalState.REJECTED)
    owner = world.actor("owner")
    undo.undo_rejection(proposal, version=proposal.version, by=owner)


def _journal_exported(world: World) -> None:
    export.export(world.actor("viewer"), JournalFilter(), "csv")


def _accepted_cause(world: World) -> None:
    world.indexed("amber bridge canoe delta")
    health.take(world.acme.id)
    by = world.actor("operator")
    cause = next(c for c in causes.of(health.latest(by)) if c.can_be_accepted)
    accepted.revoke(by, accepted.accept(by, None, cause.metric, cause.key, "x").id)


def _weighed(world: World) -> None:
    row, request = world.indexed(), Request(query="refund")
    what_if.apply(request, row.id, Priority.HIGH, "", by=world.actor("operator"))


def _broken_check(world: World) -> None:
    row = world.indexed()
    by = world.actor("operator")
    check = checks.save("refunds", Request(query="refund"), [row.id], by=by)
    JournalEntry.objects.filter(pk=row.pk).update(retired_at=timezone.now())
    run = checks.run(check, by=by)
    assert run.result == "broken"


def _erased(world: World) -> None:
    erasing.lived_in(world)
    erasing.erased(world, erasing.maria(world))


def _replayed(world: World) -> None:
    """Announce an erasure that the database knows nothing of, as after a restore."""
    row = world.entry()
    tombstones.announce(
        Record(
            workspace_id=world.acme.id,
            case_id="case_lost",
            subject_id="sub_lost",
            run=1,
            at=tombstones.now(),
            aliases=(),
            rows={"journal": [[row.id, "delete"]]},
        )
    )
    assert len(replay.run()) == 1


def _late_case(world: World) -> None:
    make.opened(world, received_at=timezone.now() - timedelta(days=40))
    with override_settings(MAIL_SERVER=True):
        assert reminder_email.send(world.acme.id).counts["cases"] == 1


def _restricted(world: World) -> None:
    subject = erasing.maria(world)
    erasing.lived_in(world)
    assert restriction.restrict(subject, by=world.actor("compliance"))


def _calendar(world: World) -> None:
    assert calendar_feed.renew(world.actor("owner"))


def _case_list(world: World) -> None:
    assert list(case_list.csv(world.actor("owner"), CaseQuery()))


def _register(world: World) -> None:
    period, _ = register.period_of(world.actor("owner"), None, None)
    assert list(register.csv(world.actor("owner"), period))


def _rotated(_: World) -> None:
    signing_keys.current()
    signing_keys.rotate()


def _marked_by_staff(world: World) -> None:
    User.objects.filter(pk=world.people["owner"].pk).update(
        is_staff=True, is_superuser=True
    )
    row = world.entry()
    form_data = {"action": "make_pin", "_selected_action": [row.pk]}
    world.page("owner").post("/admin/memory/journalentry/", form_data)


def _marked_on_the_page(world: World) -> None:
    row = world.entry()
    form_data = {"priority": "pin", "reason": "watch"}
    world.page("operator").post(f"/journal/{row.pk}/priority/", form_data)


def _by_an_agents_tool(world: World) -> None:
    arguments = {"entry_type": "peer.escalation", "summary": "Refund above $200"}
    tool_registry.call(agent_tools.JOURNAL_APPEND, arguments, by=world.actor("ada"))


def _compacted(world: World) -> None:
    day = datetime.combine(timezone.now().date(), datetime.min.time(), UTC)
    for n in range(12):
        factories.append(
            world.actor("ada"),
            entry_type="container.metrics",
            summary=f"cpu at {n} percent",
            payload={"cpu": n},
            ts=day - timedelta(days=40) + timedelta(minutes=n),
        )
    assert compaction.run(world.acme.id).buckets == 1


def _selftests(world: World) -> object:
    return selftest_runs.run(world.acme.id)


def _gateway_mode(world: World) -> None:
    good = upstream.at({"/memories/search": upstream.answers(200, {"results": []})})
    with upstream.running(good) as server:
        settings = {
            "baseUrl": server.url,
            "userId": "mia",
            "userKey": "uk_very-secret-0123456789",
            "scope": ["current_chat"],
            "timeoutSeconds": 5,
        }
        gateway_settings.save(
            {"mode": "memory_gateway", "gateway": settings}, by=world.actor("owner")
        )
        operation("recall_turn", "ada")(world)
        operation("persist_turn", "ada")(world)


def _setup_removed(world: World) -> None:
    by = world.actor("owner")
    row = gateway_settings.save({"mode": "curated"}, by=by)
    gateway_settings.remove(row.id, by=by)


def _gateway_key(world: World) -> None:
    by = world.actor("owner")
    users.revoke(users.issue(world.agents["ada"], "tom", by=by).key, by=by)


def _imported(world: World) -> None:
    row = {"entry_type": "peer.escalation", "summary": "old", "payload": {"a": ["b"]}}
    lines = journal_import.read_lines(io.BytesIO(json.dumps(row).encode()))
    by = world.actor("owner")
    report = journal_import.append(
        lines, by=by, on_refusal=lambda _number, _reason: None
    )
    assert report.appended == 1


def _webhook(world: World) -> None:
    webhooks.create("https://hooks.example/in", by=world.actor("owner"))


def _settings(world: World) -> None:
    """Change one setting of each kind that has an entry type of its own."""
    by = world.actor("owner")
    workspace_settings.change({"fusion": "convex", "two_person": True}, by=by)
    card = policy.cards(by)[0]
    policy.set_rule(card.rule.id, "observe", by=by)
    assert registry.choose(world.acme, "native", by=by)


def _proposed(world: World) -> ScannerProposal:
    for number in range(3):
        learning.decided(world, Decision.RELEASE, number=number)
    (row,) = learning.propose(world)
    return row


def _learned(world: World) -> None:
    proposals.approve(_proposed(world), version=1, by=world.actor("owner"))


def _invited(world: World) -> None:
    by = world.actor("owner")
    invitations.invite("new.person@acme.example", Role.VIEWER, by=by)


def _bodies_move(_: World) -> None:
    for place in ("database", "folder"):
        with override_settings(BODIES=place):
            installation.forget()
            bodies_move.move()
    installation.forget()


def _secret_change(_: World) -> None:
    Installation.objects.update(bodies="database")
    with override_settings(BODIES="database"):
        installation.forget()
        keys.seal_present()
        secret_change.change_secret(settings.SECRET_KEY)
    Installation.objects.update(bodies="folder")
    installation.forget()


def _folder_adoption(_: World) -> None:
    data_folder_adoption.adopt("the disk was replaced")


def _backup_noted(_: World) -> None:
    record.everywhere(record.MADE, {"backup_id": "bkp_1"}, "backup")


def _provider_checked(world: World) -> None:
    parity_runs.run_now(world.acme, "native", by=world.actor("owner"))


def _key(world: World) -> None:
    api_keys.issue_agent_key(world.agents["ada"], by=world.system())


def _crew(world: World) -> None:
    workspaces.ensure_crew("returns", by=world.system())


def _exported(world: World) -> None:
    assert gdpr_operations.exported(world).pk


def _retained(world: World) -> None:
    rule = gdpr_operations.retention_rule(world)
    journal.write(
        [NewEntry(entry_type=rule.kind, summary="Old", ts=factories.ago(40))],
        by=world.system(),
    )
    retention_rules.switch_on(rule, 1, by=world.actor("owner"))
    apply.run(world.acme.id)


def _address_erased(world: World) -> None:
    refused = gdpr_operations.case(world)
    letter_kit.addressed(world, refused)
    case_actions.refuse(refused, "No", by=world.system())
    letters_retention.run(world.acme.id, factories.ago(-40))
    assert not Correspondence.objects.exists()


def _emptied_log(world: World) -> None:
    questions.empty(by=world.actor("owner"))


def _demo(_: World) -> None:
    load.load()


SITES: Final[dict[Site, Drive]] = {
    ("crewship_memory/demo/load.py", "_append_story"): _demo,
    ("episodic/consolidation/approval.py", "_record"): operation("approve_proposal"),
    ("episodic/consolidation/approval.py", "reject"): operation("reject_proposal"),
    ("episodic/consolidation/undo.py", "_wait_again"): _rejection_undone,
    ("episodic/index/status.py", "record"): _indexed,
    ("episodic/consolidation/run.py", "_record"): _consolidated,
    ("episodic/health/snapshots.py", "_record_band_change"): _fell,
    ("episodic/health/outcomes.py", "record"): _repaired,
    ("episodic/health/accepted.py", "_record"): _accepted_cause,
    ("episodic/recall/checks.py", "_record"): _broken_check,
    ("episodic/recall/questions.py", "empty"): _emptied_log,
    ("episodic/recall/what_if.py", "apply"): _weighed,
    ("gdpr/erasure/finish.py", "_record"): _erased,
    ("gdpr/cases/transitions.py", "record"): operation("open_case"),
    ("gdpr/cases/reminder_email.py", "_record"): _late_case,
    ("gdpr/export/outcome.py", "record"): _exported,
    ("gdpr/cases/legal_holds.py", "_record"): operation("place_hold"),
    ("gdpr/retention/rules.py", "_record"): operation("add_retention_rule"),
    ("gdpr/retention/apply.py", "_record"): _retained,
    ("gdpr/letters/retention.py", "_record"): _address_erased,
    ("gdpr/letters/templates.py", "_record"): operation("change_letter_template"),
    ("gdpr/erasure/replay.py", "_note"): _replayed,
    ("gdpr/subjects/restriction.py", "_record"): _restricted,
    ("gdpr/certificates/keys.py", "_record"): _rotated,
    ("gdpr/subjects/registry.py", "record"): operation("create_subject"),
    ("gdpr/suppression.py", "lift"): operation("lift_suppression"),
    ("gdpr/reports/audit_export.py", "_record"): operation("export_gdpr_actions"),
    ("gdpr/reports/calendar_feed.py", "_record"): _calendar,
    ("gdpr/reports/case_list.py", "csv"): _case_list,
    ("gdpr/processing/record.py", "_note"): operation("confirm_processing"),
    ("gdpr/recipients/contacts.py", "_record"): operation("set_recipient_contact"),
    ("gdpr/reports/register.py", "_record"): _register,
    ("memory/admin/entries.py", "mark"): _marked_by_staff,
    ("memory/integrations/agent_tools.py", "_append"): _by_an_agents_tool,
    ("memory/journal/compaction.py", "_summarise"): _compacted,
    ("memory/journal/export.py", "export"): _journal_exported,
    ("memory/integrations/selftest_runs.py", "_keep"): _selftests,
    ("memory/api/journal.py", "act"): operation("append_entry"),
    ("memory/api/journal.py", "set_priority"): operation("set_entry_priority"),
    ("memory/web/journal_views.py", "priority"): _marked_on_the_page,
    ("memory/files/quarantine.py", "record"): operation("decide_quarantine"),
    ("memory/files/commit.py", "_record"): operation("restore_memory_version"),
    ("memory/review/labels.py", "export"): operation("export_labels"),
    ("memory/review/proposal_job.py", "_record"): _proposed,
    ("memory/review/proposals.py", "_record"): _learned,
    ("memory/integrations/gateway/events.py", "write"): _gateway_mode,
    ("memory/integrations/gateway/settings.py", "_record"): operation(
        "choose_turn_setup"
    ),
    ("memory/integrations/gateway/settings.py", "remove"): _setup_removed,
    ("memory/integrations/gateway/users.py", "_record"): _gateway_key,
    ("memory/journal_import.py", "append"): _imported,
    ("memory/accounts/api_keys.py", "_record"): _key,
    ("memory/providers/parity_runs.py", "_keep"): _provider_checked,
    ("memory/records/chain.py", "extend"): operation("amend_record"),
    ("memory/records/chain.py", "begin"): operation("save_record"),
    ("memory/accounts/workspaces.py", "_record"): _crew,
    ("memory/bodies_move.py", "_record"): _bodies_move,
    ("memory/data_folder_adoption.py", "_record"): _folder_adoption,
    ("crewship_memory/backup/record.py", "everywhere"): _backup_noted,
    ("memory/secret_change.py", "change_secret"): _secret_change,
    ("memory/accounts/invitations.py", "_record"): _invited,
    ("memory/workspace_settings/changes.py", "_record"): _settings,
    ("memory/webhooks.py", "_record"): _webhook,
}
