"""Repeats over HTTP: the same answer, written once."""

from __future__ import annotations

import threading
from datetime import timedelta

from django.db import connections

from memory.models import JournalEntry
from tests.world import Reply, World

GOOD = {"entry_type": "peer.escalation", "summary": "only once"}


def send(world: World, key: str = "k1", caller: str = "ada", **fields: object) -> Reply:
    """Append under a key."""
    headers = {"Idempotency-Key": key}
    return world.api(caller).post("/journal", {**GOOD, **fields}, headers=headers)


def entry_count() -> int:
    """Count what was written."""
    return JournalEntry.objects.filter(summary="only once").count()


def test_a_repeat_is_answered_byte_by_byte(world: World) -> None:
    first, second = send(world), send(world)
    assert (first.status, second.status) == (201, 201)
    assert first.body == second.body
    assert entry_count() == 1


def test_the_order_of_fields_does_not_make_another_body(world: World) -> None:
    first = send(world, payload={"a": 1, "b": 2})
    reordered = dict(reversed(list({**GOOD, "payload": {"b": 2, "a": 1}}.items())))
    headers = {"Idempotency-Key": "k1"}
    assert (
        world.api("ada").post("/journal", reordered, headers=headers).body == first.body
    )


def test_another_body_is_a_conflict(world: World) -> None:
    send(world)
    reply = send(world, severity="error")
    assert (reply.status, reply.code) == (409, "idempotency_mismatch")
    assert entry_count() == 1


def test_a_key_is_one_agents(world: World) -> None:
    ids = {
        send(world, caller=caller).data["id"]
        for caller in ("ada", "lena", "bob", "olga")
    }
    assert len(ids) == 4


def test_a_refused_request_does_not_use_up_its_key(world: World) -> None:
    assert send(world, summary="").status == 422
    assert send(world).status == 201


def test_without_a_key_a_repeat_is_another_entry(world: World) -> None:
    for _ in range(2):
        assert world.api("ada").post("/journal", GOOD).status == 201
    assert entry_count() == 2


def test_a_batch_repeats_too(world: World) -> None:
    headers = {"Idempotency-Key": "b1"}
    body = {"entries": [GOOD, {"summary": "bad"}, GOOD]}
    replies = [
        world.api("ada").post("/journal/batch", body, headers=headers) for _ in "ab"
    ]
    assert replies[0].body == replies[1].body
    assert entry_count() == 2
    other = {"entries": [GOOD]}
    reply = world.api("ada").post("/journal/batch", other, headers=headers)
    assert reply.status == 409


def test_a_key_of_a_batch_is_not_a_key_of_an_entry(world: World) -> None:
    headers = {"Idempotency-Key": "k1"}
    world.api("ada").post("/journal/batch", {"entries": [GOOD]}, headers=headers)
    assert send(world).status == 409


def test_a_moment_given_twice_is_the_same_moment(world: World) -> None:
    when = world.entry().ts - timedelta(days=1)
    assert (
        send(world, ts=when.isoformat()).body == send(world, ts=when.isoformat()).body
    )


def test_repeats_at_once_write_once(shared_world: World) -> None:
    replies: list[Reply] = []

    def repeat() -> None:
        replies.append(send(shared_world))
        connections.close_all()

    threads = [threading.Thread(target=repeat) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply.status for reply in replies] == [201] * 5
    assert len({reply.body for reply in replies}) == 1
    assert entry_count() == 1
