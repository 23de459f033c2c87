"""Find the words in letters that were run together or pulled apart."""

from __future__ import annotations

from memory.scanner.lexicon import LEXICON

# The commonest English words, enough to see that a run of letters is a sentence.
COMMON = frozenset(
    "a about after all also an and any are as at be because been before being but "
    "by can come could day did do does done down each even every file find first "
    "for from get give go good had has have he her here him his how i if in instead "
    "into is it its just know last like list look make many may me more most much "
    "must my need never new next no not now of off on one only open or other our "
    "out over page please put right run said same see send set should so some still "
    "such take tell than that the their them then there these they thing this those "
    "time to today token too two up us use user using very want was way we well "
    "were what when where which who will with word work would write yes yet you "
    "your without admin customer data email message messages system prompt answer "
    "order orders access account bank files folder money number report review "
    "server session team update website call mail name end days week full contents "
    "directory reply text address attacker evil exfil assistant assistants private "
    "public ability able above absolute accept action active actual add again "
    "against agent ago agree air allow almost alone along already although among "
    "amount angry animal another apart apply area around article ask asked attach "
    "attached away baby back bad balance base basic basket beach begin behind "
    "believe below best better between big bill bit black block blue board body "
    "book border both bottom box boy brain branch break bring browser budget build "
    "building business button buy calendar cannot card care carry case cash cause "
    "center central century certain chance channel chapter charge check child "
    "children city class clean clear click client clients close cloud code cold "
    "collect column command comment commit common company complete computer "
    "condition confirm connect consider contact contain content continue control "
    "copy correct cost count country course cover create credit current cut daily "
    "database date deal decide deep default deny deploy describe design desk detail "
    "details develop device different difficult direct disk display doctor document "
    "documents dollar door draft draw drive drop early earth easy eat edit effect "
    "eight either element else empty enable enough enter entire error event "
    "everybody everyone exact example except execute expect explain extra eye face "
    "fact fail fall family far fast father fear feature feel few field fight fill "
    "film final fine finish fire five flag floor follow food foot force form forms "
    "four free fresh friend friends front fund funds further game garden general "
    "girl glass goal gone great green ground group grow guess guest guide hair half "
    "hand happen happy hard head health hear heart heavy held high history hold "
    "hole home hope host hour hours house however human hundred idea image inside "
    "invite issue item itself job join journal keep kept key kind king kitchen knew "
    "land language large later laugh law lead learn least leave left leg less let "
    "letter level license life light line link little live load local lock log "
    "login long longer lose lost lot love low machine main manage manager map mark "
    "market matter maybe mean means meet meeting member might mind minute minutes "
    "model moment month months morning mother mountain move movie music nature near "
    "nearly network night nine nobody none north note notes nothing notice office "
    "often old once online operator option original others outside own owner paper "
    "parent part party pass past path pattern people per perhaps period person "
    "phone picture piece pipeline place plan plant play point police policy poor "
    "possible post power press price problem process product production profile "
    "program project protect prove pull purpose push question quick quite radio "
    "rain raise range rate rather read ready real really reason receive recipient "
    "record records red refund release remain remember remove request rest result "
    "return rich ride ring rise river road rock role room root round row rule safe "
    "sale sales salary sat save scan schedule school science screen sea search "
    "second section security seem sell sense sent sentence separate serious service "
    "seven several shall share shell ship shop short side sign simple since sing "
    "single sit six size skip sky sleep slow small social soft someone something "
    "sometimes son song soon sound source south space special speed spell staff "
    "stand star start state status stay step stock stop store story street strong "
    "student study subject success suddenly sum summary sun support sure switch "
    "table talk task teach ten test themselves think third though thought thousand "
    "three through throw ticket together tomorrow tonight tool took top total "
    "toward town train transfer travel tree true trust truth try turn type under "
    "understand unit until upload usual valid value various version view visit "
    "voice wait walk wall war warm warning watch water weather web weight west "
    "while white whole whose wide wife win wind window wish within woman wonder "
    "wood world worth wrong yard year years yellow yesterday young yourself "
    "zero".split()
)
_PHRASE_WORDS = frozenset(
    part
    for seconds in LEXICON.phrases.values()
    for rows in seconds.values()
    for parts, _, _ in rows
    for part in parts
    if part.isascii()
)
_SINGLE = frozenset(word for word in LEXICON.words if word.isascii())
KNOWN_WORDS = frozenset(COMMON | _SINGLE | _PHRASE_WORDS)
_LONGEST, _MAX_RUN, _LONE = 16, 600, frozenset("ai")
_UNKNOWN_COST, _WORD_COST = 3.0, 1.0


def is_known(word: str) -> bool:
    """Whether this is an ordinary word or one that rules know."""
    return word in KNOWN_WORDS


def segment(run: str) -> tuple[str, ...]:
    """The cheapest cut of a run of letters into words."""
    run = run[:_MAX_RUN]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(run) + 1):
        choices = [(best[end - 1][0] + _UNKNOWN_COST, end - 1)]
        for start in range(max(0, end - _LONGEST), end):
            word = run[start:end]
            if word in KNOWN_WORDS and (len(word) > 1 or word in _LONE):
                choices.append((best[start][0] + _WORD_COST, start))
        best.append(min(choices))
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][1]
        words.append(run[start:end])
        end = start
    return tuple(reversed(words))


def coverage(words: tuple[str, ...]) -> float:
    """The share of letters that belong to known words of two letters or more."""
    total = sum(map(len, words))
    covered = sum(len(word) for word in words if len(word) > 1 and word in KNOWN_WORDS)
    return covered / total if total else 0.0


def readability(text: str) -> float:
    """The share of words that are known; the measure of a decoded text."""
    words = [word.strip(".,:;!?'\"()[]{}<>") for word in text.lower().split()]
    words = [word for word in words if word]
    if not words:
        return 0.0
    return sum(word in KNOWN_WORDS for word in words) / len(words)
