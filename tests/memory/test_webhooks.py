"""Webhooks: signed, sent once, retried, and never to a private address."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
import time_machine
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from episodic.health import snapshots as health
from episodic.models import HealthSnapshot
from memory import http_out, webhooks
from memory.jobs import registry as jobs
from memory.jobs import time_box
from memory.models import DeliveryStatus, JournalEntry, Webhook, WebhookDelivery
from memory.rules import errors
from tests.world import World

URL = "https://hooks.example/in?to=us"
PUBLIC = "93.184.216.34"
DELIVERED, PENDING, FAILED = (
    DeliveryStatus.SENT,
    DeliveryStatus.PENDING,
    DeliveryStatus.FAILED,
)


class Receiver:
    """A receiver that answers and stores its requests."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.got: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.got.append(request)
        status = self.statuses.pop(0) if self.statuses else 200
        headers = {"Location": "http://127.0.0.1/"} if status == 302 else {}
        return httpx.Response(status, headers=headers, text="never kept")


def name_server(*addresses: str) -> Callable[..., list[Any]]:
    def resolve(_host: str, port: int, **_kwargs: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in addresses]

    return resolve


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every name to a public address; a test may change it."""
    monkeypatch.setattr(socket, "getaddrinfo", name_server(PUBLIC))


def hooked(world: World, url: str = URL) -> Webhook:
    return webhooks.create(url, by=world.actor("owner"))


def queued(world: World) -> WebhookDelivery:
    """Return a test delivery to a new webhook."""
    return webhooks.queue_test(hooked(world), by=world.actor("owner"))


def sweep(receiver: Receiver) -> webhooks.Sweep:
    return webhooks.deliver_due(transport=receiver.transport)


def band_change(world: World) -> JournalEntry:
    before = HealthSnapshot(workspace=world.acme, crew_id="", score=90)
    after = HealthSnapshot(workspace=world.acme, crew_id="", score=20)
    health._record_band_change(before, after)
    return JournalEntry.objects.get(entry_type=health.BAND_CHANGED)


def test_a_process_that_ends_sends_nothing_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued(world)
    with monkeypatch.context() as patch:
        patch.setattr(time_box, "ending", threading.Event())
        time_box.ending.set()
        assert sweep(Receiver()) == webhooks.Sweep()
    assert sweep(Receiver()) == webhooks.Sweep(sent_count=1)


# ── What is sent ─────────────────────────────────────────────────────────────
def test_a_band_change_is_told_signed_and_once(world: World) -> None:
    hook, receiver = hooked(world), Receiver()
    webhooks.create(URL, by=world.actor("stranger"))
    entry = band_change(world)
    assert sweep(receiver) == webhooks.Sweep(sent_count=1)
    assert sweep(receiver) == webhooks.Sweep()
    (request,) = receiver.got
    body = request.content.decode()
    message = json.loads(body)
    assert set(message) == {
        *("id", "event", "workspace_id", "entry_id", "ts", "summary", "payload")
    }
    assert (message["entry_id"], message["workspace_id"]) == (entry.id, world.acme.id)
    assert message["payload"] == entry.payload
    row = WebhookDelivery.objects.get()
    assert (row.status, row.attempts, row.last_status) == (DELIVERED, 1, 200)
    assert row.sent_at is not None
    headers = request.headers
    assert headers["X-Crewship-Event"] == health.BAND_CHANGED == message["event"]
    assert headers["X-Crewship-Delivery"] == row.id == message["id"]
    assert webhooks.verify(hook.secret, headers["X-Crewship-Signature"], body)


def test_the_connection_goes_to_the_address_that_was_judged(world: World) -> None:
    queued(world)
    receiver = Receiver()
    sweep(receiver)
    (request,) = receiver.got
    assert str(request.url) == f"https://{PUBLIC}/in?to=us"
    assert request.headers["Host"] == "hooks.example"
    assert request.extensions["sni_hostname"] == "hooks.example"
    assert set(request.extensions["timeout"].values()) == {http_out.TIMEOUT}


def test_the_delivery_commits_with_its_entry(world: World) -> None:
    hooked(world)
    entry = band_change(world)
    assert WebhookDelivery.objects.get().entry_id == entry.id


def test_a_signature_is_checked() -> None:
    header = http_out.sign("secret", "body", 1_000)
    assert webhooks.verify("secret", header, "body", now=1_200)
    assert not webhooks.verify("other", header, "body", now=1_200)
    assert not webhooks.verify("secret", header, "Body", now=1_200)
    assert not webhooks.verify("secret", header, "body", now=1_301)
    assert not webhooks.verify("secret", header, "body")
    for wrong in ("", "t=x,v1=y", "t=²,v1=", "t=1000,v1=é", "t=1000"):
        assert not webhooks.verify("secret", wrong, "body", now=1_000)


# ── What is refused ──────────────────────────────────────────────────────────
PRIVATE = [
    *("127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254"),
    *("0.0.0.0", "100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1", "fc00::1", "fec0::1", "ff02::1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    literal = f"http://[{address}]/" if ":" in address else f"http://{address}/"
    with pytest.raises(errors.Invalid):
        hooked(world, literal)
    # One bad address among good ones refuses the name.
    names = name_server(PUBLIC, address)
    monkeypatch.setattr(socket, "getaddrinfo", names)
    row, receiver = queued(world), Receiver()
    assert sweep(receiver) == webhooks.Sweep(retried=1)
    assert receiver.got == []
    row.refresh_from_db()
    assert "may not reach" in row.last_error
    assert address not in row.last_error


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"])
def test_public_addresses_are_allowed(address: str) -> None:
    assert http_out.is_allowed(address)


def test_private_addresses_can_be_allowed(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.WEBHOOK_PRIVATE = True
    monkeypatch.setattr(socket, "getaddrinfo", name_server("::1"))
    hook = hooked(world, "http://localhost:9000/in")
    webhooks.queue_test(hook, by=world.actor("owner"))
    receiver = Receiver()
    assert sweep(receiver).sent_count == 1
    assert str(receiver.got[0].url) == "http://[::1]:9000/in"
    assert receiver.got[0].headers["Host"] == "localhost:9000"


@pytest.mark.parametrize(
    "url",
    [
        *("", "hooks.example", "ftp://hooks.example/", "file:///etc/passwd"),
        *("https://me:word@hooks.example/", "https://me@hooks.example/", "http://"),
        *(
            "https://hooks.example/#part",
            "https://hooks.example:99999/",
            "http://[/",
            "http://a b/",
        ),
        "https://hooks.example/" + "a" * 500,
        "http://[::g]/",
        "http://a\n/",
        "http://a$b/",
    ],
)
def test_what_is_no_address_is_refused(world: World, url: str) -> None:
    with pytest.raises(errors.Invalid):
        hooked(world, url)


def test_only_known_events_can_be_heard(world: World) -> None:
    for events in ([], ["journal.everything"]):
        with pytest.raises(errors.Invalid):
            webhooks.create(URL, events, by=world.actor("owner"))


def test_an_address_is_told_once_and_there_is_an_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked(world)
    with pytest.raises(errors.Conflict):
        hooked(world)
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 1)
    with pytest.raises(errors.Conflict):
        hooked(world, "https://more.example/")


# ── Faults ───────────────────────────────────────────────────────────────────
def test_it_is_tried_again_with_back_off_and_then_given_up(world: World) -> None:
    row, receiver = queued(world), Receiver(*[500] * 6)
    now = timezone.now()
    with time_machine.travel(now, tick=False) as clock:
        for tries in range(1, 7):
            assert sweep(receiver).sent_count == 0
            assert sweep(receiver) == webhooks.Sweep()
            row.refresh_from_db()
            assert (row.attempts, row.last_status) == (tries, 500)
            assert row.status == (FAILED if tries == 6 else PENDING)
            wait = timedelta(seconds=30 * 2 ** (tries - 1))
            assert row.next_attempt_at - timezone.now() == wait
            clock.shift(wait)
        assert sweep(receiver) == webhooks.Sweep()
    assert len(receiver.got) == 6
    assert row.last_error == "Answered 500."


def test_what_failed_is_replayed_with_the_same_body(world: World) -> None:
    row, receiver, owner = queued(world), Receiver(), world.actor("owner")
    with pytest.raises(errors.Conflict):
        webhooks.replay(row, by=owner)
    WebhookDelivery.objects.update(status=FAILED, attempts=6, last_error="Answered 1.")
    webhooks.replay(row, by=owner)
    assert sweep(receiver).sent_count == 1
    webhooks.replay(row, by=owner)
    assert sweep(receiver).sent_count == 1
    first, second = (request.content for request in receiver.got)
    assert first == second == row.body.encode()


def test_a_redirect_is_not_followed(world: World) -> None:
    row, receiver = queued(world), Receiver(302)
    assert sweep(receiver).retried == 1
    assert len(receiver.got) == 1
    row.refresh_from_db()
    assert row.last_error == "Answered 302; redirects are not followed."


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (httpx.ConnectError(f"no route to {PUBLIC}"), "The connection failed."),
        (httpx.ReadTimeout(PUBLIC), "No answer within 5 seconds."),
    ],
)
def test_a_fault_is_told_without_the_address(
    world: World, fault: Exception, says: str
) -> None:
    def fail(_request: httpx.Request) -> httpx.Response:
        raise fault

    row = queued(world)
    assert webhooks.deliver_due(transport=httpx.MockTransport(fail)).retried == 1
    row.refresh_from_db()
    assert (row.last_error, row.last_status) == (says, None)


def test_a_name_that_nobody_knows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_args: Any, **_kwargs: Any) -> list[Any]:
        raise socket.gaierror("hooks.example")

    row = queued(world)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert sweep(Receiver()).retried == 1
    row.refresh_from_db()
    assert row.last_error == "The host's name could not be resolved."


# ── Two at once, and those that died ─────────────────────────────────────────
def test_two_workers_send_it_once(shared_world: World) -> None:
    row, receiver = queued(shared_world), Receiver()
    barrier = threading.Barrier(4)

    def worker() -> None:
        delivery = WebhookDelivery.objects.select_related("webhook").get(pk=row.pk)
        barrier.wait()
        webhooks.send(delivery, transport=receiver.transport)
        connections.close_all()

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receiver.got) == 1
    row.refresh_from_db()
    assert (row.status, row.attempts) == (DELIVERED, 1)


def test_a_worker_that_died_leaves_it_due(world: World) -> None:
    row, past = queued(world), timezone.now() - timedelta(seconds=1)
    assert webhooks._claim(row, timezone.now())
    assert sweep(Receiver()) == webhooks.Sweep()
    WebhookDelivery.objects.update(next_attempt_at=past)
    assert sweep(Receiver()).sent_count == 1
    WebhookDelivery.objects.update(status=PENDING, attempts=6, next_attempt_at=past)
    assert sweep(Receiver()) == webhooks.Sweep(failed=1)


def test_a_slow_receiver_leaves_the_rest_for_the_next_minute(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued(world)
    monkeypatch.setattr(webhooks, "BUDGET_SECONDS", -1.0)
    assert sweep(Receiver()) == webhooks.Sweep()


def test_old_deliveries_are_forgotten(world: World) -> None:
    queued(world)
    WebhookDelivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert sweep(Receiver()).sent_count == 1
    sweep(Receiver())
    assert not WebhookDelivery.objects.exists()


# ── Who may, pausing, removing ───────────────────────────────────────────────
@pytest.mark.parametrize("user", ["operator", "compliance", "viewer", "ada"])
def test_only_admins_touch_webhooks(world: World, user: str) -> None:
    row, actor = queued(world), world.actor(user)
    hook = row.webhook
    for act in (
        lambda: webhooks.create("https://x.example/", by=actor),
        lambda: webhooks.all_webhooks(actor),
        lambda: webhooks.webhook(actor, hook.id),
        lambda: webhooks.remove(hook, by=actor),
        lambda: webhooks.replay(row, by=actor),
        lambda: webhooks.queue_test(hook, by=actor),
        lambda: webhooks.switch(hook, active=False, by=actor),
    ):
        with pytest.raises(errors.Forbidden):
            act()


def test_another_workspace_finds_nothing(world: World) -> None:
    row, stranger = queued(world), world.actor("stranger")
    assert webhooks.all_webhooks(stranger) == []
    for act in (
        lambda: webhooks.webhook(stranger, row.webhook_id),
        lambda: webhooks.delivery(stranger, row.id),
        lambda: webhooks.remove(row.webhook, by=stranger),
        lambda: webhooks.replay(row, by=stranger),
    ):
        with pytest.raises(errors.NotFound):
            act()


def test_a_paused_webhook_hears_nothing(world: World) -> None:
    row, receiver, owner = queued(world), Receiver(), world.actor("owner")
    webhooks.switch(row.webhook, active=False, by=owner)
    band_change(world)
    assert WebhookDelivery.objects.count() == 1
    assert sweep(receiver) == webhooks.Sweep()
    with pytest.raises(errors.Conflict):
        webhooks.queue_test(row.webhook, by=owner)
    webhooks.switch(row.webhook, active=True, by=owner)
    assert sweep(receiver).sent_count == 1


def test_removing_forgets_all_and_the_journal_knows(world: World) -> None:
    hook, owner = queued(world).webhook, world.actor("owner")
    webhooks.remove(hook, by=owner)
    webhooks.remove(hook, by=owner)
    assert not WebhookDelivery.objects.exists()
    rows = JournalEntry.objects.filter(entry_type__startswith="webhook.")
    entries = list(rows.order_by("seq"))
    assert [row.entry_type for row in entries] == ["webhook.added", "webhook.removed"]
    for row in entries:
        assert hook.secret not in row.payload_text
        assert "to=us" not in row.payload_text


def test_the_scheduled_job_sends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.get("webhooks")
    assert (job.interval, job.house_wide) == (timedelta(minutes=1), True)
    assert job.act("").fault == ""
    sweep_result = webhooks.Sweep(failed=2)
    monkeypatch.setattr(webhooks, "deliver_due", lambda: sweep_result)
    assert job.act("").fault == "2 deliveries were given up"
