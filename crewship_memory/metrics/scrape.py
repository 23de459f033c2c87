"""``/metrics``: the figures in the format of Prometheus, without names of tenants.

Whichever process answers gives the sum over the processes of its machine. The figures
of the installation come from the database; where several machines are scraped, they
can be read from one of them alone (``?figures=installation``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector, CollectorRegistry

from crewship_memory import auth, client_address, problem_details
from crewship_memory.metrics import installation, machine, pulse
from memory.accounts import api_keys
from memory.measurements import processes
from memory.rules import errors
from memory.rules.permissions import Role

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
PARAMETER: Final = "figures"
Figures = Callable[[], Iterable[Metric]]


def of_machine() -> Iterator[Metric]:
    """Yield what the processes of this machine did, and what they reach."""
    pulse.beat()
    yield from processes.collect()
    yield from machine.collect()


def _all() -> Iterator[Metric]:
    return chain(of_machine(), installation.collect())


CHOICES: Final[dict[str, Figures]] = {
    "": _all,
    "machine": of_machine,
    "installation": installation.collect,
}


class _Read(Collector):
    """A collector that reads at every scrape, and not when it is registered."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        return self._figures()

    def describe(self) -> Iterator[Metric]:
        """Yield nothing, so that registering queries no database."""
        return iter(())


def registry(figures: Figures) -> CollectorRegistry:
    """Return a registry of figures that are read at every scrape."""
    collectors = CollectorRegistry()
    collectors.register(_Read(figures))
    return collectors


# ── Who may read them ────────────────────────────────────────────────────────
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
    figures = CHOICES.get(request.GET.get(PARAMETER, ""))
    if refusal is None and figures is None:
        refusal = errors.unknown_value(PARAMETER, [name for name in CHOICES if name])
    if refusal is not None or figures is None:
        return problem_details.response(refusal or errors.NotFound())
    text = generate_latest(registry(figures))
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)
