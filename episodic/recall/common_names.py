"""Words that agents and crews are named after, and that questions use as words.

A name that is one of these, or that ends like the name of an occupation, is taken for a
name only where the sentence leaves no doubt (``question_names``).
"""

from __future__ import annotations

from typing import Final

from episodic.recall.times import words as time_words
from memory.rules.tokenizer import STOP_WORDS

_ENDINGS: Final = ("er", "or", "ist", "ing", "ion", "ment", "ness", "ity", "ance")
_NOUNS: Final = """
    abteilung access account admin agent agents alert alpha amber amt analyst anfrage
    angel answer api app april archive art ash ask assistant atlas audit august auth
    auto autumn back backend base bericht beta bill billing board body book boss bot
    brain bridge brook buchhaltung budget buffer bug build bus business cache call
    captain care case cash chain change channel chase chat check chef chief chuck claim
    class clay client cliff cloud club coach code command commit compliance contact
    content control copilot copy core cost craft crew critic crystal custom customer
    dashboard data database daten dawn deal debug default deliver delivery
    delta demo deploy design desk dev device dialog dienst director doc docs doctor dot
    draft drive echo edge editor einkauf email engine entwicklung eve event expert
    fact faith feed file finance fix flora flow forge form forum frage front
    frontend fund gate gateway general ghost gold grace grant graph group growth
    guard guest guide harmony haus hazel head health helfer help helpdesk
    helper hilfe hire home hope host house hub human hunter idea image import
    inbox index info input insight install intake intern issue jade
    jay jewel job journal joy judge june kasse key king kunde kunden lab labor
    lager lance lead leads learn legal leitung librarian library light link list
    live local log logic logs machine mail main manage map mark market markt mars master
    mat matrix max may mean media memory mentor mercury mercy merge message meta miles
    model money neo nest net network news node note notes office olive online
    opal ops oracle order output owner page pair partner pat patience pay pearl penny
    people pepper phone pierce pilot pipe pixel plan plans platform play point policy
    pool poppy port post preis press prime pro process product project projekt prompt
    proof prophet pulse qa quality query queue radar ray recall rechnung recht records
    reed release remote repair report reports research reset response result review rex
    rich risk robin robot rocky root rose route ruby rule rules run rusty safe sage
    sale sales sandy scan school schutz scout script search second secret secure
    security sentinel server service session set shell shop show sicherheit site skill
    skip sky smart social sonic sonny source space spark speed staff stage star start
    state stelle step stock stone storage store storm stream studio style success suche
    summary summer sun sunny supply support surface survey sync system table talk
    target task team tech technik terminal test tests text theme think thread ticket
    time tool tools top trace track trade traffic train travel triage trust tutor unit
    update user users value vault verkauf version vertrieb view vision
    voice wache wade ward watch wave web werk wiki wild will wing winter wolf word work
    works world write zeit
"""
_WORDS: Final = (
    frozenset(_NOUNS.split())
    | STOP_WORDS
    | frozenset(time_words.MONTHS)
    | frozenset(time_words.WEEKDAYS)
    | time_words.TRIGGERS
)


def is_common(name: str) -> bool:
    """Whether a folded single-word name is an ordinary word, or too short to tell."""
    singular = name.removesuffix("s")
    return (
        len(name) < 3
        or name in _WORDS
        or singular in _WORDS
        or singular.endswith(_ENDINGS)
    )
