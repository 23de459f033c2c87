"""A certificate as a document: every reason for rejection, and its bounds."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gdpr.certificates import document
from gdpr.certificates.document import Malformed, Verdict

OURS: Final = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
RETIRED: Final = Ed25519PrivateKey.from_private_bytes(b"\x02" * 32)
FOREIGN: Final = Ed25519PrivateKey.from_private_bytes(b"\x03" * 32)
CONTENT: Final = {
    "id": "cert_1", "version": 1, "case_id": "c_1", "kind": "erasure",
    "result": "complete", "run": 1, "issued_at": "now",
}  # fmt: skip


def public(private: Ed25519PrivateKey) -> str:
    return document.public_of(private)


def name_of(private: Ed25519PrivateKey) -> str:
    return document.key_id(public(private))


TRUSTED: Final = {name_of(key): public(key) for key in (OURS, RETIRED)}


def assembled(
    content: dict[str, Any], private: Ed25519PrivateKey, **signature: Any
) -> dict[str, Any]:
    """Return content signed as it stands, with other fields of the signature."""
    value = document.encode(private.sign(document.canonical(content)))
    fields = {
        "algorithm": "Ed25519", "canonical": "RFC 8785", "value": value,
        "key_id": name_of(private), "public_key": public(private),
    }  # fmt: skip
    return {"content": content, "signature": {**fields, **signature}}


def reasons(certificate: Any, **options: Any) -> list[str]:
    """Return the reasons; as a mapping or as text, the verdict is the same."""
    text = certificate if isinstance(certificate, str) else json.dumps(certificate)
    verdict = document.verify(text, TRUSTED, **options)
    if isinstance(certificate, dict):
        assert document.verify(certificate, TRUSTED, **options) == verdict
    assert verdict.valid is (not verdict.reasons)
    assert [reason for reason, _ in verdict.pairs] == verdict.reasons
    assert [sentence for _, sentence in verdict.pairs] == verdict.sentences
    return verdict.reasons


# ── The signature and its key ────────────────────────────────────────────────
def test_a_good_one_of_a_key_in_use_and_of_a_retired_one() -> None:
    for key in (OURS, RETIRED):
        text = document.sign(CONTENT, key)
        verdict = document.verify(text, TRUSTED, case_id="c_1")
        assert (verdict.valid, verdict.intact, verdict.key_id) == (
            True,
            True,
            name_of(key),
        )
        assert verdict.content == {**CONTENT, "key_id": name_of(key)}
        assert json.loads(text) == assembled({**CONTENT, "key_id": name_of(key)}, key)


OWN: Final = {**CONTENT, "key_id": name_of(OURS)}
ALIEN: Final = {**CONTENT, "key_id": name_of(FOREIGN)}
CHANGED: Final = {**OWN, "result": "partial"}


@pytest.mark.parametrize(
    ("certificate", "is_intact", "expected"),
    [
        (assembled(ALIEN, FOREIGN), True, ["unknown_key"]),
        (
            {**assembled(ALIEN, FOREIGN), "content": CHANGED},
            False,
            ["unknown_key", "tampered", "wrong_key"],
        ),
        ({**assembled(OWN, OURS), "content": CHANGED}, False, ["tampered"]),
        # Signed by a stranger's key, under a name that is known here.
        (assembled(OWN, FOREIGN, key_id=name_of(OURS)), False, ["wrong_key"]),
        # As before, and the public key of the name is written beside it.
        (
            assembled(OWN, FOREIGN, key_id=name_of(OURS), public_key=public(OURS)),
            False,
            ["tampered"],
        ),
        # Signed by another key of this installation.
        (
            assembled(OWN, RETIRED, key_id=name_of(OURS), public_key=public(OURS)),
            False,
            ["wrong_key"],
        ),
        # The signature holds, but the key written beside it is another.
        (assembled(OWN, OURS, public_key=public(RETIRED)), True, ["wrong_key"]),
        # The content names another key than the one that signed.
        (assembled(OWN, RETIRED), True, ["wrong_key"]),
    ],
)
def test_which_key_signed_what(
    certificate: dict[str, Any], is_intact: bool, expected: list[str]
) -> None:
    assert reasons(certificate) == expected
    assert document.verify(certificate, TRUSTED).intact is is_intact


# ── What a certificate needs ─────────────────────────────────────────────────
def _with_signature(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    certificate = assembled(OWN, OURS)
    return {**certificate, "signature": change(certificate["signature"])}


@pytest.mark.parametrize(
    "certificate",
    [
        "[]",
        '"text"',
        {"content": OWN},
        {**assembled(OWN, OURS), "note": "all clean"},
        {**assembled(OWN, OURS), "content": list(OWN)},
        {**assembled(OWN, OURS), "content": None},
        _with_signature(list),
        _with_signature(lambda fields: {**fields, "algorithm": "none"}),
        _with_signature(lambda fields: {**fields, "canonical": "JCS"}),
        _with_signature(lambda fields: {**fields, "key_id": 7}),
        _with_signature(lambda fields: {**fields, "value": None}),
        _with_signature(lambda fields: {**fields, "note": "all clean"}),
        _with_signature(
            lambda fields: {k: v for k, v in fields.items() if k != "value"}
        ),
    ],
)
def test_a_part_of_another_kind_is_no_certificate(
    certificate: str | dict[str, Any],
) -> None:
    assert reasons(certificate) == ["malformed"]


@pytest.mark.parametrize("field", [*CONTENT, "key_id"])
def test_a_field_that_is_missing_or_of_another_type_is_named(field: str) -> None:
    kind = document.CONTENT_NEEDS[field]
    other_values: list[Any] = [None, True, ["x"], "1" if kind is int else 1]
    for content in (
        {name: value for name, value in OWN.items() if name != field},
        *({**OWN, field: value} for value in other_values),
    ):
        extra = ["wrong_key"] if field == "key_id" else []
        assert reasons(assembled(content, OURS)) == [*extra, "malformed"]


def test_a_newer_version_is_not_judged_by_its_fields() -> None:
    assert reasons(assembled({**OWN, "version": 3}, OURS)) == ["future_version"]
    content = {"version": 3, "key_id": name_of(OURS)}
    assert reasons(assembled(content, OURS)) == ["future_version"]


def test_it_is_about_the_case_it_is_shown_for() -> None:
    assert reasons(assembled(OWN, OURS), case_id="c_1") == []
    assert reasons(assembled(OWN, OURS), case_id="c_2") == ["wrong_case"]


# ── One reading ──────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"run":1', '"run":1,"run":1'),
        ('"key_id":', '"key_id":"x","key_id":'),
        ('"run":1', '"run":NaN'),
        ('"run":1', '"run":-Infinity'),
        ('"run":1', f'"run":{2**60}'),
        ('"now"', '"\\ud800"'),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(old: str, new: str) -> None:
    text = document.sign(CONTENT, OURS)
    assert old in text
    assert reasons(text.replace(old, new, 1)) == ["malformed"]


def test_what_has_no_canonical_form_is_not_signed() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    for value in (float("nan"), 2**60, "\ud800", b"bytes", nested):
        with pytest.raises(Malformed):
            document.sign({**CONTENT, "extra": value}, OURS)


def test_the_largest_document_is_read_and_no_larger_one() -> None:
    text = document.sign(CONTENT, OURS)
    assert reasons(text.ljust(document.MAX_BYTES)) == []
    assert reasons(text.ljust(document.MAX_BYTES + 1)) == ["malformed"]


def test_a_document_has_no_more_values_than_a_certificate_could() -> None:
    for count, expected in ((9_900, []), (10_001, ["malformed"])):
        content = {**OWN, "places": [0] * count}
        assert reasons(json.dumps(assembled(content, OURS))) == expected


def test_base64_has_one_spelling_and_one_length() -> None:
    raw = b"\xff"
    assert document.decode("/w==", 1) == raw
    for text in ("/x==", "/w", "/w= =", "/w==\n", "_w==", "é", ""):
        with pytest.raises(Malformed):
            document.decode(text, 1)
    for size in (0, 2):
        with pytest.raises(Malformed):
            document.decode("/w==", size)


# ── Names ────────────────────────────────────────────────────────────────────
def test_the_id_of_a_key_is_the_start_of_its_hash() -> None:
    raw = base64.b64decode(public(OURS))
    assert raw == OURS.public_key().public_bytes_raw()
    assert name_of(OURS) == f"ed25519-{hashlib.sha256(raw).hexdigest()[:16]}"


def test_an_installation_has_a_name_of_its_secret_that_does_not_tell_it() -> None:
    names = {document.digest_name(secret) for secret in ("one", "two", "one")}
    assert len(names) == 2
    assert all(name.startswith("in-") and len(name) == 19 for name in names)
    plain = {hashlib.sha256(s).hexdigest()[:16] for s in (b"one", b"two")}
    assert not {name.removeprefix("in-") for name in names} & plain


def test_a_reason_is_given_once_and_every_reason_has_its_sentence() -> None:
    verdict = Verdict(intact=True)
    assert verdict.valid
    verdict.add("replaced")
    verdict.add("replaced")
    assert (verdict.reasons, verdict.valid) == (["replaced"], False)
    assert verdict.pairs == [("replaced", document.SENTENCES["replaced"])]
    assert not Verdict().valid
