"""Holders of plain tables, declared by their columns and what happens to a row."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.admin.models import LogEntry
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_noop

from episodic.consolidation import proposals
from episodic.models import (
    AcceptedCause,
    ConsolidationProposal,
    HealthSnapshot,
    RecallCheck,
    RecallCheckRun,
)
from gdpr.data_map import row_text
from gdpr.data_map.table_holder import Rule, Table, TableHolder
from gdpr.models import IntakeRequest, RetentionRule
from memory import records
from memory.models import (
    Agent,
    AgentKey,
    Crew,
    GatewayKey,
    GatewaySetup,
    IdempotencyRecord,
    ImportLine,
    JobRun,
    OperatorKey,
    PriorityChange,
    ProviderPulse,
    ProviderRun,
    Record,
    SavedView,
    User,
    Webhook,
    WebhookDelivery,
    Workspace,
    WorkspaceSetting,
)
from memory.stored_files.store import digest

FROM_ENTRY: Final = gettext_noop(
    "It was made from an entry that names the person, or names them."
)


# ── Columns computed from text ───────────────────────────────────────────────
def _mend_record(row: Any) -> None:
    row.sha256 = digest(row.content.encode()) if row.content else ""
    if row.scope_key is not None:
        row.scope_key = records.scope_of(row).key


def _mend_proposal(row: Any) -> None:
    row.content_hash = proposals.digest(row.text)
    if row_text.ERASED in row.pattern:
        # Once per crew: two rules can be the same without the name.
        row.pattern_key = proposals.key(f"{row.pattern} {row.id}")


def _mend_webhook(row: Any) -> None:
    row.active = row.active and row_text.ERASED not in row.url


class _LogOfStaff(Table):
    """The log of the Django admin: of members of the workspace, and of superusers."""

    def rows(self, workspace_id: str) -> models.QuerySet[models.Model]:
        in_workspace = Q(memberships__workspace_id=workspace_id)
        staff = User.objects.filter(in_workspace | Q(is_superuser=True))
        return LogEntry.objects.filter(user__in=staff)


RECORDS: Final = TableHolder(
    "records",
    gettext_noop("Records"),
    Table(
        model=Record,
        words=(
            "content", "metadata", "scope_user", "scope_agent", "scope_namespace",
            "scope_thread", "scope_extra", "session_id", "external_id",
        ),
        unique=("external_id",),
        entry="current_entry_id",
        at="updated_at",
        why=gettext_noop("The record is about the person, or remembered for them."),
        mend=_mend_record,
    ),
)  # fmt: skip
PRIORITIES: Final = TableHolder(
    "priorities",
    gettext_noop("Reasons of priorities"),
    Table(
        model=PriorityChange,
        words=("reason",),
        labels=("set_by",),
        rule=Rule.MASKED,
        at="set_at",
        why=gettext_noop(
            "The reason names the person; the step of the audit log has to stay."
        ),
    ),
)
IDEMPOTENCY: Final = TableHolder(
    "idempotency",
    gettext_noop("Answers kept for repeated requests"),
    Table(
        model=IdempotencyRecord,
        system=True,
        words=("answer", "actor_id"),
        rule=Rule.GONE,
        entry="answer",
        at="created_at",
        why=gettext_noop("The answer tells of an entry that names the person."),
    ),
)
PROPOSALS: Final = TableHolder(
    "proposals",
    gettext_noop("Proposed rules"),
    Table(
        model=ConsolidationProposal,
        words=("pattern", "action", "text", "signals", "reason", "learned_label"),
        labels=("decided_by",),
        at="created_at",
        why=gettext_noop("The proposed rule names the person."),
        mend=_mend_proposal,
    ),
)
RECALL_CHECKS: Final = TableHolder(
    "recall_checks",
    gettext_noop("Recall checks and their runs"),
    Table(
        model=RecallCheck,
        words=("name", "question"),
        labels=("created_by",),
        unique=("name",),
        at="created_at",
        why=gettext_noop("The saved question names the person."),
    ),
    Table(
        model=RecallCheckRun,
        words=("missing", "note"),
        rule=Rule.MASKED,
        at="ran_at",
    ),
)
HEALTH: Final = TableHolder(
    "health",
    gettext_noop("Health measurements"),
    Table(
        model=HealthSnapshot,
        facts=("details",),
        rule=Rule.MASKED,
        at="computed_at",
        why=gettext_noop(
            "The details of a measurement name the person; the numbers stay."
        ),
    ),
    Table(
        model=AcceptedCause,
        words=("reason",),
        labels=("accepted_by",),
        at="accepted_at",
        why=gettext_noop("The reason for accepting a cause names the person."),
    ),
)
IMPORTS: Final = TableHolder(
    "imports",
    gettext_noop("Uploaded lines that wait to be appended"),
    Table(
        model=ImportLine,
        words=("line", "fault"),
        jsons=("line",),
        rule=Rule.GONE,
        at="created_at",
        why=gettext_noop("The line names the person."),
    ),
)
INTAKE: Final = TableHolder(
    "intake",
    gettext_noop("Requests that wait for their link to be opened"),
    Table(
        model=IntakeRequest,
        words=("email", "name", "text", "correction"),
        rule=Rule.GONE,
        at="asked_at",
        why=gettext_noop("The request names the person."),
    ),
)
RETENTION: Final = TableHolder(
    "retention",
    gettext_noop("Rules of retention"),
    Table(
        model=RetentionRule,
        words=("reason",),
        labels=("changed_by",),
        rule=Rule.MASKED,
        at="changed_at",
        why=gettext_noop("The reason of a rule names the person; the rule stays."),
    ),
)
JOBS: Final = TableHolder(
    "jobs",
    gettext_noop("Runs of jobs"),
    Table(
        model=JobRun,
        facts=("error", "counts", "items"),
        labels=("asked_by",),
        rule=Rule.MASKED,
        at="started_at",
    ),
)
PROVIDERS: Final = TableHolder(
    "providers",
    gettext_noop("Runs and status checks of providers"),
    Table(
        model=ProviderRun,
        facts=("details",),
        labels=("started_by",),
        rule=Rule.MASKED,
        at="started_at",
    ),
    Table(model=ProviderPulse, facts=("message",), rule=Rule.MASKED, at="checked_at"),
)
FILTERS: Final = TableHolder(
    "filters",
    gettext_noop("Saved views"),
    Table(
        model=SavedView,
        words=("name", "query"),
        queries=("query",),
        unique=("name",),
        at="made_at",
        why=gettext_noop("The saved view names the person."),
    ),
)
DELIVERIES: Final = TableHolder(
    "deliveries",
    gettext_noop("Messages to webhooks"),
    Table(
        model=WebhookDelivery,
        system=True,
        words=("body", "last_error"),
        jsons=("body",),
        entry="entry_id",
        at="created_at",
        why=FROM_ENTRY,
    ),
)
WEBHOOKS: Final = TableHolder(
    "webhooks",
    gettext_noop("Webhooks"),
    Table(
        model=Webhook,
        labels=("created_by", "url"),
        unique=("url",),
        at="created_at",
        mend=_mend_webhook,
    ),
)
GATEWAY: Final = TableHolder(
    "gateway",
    gettext_noop("Memory gateway"),
    Table(
        model=GatewayKey,
        words=("user_id", "name", "app_id", "project_id"),
        labels=("created_by",),
        at="created_at",
        why=gettext_noop("The key gives the person access to the gateway."),
    ),
    Table(
        model=GatewaySetup,
        labels=("updated_by",),
        keeps=("user_id", "base_url", "app_id", "project_id", "scope"),
        at="updated_at",
        keep_reason=gettext_noop(
            "The set-up signs in with this name; change it on its page."
        ),
    ),
)
KEYS: Final = TableHolder(
    "keys",
    gettext_noop("Names of keys"),
    Table(
        model=AgentKey,
        words=("end_user",),
        labels=("name", "created_by"),
        # A masked key would still give access, to nobody's memories.
        rule=Rule.GONE,
        at="created_at",
        why=gettext_noop("The key gives access to an agent's memories of the person."),
    ),
    Table(model=OperatorKey, labels=("name", "created_by"), at="created_at"),
)
_SLUG_KEPT: Final = gettext_noop(
    "It is an address that agents and files use; rename it by hand."
)
TENANCY: Final = TableHolder(
    "tenancy",
    gettext_noop("Names of crews, agents and the workspace"),
    Table(
        model=Workspace,
        labels=("name",),
        keeps=("slug",),
        workspace="pk",
        at="created_at",
        keep_reason=_SLUG_KEPT,
    ),
    Table(
        model=WorkspaceSetting,
        labels=("changed_by",),
        keeps=("value",),
        at="changed_at",
        keep_reason=gettext_noop(
            "A setting of the workspace names the person; change it on its page."
        ),
    ),
    Table(
        model=Crew,
        labels=("name",),
        keeps=("slug",),
        at="created_at",
        keep_reason=_SLUG_KEPT,
    ),
    Table(
        model=Agent,
        labels=("name",),
        keeps=("slug",),
        at="created_at",
        keep_reason=_SLUG_KEPT,
    ),
)
ADMIN_LOG: Final = TableHolder(
    "admin_log",
    gettext_noop("Log of the raw-row admin"),
    _LogOfStaff(
        model=LogEntry,
        words=("object_repr", "change_message"),
        rule=Rule.MASKED,
        at="action_time",
        why=gettext_noop("The log names the person; who changed what has to stay."),
    ),
)
