"""What letters say of recipients: those on record, how surely, and who was told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gdpr.letters import drafts, recipients
from gdpr.models import Case, CaseKind, NoticeState, Recipient, RecipientKind
from gdpr.recipients import actions
from gdpr.recipients.actions import NewAnswer
from tests.gdpr import erasing, letter_kit
from tests.gdpr import recipients as make
from tests.world import World

pytestmark = pytest.mark.django_db
TOLD_AT = datetime(2026, 5, 3, 12, tzinfo=UTC)

EVENTS = "(a receiver of events)"
NOT_YET = "we have not told them about your request yet"
LINES = {
    f"a.example {EVENTS}: may have received": NOT_YET,
    f"b.example {EVENTS}: received": "we told them about your request on 3 May 2026",
    f"c.example {EVENTS}: received": NOT_YET.replace("have not told", "could not tell"),
    "Print shop: received": "we do not tell them about your request, because it would"
    " be a disproportionate effort",
}


def closed(world: World, kind: CaseKind = CaseKind.ERASURE) -> Case:
    fields = {}
    if kind is CaseKind.RECTIFICATION:
        fields["correction"] = {"wrong": "a", "right": "b"}
    return make.complete(erasing.opened(world, erasing.otto(world), kind, **fields))


def stored(case: Case, name: str, **fields: Any) -> Recipient:
    return Recipient.objects.create(
        **{
            "workspace_id": case.workspace_id,
            "case": case,
            "kind": RecipientKind.WEBHOOK,
            "ref": name,
            "name": name,
            "added_by": "test",
            **fields,
        }
    )


def lines(world: World, case: Case, language: str = "en") -> list[str]:
    text = recipients.block(case, language, by=world.actor("compliance"))
    return text.split("\n")[1:]


def test_a_letter_says_who_was_told_and_what_they_answered(world: World) -> None:
    case = closed(world)
    stored(case, "a.example", state=NoticeState.WAITING, doubt="expired")
    row = stored(case, "b.example", state=NoticeState.DELIVERED, notified_at=TOLD_AT)
    stored(case, "c.example", state=NoticeState.FAILED)
    shop = make.by_hand(world, case, name="Print shop")
    actions.decline(
        shop, "disproportionate", "A thousand", by=world.actor("compliance")
    )
    assert lines(world, case) == [
        f"- {name} something about you; {notice}" for name, notice in LINES.items()
    ]
    actions.answer(row, NewAnswer(answer="refused"), by=world.actor("compliance"))
    assert lines(world, case, "de")[1] == (
        "- b.example (ein Empfänger von Ereignissen): hat etwas über Sie erhalten;"
        " von uns am 3. Mai 2026 von Ihrem Antrag unterrichtet; hat es abgelehnt"
    )


@pytest.mark.parametrize(
    "kind",
    [
        CaseKind.ERASURE,
        CaseKind.RECTIFICATION,
        CaseKind.RESTRICTION,
        CaseKind.OBJECTION,
    ],
)
def test_every_letter_of_article_19_has_them(world: World, kind: CaseKind) -> None:
    letter_kit.answering(world)
    case = closed(world, kind)
    stored(case, "b.example", state=NoticeState.NOTIFIED, notified_at=TOLD_AT)
    by = world.actor("compliance")
    assert "b.example" in drafts.make(case, "done", "en", by=by).body
    assert "b.example" in drafts.make(case, "done", "de", by=by).body


def test_a_webhook_that_got_nothing_is_in_no_letter(world: World) -> None:
    make.hook(world)
    case = closed(world)
    assert recipients.block(case, "en", by=world.actor("compliance")) == ""
    draft = drafts.make(case, "done", "en", by=world.actor("compliance"))
    assert make.HOST not in draft.body
    assert "Recipients" not in draft.body


def test_an_answer_to_a_request_for_access_has_what_is_known_now(world: World) -> None:
    person = erasing.maria(world)
    make.message(make.hook(world), f"{erasing.NAME} is red")
    case = make.complete(erasing.opened(world, person, CaseKind.ACCESS))
    body = drafts.make(case, "done", "en", by=world.actor("compliance")).body
    assert (
        f"- {make.HOST} (a receiver of events): received something about you\n" in body
    )


def test_services_of_this_machine_and_mails_are_no_recipients(world: World) -> None:
    case = closed(world)
    stored(case, "localhost", kind=RecipientKind.EMBEDDER, state=NoticeState.INFO)
    stored(case, "mail.example", kind=RecipientKind.MAIL, state=NoticeState.INFO)
    assert lines(world, case) == []


def test_many_recipients_leave_a_letter_that_can_be_kept(world: World) -> None:
    case, rows = make.with_recipients(world, 400)
    texts = lines(world, case)
    assert len(texts) == recipients.MAX_LINES + 1
    assert texts[-1].endswith(str(len(rows) - recipients.MAX_LINES))
