"""The built-in letters in German, and the words that go into them."""

from __future__ import annotations

from typing import Any, Final

from gdpr.models import (
    CaseKind,
    LetterOccasion,
    NoNoticeGround,
    NoticeState,
    RecipientAnswer,
    RecipientKind,
)

DATE: Final = "j. F Y"
GREETING: Final = "Guten Tag {name},"
GREETING_UNKNOWN: Final = "Sehr geehrte Damen und Herren,"
# Each fits behind the words "Ihr Antrag auf".
REQUESTS: Final = {
    CaseKind.ACCESS: "Auskunft über Ihre personenbezogenen Daten (Artikel 15 DSGVO)",
    CaseKind.ERASURE: "Löschung Ihrer personenbezogenen Daten (Artikel 17 DSGVO)",
    CaseKind.RECTIFICATION: (
        "Berichtigung Ihrer personenbezogenen Daten (Artikel 16 DSGVO)"
    ),
    CaseKind.RESTRICTION: (
        "Einschränkung der Verarbeitung Ihrer personenbezogenen Daten"
        " (Artikel 18 DSGVO)"
    ),
    CaseKind.PORTABILITY: (
        "Übertragung Ihrer personenbezogenen Daten (Artikel 20 DSGVO)"
    ),
    CaseKind.OBJECTION: (
        "Beendigung der Verarbeitung Ihrer personenbezogenen Daten aufgrund Ihres"
        " Widerspruchs (Artikel 21 DSGVO)"
    ),
}
VERDICTS: Final = {
    "complete": (
        "Die anschließende Suche, wie das Zertifikat sie beschreibt, hat unter den"
        " uns bekannten Namen und Kennungen nichts mehr gemeldet."
    ),
    "complete_except": (
        "Die anschließende Suche, wie das Zertifikat sie beschreibt, hat unter den"
        " uns bekannten Namen und Kennungen nichts mehr gemeldet, abgesehen von dem,"
        " was dort aufgeführt ist."
    ),
    "partial": (
        "Die anschließende Suche hat ergeben, dass etwas übrig ist. Wir arbeiten daran,"
        " und Sie hören wieder von uns."
    ),
}
EXCEPTIONS: Final = "Folgendes bleibt aus dem genannten Grund bestehen:"
RECIPIENTS: Final[dict[str, Any]] = {
    "heading": "Empfänger Ihrer Daten, soweit wir es feststellen können:",
    "kinds": {
        RecipientKind.WEBHOOK: "ein Empfänger von Ereignissen",
        RecipientKind.GATEWAY: "ein Memory-Gateway",
        RecipientKind.PROVIDER: "ein entfernter Gedächtnisdienst",
        RecipientKind.EMBEDDER: "ein Dienst, der Texte vergleicht",
        RecipientKind.MODEL: "ein Dienst mit einem Sprachmodell",
    },
    "certain": "hat etwas über Sie erhalten",
    "possible": "hat möglicherweise etwas über Sie erhalten",
    "notices": {
        NoticeState.WAITING: "von Ihrem Antrag noch nicht unterrichtet",
        NoticeState.TO_NOTIFY: "von Ihrem Antrag noch nicht unterrichtet",
        NoticeState.QUEUED: "von Ihrem Antrag noch nicht unterrichtet",
        NoticeState.FAILED: "konnte von Ihrem Antrag noch nicht unterrichtet werden",
        NoticeState.NOTIFIED: "von uns am {day} von Ihrem Antrag unterrichtet",
        NoticeState.DELIVERED: "von uns am {day} von Ihrem Antrag unterrichtet",
        NoticeState.ANSWERED: "von uns am {day} von Ihrem Antrag unterrichtet",
    },
    "grounds": {
        NoNoticeGround.NOT_POSSIBLE: (
            "wird von Ihrem Antrag nicht unterrichtet, weil das nicht möglich ist"
        ),
        NoNoticeGround.DISPROPORTIONATE: (
            "wird von Ihrem Antrag nicht unterrichtet, weil das mit einem"
            " unverhältnismäßigen Aufwand verbunden wäre"
        ),
    },
    "answers": {
        RecipientAnswer.CARRIED_OUT: "hat mitgeteilt, dass es ausgeführt ist",
        RecipientAnswer.NOT_HELD: (
            "hat mitgeteilt, dass dort nichts über Sie gespeichert ist"
        ),
        RecipientAnswer.REFUSED: "hat es abgelehnt",
    },
    "more": "- weitere Empfänger, die wir auf Wunsch nennen: {count}",
}

_ENDING: Final = (
    "Mit freundlichen Grüßen\n\n{controller}\n{controller_contact}\n"
    "Datenschutzbeauftragte Person: {dpo_contact}"
)
_COMPLAINT: Final = (
    "Wenn Sie meinen, dass wir Ihre Daten oder Ihren Antrag nicht rechtmäßig behandeln,"
    " können Sie sich bei einer Datenschutz-Aufsichtsbehörde beschweren, insbesondere"
    " dort, wo Sie wohnen, wo Sie arbeiten oder wo der mutmaßliche Verstoß geschehen"
    " ist (Artikel 77 DSGVO). Außerdem steht Ihnen der Weg zu den Gerichten offen"
    " (Artikel 79 DSGVO)."
)
_CERTIFICATE: Final = (
    "Nachweis ist das Zertifikat {certificate_id}. Es nennt Ihren Namen nicht."
    " {verdict}"
)
_CHECK: Final = (
    "Das Zertifikat lässt sich unter {check_page} prüfen. Mit dem Prüfcode"
    " {check_code} können Sie dort nachsehen, ob Ihre E-Mail-Adresse, Ihr Name oder"
    " eine andere Kennung zu dem gehörte, wonach wir gesucht haben. Behalten Sie den"
    " Code für sich: Wer ihn und das Zertifikat hat, kann Vermutungen prüfen."
)
_PROOF: Final = (
    "Dieses Schreiben bewahren wir verschlüsselt {letter_days} Tage nach dem Versand"
    " auf, länger nur bei einer Löschsperre: Es belegt, dass wir Ihnen"
    " geantwortet haben (Artikel 5 Absatz 2 DSGVO)."
)
_RECIPIENTS: Final = "{recipients}"


def _letter(*paragraphs: str) -> str:
    return "\n\n".join(["{greeting}", *paragraphs, _ENDING])


_ANSWER: Final = "Antwort auf Ihren Antrag vom {received_on} ({case_id})"
_REQUEST: Final = "am {received_on} haben Sie einen Antrag auf {request} gestellt. "
TEXTS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    (LetterOccasion.RECEIVED, ""): (
        "Ihr Antrag vom {received_on} ist eingegangen ({case_id})",
        _letter(
            "Ihr Antrag auf {request} ist am {received_on} bei uns eingegangen. Er hat"
            " bei uns die Nummer {case_id}; bitte geben Sie sie an, wenn Sie uns dazu"
            " schreiben.",
            "Wir teilen Ihnen spätestens bis zum {due_on} mit, was wir daraufhin"
            " unternommen haben. Das Gesetz gibt uns dafür einen Monat (Artikel 12"
            " Absatz 3 DSGVO). Nur wenn ein Antrag komplex ist oder viele Anträge"
            " vorliegen, kann diese Frist um bis zu zwei Monate verlängert werden;"
            " darüber würden wir Sie vor dem {due_on} mit den Gründen unterrichten.",
            "Falls wir sicherstellen müssen, wer Sie sind, fragen wir nach. Bitte"
            " senden Sie uns keine Ausweiskopien, um die wir nicht gebeten haben.",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.EXTENDED, ""): (
        "Wir brauchen mehr Zeit für Ihren Antrag vom {received_on} ({case_id})",
        _letter(
            _REQUEST
            + "Wir können ihn nicht bis zum {due_on} beantworten und verlängern"
            " die Frist bis zum {extended_until} (Artikel 12 Absatz 3 DSGVO).",
            "Der Grund: {reason}",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.ACCESS): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben zusammengestellt, was wir über Sie gespeichert haben."
            " Sie erhalten es getrennt von diesem Schreiben als eine Datei: lesbare"
            " Seiten und dasselbe als strukturierte Daten (JSON).",
            "Wo ein Text von mehreren Personen handelt, sind die Namen der anderen"
            " ersetzt. Texte, die von jemand anderem handeln können, fehlen darin, es"
            " sei denn, wir haben festgestellt, dass sie von Ihnen handeln.",
            _RECIPIENTS,
            "Sie können verlangen, dass wir diese Daten berichtigen, löschen oder ihre"
            " Verarbeitung einschränken, und Sie können der Verarbeitung widersprechen"
            " (Artikel 16, 17, 18 und 21 DSGVO).",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.ERASURE): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben die Löschung durchgeführt.",
            "{exceptions}",
            _CERTIFICATE,
            _CHECK,
            _RECIPIENTS,
            _PROOF,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.RECTIFICATION): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben die falschen Angaben durch die richtigen ersetzt.",
            "{exceptions}",
            _CERTIFICATE,
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.RESTRICTION): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben die Verarbeitung eingeschränkt: Ihre Daten bleiben"
            " gespeichert, und wir verwenden sie nur noch, soweit Artikel 18 Absatz 2"
            " DSGVO es erlaubt. Bevor die Einschränkung aufgehoben wird, unterrichten"
            " wir Sie (Artikel 18 Absatz 3 DSGVO).",
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.PORTABILITY): (
        _ANSWER,
        _letter(
            _REQUEST + "Die Datei liegt vor. Sie erhalten sie getrennt von diesem"
            " Schreiben in einem strukturierten, gängigen und maschinenlesbaren Format"
            " (JSON mit einer Beschreibung der Felder). Sie dürfen sie weitergeben, an"
            " wen Sie möchten.",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.DONE, CaseKind.OBJECTION): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir verwenden Ihre Daten nicht mehr. Was gespeichert ist, ist"
            " eingeschränkt, und neue Texte, die Sie nennen, werden abgelehnt.",
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.REFUSED, ""): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir können ihm nicht entsprechen.",
            "Der Grund (Artikel 12 Absatz 4 DSGVO): {reason}",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.PARTLY_DONE, ""): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben ihm zum Teil entsprochen.",
            "Was wir nicht getan haben, und warum (Artikel 12 Absatz 4 DSGVO):"
            " {reason}",
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.PARTLY_DONE, CaseKind.RECTIFICATION): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben einen Teil der falschen Angaben durch die richtigen"
            " ersetzt.",
            "{exceptions}",
            _CERTIFICATE,
            _RECIPIENTS,
            _COMPLAINT,
        ),
    ),
    (LetterOccasion.PARTLY_DONE, CaseKind.ERASURE): (
        _ANSWER,
        _letter(
            _REQUEST + "Wir haben einen Teil gelöscht.",
            "{exceptions}",
            _CERTIFICATE,
            _CHECK,
            _RECIPIENTS,
            _PROOF,
            _COMPLAINT,
        ),
    ),
}
