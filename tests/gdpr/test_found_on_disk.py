"""A person who was erased does not come back by a file changed on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from gdpr import suppression
from gdpr.models import Suppression
from memory import scanner
from memory.files import reconcile, scan_context, suppressed_names, tools
from memory.models import HeldFile, MemoryFile
from memory.review import decide
from memory.rules import errors
from memory.rules.permissions import Actor
from tests.gdpr import erasing, kit
from tests.gdpr.erasing import MAIL, NAME
from tests.world import ATTACK, World

pytestmark = pytest.mark.django_db
BEFORE = "- Boats\n"


def agent_file(world: World) -> Path:
    arguments = {"tier": "AGENT", "content": BEFORE, "mode": "replace"}
    assert tools.call("memory.write", arguments, by=world.actor("ada")).ok
    file = MemoryFile.objects.get(label="AGENT.md", workspace=world.acme)
    return Path(settings.DATA_DIR) / "files" / file.path


@pytest.fixture
def suppressed(world: World) -> World:
    subject = erasing.maria(world)
    suppression.suppress(subject)
    subject.aliases.all().delete()
    return world


def read(world: World) -> str:
    return str(tools.call("memory.read", {"tier": "AGENT"}, by=world.actor("ada")))


@pytest.mark.parametrize("line", [f"- {NAME} likes tea", f"- write to {MAIL}"])
def test_a_line_by_hand_is_held_and_what_was_there_is_served(
    suppressed: World, line: str
) -> None:
    path = agent_file(suppressed)
    path.write_text(f"{BEFORE}- Tea\n{line}\n")
    report = reconcile.sweep()
    assert report.held == 1
    assert path.read_text() == BEFORE
    assert line not in read(suppressed)
    held_rows = HeldFile.objects.get()
    # What the scanner finds besides stands behind it.
    finding = held_rows.findings[0]
    body = bytes(held_rows.body).decode()
    assert body[finding["start"] : finding["end"]] == line
    assert (held_rows.family, finding["rule"], finding["why"]) == (
        suppressed_names.FAMILY,
        suppressed_names.RULE,
        suppressed_names.WHY,
    )


def test_it_is_judged_as_the_workspace_judges_what_is_on_the_disk(
    suppressed: World,
) -> None:
    path = agent_file(suppressed)
    off = {rule.id: "off" for rule in scanner.rules() if rule.family == "override"}
    suppressed.set(scanner_rules=off)
    path.write_text(f"{BEFORE}- {NAME}\n{ATTACK}\n")
    reconcile.sweep()
    case = HeldFile.objects.get()
    assert "override" not in {finding["family"] for finding in case.findings}
    assert len(case.findings) > 1
    assert scan_context.context_of(case).writer == "unknown"


def test_other_lines_come_in_and_lines_that_stayed_are_no_reason(world: World) -> None:
    path = agent_file(world)
    path.write_text(f"{BEFORE}- {NAME} stays by decision\n")
    assert reconcile.sweep().changed == 1
    suppression.suppress(erasing.maria(world))
    path.write_text(f"{BEFORE}- {NAME} stays by decision\n- Tea\n")
    assert reconcile.sweep().changed == 1
    assert not HeldFile.objects.exists()


def test_a_card_about_her_does_not_come_in_by_its_name(suppressed: World) -> None:
    card = agent_file(suppressed).parent / "peers" / "maria-lopez-quintanilla.md"
    card.parent.mkdir()
    card.write_text("Likes tea.\n")
    assert reconcile.sweep().held == 1
    assert not card.exists()
    assert kit.in_files("maria-lopez") == {}
    assert kit.in_tables("maria-lopez") == {}
    held_rows = HeldFile.objects.get()
    assert held_rows.key.startswith(suppressed_names.WITHHELD)
    assert bytes(held_rows.body) == b"Likes tea.\n"


def test_a_name_over_two_lines_is_held(suppressed: World) -> None:
    first, _, last = NAME.partition(" ")
    path = agent_file(suppressed)
    path.write_text(f"{BEFORE}{first}\n{last}\n")
    assert reconcile.sweep().held == 1


def test_it_is_released_only_where_the_name_may_come_back(suppressed: World) -> None:
    world = suppressed
    path = agent_file(world)
    text = f"{BEFORE}- {NAME} likes tea\n"
    path.write_text(text)
    reconcile.sweep()
    held_rows, by = HeldFile.objects.get(), world.actor("operator")
    with pytest.raises(errors.Conflict) as refusal:
        _release(held_rows, by)
    assert refusal.value.problem_code == "subject_suppressed"
    for row in Suppression.objects.all():
        suppression.lift(row.pk, "She is a customer again", by=world.actor("owner"))
    _release(HeldFile.objects.get(), by)
    assert path.read_text() == text


def _release(held: HeldFile, by: Actor) -> None:
    decide.decide(
        held, decide.Decision.RELEASE, version=held.version, reason="Fine", by=by
    )


def test_the_held_words_are_erased_like_all_others(suppressed: World) -> None:
    world = suppressed
    agent_file(world).write_text(f"{BEFORE}- {NAME} likes tea\n")
    reconcile.sweep()
    second_answer = erasing.maria(world)
    assert kit.matches_in("held", second_answer)
    kit.erase("held", second_answer)
    assert not kit.matches_in("held", second_answer)
    assert (
        NAME.lower()
        not in bytes(b"".join(bytes(row.body) for row in HeldFile.objects.all()))
        .decode()
        .lower()
    )


def test_the_held_page_says_why(suppressed: World) -> None:
    world = suppressed
    agent_file(world).write_text(f"{BEFORE}- {NAME} likes tea\n")
    reconcile.sweep()
    held_rows = HeldFile.objects.get()
    page = world.page("operator")
    for address in ("/quarantine/", f"/quarantine/{held_rows.pk}/"):
        reply = page.get(address)
        assert reply.status_code == 200
        assert "suppressed person" in reply.content.decode().lower()
    assert "it names a person who was erased" in reply.content.decode()
