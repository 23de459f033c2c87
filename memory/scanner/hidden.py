"""Hidden text: what the channels and decoders found, as hits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.scanner import (
    ciphers,
    decode,
    folding,
    invisible,
    lexicon,
    markup,
    normalise,
    registry,
    respelled,
    scoring,
    segment,
    sentences,
    split,
)
from memory.scanner.model import Hit
from memory.scanner.views import View, beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.model import Rule

# Kinds that are not used by accident, and kinds that ordinary data uses.
GAMES = frozenset(
    "rot13 cipher reversed leetspeak spaced morse binary flag_letters decimal octal "
    "turned pig_latin interleaved".split()
)
CODES = frozenset(
    "base64 base58 base85 ascii85 hex escape escape_letters url_letters "
    "html_letters".split()
)
SILENT = frozenset(
    {"url", "html", "plain", "spread", "lookalike", "split", "respelled", "markup"}
)
# What these change is how words are cut, and that is no code.
_JOINS_WORDS = frozenset({split.KIND, respelled.KIND, markup.KIND})
# Nothing is hidden below these.
_LAST = frozenset({respelled.KIND, markup.KIND})
_MIN_WORDS, _LONG, _MIN_LONG = 3, 5, 2
# From this many words on it is no accident.
_MIN_SENTENCE, _KNOWN_CHARS, _MIN_KNOWN, _MIN_READABILITY = 8, 4, 3, 0.6
_STYLED = re.compile(
    "[\U0001d400-\U0001d7ff\u24b6-\u24e9\uff21-\uff3a\uff41-\uff5a"
    "\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]{2,}"
)
_MIN_STYLED = 12
_LONGEST_WORD = 40
_MANY_LOOKALIKES, _SHOWN_CHARS, _MIN_CODED = 2, 400, 2
_ORDERS = (
    "IGNORE IGNOREF INSTR SYSPROMPT REVEAL SEND SECRET FROMNOW CONCEAL ROLE OBEY "
    "DELETE YOU YOUR MUST NOCONFIRM FREE EXEC TELL URL MAIL ACCTNO ALWAYS USER".split()
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
        decoded = channel.decoded or None
        hits.append(Hit(rule, channel.start, channel.end, decoded=decoded))
        if decoded:
            piece = (decoded, channel.start, channel.end)
            views.append(View(text).derive([piece], kind=channel.kind))
    return hits, [*views, normalise.spaces_for_invisible(text)]


def lookalikes(view: View) -> tuple[list[Hit], View | None]:
    """Hits for words with borrowed letters, and the view with them replaced."""
    plain, spans = normalise.unmask(view)
    if plain is None:
        return [], None
    has_many = len(spans) >= _MANY_LOOKALIKES
    name = "many_lookalikes" if has_many else "lookalike"
    rule = registry.rule(f"hidden_text.{name}")
    return [Hit(rule, *view.origin(*span)) for span in spans[:20]], plain


def styled(text: str) -> list[Hit]:
    """Hits for sentences in symbols that look like letters (mathematical, circled)."""
    beyond = beyond_ascii(text)
    if not _STYLED.search(beyond) or sentences.has_cjk(beyond):
        return []
    places = [match.span() for match in _STYLED.finditer(text)]
    if sum(end - start for start, end in places) < _MIN_STYLED:
        return []
    start, end = places[0][0], places[-1][1]
    decoded = folding.folded(text[start:end])[:_SHOWN_CHARS]
    return _hidden_hits(_rules("styled_letters", decoded), start, end, decoded)


def expand(original: View, folded: View) -> Iterator[View]:
    """Decoded views, breadth first, within depth and size.

    Codes and letter games have a size of their own, so that plain readings (escaped
    characters, split words) take none of it. An empty view that is cut stands for
    codes and letter games that were left out, for their size or their depth.
    """
    size = max(decode.MAX_GROWTH * len(original.text), decode.MIN_TOTAL)
    size = min(size, decode.MAX_TOTAL)
    sizes = {True: size, False: size}
    queue: list[tuple[View, View]] = [(original, folded)]
    texts: set[str] = set()
    while queue:
        source, plain = queue.pop(0)
        values = markup.texts(source) if source is original else ()
        for view in (*values, *decode.decode(source), *ciphers.undo(plain)):
            # Two ways of reading one after the other, and the other way round.
            if view.text in texts:
                continue
            texts.add(view.text)
            is_hidden = view.kind in GAMES or view.kind in CODES
            if sizes[is_hidden] < len(view.text):
                if is_hidden:
                    yield View("", is_cut=True)
                continue
            sizes[is_hidden] -= len(view.text)
            yield view
            if view.kind in _LAST:
                continue
            if view.depth < decode.MAX_DEPTH:
                queue.append((view, normalise.normalise(view)))
            elif any(deeper.kind in CODES for deeper in decode.decode(view)):
                yield View("", is_cut=True)


def judge(view: View, pieces: list[tuple[int, int, str]]) -> list[Hit]:
    """Return hits for a decoded view that reads as prose or gives orders."""
    if view.kind in SILENT or view.kind == "glued" or not pieces:
        return []
    decoded = "\n".join(text for _, _, text in pieces)
    if not decode.is_prose(decoded) or not _is_enough(view.kind, decoded):
        return []
    name = "encoded_prose"
    if view.kind in GAMES:
        name = "long_letter_game" if _is_sentence(view, decoded) else "letter_game"
    rules = _rules(name, decoded)
    return [hit for group in _clusters(pieces) for hit in _hidden_hits(rules, *group)]


def _clusters(pieces: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Pieces joined with those near them: what stands far apart is no single hit."""
    first = 0
    for place in range(1, len(pieces) + 1):
        is_last = place == len(pieces)
        if is_last or pieces[place][0] - pieces[place - 1][1] > scoring.WINDOW:
            group = pieces[first:place]
            yield group[0][0], group[-1][1], "\n".join(text for _, _, text in group)
            first = place


def _rules(name: str, decoded: str) -> list[Rule]:
    """The rule for hidden text, and one more where it gives orders."""
    names = [name, "encoded_order"] if _gives_orders(decoded) else [name]
    return [registry.rule(f"hidden_text.{name}") for name in names]


def _hidden_hits(rules: list[Rule], start: int, end: int, decoded: str) -> list[Hit]:
    return [Hit(rule, start, end, decoded=decoded[:_SHOWN_CHARS]) for rule in rules]


def _is_sentence(view: View, decoded: str) -> bool:
    """Whether a whole sentence was hidden in one step; deeper ones are mostly noise."""
    words = decoded.split()
    known_words = {
        word for word in words if len(word) >= _KNOWN_CHARS and segment.is_known(word)
    }
    return (
        view.depth == 1
        and len(words) >= _MIN_SENTENCE
        and len(known_words) >= _MIN_KNOWN
        and segment.readability(decoded) >= _MIN_READABILITY
    )


def changed_pieces(view: View, text: str) -> list[tuple[int, int, str]]:
    """Pieces of a view that differ from the original, as (start, end, text)."""
    pieces = []
    for index in range(len(view.marks)):
        begin, finish, start, end = view.piece(index)
        piece, source = view.text[begin:finish], text[start:end]
        is_same = piece == source or folding.folded(piece) == folding.folded(source)
        if view.source_kind in _JOINS_WORDS and len(piece) > _LONGEST_WORD:
            # Text around what this view replaced, whose words the last one joined.
            is_same = is_same or piece in view.source
        if piece.strip() and end > start and not is_same:
            pieces.append((start, end, piece))
    return pieces


def _is_enough(kind: str, decoded: str) -> bool:
    """Whether enough words were replaced: single ones happen in part numbers."""
    if kind not in ("leetspeak", "spaced"):
        return True
    words = set(decoded.split())
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
