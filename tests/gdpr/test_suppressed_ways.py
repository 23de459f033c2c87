"""Every way in for text refuses a suppressed person; the others are listed."""

from __future__ import annotations

from typing import Final

import pytest

from gdpr import linking, suppression
from memory.accounts import workspaces
from memory.ports import subject_linker
from memory.rules import errors
from tests.gdpr import erasing, kit
from tests.gdpr.write_paths import WRITE_PATHS
from tests.world import World

# Ways that keep such a text, and why.
KEPT: Final = {
    "disk": "a file that somebody changed by hand is indexed as it is",
    "rejected": "a proposal is checked by the run that makes it",
    "learned": "a proposal is checked by the run that makes it",
    "case": "an officer writes about the person in a case",
    "hold": "an officer writes about the person in a hold",
}


def _suppressed(world: World, *aliases: tuple[str, str]) -> None:
    person = erasing.subject(world, *aliases)
    suppression.suppress(person)
    person.aliases.all().delete()


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(WRITE_PATHS.keys() - KEPT.keys()))
def test_a_way_in_keeps_no_suppressed_name(world: World, name: str) -> None:
    word = f"zq{name}quokka"
    _suppressed(world, ("user_id", word))
    try:
        WRITE_PATHS[name].write(world, word)
    except errors.Conflict as refusal:
        assert refusal.problem_code == "subject_suppressed"
    except (AssertionError, LookupError, errors.AppError, TypeError):
        # The way asserts an answer of 200, or goes on with what it wrote.
        pass
    assert kit.in_tables(word) == {}
    assert kit.in_folders(word) == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("slug", "name", "is_kept"),
    [
        ("web", "Maria Keller", False),
        ("web", "M. Keller", False),
        ("web", "Keller Maria", False),
        ("web", "MariaKeller", False),
        ("web", "TWFyaWEgS2VsbGVy", False),
        ("keller-maria", "", False),
        ("m-keller", "", False),
        ("mariakeller", "", False),
        ("web", "kellermaria", False),
        ("support", "", True),
        ("lilian", "", True),
        ("mariakellers", "", True),
        ("keller", "The crew of Keller", True),
    ],
)
def test_no_crew_or_agent_is_named_after_them(
    world: World, slug: str, name: str, is_kept: bool
) -> None:
    _suppressed(
        world,
        ("name", "Maria Keller"),
        ("handle", "support"),
        ("name", "Li Lian"),
    )
    by = world.actor("owner")
    crew = world.crews["billing"]

    def refused(make: str) -> bool:
        try:
            if make == "crew":
                workspaces.ensure_crew(slug, by=by, name=name)
            else:
                workspaces.ensure_agent(slug, crew, by=by, name=name)
        except errors.Conflict as refusal:
            assert refusal.problem_code == "subject_suppressed"
            return True
        return False

    assert [refused("crew"), refused("agent")] == [not is_kept] * 2


@pytest.mark.django_db
def test_who_is_suppressed_after_the_check_is_refused_in_the_transaction(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _suppressed(world, ("email", "first@example.org"))
    check = subject_linker.gate(world.acme.id)
    _suppressed(world, ("email", "maria@example.org"))
    # The check of an append that began before.
    monkeypatch.setattr(subject_linker, "gate", lambda _workspace_id: check)
    with pytest.raises(errors.Conflict) as refusal:
        world.entry("from maria@example.org")
    assert refusal.value.problem_code == "subject_suppressed"
    monkeypatch.setattr(linking, "RECHECK_SECONDS", 0.0)
    assert world.entry("from maria@example.org")
