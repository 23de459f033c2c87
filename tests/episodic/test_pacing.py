"""When the worker is woken after an append, and who gets a row to embed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from crewship_memory.celery import app
from episodic import tasks
from episodic.index import sweep as index
from episodic.models import Embedding
from memory.jobs import dispatch
from tests import factories
from tests.world import World


def test_one_message_is_under_way_until_the_sweep_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[int] = []
    monkeypatch.setattr(dispatch, "send", lambda *_, **__: messages.append(1))
    monkeypatch.setattr(tasks, "LOST_SECONDS", 1_000)
    app.conf.crewship_delivers = True
    nudge = tasks.Nudge()
    nudge.sweep_started()
    for _ in range(5):
        nudge(embeddable=1)
    assert messages == [1]
    nudge.sweep_started()
    nudge(embeddable=1)
    assert messages == [1, 1]
    monkeypatch.setattr(tasks, "LOST_SECONDS", 0)
    nudge(embeddable=1)
    assert messages == [1, 1, 1]


@pytest.mark.parametrize(
    ("seconds", "gathers"), [(0.0, 0.06), (0.05, 0.15), (9.0, 0.35)]
)
def test_a_long_sweep_is_followed_by_a_longer_pause(
    seconds: float, gathers: float
) -> None:
    nudge = tasks.Nudge()
    nudge.record_duration(seconds)
    assert nudge.gather == pytest.approx(gathers)


def test_a_claim_gives_a_row_to_one_alone(
    world: World,
) -> None:
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(9)])
    index.discover(world.acme.id)
    ids = list(Embedding.objects.values_list("pk", flat=True))
    now = timezone.now()
    assert index.claim(ids[:4], now) == ids[:4]
    assert index.claim(ids, now) == ids[4:]
    assert index.claim(ids, now) == []
    later = now + index.LEASE + timedelta(seconds=1)
    assert index.claim(ids, later) == ids
