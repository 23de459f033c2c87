"""Who receives data, how long it stays, what protects it: by the settings in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext, ngettext

from episodic.recall.question_rows import RECALL_LOG, RECALL_LOG_DAYS
from gdpr.cases import privacy_settings
from memory import journal_upload, webhooks, workspace_settings
from memory.accounts import mail
from memory.jobs import housekeeping, registry
from memory.journal import compaction
from memory.models import GatewaySetup, Webhook
from memory.providers import remote
from memory.workspace_settings import declarations

WRITTEN: Final = ("journal", "deliveries")
VECTORS: Final = ("journal", "files", "records", "vectors", "caches")


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whom data of some places goes to; ``name`` is a host, never a whole address."""

    kind: str
    name: str
    receives: str
    places: tuple[str, ...]


def host_of(address: str) -> str:
    return urlsplit(address).hostname or ""


# ── Recipients ───────────────────────────────────────────────────────────────
def recipients(workspace_id: str) -> list[Recipient]:
    """Return who receives data by the settings of workspace and installation."""
    rows = Webhook.objects.filter(workspace_id=workspace_id, active=True)
    hosts = sorted({row.host for row in rows})
    recipient_names = [
        Recipient("webhook", host, gettext("Events without texts"), WRITTEN)
        for host in hosts
    ]
    return [*recipient_names, *_services(workspace_id), *_installation()]


def _services(workspace_id: str) -> list[Recipient]:
    """Return memory gateways and the remote provider of a workspace."""
    setups = GatewaySetup.objects.filter(workspace_id=workspace_id)
    addresses = setups.exclude(base_url="").values_list("base_url", flat=True)
    services = [
        Recipient(
            "gateway",
            host,
            gettext("Turns of conversations, to recall and to keep memories"),
            ("gateway",),
        )
        for host in sorted({host_of(address) for address in addresses})
    ]
    provider_name = workspace_settings.value(workspace_id, declarations.PROVIDER)
    address = workspace_settings.value(workspace_id, declarations.REMOTE_URL)
    if address:
        receives = gettext("What agents keep and ask over the provider interface")
        if provider_name != remote.NAME:
            receives = gettext("Nothing new: another provider is chosen now")
        services.append(
            Recipient("provider", host_of(address), receives, ("records", "providers"))
        )
    return services


def _installation() -> list[Recipient]:
    """Return the services that the installation was set up with."""
    services = []
    if settings.EMBEDDER == "ollama":
        receives = gettext("Texts and questions, to compute vectors")
        host = host_of(settings.OLLAMA_HOST) or settings.OLLAMA_HOST
        services.append(Recipient("embedder", host, receives, VECTORS))
    if settings.CONSOLIDATE_MODEL:
        receives = gettext("Entries of the journal, to draw rules from them")
        host = host_of(settings.OLLAMA_HOST) or settings.OLLAMA_HOST
        services.append(Recipient("model", host, receives, ("journal", "proposals")))
    if mail.server_set():
        receives = gettext(
            "Mails to members: links to sign in, ids and days of cases; letters to"
            " people about their requests"
        )
        host = str(getattr(settings, "EMAIL_HOST", "") or gettext("mail server"))
        services.append(
            Recipient("mail", host, receives, ("logins", "cases", "letters"))
        )
    return services


# ── How long ─────────────────────────────────────────────────────────────────
def until_deleted() -> str:
    return gettext("No number of days is set; an erasure reaches it.")


def _days(count: int) -> str:
    return ngettext("{count} day", "{count} days", count).format(count=count)


def retention(workspace_id: str) -> dict[str, str]:
    """Return place → how long, where there is a rule."""
    with_source = gettext("As long as what it was computed from.")
    derived_places = ("vectors", "relations", "map", "word_index")
    return {
        **dict.fromkeys(derived_places, with_source),
        **_by_program(),
        **_by_settings(workspace_id),
    }


def _by_program() -> dict[str, str]:
    """Return the places whose days no workspace sets."""
    hours = int(housekeeping.MAX_AGE.total_seconds() // 3600)
    return {
        "idempotency": gettext("{hours} hours.").format(hours=hours),
        "deliveries": gettext("At most {days}.").format(
            days=_days(webhooks.RETENTION.days)
        ),
        "imports": gettext("At most {days}.").format(
            days=_days(journal_upload.MAX_AGE.days)
        ),
        "jobs": gettext("The newest {count} runs of each job.").format(
            count=registry.MAX_RUNS
        ),
        "sessions": gettext("A sign-in ends after {hours} hours.").format(
            hours=settings.SESSION_COOKIE_AGE // 3600
        ),
        "journal": gettext(
            "No end is set. Frequent technical entries move to the archive after"
            " {days}; an erasure reaches both."
        ).format(days=_days(compaction.DAYS)),
        "caches": gettext("Until the process ends, or an erasure drops it."),
        "logs": gettext("As long as whoever collects the log keeps it."),
        "cases": gettext(
            "Kept as proof; texts that name the person are masked when they are erased."
        ),
        "subjects": gettext("Until the person is erased."),
    }


def _by_settings(workspace_id: str) -> dict[str, str]:
    rules = privacy_settings.of(workspace_id)
    log_days = workspace_settings.value(workspace_id, RECALL_LOG_DAYS)
    log = gettext("{days}; then deleted at night.").format(days=_days(log_days))
    if not workspace_settings.value(workspace_id, RECALL_LOG):
        log = f"{log} " + gettext("Off now: nothing is added.")
    export_days = _days(rules.export_days)
    return {
        "exports": gettext("{days} after it was made.").format(days=export_days),
        "recall_log": log,
        "letters": gettext(
            "{days} after a letter was sent. The address: until the closing letter went"
            " out, at most until 30 days after the case is closed."
        ).format(days=_days(rules.letter_days)),
        "files": _versions(workspace_id),
    }


def _versions(workspace_id: str) -> str:
    days = workspace_settings.value(workspace_id, declarations.VERSIONS_RETENTION_DAYS)
    if not days:
        return gettext("No end is set, and every version is kept.")
    return gettext(
        "Files: no end is set. Older versions: {days}; the newest three stay."
    ).format(days=_days(days))


# ── Security of processing ───────────────────────────────────────────────────
def measures(workspace_id: str) -> list[str]:
    """Return the measures of Article 32, as they are set."""
    rules = privacy_settings.of(workspace_id)
    https = gettext("HTTPS is not enforced by this installation.")
    if settings.HTTPS:
        https = gettext("HTTPS is enforced.")
    second = gettext("One person may carry out an erasure.")
    if rules.two_person:
        second = gettext("A second person approves every plan of an erasure.")
    identity = gettext("A plan may be made before the person’s identity is verified.")
    if rules.require_identity:
        identity = gettext("The person’s identity is verified before a plan is made.")
    return [
        gettext("Roles and keys limit who reads and writes, workspace by workspace."),
        gettext("Cases, registered names and bundles: compliance and admin alone."),
        gettext("The audit log notes who saw names, exported, erased, and why."),
        gettext("The journal is a chain of keyed hashes: a change or a gap shows."),
        gettext("A scanner judges what is written into memory, by the rules set here."),
        gettext("Bundles and secrets are sealed with keys that no database holds."),
        second,
        identity,
        https,
        gettext("By its setting, the last backup expires after {days}.").format(
            days=_days(rules.backup_days)
        ),
    ]
