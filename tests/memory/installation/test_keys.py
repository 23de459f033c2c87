"""A key is on record, made once, and never made anew where something stands on it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from gdpr.certificates import keys as signing_keys
from gdpr.models import SigningKey
from memory.installation import identity as installation
from memory.integrations.gateway import settings as gateway_settings
from memory.journal import append as journal
from memory.models import Installation, JournalEntry, KeyFingerprint
from memory.rules import errors
from tests import factories
from tests.world import World

NAMES = [
    ("JOURNAL_KEY", "journal"),
    ("GATEWAY_KEY", "gateway"),
    ("EXPORT_KEY", "exports"),
]


def _without_rows() -> None:
    """Make the database one that was never told about keys."""
    Installation.objects.all().delete()
    KeyFingerprint.objects.all().delete()
    installation.forget()


def test_every_key_has_a_fingerprint_that_is_not_the_key(
    world: World, data_dir: Path, settings: Settings
) -> None:
    rows = dict(KeyFingerprint.objects.values_list("name", "fingerprint"))
    assert set(rows) == {"secret", "journal", "gateway", "exports"}
    for name in ("SECRET_KEY", "JOURNAL_KEY", "GATEWAY_KEY", "EXPORT_KEY"):
        assert getattr(settings, name) not in rows.values()
    assert len(set(rows.values())) == 4


@pytest.mark.parametrize("value", ["", "another-key"])
@pytest.mark.parametrize(("setting", "name"), NAMES)
def test_a_key_that_is_gone_or_another_is_not_ready(
    world: World,
    data_dir: Path,
    settings: Settings,
    setting: str,
    name: str,
    value: str,
) -> None:
    factories.append(world.actor("ada"))
    count = JournalEntry.objects.count()
    setattr(settings, setting, value)
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    (reason,) = answer.json()["reasons"]
    assert f"keys/{name}.key (CREWSHIP_{setting}) is " in reason
    with pytest.raises(installation.NotReady):
        factories.append(world.actor("ada"))
    with pytest.raises(installation.NotReady):
        installation.key(name)
    assert JournalEntry.objects.count() == count
    assert not (data_dir / "keys" / f"{name}.key").exists()


def test_nothing_is_appended_beside_the_data_folder_of_another_installation(
    world: World, data_dir: Path, settings: Settings
) -> None:
    factories.append(world.actor("ada"))
    count = JournalEntry.objects.count()
    settings.DATA_DIR = data_dir / "another"
    settings.DATA_DIR.mkdir()
    with pytest.raises(installation.NotReady):
        factories.append(world.actor("ada"))
    assert JournalEntry.objects.count() == count


def test_another_secret_key_is_not_ready(
    world: World, data_dir: Path, settings: Settings
) -> None:
    settings.SECRET_KEY = "rotated-without-a-word"
    assert "keys/secret.key" in str(installation.problem())


def test_nothing_follows_a_chain_that_another_key_signed(
    world: World, data_dir: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process that began before the key was another one, and does not know yet.
    monkeypatch.setattr(installation, "CHECK_SECONDS", 3_600.0)
    factories.append(world.actor("ada"))
    settings.JOURNAL_KEY = "another-key"
    with pytest.raises(installation.NotReady) as caught:
        factories.append(world.actor("ada"))
    assert caught.value.detail == journal.FOREIGN_END


# ── An installation from before there were records ───────────────────────────
def test_what_fits_together_is_recorded(world: World, data_dir: Path) -> None:
    before = Installation.objects.get().installation_id
    _without_rows()
    assert installation.problem() is None
    assert Installation.objects.get().installation_id == before
    assert KeyFingerprint.objects.count() == 4


def test_a_folder_from_before_the_marks_is_marked(world: World, data_dir: Path) -> None:
    world.file()
    for name in ("keys", "files", "blobs"):
        (data_dir / name / "installation.id").unlink()
    installation.forget()
    assert installation.problem() is not None
    _without_rows()
    assert installation.problem() is None
    installation_id = Installation.objects.get().installation_id
    for name in ("keys", "files", "blobs"):
        assert (data_dir / name / "installation.id").read_text() == installation_id
    assert (
        world.api("ada").post("/memory/tools/memory.read", {"tier": "AGENT"}).data["ok"]
    )


@pytest.mark.parametrize("value", ["", "another-key"])
def test_a_journal_key_that_signed_nothing_here_is_not_recorded(
    world: World, data_dir: Path, settings: Settings, value: str
) -> None:
    _without_rows()
    settings.JOURNAL_KEY = value
    assert "keys/journal.key" in str(installation.problem())
    assert not Installation.objects.exists()
    assert not (data_dir / "keys" / "journal.key").exists()


@pytest.mark.parametrize("value", ["", "another-key"])
def test_a_gateway_key_that_opens_nothing_is_not_recorded(
    world: World, data_dir: Path, settings: Settings, value: str
) -> None:
    section = {
        "mode": "memory_gateway",
        "gateway": {
            "baseUrl": "https://gateway.example",
            "userId": "riko",
            "userKey": "uk_secret",
            "scope": ["all_user_memory"],
        },
    }
    gateway_settings.save(section, by=world.actor("owner"))
    _without_rows()
    settings.GATEWAY_KEY = value
    assert "keys/gateway.key" in str(installation.problem())
    assert not Installation.objects.exists()


def test_a_key_that_nothing_stands_on_is_made(
    world: World, data_dir: Path, settings: Settings
) -> None:
    _without_rows()
    settings.GATEWAY_KEY = ""
    assert installation.problem() is None
    path = data_dir / "keys" / "gateway.key"
    assert path.read_text() == settings.GATEWAY_KEY != ""
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_without_the_known_files_is_not_taken_for_ours(
    world: World, data_dir: Path
) -> None:
    world.file()
    _without_rows()
    shutil.rmtree(data_dir / "files")
    assert "the data folder has none of them" in str(installation.problem())
    assert not Installation.objects.exists()


def test_folders_of_two_installations_are_not_taken_for_ours(
    world: World, data_dir: Path
) -> None:
    _without_rows()
    (data_dir / "blobs" / "installation.id").write_text("inst_0123456789abcdef")
    assert "come from different installations" in str(installation.problem())


# ── The key that signs certificates ──────────────────────────────────────────
def test_a_signing_key_is_not_made_beside_one_that_was_lost(
    world: World, data_dir: Path
) -> None:
    row, _ = signing_keys.current()
    path = data_dir / "keys" / f"certificates-{row.key_id}.pem"
    path.unlink()
    with pytest.raises(errors.Unavailable):
        signing_keys.current()
    assert SigningKey.objects.count() == 1
    assert path.name in str(installation.problem())

    key, retired = signing_keys.rotate()
    assert [retired_key.key_id for retired_key in retired] == [row.key_id]
    assert signing_keys.current()[0] == key
    assert installation.problem() is None


def test_another_key_under_the_name_of_the_signing_key_signs_nothing(
    world: World, data_dir: Path
) -> None:
    row, _ = signing_keys.current()
    path = data_dir / "keys" / f"certificates-{row.key_id}.pem"
    SigningKey.objects.update(retired_at=row.made_at)
    other, _ = signing_keys.current()
    SigningKey.objects.filter(pk=other.pk).delete()
    SigningKey.objects.update(retired_at=None)
    (data_dir / "keys" / f"certificates-{other.key_id}.pem").replace(path)
    assert "is not the key on record" in str(signing_keys.problem())
    with pytest.raises(errors.Unavailable):
        signing_keys.current()
