"""The tables of ``gdpr``."""

from __future__ import annotations

from gdpr.models.cases import (
    OPEN,
    Case,
    CaseEvent,
    CaseKind,
    CasePlan,
    CaseState,
    CaseStep,
    Hold,
    StepState,
)
from gdpr.models.erasure_marks import ErasureMark
from gdpr.models.processes import ForgetOrder, LiveProcess
from gdpr.models.proofs import (
    ActionKind,
    ActionStatus,
    Certificate,
    Export,
    ExportState,
    GdprAction,
    SigningKey,
)
from gdpr.models.row_decisions import Ground, RowVerdict, Verdict
from gdpr.models.subjects import (
    Alias,
    AliasKind,
    Consent,
    Dismissal,
    Lifting,
    PeopleStamp,
    Subject,
    SubjectLink,
    Suppression,
    UnknownName,
    Via,
)

__all__ = [
    "OPEN",
    "ActionKind",
    "ActionStatus",
    "Alias",
    "AliasKind",
    "Case",
    "CaseEvent",
    "CaseKind",
    "CasePlan",
    "CaseState",
    "CaseStep",
    "Certificate",
    "Consent",
    "Dismissal",
    "ErasureMark",
    "Export",
    "ExportState",
    "ForgetOrder",
    "GdprAction",
    "Ground",
    "Hold",
    "Lifting",
    "LiveProcess",
    "PeopleStamp",
    "RowVerdict",
    "SigningKey",
    "StepState",
    "Subject",
    "SubjectLink",
    "Suppression",
    "UnknownName",
    "Verdict",
    "Via",
]
