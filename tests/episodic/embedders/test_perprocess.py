"""Things made once in each process."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor

import pytest

from episodic.embedders import perprocess
from tests.waiting import LIMIT_SECONDS

MAKER = perprocess.PerProcess(os.getpid)


def value() -> int:
    return MAKER.get()


def test_a_value_is_made_at_the_first_use_and_kept() -> None:
    numbers = iter(range(9))
    value = perprocess.PerProcess(lambda: next(numbers))
    assert next(numbers) == 0  # nothing was made so far
    assert [value.get(), value.get()] == [1, 1]


def test_an_error_is_not_remembered() -> None:
    answers = iter([ValueError("not yet"), "made"])

    def make() -> object:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    value = perprocess.PerProcess(make)
    with pytest.raises(ValueError, match="not yet"):
        value.get()
    assert value.get() == "made"


def test_of_many_callers_one_makes_it() -> None:
    calls: list[int] = []
    together = threading.Barrier(4)
    value = perprocess.PerProcess(lambda: calls.append(1))

    def work() -> None:
        together.wait()
        value.get()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_a_forked_child_makes_its_own() -> None:
    parent_value = MAKER.get()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork) as child:
        child_value = child.submit(value).result(timeout=LIMIT_SECONDS)
    assert child_value != parent_value == os.getpid()
