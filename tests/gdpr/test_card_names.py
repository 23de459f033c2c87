"""A card named after a person's id goes with the person, with the file's name."""

from __future__ import annotations

import pytest

from gdpr.cases import dry_run
from gdpr.matching import slugs
from gdpr.matching.matcher import Name
from gdpr.models import CaseState
from gdpr.subjects import card_names
from memory.files import tools
from tests.gdpr import erasing, kit
from tests.world import World


def card(world: World, key: str) -> None:
    arguments = {
        "tier": "peers",
        "key": key,
        "content": "Likes boats.",
        "mode": "append",
    }
    assert tools.call("memory.write", arguments, by=world.actor("ada")).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "value", "key"),
    [
        ("user_id", "usr_88412", "usr-88412"),
        ("user_id", "usr_88412", "customer-usr-88412"),
        ("user_id", "auth0|5f7c1ad9", "auth0-5f7c1ad9"),
        ("user_id", "88412", "88412"),
        ("handle", "@zore_quax", "zore-quax"),
        ("email", "maria.lopez@canary.example", "maria-lopez-canary-example"),
        ("email", "maria.lopez@canary.example", "maria-lopez-at-canary-example"),
    ],
)
def test_nothing_keeps_the_name_of_the_file(
    shared_world: World, kind: str, value: str, key: str
) -> None:
    world = shared_world
    card(world, key)
    case = erasing.erased(world, erasing.subject(world, (kind, value)))
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    assert kit.in_files(key) == {}
    assert kit.in_tables(key) == {}


def test_a_key_with_a_number_in_it_waits_for_a_decision(world: World) -> None:
    card(world, "customer-88412")
    case = erasing.opened(world, erasing.subject(world, ("user_id", "88412")))
    files = next(r for r in dry_run.look(case).results if r.name == "files")
    assert [row.doubtful for row in files.rows] == [True]


def test_keys_of_others_are_no_alias(world: World) -> None:
    for key in ("usr-884123", "xusr-88412", "anna", "a-b"):
        card(world, key)
    by = world.actor("compliance")
    subject = erasing.subject(world, ("user_id", "usr_88412"), ("handle", "a_b"))
    assert card_names.register(subject, by=by) == 1
    handles = subject.aliases.order_by("pk").values_list("value", flat=True)
    assert list(handles) == ["usr_88412", "a_b", "peers/a-b.md"]
    assert card_names.register(subject, by=by) == 0


def test_what_somebody_else_has_already_is_not_taken(world: World) -> None:
    card(world, "usr-88412")
    erasing.subject(world, ("handle", "usr-88412"))
    subject = erasing.subject(world, ("user_id", "usr_88412"))
    assert card_names.register(subject, by=world.actor("compliance")) == 0


def test_slugs() -> None:
    names = [Name("s", "name", "Maria L"), Name("s", "phone", "+49 151 2345678")]
    assert list(slugs.forms(names)) == []
    assert slugs.slug("  Zoë_Quax.91 ") == "zoe-quax-91"
