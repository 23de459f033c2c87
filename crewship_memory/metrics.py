"""Prometheus metrics: totals of the installation, without names of tenants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from crewship_memory import auth, client_address, problem_details
from episodic.embedders.base import State as EmbedderState
from episodic.index import engine
from episodic.models import Embedding, State
from memory.accounts import api_keys
from memory.models import Agent, ChainHead, Workspace
from memory.rules import errors
from memory.rules.permissions import Role
from memory.word_index.cache import indexes as word_indexes

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
REGISTRY: Final = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
REQUESTS: Final = Counter(
    "crewship_requests",
    "Answers this process gave, by class of status.",
    ["status"],
    registry=REGISTRY,
)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"crewship_{name}", text, value=value)


def _journal() -> Iterator[Metric]:
    total = sum(ChainHead.objects.values_list("seq", flat=True))
    yield _gauge("workspaces", "Workspaces.", Workspace.objects.count())
    yield _gauge("agents", "Agents.", Agent.objects.count())
    yield CounterMetricFamily(
        "crewship_journal_entries", "Entries ever appended.", value=total
    )


def _index() -> Iterator[Metric]:
    rows = Embedding.objects.order_by().values_list("state")
    number_by_state = dict(rows.annotate(number=Count("state")))
    for state in State.values:
        text = f"Entries whose embedding is {state}."
        yield _gauge(f"index_{state}", text, number_by_state.get(state, 0))
    pending = Embedding.objects.filter(state=State.PENDING)
    oldest = pending.aggregate(oldest=Min("entry__recorded_at"))["oldest"]
    oldest_seconds = (timezone.now() - oldest).total_seconds() if oldest else 0
    yield _gauge(
        "index_oldest_pending_seconds", "The longest wait.", max(0.0, oldest_seconds)
    )


def _embedder() -> Iterator[Metric]:
    status, counts = engine.status(), engine.embedder().counts()
    up = status.state is EmbedderState.ANSWERING
    yield _gauge("embedder_up", "Whether the last call was answered.", float(up))
    yield _gauge("embedder_last_ms", "The last call's length.", status.last_ms or 0.0)
    yield CounterMetricFamily(
        "crewship_query_cache_hits", "Questions already embedded.", value=counts.hits
    )
    yield CounterMetricFamily(
        "crewship_query_cache_misses", "Questions embedded anew.", value=counts.misses
    )
    yield _gauge("query_cache_size", "Questions kept.", counts.size)
    yield _gauge(
        "vector_memory_bytes",
        "Vectors this process keeps in memory.",
        engine.vector_bytes(),
    )
    yield _gauge(
        "word_index_bytes",
        "Word indexes this process keeps in memory.",
        word_indexes.nbytes,
    )


class InstallationCollector(Collector):
    """A collector that reads database and embedder at every scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from _journal()
        yield from _index()
        yield from _embedder()

    def describe(self) -> Iterator[Metric]:
        """Yield nothing, so that registering does not query the database."""
        return iter(())


REGISTRY.register(InstallationCollector())


def is_local(request: HttpRequest) -> bool:
    """Whether the caller is on this machine and the server is not public.

    A proxy on this machine that sends no forwarding header looks like a caller here. So
    where a proxy must be (HTTPS, trusted proxies) or people come from elsewhere
    (CREWSHIP_URL), nobody is local.
    """
    public = urlsplit(settings.PUBLIC_URL).hostname
    published = public is not None and public not in LOOPBACK_NAMES
    if published or settings.HTTPS or settings.TRUSTED_PROXIES:
        return False
    host = split_domain_port(request.get_host())[0]
    return host in LOOPBACK_NAMES and client_address.is_loopback(request)


def _refusal(request: HttpRequest) -> errors.AppError | None:
    if is_local(request):
        return None
    token = auth.token_of(request)
    actor = api_keys.authenticate(token) if token else None
    if actor is None:
        return errors.Unauthenticated()
    if actor.role not in (Role.OPERATOR, Role.ADMIN):
        return errors.Forbidden(role=actor.role.value, action="metrics.read")
    return None


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a scrape from this machine, or with an operator's or admin's key."""
    refusal = _refusal(request)
    if refusal is not None:
        return problem_details.response(refusal)
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
