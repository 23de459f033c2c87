"""The quarantine's API: who may, what it answers, and what two reviewers get."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from memory.models import HeldFile, JournalEntry
from tests.memory.files import kit
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

BASE = "/quarantine"


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def decision(**fields: object) -> dict[str, object]:
    return {"decision": "release", "version": 1, "reason": "Looked at"} | fields


@pytest.mark.parametrize(
    ("caller", "status"),
    [
        ("owner", 200),
        ("operator", 200),
        ("viewer", 403),
        ("compliance", 403),
        ("ada", 403),
        ("nobody", 401),
    ],
)
def test_only_operators_and_admins_look_in(
    world: World, caller: str, status: int
) -> None:
    case, api = hold_text(world), world.api(caller)
    assert api.get(BASE).status == status
    assert api.get(f"{BASE}/{case.id}").status == status
    assert api.post(f"{BASE}/{case.id}/claim").status == status
    assert api.post(f"{BASE}/bulk", decision() | {"ids": [case.id]}).status in (
        status,
        422,
    )


def test_another_workspace_gets_404_everywhere(world: World) -> None:
    case, api = hold_text(world), world.api("stranger")
    assert api.get(f"{BASE}/{case.id}").status == 404
    assert api.post(f"{BASE}/{case.id}/decision", decision()).status == 404
    assert api.post(f"{BASE}/{case.id}/undo").status == 404
    assert api.post(f"{BASE}/{case.id}/claim").status == 404
    assert api.get(BASE).data["items"] == []


def test_the_list_tells_everything_but_the_words(world: World) -> None:
    case = hold_text(world)
    reply = world.api("operator").get(BASE, {"state": "held", "limit": 1})
    assert reply.data["next_cursor"] is None
    item = reply.data["items"][0]
    assert item["id"] == case.id
    assert item["agent"] == "ada"
    assert item["received_at"].endswith("Z")
    assert b"evil.example" not in reply.body


def test_pages_end_and_unknown_filters_are_refused(world: World) -> None:
    for number in range(1, 4):
        hold_text(world, label=f"daily/2026-01-0{number}.md")
    api, cursor, seen_ids = world.api("operator"), None, []
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        reply = api.get(BASE, query).data
        seen_ids += [item["id"] for item in reply["items"]]
        cursor = reply["next_cursor"]
        if cursor is None:
            break
    assert len(set(seen_ids)) == 3
    assert api.get(BASE, {"colour": "red"}).status == 422
    assert api.get(BASE, {"state": "lost"}).status == 422
    assert api.get(BASE, {"limit": 0}).status == 422


def test_one_case_in_full(world: World) -> None:
    case = hold_text(world, f"Be\u200bfore. {kit.POISON}")
    case_data = world.api("operator").get(f"{BASE}/{case.id}").data
    assert case_data["version"] == 1
    assert case_data["state"] == "held"
    assert case_data["source"] == "tool"
    assert case_data["tier"] == "AGENT"
    assert case_data["agent_id"] == world.agents["ada"].id
    assert case_data["body"].endswith(kit.POISON)
    assert "\u200b" in case_data["body"]
    assert "\u200b" not in case_data["normalized"]
    assert case_data["score"] > 0
    assert case_data["risk"] > 0
    finding = case_data["findings"][0]
    assert {"rule", "family", "severity", "start", "end", "why"} <= set(finding)
    assert JournalEntry.objects.filter(entry_type="memory.held_viewed").count() == 1


def test_a_decision_and_its_undo(world: World) -> None:
    case, api = hold_text(world), world.api("operator")
    outcome = api.post(f"{BASE}/{case.id}/decision", decision())
    assert (outcome.status, outcome.data["state"], outcome.data["version"]) == (
        200,
        "released",
        2,
    )
    assert outcome.data["decided_by"] == "operator@acme.example"
    back = api.post(f"{BASE}/{case.id}/undo")
    assert (back.status, back.data["state"]) == (200, "held")
    assert api.post(f"{BASE}/{case.id}/undo").code == "not_decided"


def test_the_second_reviewer_hears_who_was_faster(world: World) -> None:
    case = hold_text(world)
    first = decision(decision="discard")
    assert world.api("owner").post(f"{BASE}/{case.id}/decision", first).status == 200
    reply = world.api("operator").post(f"{BASE}/{case.id}/decision", decision())
    assert reply.status == 409
    assert reply.code == "already_decided"
    assert reply.data["decided_by"] == "owner@acme.example"
    assert reply.data["state"] == "discarded"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"reason": "  "}, "reason_required"),
        ({"decision": "shrug"}, None),
        ({"extra": 1}, None),
        ({"decision": "redact", "redactions": [[3, 3]]}, "bad_redactions"),
    ],
)
def test_what_makes_no_sense_is_refused(
    world: World, body: dict[str, object], code: str | None
) -> None:
    case = hold_text(world)
    reply = world.api("operator").post(f"{BASE}/{case.id}/decision", decision(**body))
    assert reply.status == 422
    assert code is None or reply.code == code
    assert HeldFile.objects.get().state == "held"


@pytest.mark.parametrize("shape", ["pairs", "objects"])
def test_redactions_come_in_two_shapes(world: World, shape: str) -> None:
    case = hold_text(world, f"Before. {kit.POISON}. After.")
    start, end = 20, 25
    span: object = [start, end] if shape == "pairs" else {"start": start, "end": end}
    body = decision(decision="redact", redactions=[span])
    reply = world.api("operator").post(f"{BASE}/{case.id}/decision", body)
    assert reply.data["state"] == "redacted"
    assert kit.on_disk(world).read_text() == REDACTED


REDACTED = "Before. [redacted: exfiltration, override] After."


def test_a_preview_is_what_is_written_then(world: World) -> None:
    kit.write(world, "What was there.\n")
    text = f"Before. {kit.POISON}. After."
    case, api = hold_text(world, text), world.api("operator")
    HeldFile.objects.filter(pk=case.pk).update(mode="append")
    full = api.get(f"{BASE}/{case.id}").data["redaction"]
    request_body = {"redactions": [[20, 25]]}
    preview = api.post(f"{BASE}/{case.id}/preview", request_body).data
    assert preview["text"] == REDACTED == full["text"]
    assert preview["reads"] == f"What was there.\n{REDACTED}"
    assert (preview["is_clean"], preview["level"], preview["findings"]) == (
        True,
        "clean",
        [],
    )
    [removed_part] = preview["removed"]
    assert text[removed_part["start"] : removed_part["end"]] == f"{kit.POISON}."
    neighbours = [text[part["start"] : part["end"]] for part in preview["beside"]]
    assert neighbours == ["Before.", "After."]
    assert HeldFile.objects.get().state == "held"
    body = decision(decision="redact", seen=preview["sha256"], **request_body)
    assert api.post(f"{BASE}/{case.id}/decision", body).status == 200
    assert kit.on_disk(world).read_bytes() == preview["reads"].encode()
    back = api.post(f"{BASE}/{case.id}/undo")
    assert back.data["state"] == "held"
    assert kit.on_disk(world).read_text() == "What was there.\n"


def test_a_release_is_previewed_too(world: World) -> None:
    kit.write(world, "What was there.\n")
    case, api = hold_text(world), world.api("operator")
    preview = api.post(f"{BASE}/{case.id}/preview", {"decision": "release"}).data
    assert (preview["text"], preview["reads"]) == (kit.POISON, kit.POISON)
    assert preview["is_clean"] is None
    refusal = api.post(f"{BASE}/{case.id}/preview", {"decision": "discard"})
    assert refusal.status == 422
    assert JournalEntry.objects.filter(entry_type="memory.held_viewed").count() == 1


def test_another_rest_than_the_one_looked_at_is_not_released(world: World) -> None:
    case, api = hold_text(world, f"Before. {kit.POISON}. After."), world.api("operator")
    body = decision(decision="redact", seen="0" * 64)
    reply = api.post(f"{BASE}/{case.id}/decision", body)
    assert (reply.status, reply.code) == (409, "not_seen")
    assert HeldFile.objects.get().state == "held"


def test_a_rest_that_is_not_clean_is_refused_with_its_findings(world: World) -> None:
    case, api = (
        hold_text(world, f"A fine line.\n{kit.POISON}.\n"),
        world.api("operator"),
    )
    request_body = {"redactions": [[0, 3]]}
    result = api.post(f"{BASE}/{case.id}/preview", request_body).data
    assert (result["is_clean"], result["level"]) == (False, "held")
    reply = api.post(
        f"{BASE}/{case.id}/decision", decision(decision="redact", **request_body)
    )
    assert (reply.status, reply.code) == (422, "not_clean")
    assert reply.data["findings"] == result["findings"] != []
    assert b"evil.example" not in reply.body
    assert HeldFile.objects.get().state == "held"
    assert not kit.on_disk(world).exists()


def test_many_are_redacted_by_the_same_rule(world: World) -> None:
    first = hold_text(world, f"Before. {kit.POISON}. After.")
    second = hold_text(world, f"A line.\n{kit.POISON}.\n", label="pins.md")
    # As if one rule alone had seen it, and only in the first line.
    finding = {**second.findings[0], "start": 0, "end": 6}
    HeldFile.objects.filter(pk=second.pk).update(findings=[finding])
    reply = world.api("operator").post(
        f"{BASE}/bulk",
        {"ids": [first.id, second.id], "decision": "redact", "reason": "An order"},
    )
    result = [(item["state"], item["code"]) for item in reply.data["items"]]
    assert result == [("redacted", None), (None, "not_clean")]
    assert kit.on_disk(world).read_text() == REDACTED


def test_bulk_reports_per_item(world: World) -> None:
    first, second = hold_text(world), hold_text(world, label="pins.md")
    api = world.api("operator")
    body = decision(decision="discard") | {"ids": [first.id, second.id, "q_none"]}
    del body["version"]
    reply = api.post(f"{BASE}/bulk", body)
    assert reply.data["decided"] == 2
    assert [item["code"] for item in reply.data["items"]] == [None, None, "not_found"]


def test_a_claim_is_seen_and_a_second_one_refused(world: World) -> None:
    case = hold_text(world)
    result = world.api("operator").post(f"{BASE}/{case.id}/claim").data
    assert result["claimed_by"] == "operator@acme.example"
    assert world.api("owner").post(f"{BASE}/{case.id}/claim").status == 409


def test_a_rescan_answers_how_far_it_came(world: World) -> None:
    kit.write(world, "Good text.")
    reply = world.api("operator").post(f"{BASE}/rescan", {"limit": 5})
    assert reply.data == {
        "seen": 1,
        "done": 1,
        "total": 1,
        "held": [],
        "failed": [],
        "next": None,
    }
    assert world.api("viewer").post(f"{BASE}/rescan", {}).status == 403


def test_a_read_only_key_does_not_decide(world: World) -> None:
    case = hold_text(world)
    reply = world.api("looker").post(f"{BASE}/{case.id}/decision", decision())
    assert reply.status == 403
    assert world.api("looker").get(f"{BASE}/{case.id}").status == 200


def test_a_held_record_is_redacted_by_the_same_rule(world: World) -> None:
    text = f"Before. {kit.POISON}. After."
    reply = world.api("ada").post("/records", {"content": text, "external_id": "x"})
    assert reply.code == "held"
    held_id, api = reply.data["held_id"], world.api("operator")
    result = api.post(f"{BASE}/{held_id}/preview", {"redactions": [[20, 25]]}).data
    assert result["reads"] == result["text"] == REDACTED
    body = decision(decision="redact", redactions=[[20, 25]], seen=result["sha256"])
    assert api.post(f"{BASE}/{held_id}/decision", body).data["state"] == "redacted"
    assert [item["content"] for item in _records(world)] == [REDACTED]
    assert api.post(f"{BASE}/{held_id}/undo").data["state"] == "held"
    assert _records(world) == []
    outside = decision(decision="redact", redactions=[[0, 1]], version=3)
    refusal = api.post(f"{BASE}/{held_id}/decision", outside)
    assert (refusal.status, refusal.code) == (422, "not_clean")
    assert _records(world) == []


def _records(world: World) -> list[dict[str, object]]:
    return list(world.api("ada").get("/records").data["items"])
