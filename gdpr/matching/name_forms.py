"""Finds the forms in which a text writes a registered name, and how surely each.

The surname is looked for with its spellings and endings; the words beside it decide
which form it is. What may be somebody else's name is proposed, and what has another
first name beside it is nobody's here. The forms are listed in ``forms``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from gdpr.matching import inflection, name_words, split_names
from gdpr.matching.common_words import MIN_CHARS, WORDS
from gdpr.matching.name_context import (
    FAMILY,
    NOT_FIRST_NAMES,
    PARTICLES,
    S_SURNAMES,
    TITLES,
)
from gdpr.matching.name_words import Parts, Spelling, Word
from gdpr.matching.neighbours import Place, Token
from gdpr.matching.normalize import LETTER_AFTER, LETTER_BEFORE, View

# A joined name of fewer letters may be a word of its own.
_JOINED_LETTERS: Final = 8
_NAME_GAP: Final = re.compile(r"\s{1,6}|\.\s{0,2}|[_\-\u2010]")
_COMMA: Final = re.compile(r"\s{0,4},\s{0,4}")
_TITLE_GAP: Final = re.compile(r"\.?\s{1,3}")
_INITIAL_GAP: Final = re.compile(r"\.\s{0,3}|[ \t]{1,3}|[_\-]")
_ARTICLE_ONLY: Final = frozenset("the die der den les los las both beide".split())


class Hit(NamedTuple):
    """A form of the name in a folded text, and whether it surely means the person."""

    start: int
    end: int
    code: str
    sure: bool = False


class FullName:
    """Finds the forms of one name; ``proposals``: also those that may be others'."""

    def __init__(self, parts: Parts, *, proposals: bool) -> None:
        self._proposals = proposals
        self._first: Word | None = name_words.word(parts.first) if parts.first else None
        self._surname = name_words.word(parts.surname, is_surname=True)
        self._middle = frozenset(parts.middle)
        self._firsts = dict(self._first.spellings) if self._first else {}
        if self._first and parts.middle:
            joined_forms = self._first.letters + "".join(parts.middle)
            self._firsts.setdefault(joined_forms, Spelling())
        registered = self._surname.letters
        self._inflects = inflection.is_inflecting(parts.surname, registered)
        self._is_common = registered in WORDS or len(registered) < MIN_CHARS
        has_word = not WORDS.isdisjoint(self._firsts)
        self._has_word = self._is_common or has_word
        self._initials = {letters[0] for letters in self._firsts}

    # ── Where to look ────────────────────────────────────────────────────────
    @property
    def stems(self) -> tuple[str, ...]:
        """Strings of which every text with a form contains one."""
        return self._surname.stems

    @property
    def anchors(self) -> set[str]:
        """Words of which every text with a form has one, as a whole word."""
        return {*self._surname.spellings, *self._surname.stems, *self._joined}

    @cached_property
    def _joined(self) -> dict[str, bool]:
        """Joined forms of the name, and whether each has first name and surname."""
        if self._first is None:
            return {}
        joined_forms = {}
        for surname in self._surname.plain:
            for first in self._first.plain:
                joined_forms[first + surname] = joined_forms[surname + first] = True
                if self._proposals and len(surname) > MIN_CHARS:
                    joined_forms.setdefault(first[0] + surname, False)
                    joined_forms.setdefault(surname + first[0], False)
        return joined_forms

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted(self._surname.patterns, key=len, reverse=True)
        return re.compile(f"{LETTER_BEFORE}(?:{'|'.join(longest)}){LETTER_AFTER}")

    @cached_property
    def _joined_pattern(self) -> re.Pattern[str] | None:
        longest = sorted(map(re.escape, self._joined), key=len, reverse=True)
        return re.compile("|".join(longest)) if longest else None

    def may(self, folded: str) -> bool:
        """Whether a folded text may have a form; False is certain."""
        if self._pattern.search(folded):
            return True
        joined_forms = self._joined_pattern
        return joined_forms is not None and joined_forms.search(folded) is not None

    def means(self, folded: str) -> bool:
        """Whether a whole value of a field is the surname."""
        spelling = self._surname.spellings.get(name_words.letters_of(folded))
        is_plain = spelling is not None and not (spelling.has_s or spelling.cases)
        return self._proposals and is_plain and not self._is_common

    # ── Finding ──────────────────────────────────────────────────────────────
    def hits(self, view: View) -> Iterator[Hit]:
        """Return the forms in a view of a text."""
        rows = list(self._surnames(view))
        if first_names := split_names.other_first_names(view, self._firsts):
            rows = [
                hit
                for hit in rows
                if hit.code != "surname"
                or not split_names.is_of_another(view, hit[:2], first_names)
            ]
        yield from (hit for hit in rows if hit.sure or self._proposals)
        yield from self._joined_hits(view)
        if self._first and rows and not any(hit.sure for hit in rows):
            surname_spans = [hit[:2] for hit in rows if hit.code == "surname"]
            spellings = (self._firsts, self._surname.spellings)
            for start, end in split_names.find(view, *spellings, surname_spans):
                yield Hit(start, end, "split_fields", sure=not self._has_word)

    def _surnames(self, view: View) -> Iterator[Hit]:
        for match in self._pattern.finditer(view.text):
            place = Place(view, *match.span())
            spelling = self._surname.spellings[name_words.letters_of(match[0])]
            if spelling.is_short and not place.has_sign():
                continue
            hit = self._form(place, spelling)
            if hit is not None:
                yield hit

    def _form(self, place: Place, spelling: Spelling) -> Hit | None:
        if self._first:
            hit = self._behind_first(place, spelling)
            if hit is None and not spelling.has_s:
                hit = self._before_first(place, spelling)
            if hit is not None:
                return hit
            if (initial := self._initial_before(place)) is not None:
                is_own = initial.letters in self._initials
                code = "initial_surname"
                return Hit(initial.start, place.end, code) if is_own else None
        return self._titled(place) or self._alone(place, spelling)

    # ── With the first name ──────────────────────────────────────────────────
    def _behind_first(self, place: Place, spelling: Spelling) -> Hit | None:
        between: list[Token] = []
        for token in place.before:
            if not _NAME_GAP.fullmatch(token.gap) or (between and "\n" in token.gap):
                return None
            first = self._firsts.get(token.letters)
            if first is not None and (not between or token.is_capital):
                code, sure = self._whole(first, spelling, between)
                return Hit(token.start, place.end, code, sure=sure) if code else None
            is_own = token.letters in self._middle or token.letters in PARTICLES
            is_name = token.is_capital and token.letters.isalpha()
            if "\n" in token.gap or not (is_own or is_name):
                return None
            between.append(token)
        return None

    def _whole(
        self, first: Spelling, surname: Spelling, between: list[Token]
    ) -> tuple[str, bool]:
        """Return the form of a first name with the surname behind it."""
        if first.cases or surname.cases:
            return self._inflected(first, surname)
        if surname.has_s and self._surname.letters in S_SURNAMES:
            return "ending_unclear", False
        names = [token.letters for token in between if token.letters not in PARTICLES]
        long = [name for name in names if len(name) > 1 and name not in self._middle]
        if names and (len(long) > 1 or not NOT_FIRST_NAMES.isdisjoint(long)):
            return "middle_unclear", False
        if self._middle:
            initials = {name[0] for name in self._middle}
            fits = all(name in self._middle or name in initials for name in names)
            if not fits or not names:
                return "middle_unclear", False
        if surname.has_s:
            return "genitive", True
        if names:
            return "middle_names", True
        is_other = first.is_other_letters or surname.is_other_letters
        return ("other_letters" if is_other else "as_registered"), True

    def _inflected(self, first: Spelling, surname: Spelling) -> tuple[str, bool]:
        if not set(first.cases).isdisjoint(surname.cases):
            return ("inflected", True) if self._inflects else ("ending_unclear", False)
        return ("ending_unclear", False) if self._inflects else ("", False)

    def _before_first(self, place: Place, spelling: Spelling) -> Hit | None:
        """Return the form of a surname with the first name behind it."""
        if not place.after:
            return None
        token, beyond = place.after[0], place.after[1:]
        comma = _COMMA.fullmatch(token.gap) is not None
        if not (comma or token.is_spaced or token.is_tight):
            return None
        first = self._firsts.get(token.letters)
        if first is None:
            is_initial = token.letters in self._initials and token.is_capital
            is_initial = is_initial and place.text[token.end : token.end + 1] == "."
            if is_initial and place.is_capital and not place.is_behind_name:
                return Hit(place.start, token.end + 1, "initial_surname")
            return None
        if first.cases and set(first.cases).isdisjoint(spelling.cases):
            return None
        end = token.end
        while beyond and self._is_own_middle(beyond[0]):
            end, beyond = beyond[0].end, beyond[1:]
        is_upper = place.is_upper and not place.cased[token.start : end].isupper()
        is_beside = place.is_behind_name
        if token.is_tight and place.before and not place.before[0].is_tight:
            # The word before is no part of a name of a file or an account.
            is_beside = False
        is_followed = bool(beyond) and beyond[0].is_another_name
        if is_beside and is_followed and not is_upper:
            return None
        is_name = place.is_capital and token.is_capital
        is_clear = is_name or ((comma or token.is_tight) and not place.is_capital)
        sure = is_clear and (is_upper or not (is_beside or is_followed))
        sure = sure and (comma or not self._has_word)
        code = "last_first" if sure else "order_unclear"
        return Hit(place.start, end, code, sure=sure)

    def _is_own_middle(self, token: Token) -> bool:
        is_own = token.letters in self._middle or token.letters in PARTICLES
        return is_own and _NAME_GAP.fullmatch(token.gap) is not None

    # ── Without the first name ───────────────────────────────────────────────
    def _initial_before(self, place: Place) -> Token | None:
        """Return the first of the initials before a surname."""
        initial = None
        for token in place.before[:3]:
            is_letter = len(token.letters) == 1 and token.letters.isalpha()
            if not is_letter or not _INITIAL_GAP.fullmatch(token.gap):
                break
            is_written = token.is_capital or token.is_tight
            if not is_written or (token.letters in NOT_FIRST_NAMES and token.is_spaced):
                break
            initial = token
        is_title = initial is not None and initial.letters in TITLES
        if initial and is_title and initial.letters not in self._initials:
            return None
        return initial

    def _titled(self, place: Place) -> Hit | None:
        start = place.start
        for token in place.before:
            if token.letters not in TITLES or not _TITLE_GAP.fullmatch(token.gap):
                break
            start = token.start
        if start == place.start:
            return None
        return Hit(start, place.end, "title_surname")

    def _alone(self, place: Place, spelling: Spelling) -> Hit | None:
        if self._is_common or (spelling.cases and not self._inflects):
            return None
        before = place.before[0] if place.before else None
        if before and place.is_capital and before.letters in FAMILY:
            is_family = spelling.has_s or before.letters not in _ARTICLE_ONLY
            if is_family and before.is_spaced:
                return Hit(before.start, place.end, "family")
        is_letters_s = spelling.has_s and self._surname.letters in S_SURNAMES
        if is_letters_s or place.is_behind_name:
            return None
        is_mailbox = place.text[place.end : place.end + 1] == "@"
        if not (place.is_capital or is_mailbox):
            return None
        if self._first is None and not spelling.has_s:
            # A name of one word is its own form already.
            return None
        return Hit(place.start, place.end, "surname")

    # ── Joined ───────────────────────────────────────────────────────────────
    def _joined_hits(self, view: View) -> Iterator[Hit]:
        pattern, cased = self._joined_pattern, view.cased or view.text
        for match in pattern.finditer(view.text) if pattern else ():
            start, end = match.span()
            is_upper, rest = cased[start].isupper(), cased[start + 1 : end]
            is_camel = is_upper and any(map(str.isupper, rest))
            before, after = cased[max(0, start - 1) : start], cased[end : end + 1]
            starts = not before.isalnum() or (before.islower() and is_upper)
            ends = not after.isalpha() or (after.isupper() and rest[-1:].islower())
            if not (starts and ends):
                continue
            if not self._joined[match[0]]:
                if self._proposals:
                    yield Hit(start, end, "initial_joined")
                continue
            is_long = len(match[0]) >= _JOINED_LETTERS
            if is_long and (is_camel or not self._has_word):
                yield Hit(start, end, "joined", sure=True)
            elif self._proposals and (is_camel or is_long):
                yield Hit(start, end, "joined_unclear")
