"""The privacy pages: permissions, content, and a whole erasure without scripts."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from inspect import signature
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from gdpr import audit_log, erasure
from gdpr.audit_log import AuditLogQuery
from gdpr.cases import dry_run, leases, legal_holds, privacy_settings
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase
from gdpr.export import make as export
from gdpr.models import Case, CaseKind, CaseStep, Hold, Subject, Suppression
from gdpr.web.case_actions import ACTIONS
from tests.gdpr.erasing import MAIL, NAME, WORD, erased, lived_in, maria, opened
from tests.gdpr.requests import UNIDENTIFIED
from tests.world import World

LISTS = (
    "cases/", "cases/new/", "subjects/", "holds/", "certificates/", "ledger/",
    "exports/", "kept-out/", "settings/",
)  # fmt: skip


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def get(world: World, path: str, role: str = "compliance") -> Any:
    return world.page(role).get(f"/privacy/{path}")


def post(world: World, path: str, by: str = "compliance", /, **body: Any) -> Any:
    return world.page(by).post(f"/privacy/{path}", body)


def planned(world: World, subject: Subject) -> tuple[Case, str, str]:
    """Return a planned case, the hash of its plan and the phrase."""
    case = opened(world, subject)
    plan = dry_run.make(case, by=world.actor("compliance"))
    live = Case.objects.get(pk=case.pk)
    return live, plan.plan_hash, cases.phrase(live, plan.plan_hash)


def rules(world: World, **fields: Any) -> None:
    privacy_settings.change(privacy_settings.Change(**fields), by=world.actor("owner"))


# ── Permissions ──────────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("role", "status"),
    [("owner", 200), ("compliance", 200), ("operator", 403), ("viewer", 403)],
)
def test_who_sees_the_pages(world: World, path: str, role: str, status: int) -> None:
    answer = get(world, path, role)
    assert answer.status_code == status
    page_text = text(world.page(role).get("/"))
    assert ('href="/privacy/cases/"' in page_text) is (status == 200)


def test_another_workspace_finds_nothing(world: World) -> None:
    subject = maria(world)
    case = opened(world, subject)
    for path in (
        f"cases/{case.id}/",
        f"cases/{case.id}/certificate/",
        f"subjects/{subject.id}/",
    ):
        assert get(world, path, "stranger").status_code == 404
    for verb in ACTIONS:
        answer = post(world, f"cases/{case.id}/{verb}/", "stranger")
        assert answer.status_code == 404
    answer = post(world, f"subjects/{subject.id}/names/", "stranger")
    assert answer.status_code == 404
    assert NAME not in text(get(world, "subjects/", "stranger"))


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_others_may_do_nothing(world: World, role: str) -> None:
    case = opened(world, maria(world))
    for verb in ACTIONS:
        assert post(world, f"cases/{case.id}/{verb}/", role).status_code == 403
    assert Case.objects.get(pk=case.pk).version == case.version


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_fits_its_service_and_is_posted_only(
    world: World, action: str
) -> None:
    row = ACTIONS[action]
    arguments = [*row.fields, *row.lists]
    signature(row.service).bind("case", *arguments, by="actor")
    if row.form is not None:
        assert not row.lists
    case = opened(world, maria(world))
    path = reverse(f"privacy:{action}", args=[case.id])
    assert path == f"/privacy/cases/{case.id}/{action}/"
    assert get(world, path.removeprefix("/privacy/")).status_code == 405


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
    page_text = text(get(world, path))
    assert "nothing touched yet" in page_text
    assert "Journal entries" in page_text
    [phrase] = set(re.findall(r'class="phrase">([^<]+)<', page_text))
    [plan_hash] = re.findall(r'name="plan_hash" value="(\w+)"', page_text)
    form = {"plan_hash": plan_hash, **UNIDENTIFIED}
    assert "Nobody verified who asks" in page_text
    wrong = post(world, f"{path}execute/", **form, phrase=phrase[:-4])
    assert wrong.status_code == 422
    assert "That is not the phrase" in text(wrong)
    assert phrase[:-4] in text(wrong)
    assert not Case.objects.get().identity_skipped_ground
    response = post(world, f"{path}execute/", **form, phrase=phrase)
    assert response.status_code == 302
    assert Case.objects.get().identity_skipped_ground == "own_decision"
    running = text(get(world, path))
    assert "run 1 is under way" in running
    assert 'hx-trigger="every' in running


@pytest.mark.slow
def test_the_end_of_an_erasure_and_its_certificate(shared_world: World) -> None:
    world = shared_world
    lived_in(world)
    case = erased(world, maria(world))
    path = f"cases/{case.id}/"
    page_text = text(get(world, path))
    assert "Erasure: complete for the registered identifiers" in page_text
    assert 'hx-trigger="every' not in page_text
    assert NAME not in page_text
    assert MAIL not in page_text
    assert "The search reported nothing that is left" in page_text
    assert "Checked now: signed here" in text(get(world, f"{path}certificate/"))
    file = get(world, f"{path}certificate.json")
    assert "attachment" in file["Content-Disposition"]
    paper = {"text": file.content.decode()}
    check = world.page("nobody").post("/certificates/check/", paper)
    assert "This certificate is valid" in text(check)
    assert case.id in text(get(world, "certificates/"))
    assert "Suppressed" in text(get(world, "kept-out/"))


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
    assert "The worker takes it up" in text(live)
    rows = [("prepare", "Audit log", 1), ("journal", "Journal entries", 3)]
    first, _ = leases.ensure_steps(Case.objects.get(pk=case.pk), rows)
    leases.finish(leases.begin(first))
    live = page.get(f"/privacy/cases/{case.id}/", headers=headers)
    assert "1 of 2 steps" in text(live)
    assert '<progress class="work-progress" max="2" value="1"' in text(live)
    # Steps are uneven: no rest is promised.
    assert " left" not in text(live).partition("Running for")[2].partition("</p>")[0]
    CaseStep.objects.all().delete()
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
    page_text = text(answer)
    assert "1 row came" in page_text
    assert "Make the dry run again" in page_text
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
    page_text = text(get(world, f"cases/{case.id}/"))
    assert "A second person has to approve it" in page_text
    assert "Go on without the second person" in page_text
    path = f"cases/{case.id}/approve/"
    response = post(world, path, plan_hash=plan_hash)
    assert response.status_code == 409
    assert "Ask a colleague" in text(response)
    assert "Approve plan 1" in text(get(world, f"cases/{case.id}/", "owner"))
    assert post(world, path, "owner", plan_hash=plan_hash).status_code == 302
    run = f"cases/{case.id}/execute/"
    assert post(world, run, plan_hash=plan_hash, phrase=phrase).status_code == 302


def test_breaking_the_glass_needs_a_reason(world: World) -> None:
    lived_in(world)
    rules(world, two_person=True)
    case, plan_hash, phrase = planned(world, maria(world))
    path = f"cases/{case.id}/execute/"
    form = {"plan_hash": plan_hash, "phrase": phrase}
    assert post(world, path, **form).status_code == 409
    reason = "The deadline ends tonight"
    assert post(world, path, **form, break_glass=reason).status_code == 302
    assert "Without a second person" in text(get(world, f"cases/{case.id}/"))


def test_identity_first_where_the_workspace_asks_for_it(world: World) -> None:
    rules(world, require_identity=True)
    case = opened(world, maria(world), identity_ground="", identity_reason="")
    assert "make sure who asks" in text(get(world, f"cases/{case.id}/"))
    assert post(world, f"cases/{case.id}/plan/").status_code == 409
    method = "By order number"
    assert post(world, f"cases/{case.id}/identity/", how=method).status_code == 302
    assert method in text(get(world, f"cases/{case.id}/"))


# ── Other case actions ───────────────────────────────────────────────────────
def test_the_desk(world: World) -> None:
    case = opened(world, maria(world))
    path = f"cases/{case.id}/"
    hostile = "<script>alert(1)</script>"
    assert post(world, f"{path}comment/", text=hostile).status_code == 302
    page_text = text(get(world, path))
    assert hostile not in page_text
    assert "&lt;script&gt;" in page_text
    letter = b"their letter"
    file = SimpleUploadedFile("letter.pdf", letter)
    assert post(world, f"{path}attach/", file=file).status_code == 302
    page_text = text(get(world, path))
    assert "letter.pdf" in page_text
    assert hashlib.sha256(letter).hexdigest() in page_text
    assert letter.decode() not in page_text
    reason = {"months": "2", "reason": "Many systems"}
    assert post(world, f"{path}extend/", **reason).status_code == 302
    second = post(world, f"{path}extend/", **reason)
    assert second.status_code == 409
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
    # Home leads to what is late, and not to what has weeks left.
    assert (case.id in text(world.page("compliance").get("/"))) == (words == "overdue")
    assert case.id not in text(world.page("viewer").get("/"))


def test_a_new_case_finds_or_offers_people(world: World) -> None:
    subject = maria(world)
    form = {"kind": "access", "reason": "asked"}
    response = post(world, "cases/new/", who=MAIL.upper(), **form)
    assert response.status_code == 302
    offered = post(world, "cases/new/", who="Maria", **form)
    assert offered.status_code == 422
    assert f'value="{subject.id}"' in text(offered)
    response_by_id = post(
        world, "cases/new/", who="Maria", subject_id=subject.id, **form
    )
    assert response_by_id.status_code == 302
    response_unknown = post(world, "cases/new/", who="Zeppelin", **form)
    assert "Nobody is registered under that name" in text(response_unknown)
    assert post(world, "cases/new/", **form).status_code == 422
    half = post(world, "cases/new/", who=MAIL, kind="rectification", reason="x")
    assert "A rectification needs this" in text(half)


# ── People ───────────────────────────────────────────────────────────────────
def test_names_are_shown_on_demand_and_that_is_written_down(world: World) -> None:
    lived_in(world)
    subject = maria(world)
    page_text = text(get(world, f"subjects/{subject.id}/"))
    assert MAIL not in page_text
    assert "Journal entries" in page_text
    revealed = text(post(world, f"subjects/{subject.id}/names/"))
    assert MAIL in revealed
    query = AuditLogQuery(subject_id=subject.id, action="view")
    rows = audit_log.list_actions(world.actor("compliance"), query).items
    assert [row.actor_label for row in rows] == [world.actor("compliance").label]
    assert MAIL not in text(get(world, "ledger/"))


def test_samples_of_a_plan_are_shown_on_demand_too(world: World) -> None:
    lived_in(world)
    subject = maria(world)
    case, _, _ = planned(world, subject)
    path = f"cases/{case.id}/"
    page_text = text(get(world, path))
    assert "Show samples" in page_text
    assert WORD not in page_text
    assert post(world, f"{path}samples/", "stranger").status_code == 404
    assert post(world, f"{path}samples/", "operator").status_code == 403
    query = AuditLogQuery(case_id=case.id, action="view")
    assert audit_log.list_actions(world.actor("compliance"), query).items == []
    assert WORD in text(post(world, f"{path}samples/"))
    [row] = audit_log.list_actions(world.actor("compliance"), query).items
    actual = (row.actor_label, row.subject_ref, row.scope)
    officer = world.actor("compliance").label
    assert actual == (officer, subject.id, {"what": "samples of the plan"})


def test_addresses_beside_a_person_are_decided_on(world: World) -> None:
    subject = maria(world)
    world.entry(f"{NAME} <anka77@home.example> wrote, or {NAME} (@anka77)")
    path = f"subjects/{subject.id}/"
    page_text = text(get(world, path))
    assert "2 addresses to decide on" in page_text
    assert "anka77" not in page_text
    assert "anka77@home.example" in text(post(world, f"{path}names/"))
    case, _, _ = planned(world, subject)
    assert "2 addresses beside this person" in text(get(world, f"cases/{case.id}/"))
    form = {"revealed": "yes", "kind": "handle", "value": "@anka77"}
    assert post(world, f"{path}not-theirs/", "operator", **form).status_code == 403
    assert post(world, f"{path}not-theirs/", "stranger", **form).status_code == 404
    page_after = text(post(world, f"{path}not-theirs/", **form))
    assert "1 address to decide on" in page_after
    assert "anka77@home.example" in page_after
    assert "1 address beside this person" in text(get(world, f"cases/{case.id}/"))
    form = {"revealed": "yes", "kind": "email", "value": "anka77@home.example"}
    added = text(post(world, f"{path}alias/", **form))
    assert "to decide on" not in added
    assert subject.aliases.filter(value="anka77@home.example").exists()
    assert "beside this person" not in text(get(world, f"cases/{case.id}/"))


def test_an_ordinary_word_is_asked_for_once_more(world: World) -> None:
    subject = maria(world)
    path = f"subjects/{subject.id}/"
    word = {"kind": "handle", "value": "@will"}
    response = post(world, f"{path}alias/", **word)
    assert response.status_code == 422
    assert "ordinary word" in text(response)
    assert 'name="sure"' in text(response)
    assert not subject.aliases.filter(kind="handle").exists()
    assert post(world, f"{path}alias/", **word, sure="on").status_code == 302
    assert "ordinary word" in text(post(world, f"{path}names/"))
    case, _, _ = planned(world, subject)
    assert "1 alias is an ordinary word" in text(get(world, f"cases/{case.id}/"))
    assert 'name="sure"' not in text(get(world, "subjects/"))
    new = {"display_name": "May"}
    response = post(world, "subjects/new/", **new)
    assert (response.status_code, 'name="sure"' in text(response)) == (422, True)
    assert post(world, "subjects/new/", **new, sure="on").status_code == 302
    form = {"kind": "access", "reason": "Asked", "handle": "mk"}
    response = post(world, "cases/new/", **form)
    assert (response.status_code, 'name="sure"' in text(response)) == (422, True)
    assert post(world, "cases/new/", **form, sure="on").status_code == 302


def test_aliases_consent_and_merging(world: World) -> None:
    subject, path = maria(world), ""
    path = f"subjects/{subject.id}/"
    bad = post(world, f"{path}alias/", kind="email", value="no mail")
    assert bad.status_code == 422
    assert "no mail" in text(bad)
    form = {"kind": "handle", "value": "@marialq"}
    assert post(world, f"{path}alias/", **form).status_code == 302
    alias = subject.aliases.get(kind="handle")
    assert post(world, f"{path}alias/{alias.pk}/remove/").status_code == 302
    assert post(world, f"{path}alias/{alias.pk}/remove/").status_code == 404
    consent = {"consent": "withdrawn", "opted_out": "on", "note": "by phone"}
    assert post(world, f"{path}consent/", **consent).status_code == 302
    subject.refresh_from_db()
    assert subject.opted_out_at is not None
    created = post(world, "subjects/new/", display_name="Maria L.", handle="@mlq")
    other = Subject.objects.exclude(pk=subject.pk).get()
    assert created["Location"].endswith(f"{other.pk}/")
    assert post(world, f"{path}merge/", into="nobody@x.example").status_code == 422
    merged = post(world, f"{path}merge/", into=other.pk)
    assert merged["Location"].endswith(f"{other.pk}/")
    assert "merged" in text(get(world, path)).lower()


def test_holds_are_placed_and_released(world: World) -> None:
    subject = maria(world)
    case = opened(world, subject)
    day = (timezone.now() + timedelta(days=30)).date().isoformat()
    form = {"reason": "Lawsuit", "review_on": day, "scope": "all"}
    past = post(
        world, f"subjects/{subject.id}/hold/", **{**form, "review_on": "2020-01-01"}
    )
    assert past.status_code == 422
    assert post(world, f"subjects/{subject.id}/hold/", **form).status_code == 302
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
    subject = maria(world)
    assert post(world, f"subjects/{subject.id}/export/").status_code == 302
    export.sweep()
    [row] = export.exports(world.actor("compliance"))
    page = world.page("compliance")
    answer = page.get(f"/privacy/exports/{row.id}/download/")
    assert answer.getvalue()[:2] == b"PK"
    assert post(world, f"exports/{row.id}/remove/").status_code == 302
    response = page.get(f"/privacy/exports/{row.id}/download/", follow=True)
    assert "cannot be read" in text(response)
    assert get(world, f"exports/{row.id}/download/", "stranger").status_code == 404


def test_a_name_is_let_back_with_a_reason(world: World) -> None:
    subject = maria(world)
    consent = {"consent": "withdrawn", "opted_out": "on"}
    post(world, f"subjects/{subject.id}/consent/", **consent)
    row = Suppression.objects.first()
    assert row is not None
    post(world, f"kept-out/{row.pk}/lift/", reason="")
    assert Suppression.objects.get(pk=row.pk).lifted_at is None
    post(world, f"kept-out/{row.pk}/lift/", reason="They came back")
    assert Suppression.objects.get(pk=row.pk).lifted_at is not None


def test_settings_are_for_admins(world: World) -> None:
    form = {
        "two_person": "on", "time_zone": "Europe/Oslo", "export_days": "7",
        "backup_days": "30",
        "letter_days": "40",
    }  # fmt: skip
    assert "An admin of the workspace" in text(get(world, "settings/"))
    assert post(world, "settings/", **form).status_code == 403
    bad = post(world, "settings/", "owner", **{**form, "time_zone": "Mars"})
    assert bad.status_code == 422
    assert post(world, "settings/", "owner", **form).status_code == 302
    now = privacy_settings.of(world.acme.id)
    assert (now.two_person, now.time_zone, now.digest) == (True, "Europe/Oslo", False)
    assert "Two people are needed" in text(get(world, "settings/"))
