"""The settings that this package reads, one entry each.

To add a setting, add an entry here and read it where it applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from django.conf import settings
from django.utils.translation import gettext

from memory import http_out
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.fusion import Fusion
from memory.rules.settings import BadValue, Change, Kind, Setting
from memory.rules.tiers import Tier
from memory.rules.translation import gettext_noop
from memory.scanner import registry
from memory.scanner.model import Family, Mode
from memory.workspace_settings.catalogue import declare

# ── Recall ───────────────────────────────────────────────────────────────────
FUSIONS: Final = {
    Fusion.RRF.value: gettext_noop("rrf, by rank"),
    Fusion.CONVEX.value: gettext_noop("convex, by score"),
}
FUSION: Final[Setting[str]] = declare(
    Setting(
        name="fusion",
        group=gettext_noop("Recall"),
        label=gettext_noop("Fusion"),
        help=gettext_noop(
            "How the rankings by meaning and by words become one list, where a "
            "request does not say. RRF (reciprocal rank fusion) adds 1 / (60 + rank) "
            "of both. Convex adds up scores: of meaning, of words, of what stands "
            "around an entry and, for the journal, of the times and names in the "
            "question; there importance multiplies the sum."
        ),
        readers=gettext_noop(
            "Every hybrid recall and search: the API, tools, MCP, checks, records "
            "and the other systems' clients."
        ),
        kind=Kind.CHOICE,
        default=Fusion.CONVEX.value,
        choices=lambda: FUSIONS,
    )
)

# ── Tools ────────────────────────────────────────────────────────────────────
TOOLS_REQUIRE_USER: Final[Setting[bool]] = declare(
    Setting(
        name="tools_require_user",
        group=gettext_noop("Tools"),
        label=gettext_noop("Memory tools need an end user"),
        help=gettext_noop(
            "The memory__ and provider. tools are there only for requests that name "
            "an end user, so that an agent with many users keeps each one's memories "
            "apart. Off: a request that names nobody uses the agent's own memory."
        ),
        readers=gettext_noop(
            "The memory__ tools over HTTP and MCP, the provider. tools over MCP."
        ),
        kind=Kind.SWITCH,
        default=False,
    )
)
TURNS_USE_MEMORIES: Final[Setting[bool]] = declare(
    Setting(
        name="turns_use_memories",
        group=gettext_noop("Tools"),
        label=gettext_noop("Turns recall and keep memories"),
        help=gettext_noop(
            "Before a turn, the memories that the conversation calls for go to the "
            "agent; after it, what the user said of themselves is kept: for the end "
            "user whom the request names, else in the agent's own memory."
        ),
        readers=gettext_noop("POST /api/v1/turns/recall and /turns/persist."),
        kind=Kind.SWITCH,
        default=False,
    )
)

# ── Memory files ─────────────────────────────────────────────────────────────
VERSIONS_RETENTION_DAYS: Final[Setting[int]] = declare(
    Setting(
        name="versions_retention_days",
        group=gettext_noop("Memory files"),
        label=gettext_noop("Days that versions are kept"),
        help=gettext_noop(
            "Older versions of memory files are deleted every night; the newest three "
            "of each file always stay. 0 keeps every version."
        ),
        readers=gettext_noop("The nightly job “Version retention”."),
        kind=Kind.INTEGER,
        default=30,
        least=0,
        most=3_650,
        unit="days",
    )
)

# ── Providers ────────────────────────────────────────────────────────────────
# Filled by the registry of providers as it registers them.
provider_titles: dict[str, str] = {}


def _provider_entry(changes: Sequence[Change]) -> Sequence[NewEntry]:
    return [
        NewEntry(
            entry_type="provider.chosen",
            severity=Severity.NOTICE,
            summary=f"Provider {change.after} chosen, was {change.before}",
            payload={"provider": change.after, "previous": change.before},
        )
        for change in changes
    ]


def remote_address(text: str) -> str:
    """Return the base address of a remote provider, or raise BadValue."""
    private = bool(settings.PROVIDER_PRIVATE)
    try:
        url = http_out.check_url(
            text, private=private, caller=gettext_noop("The remote provider")
        )
    except errors.Invalid as error:
        rule = gettext("is refused: {why}").format(why=error.detail)
        raise BadValue(rule) from None
    if "?" in url:
        raise BadValue(gettext("must have no query"))
    return url.rstrip("/")


PROVIDER: Final[Setting[str]] = declare(
    Setting(
        name="provider",
        group=gettext_noop("Provider"),
        label=gettext_noop("Provider"),
        help=gettext_noop(
            "Which store keeps and recalls for agents over the provider interface. "
            "Nothing is moved when it changes."
        ),
        readers=gettext_noop("Every call of /api/v1/provider."),
        kind=Kind.CHOICE,
        default="tierfiles",
        choices=lambda: provider_titles,
        may="providers.manage",
        keeps_unknown=True,
        journal=_provider_entry,
    )
)
REMOTE_URL: Final[Setting[str]] = declare(
    Setting(
        name="remote_provider_url",
        group=gettext_noop("Provider"),
        label=gettext_noop("Remote provider, address"),
        help=gettext_noop(
            "Base URL of a server with our provider interface under /api/v1/provider. "
            "A new address removes the key."
        ),
        readers=gettext_noop("The remote provider and its status check."),
        kind=Kind.ADDRESS,
        default="",
        most=http_out.URL_LENGTH,
        check=remote_address,
        may="providers.manage",
        resets=("remote_provider_key",),
    )
)
REMOTE_KEY: Final[Setting[str]] = declare(
    Setting(
        name="remote_provider_key",
        group=gettext_noop("Provider"),
        label=gettext_noop("Remote provider, key"),
        help=gettext_noop(
            "Sent to the remote provider as Authorization: Bearer. Kept sealed; "
            "nobody can read it again."
        ),
        readers=gettext_noop("The remote provider and its status check."),
        kind=Kind.SECRET,
        default="",
        may="providers.manage",
    )
)

# ── The scanner ──────────────────────────────────────────────────────────────
MODES: Final = tuple(mode.value for mode in Mode)
DEFAULT_MODE: Final = Mode.HOLD.value
ACTIONS: Final = ("allow", "redact", "hold", "block")
SOURCES: Final = {
    "tool": gettext_noop("agent’s tool call"),
    "web": gettext_noop("fetched page, not authenticated"),
    "import": gettext_noop("import"),
    "disk": gettext_noop("file found on disk"),
    "operator": gettext_noop("written by an operator"),
    "provider": gettext_noop("provider interface"),
    "restore": gettext_noop("restored version"),
}
# A weight as it is stored: hundredths of one.
_WEIGHT: Final = re.compile(r"0\.\d\d")
POLICY_KEYS: Final = frozenset(
    {f"tier:{tier.value}" for tier in Tier} | {f"source:{name}" for name in SOURCES}
)


def _entries_per_line(
    kind: str, field: str, default: str
) -> Callable[[Sequence[Change]], Sequence[NewEntry]]:
    """Return how changes of a table are journaled: an entry for each changed line."""

    def entries(changes: Sequence[Change]) -> list[NewEntry]:
        lines = [
            (name, change.before.get(name, default), change.after.get(name, default))
            for change in changes
            for name in sorted({*change.before, *change.after})
            if change.before.get(name) != change.after.get(name)
        ]
        return [
            NewEntry(
                entry_type=f"scanner.{kind}_changed",
                severity=Severity.NOTICE,
                summary=f"{kind.title()} {name} set to {value}, was {previous}",
                payload={kind: name, "previous": previous, field: value},
            )
            for name, previous, value in lines
        ]

    return entries


SCANNER_RULES: Final[Setting[dict[str, str]]] = declare(
    Setting(
        name="scanner_rules",
        group=gettext_noop("Scanner"),
        label=gettext_noop("Modes of scanner rules"),
        help=gettext_noop(
            "Rules that are switched off, or set to observe or block; every other "
            "rule holds what it finds."
        ),
        readers=gettext_noop("The scanner, for every text that comes in."),
        kind=Kind.TABLE,
        default={},
        pair=lambda rule, mode: rule in registry.BY_ID and mode in MODES,
        check=lambda modes: {
            rule: mode for rule, mode in modes.items() if mode != DEFAULT_MODE
        },
        may="scanner.manage",
        page="quarantine:rules",
        journal=_entries_per_line("rule", "mode", DEFAULT_MODE),
    )
)
SCANNER_POLICY: Final[Setting[dict[str, str]]] = declare(
    Setting(
        name="scanner_policy",
        group=gettext_noop("Scanner"),
        label=gettext_noop("Policy for tiers and sources"),
        help=gettext_noop(
            "What happens to text with a finding, by the tier it is for or the source "
            "it comes from; without a line here it is held."
        ),
        readers=gettext_noop("The scanner, for every text that comes in."),
        kind=Kind.TABLE,
        default={},
        pair=lambda key, action: key in POLICY_KEYS and action in ACTIONS,
        may="scanner.manage",
        page="quarantine:rules",
        journal=_entries_per_line("policy", "action", "default"),
    )
)


def _is_lower(rule: str, weight: str) -> bool:
    """Whether a weight is written as one, and below the rule's own.

    What a rule of the policy does is set by its mode: the table of the policy says it.
    """
    own = registry.BY_ID.get(rule)
    if own is None or own.family is Family.POLICY or not _WEIGHT.fullmatch(weight):
        return False
    return float(weight) < own.weight


SCANNER_WEIGHTS: Final[Setting[dict[str, str]]] = declare(
    Setting(
        name="scanner_weights",
        group=gettext_noop("Scanner"),
        label=gettext_noop("Lowered weights of scanner rules"),
        help=gettext_noop(
            "Rules that count less here than they were shipped with, such as 0.25, "
            "because reviewers released most of what they held. No weight can be "
            "higher than the shipped one, and those of the policy stay as they are."
        ),
        readers=gettext_noop("The scanner, for every text that comes in."),
        kind=Kind.TABLE,
        default={},
        pair=_is_lower,
        may="scanner.manage",
        page="quarantine:learned",
        journal=_entries_per_line("rule", "weight", "shipped"),
    )
)
