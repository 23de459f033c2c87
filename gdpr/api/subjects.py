"""People over the API: parse, call, present. Compliance officers and admins only."""

from __future__ import annotations

from typing import Any

from ninja import Query, Router, Status

from gdpr import suppression
from gdpr.api import subject_schemas as schemas
from gdpr.cases import open_requests
from gdpr.models import Suppression
from gdpr.pagination import Page, PageQuery
from gdpr.subjects import (
    access_log,
    consents,
    merge,
    profile,
    restriction,
    suggested_aliases,
)
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.api.request import ApiRequest

router = Router(tags=["personal data"])
Answer = dict[str, Any]


def _present(request: ApiRequest, subject_id: str) -> Answer:
    """Return the profile of a person; the audit log records it."""
    subject_profile = profile.of(subject_id, by=request.auth)
    access_log.record_names_read(subject_profile.subject, by=request.auth)
    requests = open_requests.of_person(request.auth, subject_profile.subject.pk)
    return profile.as_json(subject_profile) | {
        "open_cases": open_requests.as_json(requests)
    }


# ── People ───────────────────────────────────────────────────────────────────
@router.post(
    "/subjects",
    response={201: schemas.SubjectProfileOut},
    operation_id="create_subject",
)
def create_subject(request: ApiRequest, data: schemas.SubjectIn) -> Status[Answer]:
    """Register a person; stored rows that name them are found and linked.

    Codes: `bad_alias`, `alias_taken`, `no_name`.
    """
    names = [NewAlias(alias.kind, alias.value) for alias in data.aliases]
    subject = subjects.create(data.display_name, names, by=request.auth)
    return Status(201, _present(request, subject.pk))


@router.get("/subjects", response=schemas.SubjectListOut, operation_id="list_subjects")
def list_subjects(request: ApiRequest, query: Query[schemas.SubjectsQuery]) -> Answer:
    """List people, newest first; `q` is an id, an alias or a part of a name."""
    rows, following = subjects.list_subjects(
        request.auth, q=query.q, limit=query.limit, cursor=query.cursor
    )
    for subject in rows:
        access_log.record_names_read(subject, by=request.auth)
    items = [profile.summary(subject) for subject in rows]
    return {"items": items, "next_cursor": following}


@router.get(
    "/subjects/{subject_id}",
    response=schemas.SubjectProfileOut,
    operation_id="get_subject",
)
def get_subject(request: ApiRequest, subject_id: str) -> Answer:
    """Get a person with row counts by where data is stored."""
    return _present(request, subject_id)


@router.post(
    "/subjects/{subject_id}/aliases",
    response={201: schemas.SubjectProfileOut},
    operation_id="add_alias",
)
def add_alias(
    request: ApiRequest, subject_id: str, data: schemas.AliasIn
) -> Status[Answer]:
    """Add an alias; stored rows are searched for it in the background."""
    subjects.add_alias(subject_id, NewAlias(data.kind, data.value), by=request.auth)
    return Status(201, _present(request, subject_id))


@router.delete(
    "/subjects/{subject_id}/aliases/{alias_id}",
    response={204: None},
    operation_id="remove_alias",
)
def remove_alias(request: ApiRequest, subject_id: str, alias_id: int) -> Status[None]:
    """Remove an alias; rows that were linked by it stay linked."""
    subjects.remove_alias(subject_id, alias_id, by=request.auth)
    return Status(204, None)


@router.post(
    "/subjects/{subject_id}/not_theirs",
    response=schemas.SubjectProfileOut,
    operation_id="dismiss_address",
)
def dismiss_address(
    request: ApiRequest, subject_id: str, data: schemas.AliasIn
) -> Answer:
    """Record that a suggested alias is not this person's. Code: `alias_known`."""
    alias = NewAlias(data.kind, data.value)
    suggested_aliases.dismiss(subject_id, alias, by=request.auth)
    return _present(request, subject_id)


@router.post(
    "/subjects/{subject_id}/merge",
    response=schemas.SubjectProfileOut,
    operation_id="merge_subject",
)
def merge_subject(
    request: ApiRequest, subject_id: str, data: schemas.MergeIn
) -> Answer:
    """Merge two people; the response is the remaining one."""
    survivor = merge.merge(subject_id, data.into, by=request.auth)
    return _present(request, survivor.pk)


@router.post(
    "/subjects/{subject_id}/consent",
    response=schemas.SubjectProfileOut,
    operation_id="note_consent",
)
def note_consent(
    request: ApiRequest, subject_id: str, data: schemas.ConsentIn
) -> Answer:
    """Record a person's consent; opting out suppresses their names."""
    consents.note(
        subject_id, data.consent, data.note, opted_out=data.opted_out, by=request.auth
    )
    return _present(request, subject_id)


@router.post(
    "/subjects/{subject_id}/lift_restriction",
    response=schemas.SubjectProfileOut,
    operation_id="lift_restriction",
)
def lift_restriction(
    request: ApiRequest, subject_id: str, data: schemas.ReasonIn
) -> Answer:
    """End a restriction; it begins with a case of that kind."""
    subject = subjects.get(request.auth, subject_id)
    restriction.lift(subject, data.reason, by=request.auth)
    return _present(request, subject_id)


# ── Suppressed names ─────────────────────────────────────────────────────────
@router.get(
    "/suppressions",
    response=schemas.SuppressionListOut,
    operation_id="list_suppressions",
)
def list_suppressions(
    request: ApiRequest, query: Query[schemas.SuppressionsQuery]
) -> Page[Suppression]:
    """List suppressed names by kind and person; the names are not stored."""
    page_query = PageQuery(limit=query.limit, cursor=query.cursor)
    return suppression.page(request.auth, page_query, lifted=query.lifted)


@router.post(
    "/suppressions/{suppression_id}/lift",
    response=schemas.SuppressionOut,
    operation_id="lift_suppression",
)
def lift_suppression(
    request: ApiRequest, suppression_id: int, data: schemas.ReasonIn
) -> Suppression:
    """Lift a suppression; the reason is stored."""
    return suppression.lift(suppression_id, data.reason, by=request.auth)
