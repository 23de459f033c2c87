"""A row of an export as a sentence with quotes, labelled values and the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from gdpr.export.readable import agents, letters, recall, requests, values, workspace
from gdpr.export.readable.kinds import Kind, Quote, Row, names_in
from gdpr.export.readable.values import Wording

KINDS: Final[dict[str, Kind]] = {
    **agents.KINDS,
    **letters.KINDS,
    **recall.KINDS,
    **requests.KINDS,
    **workspace.KINDS,
}
# A place whose sentence nobody wrote yet.
UNKNOWN: Final = Kind(messages=(gettext_noop("This names you, or was noted of you:"),))
_WORD: Final = "_word"
# Words of most rows, which say nothing to a person.
USUAL: Final = frozenset({"info", "normal"})
Line = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """A row in words: ``details`` and ``technical`` are (label, text)."""

    sentence: SafeString
    quotes: list[tuple[Any, Quote]] = field(default_factory=list)
    details: list[Line] = field(default_factory=list)
    technical: list[Line] = field(default_factory=list)


def kind_of(row: Row) -> Kind:
    """Return the kind of a row by its place, and by its table within the place."""
    place = str(row["place"])
    table, colon, _ = str(row["id"]).partition(":")
    key = f"{place}:{table}" if colon else place
    return KINDS.get(key) or (UNKNOWN if colon else KINDS.get(place, UNKNOWN))


def moments(row: Row) -> list[str]:
    """Return when a row was noted: none, one, or one for each version of a file."""
    kind = kind_of(row)
    if kind.moments is not None:
        return kind.moments(row)
    stamp = row.get(kind.at)
    return [stamp] if isinstance(stamp, str) and stamp else []


# ── The sentence ─────────────────────────────────────────────────────────────
def _value(name: str, row: Row, kind: Kind, wording: Wording) -> Any:
    """Return a value of a message as markup; empty when the row has none."""
    if name == "when":
        return wording.moment(row[kind.at]) if row.get(kind.at) else ""
    if name in ("agent", "crew"):
        value: Any = wording.names.get(str(row.get(f"{name}_id") or ""), "")
    elif name.endswith(_WORD):
        column = name.removesuffix(_WORD)
        return values.word(column, row.get(column))
    elif values.is_moment(name) and row.get(name):
        return wording.moment(str(row[name]))
    else:
        value = row.get(name)
    return format_html("<bdi>{}</bdi>", value) if value else ""


def _messages(row: Row, kind: Kind) -> tuple[str, ...]:
    variant = row.get(kind.variant_column) if kind.variant_column else None
    return (*kind.variants.get(str(variant), ()), *kind.messages)


def _sentence(
    row: Row, kind: Kind, wording: Wording, messages: tuple[str, ...]
) -> tuple[SafeString, tuple[str, ...]]:
    """Return the first message that the row has values for, and its values' names."""
    for message in messages:
        names = names_in(message)
        fields = {name: _value(name, row, kind, wording) for name in names}
        if all(fields.values()):
            return values.markup(gettext(message), **fields), names
    return format_html("{}", gettext(UNKNOWN.messages[0])), ()


def line(row: Row, stamp: str, wording: Wording) -> SafeString:
    """Return a row's sentence for the calendar, at one of its moments."""
    kind = kind_of(row)
    if kind.line:
        return _sentence({**row, kind.at: stamp}, kind, wording, (kind.line,))[0]
    return _sentence(row, kind, wording, _messages(row, kind))[0]


def excerpt(row: Row, chars: int) -> str:
    """Return the beginning of a row's first quote for the calendar."""
    names = kind_of(row).quotes
    first = next((row[name] for name in names if isinstance(row.get(name), str)), "")
    if values.is_packed(first):
        first = "; ".join(text for _, text in values.lines("content", first))
    text = " ".join(first[: 4 * chars].split())
    return f"{text[:chars].rstrip()} …" if len(text) > chars else text


# ── The whole row ────────────────────────────────────────────────────────────
def of(row: Row, wording: Wording) -> Reading:
    """Return a row in words; each of its texts is in the result."""
    kind = kind_of(row)
    sentence, names = _sentence(row, kind, wording, _messages(row, kind))
    reading = Reading(sentence, _quotes(row, kind, wording))
    quote_columns = {quote.column for _, quote in reading.quotes} & set(kind.quotes)
    # A message shows a value whole only where it is a text; the rest is listed.
    in_message = {name for name in names if isinstance(row.get(name), str)}
    in_message |= {kind.at} if "when" in names else set()
    covered = {"place", *quote_columns, *kind.uses, *in_message}
    for column, value in row.items():
        if column in covered or values.is_empty(value):
            continue
        is_in_sentence = f"{column}{_WORD}" in names or column == kind.variant_column
        if column in kind.machine or column in values.TECHNICAL:
            reading.technical.extend(values.lines(column, value))
        else:
            _add(reading, column, value, wording, in_sentence=is_in_sentence)
    return reading


def _add(
    reading: Reading, column: str, value: Any, wording: Wording, *, in_sentence: bool
) -> None:
    """Add a column to the details of a reading, or to what only programs need."""
    meaning = values.word(column, value)
    if meaning:
        if not in_sentence and value not in USUAL:
            reading.details.append((values.label(column), meaning))
        if meaning != value or value in USUAL:
            reading.technical.append((values.label(column), value))
    elif values.is_moment(column) and wording.local(value) is not None:
        reading.details.append((values.label(column), wording.moment(value)))
    else:
        reading.details.extend(values.lines(column, value))


def _quotes(row: Row, kind: Kind, wording: Wording) -> list[tuple[Any, Quote]]:
    """Return the texts to show whole, each with its heading; the first has none."""
    columns = [name for name in kind.quotes if isinstance(row.get(name), str)]
    # A text that is JSON is listed value by value.
    columns = [name for name in columns if not values.is_packed(row[name])]
    quotes = [Quote(row[name], name) for name in columns if row[name]]
    if kind.quotes_of is not None:
        quotes += kind.quotes_of(row)
    return [
        (_heading(quote, wording, is_first=number == 0), quote)
        for number, quote in enumerate(quotes)
        if quote.text
    ]


def _heading(quote: Quote, wording: Wording, *, is_first: bool) -> Any:
    if quote.number:
        message = gettext("Version {number}, {when}, written by {by} ({source})")
        return format_html(
            message,
            number=quote.number,
            when=wording.moment(quote.at),
            by=format_html("<bdi>{}</bdi>", quote.by),
            source=format_html("<bdi>{}</bdi>", quote.source),
        )
    return "" if is_first else values.label(quote.column)
