"""A request by the form is sent again while its link is opened."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core import mail as django_mail
from django.db import connection, transaction

from gdpr.cases import privacy_settings
from gdpr.cases.privacy_settings import Change
from gdpr.intake import form
from gdpr.intake.receive import NewRequest
from gdpr.models import Case, CaseKind
from tests import waiting
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
_WAITS = "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted"


def _request(name: str) -> NewRequest:
    return NewRequest(kind=CaseKind.ERASURE, email=f"{name}@example.org")


def _is_waiting(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_WAITS, [pid])
        return bool(cursor.fetchone()[0])


def test_one_waits_for_the_other(world: World, settings: Any) -> None:
    settings.MAIL_SERVER = True
    privacy_settings.change(Change(intake=True), by=world.actor("owner"))
    form.ask(world.acme, _request("mara"), "")
    token, pids = str(django_mail.outbox[-1].body).split("/confirm/")[1][:43], [0]

    def confirm() -> None:
        try:
            connection.ensure_connection()
            pids[0] = connection.connection.info.backend_pid
            form.confirm(token)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            form.ask(world.acme, _request("nils"), "")
            confirming = pool.submit(confirm)
            waiting.until(lambda: _is_waiting(pids[0]))
            form.ask(world.acme, _request("mara"), "")
        confirming.result()
    assert Case.objects.get(workspace=world.acme).opened_by == "request form"
