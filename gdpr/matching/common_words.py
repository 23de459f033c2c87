"""Where an alias is looked for: free text, free text but unsure, or fields only.

An ordinary word, a short one and a small number occur in texts that mean something
else. Such an alias is looked for only in links and in fields that hold a person. A
single word or a long number is looked for in free text, and a person decides on the
rows that match nothing else.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gdpr.matching import normalize, patterns

MIN_CHARS: Final = 3
_LEAST_DIGITS: Final = 6
# English, German, French, Spanish, Polish: the most frequent words, and first names
# that are words. In the form of ``patterns.folded``.
WORDS: Final = frozenset(
    """
    a about after all also am an and any app april are art as ask at august back bad bee
    before bill bob bot but buck by call can carol case chance chase chat chuck clay
    client cliff code crew crystal data date dawn day dean dec demo design dev do done
    down drew earl end error eve faith feb file first flo for frank free from gene get
    gift go good got grace grant guest had hall harmony has have he heather her here hi
    him his holly home hope how hunter in info into is it iris ivy jack jan jasmine jim
    joy july june just key king know lance last lee let like lily list log long lord
    love mail main major man many march mark mat max may me mercy miles more most my
    name new nick no none not note now null of off old olive on one online only open or
    order other our out page pat patience pay pearl penny people peter pierce poppy post
    prince queen rain ray read red rich rob robin rod rose ruby run rusty said sandy sat
    save say see sep server set she shop show site sky so some sonny star stay stone
    stop store storm sue summer sun support system task team test text than that the
    their them then there they this ticket time to today tom tony trip try two up us use
    user victor violet wade want was way we web week well were what when which who why
    will win with work would year yes you your
    aber als auch auf aus bei bin bis das dem den der des die doch ein eine einen einer
    er es fur hat hier ich ihr im ist ja kann kein mehr mit nach nicht noch nur oder
    sein sich sie sind und vom von vor war was wenn wer wie wir wird zu zum zur
    au aux avec ce ces dans de des du elle est et il je la le les leur mais ne nous on
    ou par pas plus pour que qui sa se ses son sur tu un une vous
    al como con del el ella en es esta la las lo los mas mi muy no para pero por que se
    si sin su te tu un una y ya
    ale bez bo byc co czy dla do i ich jak jest juz ma na nie o od po pod sa sie tak
    tam te tego to tylko w we z za ze
    """.split()
)


class Reach(IntEnum):
    """Where an alias is looked for."""

    FIELDS = 0
    UNSURE = 1
    TEXT = 2


def is_common(kind: str, value: str) -> bool:
    """Whether an alias occurs in texts that mean something else.

    Never for addresses and telephone numbers, which mean one person, nor for patterns,
    which are chosen deliberately.
    """
    if kind not in ("handle", "user_id", "name"):
        return False
    text = patterns.folded(kind, value)
    signs = [character for character in text if character.isalnum()]
    if signs and all(character.isdigit() for character in signs):
        return len(signs) < _LEAST_DIGITS
    return text.isascii() and (len(signs) < MIN_CHARS or text in WORDS)


def reach(kind: str, value: str) -> Reach:
    if is_common(kind, value):
        return Reach.FIELDS
    if kind in ("email", "phone"):
        return Reach.TEXT
    text = patterns.folded(kind, value).replace("*", "")
    if any(map(normalize.unspaced, text)):
        return Reach.TEXT
    if kind == "pattern":
        # A pattern is chosen deliberately, unless it is only such a word or number.
        count = sum(character.isalpha() for character in text)
        is_word = text in WORDS or count < MIN_CHARS
        return Reach.UNSURE if is_word else Reach.TEXT
    if kind == "name" and len(text.split()) > 1:
        is_phrase = all(word in WORDS for word in text.split())
        return Reach.UNSURE if is_phrase else Reach.TEXT
    letters = any(character.isalpha() for character in text)
    has_signs = any(not character.isalpha() for character in text)
    return Reach.TEXT if letters and has_signs and kind != "name" else Reach.UNSURE
