"""Every form of a name is found as certain, proposed, or said to be not sought."""

from __future__ import annotations

from collections import Counter

import pytest

from crewship_memory.bench import matching, name_rows
from gdpr import erasure
from gdpr.cases import dry_run
from gdpr.cases import workflow as cases
from gdpr.data_map import row_text
from gdpr.matching import forms
from gdpr.matching.matcher import Matcher, Name, Sign
from gdpr.models import Case, CaseState, SubjectLink, Verdict
from memory.models import JournalEntry
from tests.gdpr import erasing, kit, planted_forms
from tests.gdpr.planted_forms import CERTAIN, NOT_SOUGHT, PROPOSED, Planted, Somebody
from tests.world import World

ZOE, NOWAK = "Zorélle Quaxbørgsen", "Piotr Nowaczewski"
# Code of a form → the registered name, a text, and the form in it.
EXAMPLES = {
    "as_registered": (ZOE, "met ZORELLE quaxborgsen", "ZORELLE quaxborgsen"),
    "last_first": (ZOE, "met QUAXBØRGSEN Zorélle", "QUAXBØRGSEN Zorélle"),
    "middle_names": (ZOE, "met Zorélle K. Quaxbørgsen", "Zorélle K. Quaxbørgsen"),
    "genitive": (ZOE, "in Zorélle Quaxbørgsens Haus", "Zorélle Quaxbørgsens"),
    "inflected": (NOWAK, "z Piotrem Nowaczewskim", "Piotrem Nowaczewskim"),
    "other_letters": (ZOE, "met Zorelle Quaxboergsen", "Zorelle Quaxboergsen"),
    "line_break": (ZOE, "met Zorélle Quax-\nbørgsen", "Zorélle Quax-\nbørgsen"),
    "joined": (ZOE, "see ZorelleQuaxborgsen2", "ZorelleQuaxborgsen"),
    "split_fields": (ZOE, "met Zorélle\nlast_name\nQuaxbørgsen", "Zorélle"),
    "order_unclear": (ZOE, "met Quaxbørgsen, Zorélle Amalia", "Quaxbørgsen, Zorélle"),
    "middle_unclear": (
        ZOE, "met Zorélle Ann Amalia Quaxbørgsen", "Zorélle Ann Amalia Quaxbørgsen"
    ),
    "ending_unclear": ("John Robert", "met John Roberts", "John Roberts"),
    "joined_unclear": ("Li Na", "met LiNa", "LiNa"),
    "surname": (ZOE, "then Quaxbørgsen rang", "Quaxbørgsen"),
    "title_surname": (ZOE, "met Frau Dr. Quaxbørgsen", "Frau Dr. Quaxbørgsen"),
    "initial_surname": (ZOE, "met Z. Quaxbørgsen", "Z. Quaxbørgsen"),
    "initial_joined": (ZOE, "see zquaxborgsen", "zquaxborgsen"),
    "family": (ZOE, "with the Quaxbørgsens", "the Quaxbørgsens"),
}  # fmt: skip
OTHER_PEOPLE = [
    ("Hannah Weber", "Otto Weber rang"),
    ("Hannah Weber", "O. Weber rang"),
    ("Hannah Weber", "mail otto.weber@post.example"),
    ("Hannah Weber", "mail Otto.Weber@post.example"),
    ("Hannah Weber", "Otto Weber, Hannah Lindqvist"),
    ("Hannah Weber", "Johannah Weber and Hannah Weberling"),
    ("Hannah Weber", "HannahWebersky and xhannahweber"),
    ("Hannah Weber", "Peter von Weber, Peter Weber"),
    ("Jan Kowalski", "Jana Kowalska rang"),
    ("Anna Müller", "Anne Müller rang"),
    ("Juergen Mueller", "Jurgen Muller rang"),
    ("Rose Hill", "a rose on the hill"),
    ("Anna May", "in May it rained"),
    ("Maria Kowalska", "city\nMaria\nland\nPoland\nstreet\nAleja Kowalska"),
    ("Maria Weber", "Maria came\nfirst_name\nOtto\nlast_name\nWeber\nOtto Weber"),
]


def _matcher(name: str) -> Matcher:
    return Matcher([Name("s", "name", name)], proposals=True)


def test_every_form_has_an_example() -> None:
    assert list(EXAMPLES) == [form.code for form in forms.WRITTEN]


@pytest.mark.parametrize("form", forms.WRITTEN, ids=lambda form: form.code)
def test_a_form_is_found_whole_and_as_sure_as_it_says(form: forms.Form) -> None:
    name, text, written_text = EXAMPLES[form.code]
    matcher = _matcher(name)
    span = matcher.spans(text)[0]
    assert (text[span.start : span.end], span.form) == (written_text, form.code)
    assert span.sure is form.certain
    assert matcher.may(text)
    assert matcher.among(["nobody", text], lambda text: text) == [1]
    assert matcher.mask(text).startswith(
        text.replace(written_text, "[erased]")[: span.end]
    )
    assert not matcher.spans(matcher.mask(text))
    found_by_all = Matcher([Name("s", "name", name)]).names(text)
    assert bool(found_by_all) is form.certain, "others' proposals match nobody"


@pytest.mark.parametrize(("name", "text"), OTHER_PEOPLE)
def test_somebody_elses_name_is_not_even_proposed(name: str, text: str) -> None:
    spans = _matcher(name).spans(text)
    assert [text[span.start : span.end] for span in spans] == []


def _sign(matcher: Matcher, form: Planted) -> Sign:
    return matcher.sign(
        row_text.join_texts([form.summary, row_text.plain(form.payload)])
    )


@pytest.mark.parametrize(
    "someone", planted_forms.PEOPLE, ids=lambda someone: someone.language
)
def test_planted_forms_are_judged_as_their_rules_say(someone: Somebody) -> None:
    matcher = _matcher(someone.name)
    verdicts = {Sign.SURE: CERTAIN, Sign.UNSURE: PROPOSED, Sign.NONE: NOT_SOUGHT}
    planted = list(planted_forms.forms_of(someone))
    wrong = [
        (form.rule, form.summary, form.payload)
        for form in planted
        if verdicts[_sign(matcher, form)] != form.verdict
    ]
    assert wrong == []
    counts = Counter(form.verdict for form in planted)
    assert counts[CERTAIN] > 60, "hundreds of forms in all"
    assert counts[PROPOSED] > 10


def test_rows_of_known_truth_are_counted() -> None:
    by_kind = matching.counts(280)
    assert len({row.text for row in name_rows.rows(280)}) > 250
    total: Counter[str] = Counter()
    for count in by_kind.values():
        total.update(count)
    assert total["others_sure"] == 0
    missed = {kind: n["hers_left"] for kind, n in by_kind.items() if "hers_left" in n}
    assert missed == {"first name": 40}, "which NOT_SOUGHT says"
    assert {kind: n.get("others_proposed", 0) for kind, n in by_kind.items()} == {
        "whole": 4, "part": 8, "other": 0, "near": 4, "word": 12, "nobody": 0,
        "first name": 0,
    }  # fmt: skip


# ── In a workspace ───────────────────────────────────────────────────────────
@pytest.mark.django_db
def test_a_write_links_what_is_certain_and_nothing_proposed(world: World) -> None:
    zoe = kit.subject(world, {"name": ZOE})
    sure = world.entry("met QUAXBØRGSEN Zorélle")
    broken = world.entry("a letter", payload={"text": "Zorelle Quax-\nborgsen"})
    world.entry("met Frau Dr. Quaxbørgsen")
    links = SubjectLink.objects.filter(subject=zoe, place="journal")
    assert set(links.values_list("row_id", flat=True)) == {sure.id, broken.id}


@pytest.mark.django_db
def test_a_shared_row_loses_the_whole_form_and_nothing_else(world: World) -> None:
    zoe = kit.subject(world, {"name": ZOE})
    kit.subject(world, {"name": "Erik Quaxbørgsen"})
    row = world.entry("QUAXBØRGSEN Zorélle and Erik Quaxbørgsen met")
    kit.erase("journal", zoe)
    row.refresh_from_db()
    assert row.summary == "[erased] and Erik Quaxbørgsen met"


@pytest.mark.slow
def test_every_planted_form_is_erased_end_to_end(shared_world: World) -> None:
    world, rows = shared_world, dict[str, Planted]()
    person = planted_forms.PEOPLE[2]
    for form in planted_forms.forms_of(person):
        if form.verdict != NOT_SOUGHT:
            rows[world.entry(form.summary, payload=form.payload).id] = form
    other = world.entry(f"Ludovika {person.last} likes boats")
    subject = kit.subject(world, {"name": person.name})
    case = erasing.opened(world, subject)
    doubts = dry_run.doubts(erasing.planned(world, case))
    proposed = {row_id for row_id, form in rows.items() if form.verdict == PROPOSED}
    assert set(doubts["ids"]["journal"]) == proposed
    erasing.plan_and_decide(world, case, Verdict.THEIRS)
    case = Case.objects.get(pk=case.pk)
    plan = cases.latest_plan(case)
    assert plan is not None
    by = world.actor("compliance")
    erasure.start(case, plan.plan_hash, cases.phrase(case, plan.plan_hash), by=by)
    erasure.run(case.workspace_id, case.pk)
    case = Case.objects.get(pk=case.pk)
    live = JournalEntry.objects.filter(pk__in=rows, erased_at=None)
    assert [rows[row.id].rule for row in live] == []
    assert JournalEntry.objects.get(pk=other.id).summary.startswith("Ludovika")
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
