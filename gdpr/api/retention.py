"""Rules of retention over the API."""

from __future__ import annotations

from ninja import Router, Schema, Status
from pydantic import Field

from gdpr.models import RetentionPlace, RetentionRule
from gdpr.retention import rules
from gdpr.retention.rules import NewRule
from gdpr.retention.selection import DryRun
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp
from memory.rules.shapes import NO_NUL, Strict

router = Router(tags=["personal data"])
PATH = "/retention/{rule_id}"


class RetentionRuleIn(Strict):
    """A rule to add: `kind` is an entry type or a kind of record, `*` stands for any.

    `network.*` is every type that begins with `network.`.
    """

    place: RetentionPlace
    kind: str = Field(max_length=rules.KIND_CHARS, pattern=NO_NUL)
    days: int = Field(strict=True, ge=1, le=rules.MAX_DAYS)
    reason: str = Field(max_length=rules.REASON_CHARS, pattern=NO_NUL)


class RetentionChangeIn(Strict):
    """What to change: another age, or on with the number of rows that you saw, or off.

    Another age switches the rule off.
    """

    days: int | None = Field(None, strict=True, ge=1, le=rules.MAX_DAYS)
    active: bool | None = None
    due: int = Field(0, strict=True, ge=0)


class RetentionRuleOut(Schema):
    """A rule; `erased` and `kept` are the rows of its last run."""

    id: str
    place: str
    kind: str
    days: int
    reason: str
    active: bool
    changed_by: str
    changed_at: Stamp
    last_run_at: Stamp | None
    erased: int
    kept: int


class RetentionDryRunOut(Schema):
    """What a rule would erase now: `kinds` is kind → rows, `stays` reason → rows."""

    due: int
    oldest: Stamp | None
    newest: Stamp | None
    kinds: dict[str, int]
    stays: dict[str, int]


class RetentionRulesOut(Schema):
    """The rules, by place and kind."""

    items: list[RetentionRuleOut]


@router.get(
    "/retention", response=RetentionRulesOut, operation_id="list_retention_rules"
)
def list_rules(request: ApiRequest) -> dict[str, list[RetentionRule]]:
    """List the workspace's rules of retention."""
    return {"items": rules.all_of(request.auth)}


@router.post(
    "/retention",
    response={201: RetentionRuleOut},
    operation_id="add_retention_rule",
)
def add(request: ApiRequest, data: RetentionRuleIn) -> Status[RetentionRule]:
    """Add a rule, switched off, for an admin.

    Codes: `bad_kind`, `kept_type`, `reason_required`, `rule_exists`.
    """
    return Status(201, rules.add(NewRule(**data.model_dump()), by=request.auth))


@router.get(
    PATH + "/dry_run", response=RetentionDryRunOut, operation_id="try_retention_rule"
)
def try_rule(request: ApiRequest, rule_id: str) -> DryRun:
    """Count what a rule would erase now, and what stays and why."""
    return rules.dry_run(rules.get(request.auth, rule_id), by=request.auth)


@router.patch(PATH, response=RetentionRuleOut, operation_id="change_retention_rule")
def change(request: ApiRequest, rule_id: str, data: RetentionChangeIn) -> RetentionRule:
    """Switch a rule on or off, or change its age, for an admin.

    Codes: `more_rows_due`, `rule_changed`, `nothing_to_change`.
    """
    rule = rules.get(request.auth, rule_id)
    return rules.change(rule, **data.model_dump(), by=request.auth)


@router.delete(PATH, response={204: None}, operation_id="remove_retention_rule")
def remove(request: ApiRequest, rule_id: str) -> Status[None]:
    """Remove a rule, for an admin; what it erased stays erased."""
    rules.remove(rules.get(request.auth, rule_id), by=request.auth)
    return Status(204, None)
