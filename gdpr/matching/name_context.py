"""Words around a name: titles, family words, and words that are no first name."""

from __future__ import annotations

from typing import Final

from gdpr.matching.common_words import WORDS

TITLES: Final = frozenset(
    """
    mr mrs ms miss mx dr doctor prof professor sir dame lady madam phd msc mba
    herr herrn frau fraulein dipl ing mag rer nat med hon
    m mme mlle monsieur madame mademoiselle maitre
    sr sra srta senor senora senorita don dona doctora profesor profesora
    pan pani pana panu panem panna inz mgr hab
    fru froken herre direktor signor signora dott
    господин господина господину госпожа госпожи госпоже доктор профессор
    κυριοσ κυρια κυριε κ
    """.split()
)
FAMILY: Final = frozenset(
    "family familie famille familia rodzina rodziny rodzinie familjen familien the die"
    " der den les los las both beide beiden paar couple ehepaar семья семьи".split()
)
PARTICLES: Final = frozenset(
    "von van vom zu zur der den ter ten de del della di da dos das do du la le los las"
    " el al bin ibn af av y e".split()
)
# Capitalised at the beginning of a sentence or, in German, everywhere: what stands
# before a surname and is nobody's first name.
_NEUTRAL: Final = frozenset(
    """
    called calling met meet asked told tell spoke saw seen contact contacted email
    emailed mailed invite invited thank thanks remind reminded yesterday tonight because
    although however later again both with without behind dear re fw fwd cc bcc attn via
    invoice contract case ticket meeting appointment customer client patient colleague
    employee manager boss neighbour neighbor tenant landlord lawyer teacher student
    nurse officer agent owner author sender recipient user mail phone note notes file
    files folder surname name family room house company account project
    gestern heute morgen laut wegen seit bitte liebe lieber sehr hallo guten rechnung
    akte vertrag termin anruf besuch kunde kundin kollege kollegin nachbar nachbarin
    mieter mieterin patientin mandant mandantin schuler schulerin lehrer lehrerin chef
    chefin firma fall auftrag bestellung brief nachname familienname vorgang konto
    projekt haus zimmer adresse telefon bewerber bewerberin mitarbeiter mitarbeiterin
    hier hallo cher chere bonjour client cliente facture contrat dossier rendez appel
    voisin voisine collegue employe employee hier aujourd demain selon chez
    hola estimado estimada querido querida cliente factura contrato caso llamada ayer
    hoy manana segun vecino vecina colega nombre apellido
    klient klientka faktura umowa sprawa telefon wczoraj dzis jutro wedlug sasiad
    sasiadka drogi droga szanowny szanowna
    vcera dnes zitra podle klientka smlouva schuzka soused sousedka kolega vazeny vazena
    kund kunden granne kollega kollegan igar idag imorgon enligt kara hej mote samtal
    arende faktura avtal kunde nabo kollega aftale sag mode
    клиент договор счет вчера сегодня завтра сосед
    πελατησ χθεσ σημερα
    """.split()
)
# Everyday words that are first names where a surname follows.
_FIRST_NAMES: Final = frozenset(
    """
    april bill bob carol chase chuck clay cliff crystal dawn dean drew earl eve faith
    frank gene grace grant harmony heather holly hope hunter iris ivy jack jan jasmine
    jim joy june lance lily mark max mercy nick olive patience pearl penny peter pierce
    poppy ray rich rob robin rod rose ruby rusty sandy sonny sue summer tom tony victor
    violet wade
    """.split()
)
NOT_FIRST_NAMES: Final = (WORDS | TITLES | FAMILY | PARTICLES | _NEUTRAL) - _FIRST_NAMES
# First names to which an s makes somebody else's surname: Robert, Roberts.
S_SURNAMES: Final = frozenset(
    """
    adam abram andrew brook daniel david edward edmund eric evan franci gerald gibbon
    harri haye henri hick hopkin howell hugh humphrey isaac jacob james jean jenkin john
    jone mark martin matthew michael myer nichol owen parson peter perkin philip phillip
    richard robert robin roger samuel simmon simon stephen steven watkin water william
    wood young field bank hobb nell sander claes hendrik jan joost pieter
    """.split()
)


def may_be_first_name(word: str) -> bool:
    """Whether a folded word, written with a capital, may be a first name."""
    return len(word) > 1 and word.isalpha() and word not in NOT_FIRST_NAMES
