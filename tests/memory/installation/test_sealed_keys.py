"""Keys in the database: one secret opens them, another one changes nothing."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory import data_folder_adoption
from memory.installation import identity as installation
from memory.installation import keys, sealed_keys
from memory.journal import verify
from memory.models import Installation, JournalEntry, KeyFingerprint, SealedKey
from tests.world import World

pytestmark = pytest.mark.django_db
SEALED = [key for key in keys.KEYS if key.name != "secret"]


@pytest.fixture
def sealed(world: World, settings: Any, tmp_path: Path) -> dict[str, str]:
    """Return the keys of an installation that keeps them in the database alone."""
    texts = {key.name: keys.value(key) for key in keys.KEYS}
    Installation.objects.update(bodies="database")
    settings.BODIES = "database"
    settings.DATA_DIR = tmp_path
    keys.seal_present()
    _forget_keys(settings)
    return texts


def _forget_keys(settings: Any) -> None:
    """Be a process that has just begun, with the secret from its environment."""
    for key in SEALED:
        setattr(settings, key.setting, "")
    installation.forget()


def test_a_machine_with_the_secret_has_every_key(
    world: World, sealed: dict[str, str], tmp_path: Path
) -> None:
    assert installation.problem() is None
    assert {key.name: keys.value(key) for key in keys.KEYS} == sealed
    assert verify.verify(world.acme.id, by=world.system()).ok
    assert [path.name for path in (tmp_path / "keys").glob("*.key")] == []
    for row in SealedKey.objects.all():
        assert sealed[row.name] not in row.sealed


def test_with_another_secret_it_is_not_ready_and_nothing_is_overwritten(
    world: World, sealed: dict[str, str], settings: Any
) -> None:
    before = list(SealedKey.objects.order_by("name").values())
    prints = list(KeyFingerprint.objects.order_by("name").values())
    right = settings.SECRET_KEY
    settings.SECRET_KEY = "another one"
    _forget_keys(settings)
    assert "CREWSHIP_SECRET_KEY is not the one on record" in str(installation.problem())
    with pytest.raises(installation.NotReady):
        installation.key("journal")
    assert list(SealedKey.objects.order_by("name").values()) == before
    assert list(KeyFingerprint.objects.order_by("name").values()) == prints
    settings.SECRET_KEY = right
    installation.forget()
    assert installation.problem() is None


def test_a_sealed_key_opens_in_its_own_row_alone(
    world: World, sealed: dict[str, str]
) -> None:
    journal = SealedKey.objects.get(name="journal")
    SealedKey.objects.filter(name="gateway").update(sealed=journal.sealed)
    with pytest.raises(sealed_keys.Broken):
        sealed_keys.read("gateway")
    assert sealed_keys.get("gateway") == ""
    assert "keys/gateway.key" in str(installation.problem())


def test_of_two_that_make_a_key_one_wins(world: World, sealed: dict[str, str]) -> None:
    assert sealed_keys.make("new", "first") == "first"
    assert sealed_keys.make("new", "second") == "first"
    assert (sealed_keys.remove("new"), sealed_keys.remove("new")) == (True, False)


def test_a_key_that_the_environment_gives_is_not_stored(
    world: World, settings: Any, tmp_path: Path
) -> None:
    settings.BODIES = "database"
    settings.KEYS_FROM_ENVIRONMENT = {"journal.key"}
    keys.seal_present()
    assert sealed_keys.names("") == ["exports", "gateway"]


def test_another_secret_seals_again_and_is_journaled(
    world: World, sealed: dict[str, str], settings: Any, tmp_path: Path
) -> None:
    former = tmp_path / "former"
    former.write_text(f"{settings.SECRET_KEY}\n")
    wrong = tmp_path / "wrong"
    wrong.write_text("not that one")
    settings.SECRET_KEY = "a new secret for every machine"
    _forget_keys(settings)
    with pytest.raises(CommandError, match="nothing was changed"):
        call_command("reseal_keys", str(wrong))
    assert installation.problem() is not None
    out = StringIO()
    call_command("reseal_keys", str(former), stdout=out)
    assert "3 keys are sealed under the new one" in out.getvalue()
    _forget_keys(settings)
    assert installation.problem() is None
    assert {key.name: keys.value(key) for key in SEALED} == {
        name: text for name, text in sealed.items() if name != "secret"
    }
    entries = JournalEntry.objects.filter(entry_type="installation.secret_changed")
    assert entries.filter(workspace=world.acme).count() == 1


def test_keys_are_not_sealed_again_where_they_are_files(
    world: World, tmp_path: Path
) -> None:
    former = tmp_path / "former"
    former.write_text("whatever")
    with pytest.raises(CommandError, match="No key is sealed"):
        call_command("reseal_keys", str(former))


def test_a_lost_secret_is_given_up_with_what_was_sealed_under_it(
    world: World, sealed: dict[str, str], settings: Any
) -> None:
    world.entry("before")
    settings.SECRET_KEY = "the former one is lost"
    _forget_keys(settings)
    losses = data_folder_adoption.losses()
    assert any("cannot be reproduced any more" in line for line in losses)
    data_folder_adoption.adopt("the secret is lost")
    _forget_keys(settings)
    assert installation.problem() is None
    assert keys.value(keys.BY_NAME["journal"]) != sealed["journal"]
