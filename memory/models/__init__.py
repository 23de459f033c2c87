"""The tables of the memory package: tenants, journal, files, records, jobs."""

from memory.models.archive import ArchivedEntry
from memory.models.files import (
    BlockedSource,
    Clearance,
    Cleared,
    HeldFile,
    HeldState,
    KnownAttack,
    MemoryChunk,
    MemoryFile,
    MemoryVersion,
)
from memory.models.gateway import GatewayKey, GatewayPending, GatewaySetup
from memory.models.imports import ImportLine
from memory.models.installation import ChainSegment, Installation, KeyFingerprint
from memory.models.invitations import Invitation
from memory.models.jobs import JobRun, RunState, WorkerProcess
from memory.models.journal import (
    ChainCheckpoint,
    ChainHead,
    IdempotencyRecord,
    JournalEntry,
    PriorityChange,
    SubjectMention,
)
from memory.models.learning import (
    Label,
    LearningState,
    ProposalKind,
    ReviewLabel,
    ScannerProposal,
)
from memory.models.records import (
    HeldRecord,
    ProviderPulse,
    ProviderRun,
    Record,
    RecordEntry,
    RecordEvent,
    RecordStatus,
)
from memory.models.review import LastVisit, SavedView, ViewPage
from memory.models.settings import WorkspaceSetting
from memory.models.stored_files import SealedKey, StoredFile
from memory.models.tenancy import (
    Agent,
    AgentKey,
    Crew,
    Membership,
    OperatorKey,
    User,
    Workspace,
)
from memory.models.webhooks import DeliveryStatus, Webhook, WebhookDelivery
from memory.models.words import EntryWords, WordChange, WordCount

__all__ = [
    "Agent",
    "AgentKey",
    "ArchivedEntry",
    "BlockedSource",
    "ChainCheckpoint",
    "ChainHead",
    "ChainSegment",
    "Clearance",
    "Cleared",
    "Crew",
    "DeliveryStatus",
    "EntryWords",
    "GatewayKey",
    "GatewayPending",
    "GatewaySetup",
    "HeldFile",
    "HeldRecord",
    "HeldState",
    "IdempotencyRecord",
    "ImportLine",
    "Installation",
    "Invitation",
    "JobRun",
    "JournalEntry",
    "KeyFingerprint",
    "KnownAttack",
    "Label",
    "LastVisit",
    "LearningState",
    "Membership",
    "MemoryChunk",
    "MemoryFile",
    "MemoryVersion",
    "OperatorKey",
    "PriorityChange",
    "ProposalKind",
    "ProviderPulse",
    "ProviderRun",
    "Record",
    "RecordEntry",
    "RecordEvent",
    "RecordStatus",
    "ReviewLabel",
    "RunState",
    "SavedView",
    "ScannerProposal",
    "SealedKey",
    "StoredFile",
    "SubjectMention",
    "User",
    "ViewPage",
    "Webhook",
    "WebhookDelivery",
    "WordChange",
    "WordCount",
    "WorkerProcess",
    "Workspace",
    "WorkspaceSetting",
]
