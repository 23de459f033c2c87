"""Words that the program stores, as a person reads them: column → value → word."""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext_lazy, pgettext_lazy

from gdpr.models import (
    ActionKind,
    ActionStatus,
    AliasKind,
    CaseKind,
    CaseState,
    ExportState,
    Ground,
    StepState,
    Verdict,
)
from memory.rules.permissions import ROLE_NAMES

_HELD: Final = {
    "held": pgettext_lazy("held text", "waits for a decision"),
    "released": pgettext_lazy("held text", "allowed"),
    "redacted": pgettext_lazy("held text", "allowed in part"),
    "discarded": pgettext_lazy("held text", "discarded"),
}
_PROPOSALS: Final = {
    "pending": pgettext_lazy("proposed rule", "waits for a decision"),
    "approved": pgettext_lazy("proposed rule", "accepted"),
    "rejected": pgettext_lazy("proposed rule", "refused"),
}
_RUNS: Final = {
    "waiting": pgettext_lazy("run", "waiting"),
    "running": pgettext_lazy("run", "running"),
    "done": pgettext_lazy("run", "done"),
    "partly": pgettext_lazy("run", "partly done"),
    "failed": pgettext_lazy("run", "failed"),
}
_WRITERS: Final = {
    "agent": gettext_lazy("an agent"),
    "user": gettext_lazy("a member of this workspace"),
    "system": gettext_lazy("the program itself"),
    "keeper": gettext_lazy("the program itself"),
    "sidecar": gettext_lazy("the program itself"),
    "orchestrator": gettext_lazy("the program itself"),
}
_PRIORITIES: Final = {
    "normal": pgettext_lazy("importance of an entry", "normal"),
    "high": pgettext_lazy("importance of an entry", "high"),
    "pin": pgettext_lazy("importance of an entry", "pinned"),
    "permanent": pgettext_lazy("importance of an entry", "permanent"),
}
_EVENTS: Final = {
    "moved": pgettext_lazy("event of a case", "next step"),
    "note": pgettext_lazy("event of a case", "comment"),
    "attachment": pgettext_lazy("event of a case", "attachment"),
    "alarm": pgettext_lazy("event of a case", "alarm"),
    "fact": pgettext_lazy("event of a case", "fact"),
}
ENUMS: Final[dict[str, dict[str, Any]]] = {
    "severity": {
        "info": pgettext_lazy("weight of an entry", "information"),
        "notice": pgettext_lazy("weight of an entry", "worth a look"),
        "warn": pgettext_lazy("weight of an entry", "warning"),
        "error": pgettext_lazy("weight of an entry", "error"),
    },
    "priority": _PRIORITIES,
    "previous": _PRIORITIES,
    "actor_type": _WRITERS,
    "tier": {
        "AGENT": gettext_lazy("memory of an agent"),
        "CREW": gettext_lazy("memory of a crew"),
        "PERSONA": gettext_lazy("how an agent behaves"),
        "pins": gettext_lazy("what a crew always keeps in mind"),
        "daily": gettext_lazy("notes of a day"),
        "peers": gettext_lazy("card about a person or an agent"),
        "lessons": gettext_lazy("lessons that were drawn"),
        "learned": gettext_lazy("rules that were learned"),
    },
    "provenance": {
        "user_requested": gettext_lazy("it was asked to remember it"),
        "agent_extracted": gettext_lazy("an agent drew it from a conversation"),
        "system_generated": gettext_lazy("the program made it"),
        "operator_curated": gettext_lazy("a member of this workspace wrote it"),
    },
    "status": {
        **dict(ActionStatus.choices),
        "current": pgettext_lazy("record", "in use"),
        "superseded": pgettext_lazy("record", "replaced by a newer one"),
        "forgotten": pgettext_lazy("record", "no longer used"),
        "pending": pgettext_lazy("message", "not sent yet"),
        "sent": pgettext_lazy("message", "sent"),
        "failed": pgettext_lazy("message", "failed"),
    },
    "state": {
        **_RUNS,
        **dict(StepState.choices),
        **dict(ExportState.choices),
        **_PROPOSALS,
        # Last: a proposal and a case can both be approved, and a case is commoner here.
        **dict(CaseState.choices),
        **_HELD,
    },
    "kind": {**_EVENTS, **dict(AliasKind.choices), **dict(CaseKind.choices)},
    "action": dict(ActionKind.choices),
    "verdict": dict(Verdict.choices),
    "ground": dict(Ground.choices),
    "role": {str(name): gettext_lazy(text) for name, text in ROLE_NAMES.items()},
}
