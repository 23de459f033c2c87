"""The model that marks people in a text: each word gets a label and a score.

Rampart by the National Design Studio lies in ``rampart`` beside this file and is read
by onnxruntime through ``episodic.embedders``, which keeps that library from reporting.
It is loaded at the first text, once in a process; nothing of a text is kept.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from episodic.embedders import base, onnx, perprocess
from episodic.embedders.onnx import Tokenizer

FOLDER: Final = Path(__file__).resolve().parent / "rampart"
# The model was trained on short texts; it finds less in longer ones.
WINDOW_PIECES: Final = 128
CONTEXT_PIECES: Final = 16
# More pieces say no more of a word.
WORD_PIECES: Final = 32
# BERT's words: letters with their accents, or one other sign.
_WORD: Final = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+|[^\w\s]|_")
# What the model can read at all: a word in Latin letters.
_READ: Final = re.compile(r"[A-Za-zÀ-ɏ]{2}")
_ENDS: Final = frozenset(".!?;:")
_LINE_END: Final = re.compile(r"[^\S\n]*\n")
# A dot behind so few letters may be an abbreviation's: "ul.", "St.", "Mrs.".
_ABBREVIATION: Final = 3
_OUTSIDE: Final = "O"
NAME_PARTS: Final = ("GIVEN_NAME", "SURNAME")
LEAST_NAME: Final = 0.05
# Letters whose stroke the tokenizer does not drop, as it drops accents.
_PLAIN: Final = str.maketrans("łŁøØđĐıħŧ", "lLoOdDiht")


class Word(NamedTuple):
    """A word of the text, what the model calls it, and how surely (0 to 1).

    ``name`` is how surely it is some part of a name, also where ``label`` is another.
    """

    start: int
    end: int
    label: str
    score: float
    name: float
    begins: bool


@dataclass(frozen=True, slots=True)
class _Token:
    """A word before the model read it."""

    start: int
    end: int
    pieces: list[int]
    closes: bool


@dataclass(frozen=True, slots=True)
class _Model:
    session: Any
    tokenizer: Tokenizer
    frame: tuple[int, int]
    labels: tuple[str, ...]
    # 35 columns → 18 labels: B- and I- of a label together.
    fold: NDArray[np.float32]
    begins: NDArray[np.bool_]

    def read(self, tokens: Sequence[_Token]) -> list[Word]:
        """Return the word of each token."""
        pieces = [piece for token in tokens for piece in token.pieces]
        ids = np.array([[self.frame[0], *pieces, self.frame[1]]], dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        names = {node.name for node in self.session.get_inputs()}
        feed = {name: value for name, value in feed.items() if name in names}
        (logits,) = self.session.run(None, feed)
        weights = np.exp(logits[0, 1:-1] - logits[0, 1:-1].max(axis=-1, keepdims=True))
        chances = weights / weights.sum(axis=-1, keepdims=True)
        first = np.cumsum([0, *(len(token.pieces) for token in tokens)])
        rows = []
        for token, start, end in zip(tokens, first[:-1], first[1:], strict=True):
            mean = chances[start:end].mean(axis=0) @ self.fold
            best = int(mean.argmax())
            name = float(sum(mean[self.labels.index(part)] for part in NAME_PARTS))
            begins = bool(self.begins[int(chances[start].argmax())])
            label, score = self.labels[best], float(mean[best])
            rows.append(Word(token.start, token.end, label, score, name, begins))
        return rows


def _load() -> _Model:
    onnx.checked(FOLDER)
    tokenizer = onnx.tokenizer_of(FOLDER)
    before, after = tokenizer.encode("")
    columns: dict[str, str] = json.loads((FOLDER / "config.json").read_bytes())[
        "id2label"
    ]
    raw = [columns[str(number)] for number in range(len(columns))]
    bare = [name.partition("-")[2] or _OUTSIDE for name in raw]
    labels = tuple(dict.fromkeys(bare))
    fold = np.zeros((len(raw), len(labels)), dtype=np.float32)
    for number, name in enumerate(bare):
        fold[number, labels.index(name)] = 1
    begins = np.array([name.startswith("B-") for name in raw])
    session = onnx.started(FOLDER / onnx.MODEL)
    return _Model(session, tokenizer, (before, after), labels, fold, begins)


_model: Final = perprocess.PerProcess(_load)


def words(
    text: str, may_name: Callable[[Sequence[str]], bool] = bool
) -> Iterator[Word]:
    """Yield the words that the model labels, in order. Raises EmbedderError.

    A text of any size is read in windows; time grows with its length alone.
    ``may_name`` says of a sentence's words whether they can name anybody: the model
    does not read the others, and it is nine tenths of what a text costs.
    """
    model = _model.get()
    for before, core, after in _windows(_tokens(text, model.tokenizer, may_name)):
        if not _READ.search(text, core[0].start, core[-1].end):
            continue
        try:
            rows = model.read([*before, *core, *after])
        except onnx.runtime_errors() as error:
            raise base.BadAnswer("The detector failed on a text.") from error
        own = rows[len(before) : len(before) + len(core)]
        yield from (
            word for word in own if word.label != _OUTSIDE or word.name >= LEAST_NAME
        )


def _tokens(
    text: str, tokenizer: Tokenizer, may_name: Callable[[Sequence[str]], bool]
) -> list[_Token]:
    """Return the tokens of the sentences that can name somebody."""
    encode = functools.lru_cache(maxsize=4_096)(
        lambda word: tokenizer.encode(base.sendable(word.translate(_PLAIN)))[1:-1][
            :WORD_PIECES
        ]
    )
    rows: list[_Token] = []
    for sentence in _sentences(text):
        if not may_name([match[0] for match in sentence]):
            continue
        for match in sentence:
            if pieces := encode(match[0]):
                closes = match[0] in _ENDS or match is sentence[-1]
                rows.append(_Token(*match.span(), pieces, closes))
    return rows


def _sentences(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the words of each sentence or line."""
    sentence: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        before = sentence[-1][0] if sentence else ""
        sentence.append(match)
        is_short = match[0] == "." and len(before) <= _ABBREVIATION
        if (match[0] in _ENDS and not is_short) or _LINE_END.match(text, match.end()):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _windows(
    rows: Sequence[_Token],
) -> Iterator[tuple[list[_Token], list[_Token], list[_Token]]]:
    """Cut tokens into windows: (before, core, after), the outer two as context."""
    start = 0
    while start < len(rows):
        end, closed, pieces = start, 0, 0
        while end < len(rows) and pieces + len(rows[end].pieces) <= WINDOW_PIECES:
            pieces += len(rows[end].pieces)
            end += 1
            if rows[end - 1].closes and pieces > WINDOW_PIECES // 2:
                closed = end
        if end < len(rows) and closed:
            end = closed
        before = _context(rows[max(0, start - CONTEXT_PIECES) : start][::-1])[::-1]
        after = _context(rows[end : end + CONTEXT_PIECES])
        yield before, list(rows[start:end]), after
        start = end


def _context(tokens: Sequence[_Token]) -> list[_Token]:
    context, pieces = [], 0
    for token in tokens:
        pieces += len(token.pieces)
        if pieces > CONTEXT_PIECES:
            break
        context.append(token)
    return context
