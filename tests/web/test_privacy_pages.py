"""The privacy pages: who sees them, what they say, and a whole erasure by hand."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from gdpr import audit_log, erasure
from gdpr.audit_log import LedgerQuery
from gdpr.cases import dry_run, legal_holds, privacy_settings
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase
from gdpr.export import make as export
from gdpr.models import Case, CaseKind, Hold, Subject, Suppression
from tests.gdpr.erasing import MAIL, NAME, WORD, erased, lived_in, maria, opened
from tests.world import World

LISTS = (
    "cases/", "cases/new/", "subjects/", "holds/", "certificates/", "ledger/",
    "exports/", "kept-out/", "settings/",
)  # fmt: skip


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def get(world: World, path: str, who: str = "compliance") -> Any:
    return world.page(who).get(f"/privacy/{path}")


def post(world: World, path: str, by: str = "compliance", /, **body: Any) -> Any:
    return world.page(by).post(f"/privacy/{path}", body)


def planned(world: World, who: Subject) -> tuple[Case, str, str]:
    """Return a planned case, the hash of its plan and the phrase."""
    case = opened(world, who)
    plan = dry_run.make(case, by=world.actor("compliance"))
    live = Case.objects.get(pk=case.pk)
    return live, plan.plan_hash, cases.phrase(live, plan.plan_hash)


def rules(world: World, **fields: Any) -> None:
    privacy_settings.change(privacy_settings.Change(**fields), by=world.actor("owner"))


# ── Who sees them ────────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("who", "status"),
    [("owner", 200), ("compliance", 200), ("operator", 403), ("viewer", 403)],
)
def test_who_sees_the_pages(world: World, path: str, who: str, status: int) -> None:
    answer = get(world, path, who)
    assert answer.status_code == status
    shown = text(world.page(who).get("/"))
    assert ('href="/privacy/cases/"' in shown) is (status == 200)


def test_another_workspace_finds_nothing(world: World) -> None:
    who = maria(world)
    case = opened(world, who)
    for path in (
        f"cases/{case.id}/",
        f"cases/{case.id}/certificate/",
        f"subjects/{who.id}/",
    ):
        assert get(world, path, "stranger").status_code == 404
    for verb in ("identity", "plan", "approve", "execute", "assign", "comment"):
        answer = post(world, f"cases/{case.id}/{verb}/", "stranger")
        assert answer.status_code == 404
    answer = post(world, f"subjects/{who.id}/names/", "stranger")
    assert answer.status_code == 404
    assert NAME not in text(get(world, "subjects/", "stranger"))


@pytest.mark.parametrize("who", ["operator", "viewer"])
def test_others_may_do_nothing(world: World, who: str) -> None:
    case = opened(world, maria(world))
    for verb in ("identity", "plan", "approve", "execute", "assign", "comment"):
        assert post(world, f"cases/{case.id}/{verb}/", who).status_code == 403
    assert Case.objects.get(pk=case.pk).version == case.version


# ── A whole erasure, without scripts ─────────────────────────────────────────
def test_an_erasure_from_its_request_to_its_run(world: World) -> None:
    lived_in(world)
    answer = post(
        world, "cases/new/", kind="erasure", reason="Consent withdrawn",
        display_name=NAME, email=MAIL,
    )  # fmt: skip
    assert answer.status_code == 302, text(answer)
    path = answer["Location"].removeprefix("/privacy/")
    assert "a dry run comes next" in text(get(world, path))
    assert post(world, f"{path}plan/").status_code == 302
    shown = text(get(world, path))
    assert "nothing touched yet" in shown
    assert "Journal entries" in shown
    [phrase] = set(re.findall(r'class="phrase">([^<]+)<', shown))
    [plan_hash] = re.findall(r'name="plan_hash" value="(\w+)"', shown)
    wrong = post(world, f"{path}execute/", plan_hash=plan_hash, phrase=phrase[:-4])
    assert wrong.status_code == 422
    assert "That is not the phrase" in text(wrong)
    assert phrase[:-4] in text(wrong)
    done = post(world, f"{path}execute/", plan_hash=plan_hash, phrase=phrase)
    assert done.status_code == 302
    running = text(get(world, path))
    assert "run 1 is under way" in running
    assert 'hx-trigger="every' in running


@pytest.mark.slow
def test_the_end_of_an_erasure_and_its_certificate(shared_world: World) -> None:
    world = shared_world
    lived_in(world)
    case = erased(world, maria(world))
    path = f"cases/{case.id}/"
    ended = text(get(world, path))
    assert "Erasure: nothing is left" in ended
    assert 'hx-trigger="every' not in ended
    assert NAME not in ended
    assert MAIL not in ended
    assert "Nothing was found" in ended
    assert "Checked now: signed here" in text(get(world, f"{path}certificate/"))
    file = get(world, f"{path}certificate.json")
    assert "attachment" in file["Content-Disposition"]
    paper = {"text": file.content.decode()}
    check = world.page("nobody").post("/certificates/check/", paper)
    assert "This certificate is valid" in text(check)
    assert case.id in text(get(world, "certificates/"))
    assert "Kept out" in text(get(world, "kept-out/"))


@pytest.mark.slow
def test_the_live_part_asks_for_the_whole_page_at_the_end(shared_world: World) -> None:
    world = shared_world
    lived_in(world)
    case, plan_hash, phrase = planned(world, maria(world))
    post(world, f"cases/{case.id}/execute/", plan_hash=plan_hash, phrase=phrase)
    page = world.page("compliance")
    headers = {"HX-Request": "true", "HX-Target": "live"}
    live = page.get(f"/privacy/cases/{case.id}/", headers=headers)
    assert "HX-Refresh" not in live
    assert "<html" not in text(live)
    erasure.run(case.workspace_id, case.pk)
    over = page.get(f"/privacy/cases/{case.id}/", headers=headers)
    assert over["HX-Refresh"] == "true"


# ── Conflicts say what to do ─────────────────────────────────────────────────
def test_a_stale_plan_is_shown_with_what_changed(world: World) -> None:
    lived_in(world)
    case, plan_hash, phrase = planned(world, maria(world))
    world.entry(f"{MAIL} wrote again")
    answer = post(
        world, f"cases/{case.id}/execute/", plan_hash=plan_hash, phrase=phrase
    )
    assert answer.status_code == 409
    shown = text(answer)
    assert "1 row came" in shown
    assert "Make the dry run again" in shown
    assert Case.objects.get(pk=case.pk).state == "planned"


def test_a_stale_page_changes_nothing(world: World) -> None:
    case = opened(world, maria(world))
    post(world, f"cases/{case.id}/assign/", assignee="compliance@acme.example")
    answer = post(
        world, f"cases/{case.id}/refuse/", reason="No.", version=str(case.version)
    )
    assert answer.status_code == 409
    assert "as it is now" in text(answer)
    assert Case.objects.get(pk=case.pk).state == "received"


def test_two_people_and_the_glass_between_them(world: World) -> None:
    lived_in(world)
    rules(world, two_person=True)
    case, plan_hash, phrase = planned(world, maria(world))
    mine = text(get(world, f"cases/{case.id}/"))
    assert "A second person has to approve it" in mine
    assert "Go on without the second person" in mine
    path = f"cases/{case.id}/approve/"
    alone = post(world, path, plan_hash=plan_hash)
    assert alone.status_code == 409
    assert "Ask a colleague" in text(alone)
    assert "Approve plan 1" in text(get(world, f"cases/{case.id}/", "owner"))
    assert post(world, path, "owner", plan_hash=plan_hash).status_code == 302
    run = f"cases/{case.id}/execute/"
    assert post(world, run, plan_hash=plan_hash, phrase=phrase).status_code == 302


def test_breaking_the_glass_needs_a_reason(world: World) -> None:
    lived_in(world)
    rules(world, two_person=True)
    case, plan_hash, phrase = planned(world, maria(world))
    path = f"cases/{case.id}/execute/"
    told = {"plan_hash": plan_hash, "phrase": phrase}
    assert post(world, path, **told).status_code == 409
    why = "The deadline ends tonight"
    assert post(world, path, **told, break_glass=why).status_code == 302
    assert "Without a second person" in text(get(world, f"cases/{case.id}/"))


def test_identity_first_where_the_workspace_asks_for_it(world: World) -> None:
    rules(world, require_identity=True)
    case = opened(world, maria(world))
    assert "make sure who asks" in text(get(world, f"cases/{case.id}/"))
    assert post(world, f"cases/{case.id}/plan/").status_code == 409
    how = "By order number"
    assert post(world, f"cases/{case.id}/identity/", how=how).status_code == 302
    assert how in text(get(world, f"cases/{case.id}/"))


# ── The desk ─────────────────────────────────────────────────────────────────
def test_the_desk(world: World) -> None:
    case = opened(world, maria(world))
    path = f"cases/{case.id}/"
    hostile = "<script>alert(1)</script>"
    assert post(world, f"{path}comment/", text=hostile).status_code == 302
    shown = text(get(world, path))
    assert hostile not in shown
    assert "&lt;script&gt;" in shown
    letter = b"their letter"
    file = SimpleUploadedFile("letter.pdf", letter)
    assert post(world, f"{path}attach/", file=file).status_code == 302
    shown = text(get(world, path))
    assert "letter.pdf" in shown
    assert hashlib.sha256(letter).hexdigest() in shown
    assert letter.decode() not in shown
    reason = {"months": "2", "reason": "Many systems"}
    assert post(world, f"{path}extend/", **reason).status_code == 302
    again = post(world, f"{path}extend/", **reason)
    assert again.status_code == 409
    assert post(world, f"{path}refuse/", reason="").status_code == 422
    assert post(world, f"{path}refuse/", reason="Unfounded").status_code == 302
    assert "Unfounded" in text(get(world, path))
    assert post(world, f"{path}comment/", text="late").status_code == 409


@pytest.mark.parametrize(
    ("days", "words", "query"),
    [(40, "overdue", "due=overdue"), (0, "days left", "kind=erasure")],
)
def test_the_board_by_deadline(world: World, days: int, words: str, query: str) -> None:
    now = timezone.now()
    new = NewCase(
        subject_id=maria(world).id,
        kind=CaseKind.ERASURE,
        reason="asked",
        received_at=now - timedelta(days=days),
    )
    case = cases.open_case(new, by=world.actor("compliance"))
    board = text(get(world, f"cases/?{query}"))
    assert case.id in board
    assert words in board
    assert case.id not in text(get(world, "cases/?kind=access"))
    assert case.id not in text(get(world, "cases/?state=closed"))
    home = text(world.page("compliance").get("/"))
    assert "Cases by deadline" in home
    assert case.id in home
    assert "Cases by deadline" not in text(world.page("viewer").get("/"))


def test_a_new_case_finds_or_offers_people(world: World) -> None:
    who = maria(world)
    told = {"kind": "access", "reason": "asked"}
    found = post(world, "cases/new/", who=MAIL.upper(), **told)
    assert found.status_code == 302
    offered = post(world, "cases/new/", who="Maria", **told)
    assert offered.status_code == 422
    assert f'value="{who.id}"' in text(offered)
    chosen = post(world, "cases/new/", who="Maria", subject_id=who.id, **told)
    assert chosen.status_code == 302
    nobody = post(world, "cases/new/", who="Zeppelin", **told)
    assert "Nobody is registered under that name" in text(nobody)
    assert post(world, "cases/new/", **told).status_code == 422
    half = post(world, "cases/new/", who=MAIL, kind="rectification", reason="x")
    assert "A rectification needs this" in text(half)


# ── People ───────────────────────────────────────────────────────────────────
def test_names_are_shown_on_demand_and_that_is_written_down(world: World) -> None:
    lived_in(world)
    who = maria(world)
    shown = text(get(world, f"subjects/{who.id}/"))
    assert MAIL not in shown
    assert "Journal entries" in shown
    seen = text(post(world, f"subjects/{who.id}/names/"))
    assert MAIL in seen
    query = LedgerQuery(subject_id=who.id, action="view")
    rows = audit_log.listed(world.actor("compliance"), query).items
    assert [row.actor_label for row in rows] == [world.actor("compliance").label]
    assert MAIL not in text(get(world, "ledger/"))


def test_samples_of_a_plan_are_shown_on_demand_too(world: World) -> None:
    lived_in(world)
    who = maria(world)
    case, _, _ = planned(world, who)
    path = f"cases/{case.id}/"
    shown = text(get(world, path))
    assert "Show samples" in shown
    assert WORD not in shown
    assert post(world, f"{path}samples/", "stranger").status_code == 404
    assert post(world, f"{path}samples/", "operator").status_code == 403
    query = LedgerQuery(case_id=case.id, action="view")
    assert audit_log.listed(world.actor("compliance"), query).items == []
    assert WORD in text(post(world, f"{path}samples/"))
    [row] = audit_log.listed(world.actor("compliance"), query).items
    told = (row.actor_label, row.subject_ref, row.scope)
    seen = world.actor("compliance").label
    assert told == (seen, who.id, {"what": "samples of the plan"})


def test_addresses_beside_a_person_are_decided_on(world: World) -> None:
    who = maria(world)
    world.entry(f"{NAME} <anka77@home.example> wrote, or {NAME} (@anka77)")
    path = f"subjects/{who.id}/"
    shown = text(get(world, path))
    assert "2 addresses to decide on" in shown
    assert "anka77" not in shown
    assert "anka77@home.example" in text(post(world, f"{path}names/"))
    case, _, _ = planned(world, who)
    assert "2 addresses beside this person" in text(get(world, f"cases/{case.id}/"))
    told = {"revealed": "yes", "kind": "handle", "value": "@anka77"}
    assert post(world, f"{path}not-theirs/", "operator", **told).status_code == 403
    assert post(world, f"{path}not-theirs/", "stranger", **told).status_code == 404
    left = text(post(world, f"{path}not-theirs/", **told))
    assert "1 address to decide on" in left
    assert "anka77@home.example" in left
    assert "1 address beside this person" in text(get(world, f"cases/{case.id}/"))
    told = {"revealed": "yes", "kind": "email", "value": "anka77@home.example"}
    added = text(post(world, f"{path}alias/", **told))
    assert "to decide on" not in added
    assert who.aliases.filter(value="anka77@home.example").exists()
    assert "beside this person" not in text(get(world, f"cases/{case.id}/"))


def test_an_ordinary_word_is_asked_for_once_more(world: World) -> None:
    who = maria(world)
    path = f"subjects/{who.id}/"
    word = {"kind": "handle", "value": "@will"}
    asked = post(world, f"{path}alias/", **word)
    assert asked.status_code == 422
    assert "ordinary word" in text(asked)
    assert 'name="sure"' in text(asked)
    assert not who.aliases.filter(kind="handle").exists()
    assert post(world, f"{path}alias/", **word, sure="on").status_code == 302
    assert "ordinary word" in text(post(world, f"{path}names/"))
    case, _, _ = planned(world, who)
    assert "1 alias is an ordinary word" in text(get(world, f"cases/{case.id}/"))
    assert 'name="sure"' not in text(get(world, "subjects/"))
    new = {"display_name": "May"}
    asked = post(world, "subjects/new/", **new)
    assert (asked.status_code, 'name="sure"' in text(asked)) == (422, True)
    assert post(world, "subjects/new/", **new, sure="on").status_code == 302
    told = {"kind": "access", "reason": "Asked", "handle": "mk"}
    asked = post(world, "cases/new/", **told)
    assert (asked.status_code, 'name="sure"' in text(asked)) == (422, True)
    assert post(world, "cases/new/", **told, sure="on").status_code == 302


def test_aliases_consent_and_merging(world: World) -> None:
    who, path = maria(world), ""
    path = f"subjects/{who.id}/"
    bad = post(world, f"{path}alias/", kind="email", value="no mail")
    assert bad.status_code == 422
    assert "no mail" in text(bad)
    told = {"kind": "handle", "value": "@marialq"}
    assert post(world, f"{path}alias/", **told).status_code == 302
    alias = who.aliases.get(kind="handle")
    assert post(world, f"{path}alias/{alias.pk}/remove/").status_code == 302
    assert post(world, f"{path}alias/{alias.pk}/remove/").status_code == 404
    said = {"consent": "withdrawn", "opted_out": "on", "note": "by phone"}
    assert post(world, f"{path}consent/", **said).status_code == 302
    who.refresh_from_db()
    assert who.opted_out_at is not None
    made = post(world, "subjects/new/", display_name="Maria L.", handle="@mlq")
    other = Subject.objects.exclude(pk=who.pk).get()
    assert made["Location"].endswith(f"{other.pk}/")
    assert post(world, f"{path}merge/", into="nobody@x.example").status_code == 422
    merged = post(world, f"{path}merge/", into=other.pk)
    assert merged["Location"].endswith(f"{other.pk}/")
    assert "merged" in text(get(world, path)).lower()


def test_holds_are_placed_and_released(world: World) -> None:
    who = maria(world)
    case = opened(world, who)
    day = (timezone.now() + timedelta(days=30)).date().isoformat()
    told = {"reason": "Lawsuit", "review_on": day, "scope": "all"}
    past = post(
        world, f"subjects/{who.id}/hold/", **{**told, "review_on": "2020-01-01"}
    )
    assert past.status_code == 422
    assert post(world, f"subjects/{who.id}/hold/", **told).status_code == 302
    assert "on hold, nothing is touched" in text(get(world, f"cases/{case.id}/"))
    hold = Hold.objects.get()
    assert hold.pk in text(get(world, "holds/"))
    post(world, f"holds/{hold.pk}/release/", reason="")
    assert legal_holds.hold(world.actor("compliance"), hold.pk).released_at is None
    assert post(world, f"holds/{hold.pk}/release/", reason="over").status_code == 302
    assert hold.pk in text(get(world, "holds/?state=released"))
    assert "a dry run comes next" in text(get(world, f"cases/{case.id}/"))


def test_an_export_is_made_read_and_removed(world: World) -> None:
    lived_in(world)
    who = maria(world)
    assert post(world, f"subjects/{who.id}/export/").status_code == 302
    export.sweep()
    [row] = export.listed(world.actor("compliance"))
    page = world.page("compliance")
    answer = page.get(f"/privacy/exports/{row.id}/download/")
    assert answer.getvalue()[:2] == b"PK"
    assert post(world, f"exports/{row.id}/remove/").status_code == 302
    gone = page.get(f"/privacy/exports/{row.id}/download/", follow=True)
    assert "cannot be read" in text(gone)
    assert get(world, f"exports/{row.id}/download/", "stranger").status_code == 404


def test_a_name_is_let_back_with_a_reason(world: World) -> None:
    who = maria(world)
    said = {"consent": "withdrawn", "opted_out": "on"}
    post(world, f"subjects/{who.id}/consent/", **said)
    row = Suppression.objects.first()
    assert row is not None
    post(world, f"kept-out/{row.pk}/lift/", reason="")
    assert Suppression.objects.get(pk=row.pk).lifted_at is None
    post(world, f"kept-out/{row.pk}/lift/", reason="They came back")
    assert Suppression.objects.get(pk=row.pk).lifted_at is not None


def test_settings_are_for_admins(world: World) -> None:
    told = {
        "two_person": "on", "time_zone": "Europe/Oslo", "export_days": "7",
        "backup_days": "30",
    }  # fmt: skip
    assert "An admin of the workspace" in text(get(world, "settings/"))
    assert post(world, "settings/", **told).status_code == 403
    bad = post(world, "settings/", "owner", **{**told, "time_zone": "Mars"})
    assert bad.status_code == 422
    assert post(world, "settings/", "owner", **told).status_code == 302
    now = privacy_settings.of(world.acme.id)
    assert (now.two_person, now.time_zone, now.digest) == (True, "Europe/Oslo", False)
    assert "Two people are needed" in text(get(world, "settings/"))
