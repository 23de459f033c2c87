"""Hidden text: what the channels and decoders found, as hits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.scanner import (
    ciphers,
    decode,
    invisible,
    lexicon,
    normalise,
    registry,
    segment,
    sentences,
)
from memory.scanner.model import Hit
from memory.scanner.views import View, beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Iterator

# Kinds that nobody uses by accident, and kinds that data uses every day.
GAMES = frozenset(
    {
        "rot13",
        "cipher",
        "reversed",
        "leetspeak",
        "spaced",
        "morse",
        "binary",
        "flag_letters",
        "decimal",
    }
)
CODES = frozenset(
    "base64 base32 ascii85 hex escape escape_letters url_letters html_letters".split()
)
SILENT = frozenset({"url", "html", "plain", "spread", "lookalike", "split"})
_MIN_WORDS, _LONG, _MIN_LONG = 3, 5, 2
# Nobody writes this many words in such a way by accident.
_SENTENCE, _KNOWN, _MIN_KNOWN, _CLEAR = 8, 4, 3, 0.6
_STYLED = re.compile(
    "[\U0001d400-\U0001d7ff\u24b6-\u24e9\uff21-\uff3a\uff41-\uff5a"
    "\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]{2,}"
)
_MIN_STYLED = 12
_MANY_LOOKALIKES, _SHOWN, _MIN_CODED = 2, 400, 2
_ORDERS = (
    "IGNORE",
    "IGNOREF",
    "INSTR",
    "SYSPROMPT",
    "REVEAL",
    "SEND",
    "SECRET",
    "FROMNOW",
    "CONCEAL",
    "ROLE",
    "OBEY",
    "DELETE",
    "YOU",
    "YOUR",
    "MUST",
    "NOCONFIRM",
    "FREE",
    "EXEC",
    "TELL",
    "URL",
    "MAIL",
    "ACCTNO",
    "ALWAYS",
    "USER",
)
_ORDER_CHARS = {name: frozenset(lexicon.LEXICON.classes[name]) for name in _ORDERS}


def channels(text: str) -> tuple[list[Hit], list[View]]:
    """Hits for invisible channels, and views of what they say."""
    if not invisible.has_any(text):
        return [], []
    hits: list[Hit] = []
    views: list[View] = []
    for channel in invisible.channels(text):
        rule = registry.rule(f"hidden_text.{channel.kind}")
        said = channel.decoded or None
        hits.append(Hit(rule, channel.start, channel.end, decoded=said))
        if said:
            piece = (said, channel.start, channel.end)
            views.append(View(text).derive([piece], kind=channel.kind))
    return hits, [*views, normalise.spread(text)]


def lookalikes(view: View) -> tuple[list[Hit], View | None]:
    """Hits for words with borrowed letters, and the view with them replaced."""
    plain, spans = normalise.unmask(view)
    if plain is None:
        return [], None
    many = len(spans) >= _MANY_LOOKALIKES
    name = "many_lookalikes" if many else "lookalike"
    rule = registry.rule(f"hidden_text.{name}")
    return [Hit(rule, *view.origin(*span)) for span in spans[:20]], plain


def styled(text: str) -> list[Hit]:
    """Hits for sentences in letters that only look like letters."""
    beyond = beyond_ascii(text)
    if not _STYLED.search(beyond) or sentences.has_cjk(beyond):
        return []
    places = [match.span() for match in _STYLED.finditer(text)]
    if sum(end - start for start, end in places) < _MIN_STYLED:
        return []
    start, end = places[0][0], places[-1][1]
    said = normalise.folded(text[start:end])[:_SHOWN]
    hits = [Hit(registry.rule("hidden_text.styled_letters"), start, end, decoded=said)]
    if _gives_orders(said):
        rule = registry.rule("hidden_text.encoded_order")
        hits.append(Hit(rule, start, end, decoded=said))
    return hits


def expand(original: View, folded: View) -> Iterator[View]:
    """Decoded views, breadth first, within depth and size."""
    budget = decode.MAX_GROWTH * max(len(original.text), 256)
    queue: list[tuple[View, View]] = [(original, folded)]
    while queue:
        source, plain = queue.pop(0)
        for view in (*decode.decode(source), *ciphers.undo(plain)):
            budget -= len(view.text)
            if budget < 0:
                return
            yield view
            if view.depth < decode.MAX_DEPTH:
                queue.append((view, normalise.normalise(view)))


def judge(view: View, pieces: list[tuple[int, int, str]]) -> list[Hit]:
    """Return hits for a decoded view that reads as prose or gives orders."""
    if view.kind in SILENT or view.kind == "glued" or not pieces:
        return []
    said = "\n".join(text for _, _, text in pieces)
    if not decode.is_prose(said) or not _is_enough(view.kind, said):
        return []
    start, end = pieces[0][0], pieces[-1][1]
    name = "encoded_prose"
    if view.kind in GAMES:
        name = "long_letter_game" if _is_sentence(view, said) else "letter_game"
    shown = said[:_SHOWN]
    hits = [Hit(registry.rule(f"hidden_text.{name}"), start, end, decoded=shown)]
    if _gives_orders(said):
        rule = registry.rule("hidden_text.encoded_order")
        hits.append(Hit(rule, start, end, decoded=shown))
    return hits


def _is_sentence(view: View, said: str) -> bool:
    """A whole sentence hidden in one step; what only looks like it is mostly noise."""
    words = said.split()
    known = {word for word in words if len(word) >= _KNOWN and segment.is_known(word)}
    return (
        view.depth == 1
        and len(words) >= _SENTENCE
        and len(known) >= _MIN_KNOWN
        and segment.readability(said) >= _CLEAR
    )


def changed(view: View, text: str) -> list[tuple[int, int, str]]:
    """Pieces of a view that differ from the original, as (start, end, text)."""
    found = []
    for index, (here, start, end) in enumerate(view.marks):
        last = index + 1 == len(view.marks)
        after = len(view.text) if last else view.marks[index + 1][0]
        said = view.text[here:after]
        if said.strip() and end > start and _differs(said, text[start:end]):
            found.append((start, end, said))
    return found


def _differs(said: str, source: str) -> bool:
    return said != source and normalise.folded(said) != normalise.folded(source)


def _is_enough(kind: str, said: str) -> bool:
    """Single replaced words happen in part numbers; several long ones do not."""
    if kind not in ("leetspeak", "spaced"):
        return True
    words = set(said.split())
    return len(words) >= _MIN_WORDS and sum(len(w) >= _LONG for w in words) >= _MIN_LONG


def _gives_orders(text: str) -> bool:
    folded = normalise.normalise(View(text)).text
    chars = frozenset(
        "".join(
            sentences.encode(folded[start:end]).chars
            for start, end in sentences.bounds(folded)
        )
    )
    names = [name for name, group in _ORDER_CHARS.items() if chars & group]
    return len(names) >= _MIN_CODED and bool(re.search("[a-z]", folded))
