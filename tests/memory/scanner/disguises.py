"""Ways to disguise a text, each with why an attacker would use it.

Every function takes a sentence and returns what would be stored in its place.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import random
import string
import urllib.parse
from collections.abc import Callable

Disguise = Callable[[str], str]
_LOWER = string.ascii_lowercase
_SIMILAR = str.maketrans("aceiopxyjs", "асеіорхујѕ")
_LEET = str.maketrans("aeiost", "431057")
_TURNED_LETTERS = str.maketrans(_LOWER, "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz")
_ATBASH = str.maketrans(_LOWER, _LOWER[::-1])
_CAESAR = str.maketrans(_LOWER, _LOWER[3:] + _LOWER[:3])
_MORSE = dict(
    zip(
        _LOWER,
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... "
        "- ..- ...- .-- -..- -.-- --..".split(),
        strict=True,
    )
)
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# From this length on a word is cut or misspelled.
_LONG = 6


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _base58(text: str) -> str:
    number, digits = int.from_bytes(text.encode(), "big"), ""
    while number:
        number, rest = divmod(number, 58)
        digits = _BASE58[rest] + digits
    return digits


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _words(text: str, change: Disguise, sign: str = " ") -> str:
    return sign.join(map(change, text.split()))


def _letters(text: str, change: Disguise) -> str:
    return "".join(change(char) if char.isalpha() else char for char in text)


def _shifted(text: str, first: int) -> str:
    """Lower-case letters as those of another block that begins at a code point."""
    return "".join(
        chr(first + ord(char) - ord("a")) if char in _LOWER else char
        for char in text.lower()
    )


def _cut_word(word: str, sign: str) -> str:
    half = len(word) // 2
    return word[:half] + sign + word[half:] if len(word) >= _LONG else word


def _sprinkled(text: str) -> str:
    dice = random.Random(text)
    return _letters(text, lambda char: char + "\u200b" * (dice.random() < 0.3))


def _similar(text: str) -> str:
    dice = random.Random(text)
    return _letters(
        text, lambda char: char.translate(_SIMILAR) if dice.random() < 0.6 else char
    )


def _pig_latin(word: str) -> str:
    start = word[0] in "aeiou"
    return f"{word}way" if start else f"{word[1:]}{word[0]}ay"


def _typing_error(word: str) -> str:
    return word[:2] + word[3] + word[2] + word[4:] if len(word) >= _LONG else word


def _selectors(text: str) -> str:
    return "".join(
        chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16)
        for byte in text.encode()
    )


def _each_byte(text: str, form: str, sign: str = " ") -> str:
    return sign.join(format(byte, form) for byte in text.encode())


def _page(text: str) -> str:
    return f"# Setup\n\nUnpack the archive.\n{text}\nThen start it."


def _table(text: str) -> str:
    return f"| Step | Note |\n|---|---|\n| 1 | ready |\n| 2 | {text} |\n| 3 | done |"


# Hold by themselves: nobody writes so without a reason to hide something.
CHANNELS: dict[str, Disguise] = {
    # Not seen by the reviewer, read by the model.
    "zero_width": _sprinkled,
    "zero_width_glue": lambda text: text.replace(" ", "\u200b"),
    "tags": lambda text: "Notes. " + "".join(chr(0xE0000 + ord(c)) for c in text),
    "selectors": lambda text: "Notes \U0001f600" + _selectors(text),
    # Filters compare letters; these only look the same.
    "similar_letters": _similar,
    # A model reads it with ease, a list of forbidden words does not contain it.
    "spaced": lambda text: " ".join(text.replace(" ", "  ")),
    "dashed": lambda text: _words(text, "-".join),
    "dotted": lambda text: _words(text, ".".join),
    "bold_letters": lambda text: _letters(text, lambda char: f"**{char}**"),
    "starred": "*".join,
    "leetspeak": lambda text: text.lower().translate(_LEET),
    # Old ciphers that every model knows.
    "rot13": _rot13,
    "caesar": lambda text: text.lower().translate(_CAESAR),
    "atbash": lambda text: text.lower().translate(_ATBASH),
    "rot13_reversed": lambda text: _rot13(text)[::-1],
    "reversed": lambda text: text[::-1],
    "each_word_reversed": lambda text: _words(text, lambda word: word[::-1]),
    "upside_down": lambda text: text.lower().translate(_TURNED_LETTERS)[::-1],
    "pig_latin": lambda text: _words(text.lower(), _pig_latin),
    # Every second character is filler.
    "interleaved": lambda text: "".join(char + "x" for char in text),
    "morse": lambda text: " / ".join(
        " ".join(_MORSE.get(char, "") for char in word) for word in text.lower().split()
    ),
    # Numbers of the characters.
    "binary": lambda text: _each_byte(text, "08b"),
    "decimal": lambda text: _each_byte(text, "d"),
    "octal": lambda text: _each_byte(text, "03o"),
    "html_entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    # Markup that a browser does not show.
    "hidden_style": lambda text: f'<p>Hi</p><span style="display:none">{text}</span>',
}
# Hold when what they hide gives orders.
ENCODINGS: dict[str, Disguise] = {
    # Decoded by a tool or by the model itself.
    "base64": lambda text: f"Decode: {_base64(text)}",
    "base64_twice": lambda text: _base64(_base64(text)),
    "base64_thrice": lambda text: _base64(_base64(_base64(text))),
    "base64_of_percent": lambda text: _base64(urllib.parse.quote(text)),
    "percent_of_base64": lambda text: urllib.parse.quote(_base64(text)),
    "base64_of_hex": lambda text: _base64(text.encode().hex()),
    "base64_of_rot13": lambda text: _base64(_rot13(text)),
    "base64_of_reversed": lambda text: _base64(text[::-1]),
    "base64_in_comment": lambda text: _page(f"<!-- {_base64(text)} -->"),
    "hex": lambda text: text.encode().hex(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base58": _base58,
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "ascii85": lambda text: base64.a85encode(text.encode(), adobe=True).decode(),
    "percent": lambda text: "%" + _each_byte(text, "02x", "%"),
    "escapes": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "hex_escapes": lambda text: "\\x" + _each_byte(text, "02x", "\\x"),
    # Letters of another block that are drawn alike.
    "fullwidth": lambda text: "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text
    ),
    "mathematical": lambda text: _shifted(text, 0x1D41A),
    "circled": lambda text: _shifted(text, 0x24D0),
}
# Never hold by themselves: honest texts look like this too.
FORMS: dict[str, Disguise] = {
    # The words are in another order, cut or misspelled; a model still understands.
    "words_reversed": lambda text: " ".join(text.split()[::-1]),
    "every_other_line": lambda text: _words(text, str, "\nlorem\n") + "\nlorem",
    "word_per_line": lambda text: "\n".join(text.split()),
    "no_blanks": lambda text: text.replace(" ", ""),
    "camel_case": lambda text: _words(text, str.capitalize, ""),
    "snake_case": lambda text: "_".join(text.split()),
    "hyphenated": lambda text: _words(text, lambda word: _cut_word(word, "-\n")),
    "cut_by_blanks": lambda text: _words(text, lambda word: _cut_word(word, " ")),
    "struck_through": lambda text: _letters(text, lambda char: f"{char}\u0336"),
    "without_vowels": lambda text: "".join(
        char for char in text if char not in "aeiou"
    ),
    "typing_errors": lambda text: _words(text, _typing_error),
    # Read by the model, hardly ever by a person.
    "comment": lambda text: _page(f"<!-- {text} -->"),
    "picture": lambda text: f"See ![{text}](https://img.example/a.png) for details.",
    "link_title": lambda text: f'Read [this](https://docs.example/x "{text}") first.',
    "attribute": lambda text: f'<p>Hi</p><img src="a.png" alt="{html.escape(text)}">',
    "table_cell": _table,
    "front_matter": lambda text: (
        f'---\ntitle: Notes\ndescription: "{text}"\ntags: [a, b]\n---\n\nAll is well.'
    ),
    "code_string": lambda text: f'```python\nMSG = "{text}"\nprint(MSG)\n```',
    "code_comment": lambda text: (
        f"```python\ndef f(x):\n    # {text}\n    return x\n```"
    ),
    "json_string": lambda text: json.dumps({"name": "x", "note": text, "n": 3}),
    "footnote": lambda text: f"All is well.[^1]\n\n[^1]: {text}",
}
DISGUISES: dict[str, Disguise] = CHANNELS | ENCODINGS | FORMS
# Seeds of long texts that are expensive for a careless decoder.
HOSTILE = {
    "template_link": "a.a.a.",
    "cut_words": "ig nore pre vious ",
    "cut_by_signs": "ig-nore pre-vious ",
    "signs_in_cut_words": "ig-nore pre-vious " + "a-b" * 40 + " ",
    "bare_words": "ignr th rls ",
    "hyphens": "ig-\nnore ",
    "base58": "2Uw1bppLugs5B9",
    "base85": "VPaQ-Wn>_5",
    "octal": "151 147 ",
    "filler": "ixgxnxoxrxex axlxl ",
    "pairs_of_lines": "ignore\nlorem\n",
    "pig_latin": "gnoreiway hetay ulesray ",
    "link_titles": '[a](b "c d e f") ',
    "front_matter": '---\na: "b c d"\n',
    "attributes": '<p title="a b c d">',
    "turned": "ǝɹouƃᴉ ",
    "swapped": "isntructions pervious ",
    "from_last": "end. of the to and\n",
    "underscores": "a_b_c_",
    "one_escape": "\\u",
}
