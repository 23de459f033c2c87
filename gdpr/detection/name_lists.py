"""First names and surnames of many countries, as the package Faker lists them.

Faker makes up people for tests; here only its lists are read. They hold what is common,
so a word that is missing there says nothing.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gdpr.matching.common_words import WORDS

COUNTRIES: Final = (
    "en_US en_GB en_IN de_DE de_AT de_CH fr_FR es_ES it_IT pl_PL pt_PT pt_BR nl_NL"
    " sv_SE da_DK no_NO fi_FI cs_CZ sk_SK hu_HU ro_RO hr_HR sl_SI tr_TR lt_LT lv_LV"
    " et_EE ru_RU uk_UA bg_BG el_GR"
).split()
_LEAST_LETTERS: Final = 3
# Names of people that texts about work mean otherwise, and everyday words.
_OTHERWISE: Final = frozenset(
    "alma api april art august berlin bill bot chase code dash data dom fail field"
    " ford free gene german golf grant host jade job joy june king lane link list long"
    " lord man mark max may media mercury mode paris page pat patch pearl pin post"
    " price prince read rich rob rose ruby sage scala sky sol star stone story summer"
    " swift task temple test token uni van victoria violet wall ward will wolf young"
    " london florence austin dallas jackson lincoln orlando jordan chelsea kent"
    " madison jersey israel india america asia china per peer meta"
    " claude devin gemini copilot".split()
)

# Small words of names ("von der Heide") that begin many a sentence.
_SMALL: Final = frozenset(
    "the der die das den und von aus auch del para pero sur tak".split()
)


class NameLists(NamedTuple):
    """Names in folded letters, and everyday words that are no name in any list."""

    first: frozenset[str]
    surnames: frozenset[str]
    no_names: frozenset[str]


@functools.cache
def lists() -> NameLists:
    """Return the lists, read once in a process."""
    first: set[str] = set()
    surnames: set[str] = set()
    for country in COUNTRIES:
        module = importlib.import_module(f"faker.providers.person.{country}")
        first.update(_names(module.Provider, "first_name"))
        surnames.update(_names(module.Provider, "last_name"))
    otherwise = WORDS | _OTHERWISE
    return NameLists(
        frozenset(first - otherwise),
        frozenset(surnames - otherwise),
        frozenset(WORDS - first - surnames | _SMALL),
    )


def _names(provider: type[Any], part: str) -> Iterator[str]:
    for attribute in dir(provider):
        if part not in attribute or attribute.startswith("prefix"):
            continue
        value = getattr(provider, attribute)
        for name in () if callable(value) else value:
            for word in str(name).casefold().split():
                if len(word) >= _LEAST_LETTERS:
                    yield word
