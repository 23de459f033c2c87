"""Text of a template that a reader sees and nobody can translate.

Left out is what is no language: code, keys, elements with ``translate="no"``, and the
few words of ``SAME_EVERYWHERE``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

COMMENT: Final = re.compile(
    r"{#.*?#}|{% comment.*?%}.*?{% endcomment %}"
    # Names of styles.
    r"|{% block page_class %}.*?{% endblock page_class %}",
    re.DOTALL,
)
BLOCK: Final = re.compile(
    r"{%\s*blocktrans(?:late)?\b.*?{%\s*endblocktrans(?:late)?\s*%}", re.DOTALL
)
TAG: Final = re.compile(r"{%-?\s*(\w+)(.*?)%}|{{(.*?)}}", re.DOTALL)
# Tags whose strings are names: of routes, templates, blocks, files.
OF_NAMES: Final = frozenset(
    """
    block cycle elif extends endblock endpartialdef for if load now partial partialdef
    static translate trans url ifchanged
    """.split()
)
STRING: Final = re.compile(r"""(_\()?("[^"]*"|'[^']*')""")
# A sentence, or a word with a capital letter.
WORDY: Final = re.compile(r"[A-Za-z]{2,},? [A-Za-z]|^[A-Z][a-z]")
LETTERS: Final = re.compile(r"[A-Za-zÄÖÜäöüß]{2,}")
SAME_EVERYWHERE: Final = re.compile(
    r"\b(?:Crewship Memory|UTC|API|JSON|JSONL|CSV|SHA|kB|MB|GB|ms|MCP|Ctrl|Esc|Enter|"
    r"Shift|GDPR)\b|&\w+;"
)
SPOKEN: Final = frozenset(
    {"title", "aria-label", "placeholder", "alt", "aria-description"}
)
SILENT: Final = frozenset({"script", "style", "code", "kbd", "pre", "samp", "svg"})
VOID: Final = frozenset(
    {"br", "col", "hr", "img", "input", "link", "meta", "path", "rect"}
)
# Stands for a tag where it was; what is on either side is read apart.
GAP: Final = " · "


class _Texts(HTMLParser):
    """Collects the texts of elements and of attributes that are read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.texts: list[str] = []
        self.silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes that are read."""
        attributes = dict(attrs)
        if tag in SILENT or attributes.get("translate") == "no" or self.silent:
            if tag not in VOID:
                self.silent.append(tag)
            return
        for name, value in attrs:
            is_button = (
                tag == "input"
                and name == "value"
                and attributes.get("type") in ("submit", "button")
            )
            is_words = name.startswith("data-words")
            if value and (name in SPOKEN or is_button or is_words):
                self.texts.append(value)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element that is not read."""
        if self.silent and self.silent[-1] == tag:
            self.silent.pop()

    def handle_data(self, data: str) -> None:
        """Note the text of an element."""
        if not self.silent:
            self.texts.append(data)


def _string_faults(match: re.Match[str]) -> Iterator[str]:
    tag, arguments = match[1], match[2] if match[1] else match[3]
    if tag in OF_NAMES:
        return
    if tag == "term":
        # The word itself comes first, then what stands for it in the sentence.
        arguments = STRING.sub("", arguments, count=1)
    for mark, string in STRING.findall(arguments):
        # The name of an included template comes first; nouns of counts are collected.
        is_name = string.endswith('.html"') or f"plural:{string}" in arguments
        if not mark and not is_name and WORDY.search(string[1:-1]):
            yield string


def unmarked(template: str, *, is_html: bool = True) -> Iterator[str]:
    """Yield what stands in a template without a mark for translation."""
    text = BLOCK.sub("", COMMENT.sub("", template))
    for match in TAG.finditer(text):
        yield from _string_faults(match)
    # An element's tags may stand in branches; what they enclose is read all the same.
    text = TAG.sub(GAP, text)
    if is_html:
        parser = _Texts()
        parser.feed(text)
        texts = parser.texts
    else:
        texts = [text]
    for part in texts:
        for piece in part.split(GAP.strip()):
            if LETTERS.search(SAME_EVERYWHERE.sub("", piece)):
                yield " ".join(piece.split())
