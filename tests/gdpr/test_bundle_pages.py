"""The pages of an access bundle: complete, linked, safe and of bounded size."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

import pytest

from gdpr.cases import privacy_settings
from gdpr.cases.privacy_settings import Change
from gdpr.export import pages
from gdpr.models import Subject
from memory.integrations.gateway import server as gateway_server
from tests.gdpr import bundle_pages, kit
from tests.gdpr.write_paths import WRITE_PATHS
from tests.world import World

pytestmark = pytest.mark.django_db
WORD = "zanzibarquokkafeather"
HOSTILE = '<script>alert(1)</script>"\'><img src=x onerror=alert(1)>\u202e{% now "Y" %}'
# A page is longer only where one text is.
PAGE_BYTES = 300_000


def entry(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a journal entry as an export has it, one minute after another."""
    moment = datetime(2026, 3, 3, 14, 2, tzinfo=UTC) + timedelta(minutes=number)
    return {
        "place": "journal",
        "id": f"j_{number}",
        "seq": number,
        "ts": f"{moment:%Y-%m-%dT%H:%M:%S}.000Z",
        "entry_type": "memory.recorded",
        "severity": "info",
        "priority": "normal",
        "actor_type": "agent",
        "actor_id": "a_1",
        "crew_id": "c_1",
        "agent_id": "a_1",
        "summary": "likes tea",
        "payload": {},
        **fields,
    }


def files(world: World, *rows: dict[str, Any], language: str = "en") -> dict[str, str]:
    """Return the files of a bundle of made-up journal entries."""
    collection = bundle_pages.collection(world, journal=list(rows))
    return dict(pages.files(collection, language))


# ── Complete ─────────────────────────────────────────────────────────────────
@pytest.fixture
def person(world: World, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """Return a person whom every way in of texts wrote about."""
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)
    person = kit.subject(world, {"pattern": f"{WORD}*"})
    for name, path in WRITE_PATHS.items():
        path.write(world, WORD + name)
    return person


def test_every_text_of_the_data_is_on_a_page(world: World, person: Subject) -> None:
    """Whatever way it was written; and nothing looks like a program's output."""
    bundle = bundle_pages.made(world, person)
    document = json.loads(bundle["data.json"])
    # The place of a row is the page that it is on.
    places = document["places"].values()
    rows = [row | {"place": ""} for place in places for row in place]
    values = [rows, document["subject"], document["actions"]]
    page_words = bundle_pages.words(bundle)
    assert len({row["id"] for row in rows}) > len(WRITE_PATHS)
    assert [text for text in bundle_pages.texts(values) if text not in page_words] == []
    labels = re.findall(r"<dt[^>]*>([^<]+)</dt>", "".join(bundle.values()))
    assert [label for label in labels if "_" in label] == []
    assert '{"' not in page_words


def test_every_link_leads_to_a_page_and_a_place_on_it(
    world: World, person: Subject
) -> None:
    bundle = bundle_pages.made(world, person)
    read = {name: bundle_pages.read(text) for name, text in bundle.items()}
    broken = []
    for name, page in read.items():
        for link in page.links:
            path, _, anchor = link.partition("#")
            target = _resolved(name, path)
            if target not in bundle or (anchor and anchor not in read[target].ids):
                broken.append((name, link))
    assert broken == []
    linked = {
        _resolved(name, link.partition("#")[0])
        for name, page in read.items()
        for link in page.links
    }
    assert set(bundle) - linked == set()


def _resolved(page: str, link: str) -> str:
    """Return the file that a link of a page leads to."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / link).parts if link else (page,):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


# ── Safe ─────────────────────────────────────────────────────────────────────
def test_hostile_text_stays_text_wherever_it_stands(world: World) -> None:
    row = entry(summary=HOSTILE, payload={HOSTILE: [HOSTILE, {"a": HOSTILE}]})
    row |= {"mission_id": HOSTILE, "entry_type": HOSTILE, "ts": HOSTILE}
    record = {"place": "records", "id": HOSTILE, "content": HOSTILE, "kind": HOSTILE}
    version = {"number": 1, "written_at": HOSTILE, "written_by": HOSTILE}
    version |= {"source": HOSTILE, "note": HOSTILE, "text": HOSTILE}
    file = {"place": "files", "id": "f", "path": HOSTILE, "versions": [version]}
    unknown = {"place": "health", "id": f"{HOSTILE}:1", "data": HOSTILE}
    collection = bundle_pages.collection(
        world, HOSTILE, journal=[row], records=[record], files=[file], health=[unknown]
    )
    bundle = dict(pages.files(collection, "en"))
    for name, text in bundle.items():
        if name.endswith("html"):
            assert "<script" not in text, name
            assert "<img" not in text, name
            assert f"{datetime.now(UTC):%Y}{{" not in text
    assert HOSTILE in bundle_pages.words(bundle)


def test_a_page_loads_nothing_and_runs_nothing(world: World) -> None:
    for name, text in files(world, entry()).items():
        assert not re.search(r"<(script|img|link|iframe|form)\b|@import|url\(", text), (
            name
        )


# ── Bounded ──────────────────────────────────────────────────────────────────
def test_a_page_has_a_bounded_size(world: World) -> None:
    """Few rows that are long, many that are short, many on one day."""
    long_rows = [entry(number, summary="word " * 4_000) for number in range(40)]
    short_rows = [entry(number, payload={"n": number}) for number in range(40, 640)]
    bundle = files(world, *long_rows, *short_rows)
    sizes = {name: len(text.encode()) for name, text in bundle.items()}
    del sizes["data.json"]
    assert max(sizes.values()) < PAGE_BYTES, sizes
    assert "days/2026-03-2.html" in bundle


def test_a_text_longer_than_a_page_has_one_of_its_own(world: World) -> None:
    bundle = files(world, entry(1), entry(2, summary="word " * 100_000), entry(3))
    names = [name for name in bundle if name.startswith("places/")]
    assert names == [f"places/journal-00{number}.html" for number in (1, 2, 3)]


# ── Days and languages ───────────────────────────────────────────────────────
def test_days_are_those_of_the_workspace(world: World) -> None:
    """An hour before midnight in London is the next day in Berlin."""
    late = entry(ts="2026-03-31T22:30:00.000Z")
    by = world.actor("owner")
    assert "days/2026-03.html" in files(world, late)
    privacy_settings.change(Change(time_zone="Europe/Berlin"), by=by)
    bundle = files(world, late)
    assert "days/2026-04.html" in bundle
    assert "On 1 April 2026 at 00:30" in bundle_pages.plain(bundle["days/2026-04.html"])
    assert "Europe/Berlin" in bundle["index.html"]


def test_the_calendar_counts_each_day(world: World) -> None:
    rows = [entry(number) for number in range(3)]
    bundle = files(world, *rows, entry(9, ts="2026-05-01T08:00:00.000Z"))
    links = re.findall(
        r'href="(days/[^"]+)" aria-label="([^"]+)"', bundle["calendar.html"]
    )
    assert links == [
        ("days/2026-03.html#day-03", "3 March 2026: 3 notes"),
        ("days/2026-05.html#day-01", "1 May 2026: 1 note"),
    ]


def test_what_has_no_day_is_said(world: World) -> None:
    bundle = files(world, entry(1), entry(2, ts="soon"), entry(3, ts=""))
    page = bundle_pages.plain(bundle["calendar.html"])
    assert "2 entries have no day of their own" in page


def test_a_language_has_its_own_days_and_weeks(world: World) -> None:
    bundle = files(world, entry(), language="de")
    assert '<html lang="de">' in bundle["days/2026-03.html"]
    page = bundle_pages.plain(bundle["calendar.html"])
    assert "März 2026" in page
    assert page.index("Mo") < page.index("So")
