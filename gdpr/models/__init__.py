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
    IdentityGround,
    StepState,
)
from gdpr.models.covered_words import ExportWord, RememberedWord, WordVerdict
from gdpr.models.erasure_lines import ErasureLine
from gdpr.models.erasure_marks import ErasureMark
from gdpr.models.intake import IntakeRequest
from gdpr.models.letters import (
    AddressSource,
    Correspondence,
    Letter,
    LetterOccasion,
    LetterTemplate,
    LetterWay,
)
from gdpr.models.month import CalendarFeed, ProcessingPurpose
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
from gdpr.models.recipients import (
    OPEN_NOTICES,
    SENT_NOTICES,
    NoNoticeGround,
    NoticeState,
    NoticeWay,
    Recipient,
    RecipientAnswer,
    RecipientContact,
    RecipientKind,
)
from gdpr.models.retention import RetentionPlace, RetentionRule
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
    "OPEN_NOTICES",
    "SENT_NOTICES",
    "ActionKind",
    "ActionStatus",
    "AddressSource",
    "Alias",
    "AliasKind",
    "CalendarFeed",
    "Case",
    "CaseEvent",
    "CaseKind",
    "CasePlan",
    "CaseState",
    "CaseStep",
    "Certificate",
    "Consent",
    "Correspondence",
    "Dismissal",
    "ErasureLine",
    "ErasureMark",
    "Export",
    "ExportState",
    "ExportWord",
    "ForgetOrder",
    "GdprAction",
    "Ground",
    "Hold",
    "IdentityGround",
    "IntakeRequest",
    "Letter",
    "LetterOccasion",
    "LetterTemplate",
    "LetterWay",
    "Lifting",
    "LiveProcess",
    "NoNoticeGround",
    "NoticeState",
    "NoticeWay",
    "PeopleStamp",
    "ProcessingPurpose",
    "Recipient",
    "RecipientAnswer",
    "RecipientContact",
    "RecipientKind",
    "RememberedWord",
    "RetentionPlace",
    "RetentionRule",
    "RowVerdict",
    "SigningKey",
    "StepState",
    "Subject",
    "SubjectLink",
    "Suppression",
    "UnknownName",
    "Verdict",
    "Via",
    "WordVerdict",
]
