"""While entries are being appended, workers rest between texts."""

from __future__ import annotations

import time

import pytest

from episodic import tasks
from episodic.embedders import rests
from episodic.embedders.rests import Rests


@pytest.mark.parametrize(
    ("since_append", "length", "rest"),
    [(0.0, 0.01, 0.01), (0.2, 0.03, 0.03), (0.1, 4.0, 0.05), (0.25, 0.01, 0.0)],
)
def test_a_rest_is_as_long_as_a_text_took_while_appends_keep_coming(
    monkeypatch: pytest.MonkeyPatch, since_append: float, length: float, rest: float
) -> None:
    now = 64.0
    monkeypatch.setattr(time, "monotonic", lambda: now - since_append)
    worker = Rests()
    worker.note_append()
    assert worker.after(now - length, now) == pytest.approx(rest)


def test_without_appends_nobody_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    worker = Rests()
    monkeypatch.setattr(worker, "after", lambda _start, _end: 0.0)
    assert worker.between(str.upper)("a") == "A"
    monkeypatch.setattr(worker, "after", lambda _start, _end: 0.5)
    assert (worker.between(str.upper)("b"), pauses) == ("B", [0.5])


def test_every_append_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Rests()
    monkeypatch.setattr(tasks, "rests", worker)
    tasks.Nudge()(embeddable=0)
    end = time.monotonic()
    assert worker.after(end - 0.01, end) > 0
    assert rests.rests is not worker
