"""Suppressed names: texts with them are refused, and the list holds no names."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from episodic.consolidation import run as consolidation
from episodic.models import ConsolidationProposal
from episodic.summarisers.base import Material, Rule
from gdpr import cache_version, suppression
from gdpr.matching.matcher import Name
from gdpr.models import Subject, Suppression
from gdpr.pagination import PageQuery
from gdpr.subjects import consents
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory import journal_import
from memory.journal import append as journal
from memory.models import JournalEntry, MemoryVersion
from memory.rules import errors
from memory.rules.entries import NewEntry
from tests.world import World

NAMES = (
    NewAlias("email", "maria@example.org"),
    NewAlias("phone", "+49 170 1234567"),
    NewAlias("handle", "@mkeller"),
    NewAlias("user_id", "crm:u_4711"),
    NewAlias("name", "Maria Keller"),
    NewAlias("name", "Mary"),
)
# One more: the initial and surname of the name of two words.
LISTED = len(NAMES) + 1
REFUSED_TEXTS = [
    "mail Maria@Example.org now",
    "q=maria%40example.org",
    "maria+shop@example.org",
    "ring 0170 / 123 45 67",
    "ask @MKeller",
    "profile crm:u_4711/edit",
    "Keller, Maria called",
    "MARIA  KELLER called",
    "caf\\u0065 M\\u0061ria Keller",
    "Keller Maria called",
    "ask MariaKeller",
    "in keller.maria's notes",
    "user maria_keller asked",
    "token bWFyaWFAZXhhbXBsZS5vcmc= came",
    "token 6d61726961406578616d706c652e6f7267 came",
    "Bearer e30.eyJlbWFpbCI6Im1hcmlhQGV4YW1wbGUub3JnIn0.c2ln",
    "mar=\nia@example.org",
]
KEPT_TEXTS = [
    "mail john.maria@example.org now",
    "Maria called, then Keller did",
    "Mary called",
    "ring 0170 765 43 21",
    "profile crm:u_47112",
    "Maria Kellermann",
    "Asked Keller. Maria came later",
    "M. Keller called",
    "KellerMariana",
]

# What is in the databases of installations: (keyed hash, kind, number of words).
STORED = [
    (
        "f683e6fe80805aa0498281980fe9b9ccc507bae478de84a667e9761e0765f438",
        "email",
        1,
    ),
    (
        "f5860cbfd644974cd3dac23522f55dced275e06ae73dc0de2a4b22ce8b6aaf71",
        "phone",
        1,
    ),
    (
        "a29877d6a9ccb60f9414b18c4b0c3a1d23bc13201d461b5ad1a12f3566ca5f83",
        "handle",
        1,
    ),
    (
        "df84ce1d9428a6c248f260643e5b24ee5106f481f326d0863d4221bbcf936577",
        "user_id",
        3,
    ),
    (
        "5c9a5c85506ae7021aa7dd3003accd1e78574b786b4e7839d840351ce7dc8978",
        "name",
        2,
    ),
    (
        "f47abc71cb93c984cffffdfe03d5b6743c2eaba29699389f80d166f57bc072a0",
        "name",
        1,
    ),
]
UNKNOWN = "dea774293ffbafc200861fcf9e0ac6b63e6ceefd63512485e458ed9513910e6e"
DISMISSED = "1c425f7ce0d463401f941af1b45935a8380408c78d790bc1053d7e3aa3b0d2b4"


@pytest.fixture
def opted_out(world: World) -> Subject:
    by = world.actor("compliance")
    subject = subjects.create("Maria Keller", NAMES, by=by)
    return consents.note(subject.id, "withdrawn", opted_out=True, by=by)


@pytest.mark.django_db
@pytest.mark.parametrize("text", REFUSED_TEXTS)
def test_a_text_about_them_is_refused(
    world: World, opted_out: Subject, text: str
) -> None:
    before = JournalEntry.objects.count()
    for body in ({"summary": text}, {"summary": "x", "payload": {"said": [text]}}):
        answer = world.api("ada").post("/journal", {"entry_type": "peer.note", **body})
        assert (answer.status, answer.code) == (409, "subject_suppressed")
        assert text.encode() not in answer.body
    assert JournalEntry.objects.count() == before
    assert opted_out.opted_out_at


@pytest.mark.django_db
@pytest.mark.parametrize("text", KEPT_TEXTS)
def test_a_text_about_somebody_else_is_kept(
    world: World, opted_out: Subject, text: str
) -> None:
    assert world.entry(text).summary == text


@pytest.mark.django_db
@pytest.mark.parametrize(
    "alias",
    [
        *("mary", "MARIA@example.org", "mkeller", "@MKeller", "Keller Maria"),
        *("M. Keller", "Keller, M.", "m_keller", "mariakeller", "KellerMaria"),
        "bWFyaWFAZXhhbXBsZS5vcmc=",
    ],
)
def test_naming_them_is_refused(world: World, opted_out: Subject, alias: str) -> None:
    with pytest.raises(errors.Conflict) as refusal:
        world.entry("She called", subjects=(alias,))
    assert refusal.value.problem_code == "subject_suppressed"


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["author", "user_id"])
def test_an_initial_counts_where_a_field_says_who(
    world: World, opted_out: Subject, field: str
) -> None:
    with pytest.raises(errors.Conflict):
        world.entry("Hi", payload={field: "M. Keller"})
    assert world.entry("Hi", payload={field: "N. Keller"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Jörg Søndergård", "Joerg Soendergaard"),
        ("Jörg Søndergård", "Soendergaard, Joerg"),
        ("Joerg Mueller", "Jörg Müller"),
        ("Joerg Mueller", unicodedata.normalize("NFD", "Jörg Müller")),
        ("Anna Maria Koch", "Koch Anna Maria"),
    ],
)
def test_a_name_is_spotted_in_its_other_spellings(name: str, text: str) -> None:
    digests = suppression.digests_of("ws_1", [Name("", "name", name)])
    assert suppression.suppressed_pieces("ws_1", f"so {text} came", digests)


@pytest.mark.django_db
def test_each_door_refuses_its_own_part(world: World, opted_out: Subject) -> None:
    bad = NewEntry(entry_type="peer.note", summary="from maria@example.org")
    good = NewEntry(entry_type="peer.note", summary="from somebody")
    batch = journal.append_batch([good, bad, good], by=world.actor("ada"))
    assert [item.index for item in batch.rejected] == [1]
    assert batch.rejected[0].code == "subject_suppressed"
    lines = [
        journal_import.Line(
            n, 9, json.dumps({"entry_type": "a.b", "summary": s}).encode()
        )
        for n, s in enumerate(["from maria@example.org", "from somebody"])
    ]
    results: list[str] = []
    report = journal_import.append(
        lines, by=world.actor("owner"), on_refusal=lambda _n, text: results.append(text)
    )
    assert (report.appended, report.refused) == (1, 1)
    assert results[0].startswith("subject_suppressed")
    answer = world.api("ada").post(
        "/memory/tools/memory.write",
        {"tier": "AGENT", "content": "maria@example.org", "mode": "append"},
    )
    assert "subject_suppressed" in answer.body.decode()
    assert not MemoryVersion.objects.exists()


@pytest.mark.django_db
def test_the_list_holds_no_words(world: World, opted_out: Subject) -> None:
    rows = list(Suppression.objects.values())
    assert len(rows) == LISTED
    stored_text = repr(rows).lower()
    assert not any(
        w in stored_text for w in ("maria", "keller", "mary", "1234567", "4711")
    )
    # Keyed by workspace: the same name has another hash in another workspace.
    name = [Name("", "email", "maria@example.org")]
    local, foreign = (
        suppression.digests_of(w.id, name) for w in (world.acme, world.other)
    )
    assert local != foreign
    assert local[0][0] in {row["digest"] for row in rows}


def test_what_an_earlier_version_stored_is_still_recognised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "key", lambda: b"a-key-of-a-test")
    names = [Name("", alias.kind, alias.value) for alias in NAMES]
    stored_text = [tuple(digest) for digest in suppression.digests_of("ws_1", names)]
    assert stored_text == STORED
    assert suppression.unknown_name_digest("ws_1", "Maria") == UNKNOWN
    assert suppression.dismissal_digest("ws_1", "email", "m@example.org") == DISMISSED


@pytest.mark.django_db
def test_a_workspace_reads_its_own_list_and_adds_what_is_missing(
    world: World, opted_out: Subject
) -> None:
    home, other = world.acme.id, world.other.id
    digests = suppression.active(home)
    assert len(digests) == LISTED
    assert suppression.active(other) == []
    row = Suppression.objects.get(kind="email")
    suppression.lift(row.pk, "Became a customer again", by=world.actor("compliance"))
    assert row.digest not in {digest for digest, _, _ in suppression.active(home)}
    stamps = [cache_version.current(ws) for ws in (home, other)]

    def add(workspace_id: str) -> int:
        return suppression.restore(
            workspace_id, digests, subject_ref="sub_1", case_ref="c_1"
        )

    assert [add(home), add(home), add(other)] == [1, 0, LISTED]
    assert set(suppression.active(home)) == set(digests)
    assert Suppression.objects.filter(workspace=home, subject_ref="sub_1").count() == 1
    # Every process reads the list again, and only after it changed.
    after = [cache_version.current(ws) for ws in (home, other)]
    assert all(new != old for new, old in zip(after, stamps, strict=True))
    add(home)
    assert cache_version.current(home) == after[0]


@pytest.mark.django_db
def test_lifting_needs_a_reason_and_works_at_once(
    world: World, opted_out: Subject
) -> None:
    by = world.actor("compliance")
    row = Suppression.objects.get(kind="email")
    with pytest.raises(errors.Invalid):
        suppression.lift(row.pk, "  ", by=by)
    with pytest.raises(errors.NotFound):
        suppression.lift(row.pk, "x", by=world.actor("stranger"))
    suppression.lift(row.pk, "Became a customer again", by=by)
    assert world.entry("from maria@example.org")
    assert JournalEntry.objects.filter(entry_type="gdpr.suppression_lifted").exists()
    with pytest.raises(errors.Conflict):
        suppression.lift(row.pk, "again", by=by)


@pytest.mark.django_db
def test_the_list_is_read_by_its_workspace_and_changed_by_who_may(
    world: World, opted_out: Subject
) -> None:
    by, stranger = world.actor("compliance"), world.actor("stranger")
    rows = list(Suppression.objects.order_by("pk"))
    assert suppression.page(stranger, PageQuery()).items == []
    assert suppression.count_active(stranger) == 0
    suppression.lift(rows[0].pk, "Became a customer again", by=by)
    row_ids = {row.pk for row in suppression.page(by, PageQuery()).items}
    assert row_ids == {row.pk for row in rows[1:]}
    assert suppression.count_active(by) == len(rows) - 1
    assert len(suppression.page(by, PageQuery(), lifted=True).items) == len(rows)
    ada, operator = world.actor("ada"), world.actor("operator")
    calls: tuple[Callable[[], object], ...] = (
        lambda: suppression.page(ada, PageQuery()),
        lambda: suppression.count_active(ada),
        lambda: suppression.lift(rows[1].pk, "x", by=operator),
    )
    for act in calls:
        with pytest.raises(errors.Forbidden):
            act()


@pytest.mark.django_db
def test_opting_in_ends_an_opting_out_but_no_erasure(
    world: World, opted_out: Subject
) -> None:
    by = world.actor("compliance")
    erased = suppression.digests_of(
        world.acme.id, [Name("", "email", "gone@example.org")]
    )
    suppression.restore(world.acme.id, erased, subject_ref=opted_out.id, case_ref="c_1")
    consents.note(opted_out.id, "given", opted_out=False, by=by)
    assert world.entry("from maria@example.org")
    with pytest.raises(errors.Conflict):
        world.entry("from gone@example.org")


@pytest.mark.django_db
def test_suppressing_twice_is_once(world: World, opted_out: Subject) -> None:
    assert suppression.suppress(opted_out) == 0


WORDS = st.text(st.characters(categories=["Ll", "Lu", "Nd"]), min_size=3, max_size=9)


@given(st.lists(WORDS, min_size=2, max_size=4), st.sampled_from([" ", "  ", "-", "\n"]))
@settings(max_examples=100)
def test_a_name_is_spotted_in_any_text(words: list[str], gap: str) -> None:
    name = [Name("", "name", " ".join(words))]
    digests = suppression.digests_of("ws_1", name)
    text = f"then {gap.join(words).upper().lower()}, so"
    assert suppression.suppressed_pieces("ws_1", text, digests)
    assert not suppression.suppressed_pieces("ws_2", text, digests)


@given(st.integers(0, 40))
def test_a_name_reaches_over_a_short_gap_only(gap: int) -> None:
    digests = suppression.digests_of("ws_1", [Name("", "name", "Maria Keller")])
    text = f"Maria {'-' * gap} Keller"
    is_near = bool(suppression.suppressed_pieces("ws_1", text, digests))
    assert is_near is (gap + 2 <= 32)


@pytest.mark.django_db
def test_a_handle_that_is_a_word_is_kept_out_as_a_handle_only(world: World) -> None:
    by = world.actor("compliance")
    names = [
        NewAlias("handle", "@will"),
        NewAlias("handle", "mk"),
        NewAlias("user_id", "42"),
    ]
    subject = subjects.create("Will", names, by=by)
    consents.note(subject.id, "withdrawn", opted_out=True, by=by)
    for text in (
        "It will rain",
        "A mk file",
        "42 boxes",
        "will@shop.example",
        "a@will",
        "@ will",
        "meet @",
    ):
        assert world.entry(text), text
    for text in ("Ask @will now", "(@Will)", "@will.", "see @MK"):
        with pytest.raises(errors.Conflict):
            world.entry(text)
    for name in ("will", "@will", "mk", "42"):
        new = NewEntry(entry_type="peer.conversation", summary="Hi", subjects=(name,))
        with pytest.raises(errors.Conflict):
            journal.write([new], by=world.system())


@pytest.mark.django_db
def test_a_name_in_two_fields_is_refused(world: World, opted_out: Subject) -> None:
    with pytest.raises(errors.Conflict):
        world.entry("New", payload={"first_name": "Maria", "last_name": "Keller"})
    with pytest.raises(errors.Conflict):
        world.entry("New", payload={"who": [{"family": "Keller", "given": "Maria"}]})
    assert world.entry("New", payload={"first_name": "Maria", "last_name": "Kell"})


@pytest.mark.django_db
def test_no_rule_about_them_is_proposed(world: World, opted_out: Subject) -> None:
    for number in range(10):
        world.entry(f"Refund refused, case {number}")
    run = consolidation.run(world.crews["support"], by=world.system(), using=_Says())
    (proposal,) = ConsolidationProposal.objects.all()
    assert (run.proposed, run.refused) == ([proposal.id], 1)
    assert "Keller" not in proposal.text


class _Says:
    """A summariser with two rules, one of them about somebody."""

    name, batch = "says", 500

    def rules(self, material: Sequence[Material]) -> list[Rule]:
        ids = tuple(row.id for row in material[:3])
        rules = ("Refund without a receipt", "Maria Keller wants refunds")
        return [Rule(pattern, "Ask first.", 0.8, ids) for pattern in rules]
