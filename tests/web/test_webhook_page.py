"""The webhooks page: admins only, the secret once, removal with a confirmation."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from memory import http_out, webhooks
from memory.models import DeliveryStatus, Webhook, WebhookDelivery
from tests.world import World

PAGE = "/workspace/webhooks/"
HTMX = {"HX-Request": "true"}
FORM_DATA = {
    "url": "https://hooks.example/in",
    "events": ["memory.health_band_changed"],
}


def _text(response: Any) -> str:
    return str(response.content.decode())


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace sending by a list of receivers' errors; "" is a success."""
    errors: list[str] = []

    def post(_message: object, _transport: object) -> http_out.Answer:
        error = errors.pop(0) if errors else ""
        return http_out.Answer(None if error else 200, error)

    monkeypatch.setattr(http_out, "post", post)
    return errors


@pytest.fixture
def row(world: World) -> WebhookDelivery:
    """Return a queued delivery of acme."""
    owner = world.actor("owner")
    return webhooks.queue_test(webhooks.create(FORM_DATA["url"], by=owner), by=owner)  # type: ignore[arg-type]


def _posts(row: WebhookDelivery) -> dict[str, dict[str, Any]]:
    return {
        f"{PAGE}{row.webhook_id}/remove/": {},
        f"{PAGE}{row.webhook_id}/switch/": {"active": "off"},
        f"{PAGE}{row.webhook_id}/test/": {},
        f"{PAGE}delivery/{row.id}/": {},
    }


@pytest.mark.parametrize(
    ("user", "status"),
    [
        *[("owner", 200), ("operator", 403), ("compliance", 403), ("viewer", 403)],
        ("nobody", 302),
    ],
)
def test_who_may(world: World, row: WebhookDelivery, user: str, status: int) -> None:
    client = world.page(user)
    assert client.get(PAGE).status_code == status
    if status == 200:
        assert 'href="/workspace/webhooks/"' in _text(client.get("/workspace/members/"))
        return
    for path, data in {PAGE: FORM_DATA, **_posts(row)}.items():
        assert client.post(path, data).status_code == status, path
    assert Webhook.objects.get().active
    if user != "nobody":
        assert 'href="/workspace/webhooks/"' not in _text(
            client.get("/workspace/members/")
        )


def test_another_workspace_finds_nothing(world: World, row: WebhookDelivery) -> None:
    client = world.page("stranger")
    for path, data in _posts(row).items():
        assert client.post(path, data).status_code == 404, path
    assert "hooks.example" not in _text(client.get(PAGE))


def test_a_post_without_the_token_is_refused(
    world: World, row: WebhookDelivery
) -> None:
    client = Client(enforce_csrf_checks=True)
    backend = "django.contrib.auth.backends.ModelBackend"
    client.force_login(world.people["owner"], backend=backend)
    for path, data in {PAGE: FORM_DATA, **_posts(row)}.items():
        assert client.post(path, data).status_code == 403, path
    assert Webhook.objects.get().active


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_secret_is_shown_once(world: World, headers: dict[str, str]) -> None:
    client = world.page("owner")
    answer = client.post(PAGE, FORM_DATA, headers=headers)
    assert answer.status_code == 201
    assert "no-store" in answer.headers["Cache-Control"]
    hook = Webhook.objects.get()
    assert hook.secret in _text(answer)
    assert 'data-copy="#secret"' in _text(answer)
    assert ("<html" in _text(answer)) is not bool(headers)
    later = _text(client.get(PAGE))
    assert hook.secret not in later
    assert hook.url in later


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"url": "http://127.0.0.1/"}, 422, "private addresses"),
        ({"url": "ftp://hooks.example/"}, 422, "must begin with"),
        ({"url": ""}, 422, "required"),
        ({"events": ["x"]}, 422, "valid choice"),
        ({"url": "https://taken.example/"}, 409, "There is a webhook"),
    ],
)
def test_refusals_keep_the_input(
    world: World, fields: dict[str, Any], status: int, says: str
) -> None:
    webhooks.create("https://taken.example/", by=world.actor("owner"))
    answer = world.page("owner").post(PAGE, FORM_DATA | fields)
    assert answer.status_code == status
    assert says in _text(answer)
    assert f'value="{fields["url"]}"' in _text(answer) if fields.get("url") else True
    assert Webhook.objects.count() == 1


def test_a_test_is_sent_at_once(
    world: World, row: WebhookDelivery, answers: list[str]
) -> None:
    client, path = world.page("owner"), f"{PAGE}{row.webhook_id}/test/"
    assert "hooks.example arrived" in _text(client.post(path, follow=True))
    answers.append("Answered 500.")
    page = _text(client.post(path, follow=True))
    assert "did not arrive yet" in page
    assert "Answered 500." in page
    deliveries = WebhookDelivery.objects.filter(event=webhooks.TEST)
    assert deliveries.filter(status=DeliveryStatus.SENT).count() == 1


def test_a_delivery_is_replayed(
    world: World, row: WebhookDelivery, answers: list[str]
) -> None:
    client, path = world.page("owner"), f"{PAGE}delivery/{row.id}/"
    assert client.post(path).status_code == 409
    assert path not in _text(client.get(PAGE))
    WebhookDelivery.objects.update(status=DeliveryStatus.FAILED, attempts=6)
    page = _text(client.get(PAGE))
    assert path in page
    assert "failed" in page
    assert "The delivery to hooks.example arrived" in _text(
        client.post(path, follow=True)
    )
    row.refresh_from_db()
    assert (row.status, row.attempts) == (DeliveryStatus.SENT, 1)


def test_a_webhook_is_paused_and_resumed(world: World, row: WebhookDelivery) -> None:
    client, path = world.page("owner"), f"{PAGE}{row.webhook_id}/switch/"
    page = _text(client.post(path, {"active": "off"}, follow=True))
    assert "paused" in page
    assert "Send a test" not in page
    assert client.post(f"{PAGE}{row.webhook_id}/test/").status_code == 409
    assert client.post(path, {"active": "perhaps"}).status_code == 422
    client.post(path, {"active": "on"})
    assert Webhook.objects.get().active


def test_a_webhook_is_removed_after_a_question(
    world: World, row: WebhookDelivery
) -> None:
    client = world.page("owner")
    assert "Remove the webhook to hooks.example?" in _text(client.get(PAGE))
    page = _text(client.post(f"{PAGE}{row.webhook_id}/remove/", follow=True))
    assert "Webhook to hooks.example removed" in page
    assert "No webhook yet." in page


def test_more_webhooks_ask_no_more_of_the_database(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    owner, client = world.actor("owner"), world.page("owner")
    for number in range(6):
        hook = webhooks.create(f"https://h{number}.example/", by=owner)
        for _ in range(webhooks.DELIVERIES_SHOWN + 1):
            webhooks.queue_test(hook, by=owner)
    client.get(PAGE)
    with django_assert_max_num_queries(16):
        page = _text(client.get(PAGE))
    assert page.count("webhook.test") == 6 * webhooks.DELIVERIES_SHOWN
