"""The words of the pages in other languages: collected, kept complete, compiled.

    python .ci/translations.py update           brings the catalogues up to date
    python .ci/translations.py check            says what is missing or wrong
    python .ci/translations.py unmarked PATH …  lists text of templates without a mark

A package's catalogue is ``locale/<language>/LC_MESSAGES/django.po`` in it, the compiled
``django.mo`` lies beside it. A template's words belong to the package that its folder
is named after. Babel reads Python; Django turns templates into what Babel reads.
"""

from __future__ import annotations

import io
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import django
import template_text
from babel.messages import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation import templatize

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("crewship_memory", "memory", "episodic", "gdpr")
LANGUAGES: Final = ("de",)
# Folders of templates by the package whose words they hold; the others are the frame's.
TEMPLATE_FOLDERS: Final = {
    "memory": "memory",
    "workspace": "memory",
    "episodic": "episodic",
    "gdpr": "gdpr",
}
PLURALS: Final = "nplurals=2; plural=(n != 1);"
KEYWORDS: Final[dict[str, Any]] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "pgettext_noop": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
# The nouns of counts: {{ number|plural:"entry,entries" }}.
COUNTED: Final = re.compile(r"""\|plural:"([^",]+)(?:,([^"]+))?\"""")
# What a translation has to keep: values, and markup.
KEPT: Final = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*[^}]*\}|</?[a-z]\w*")


class Words(Catalog):
    """A catalogue whose header says what is needed to read it, and no dates."""

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        """Return the lines of the header."""
        return [
            ("Language", str(self.locale)),
            ("MIME-Version", "1.0"),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Transfer-Encoding", "8bit"),
            ("Plural-Forms", PLURALS),
        ]


# ── Collecting ───────────────────────────────────────────────────────────────
def templates() -> list[Path]:
    """Return every template that people read: of pages, mails and messages."""
    folder = ROOT / "templates"
    return sorted([*folder.rglob("*.html"), *folder.rglob("*.txt")])


def _sources(package: str) -> Iterator[tuple[str, str]]:
    """Yield each file with words of a package, as Python that Babel reads."""
    for path in sorted((ROOT / package).rglob("*.py")):
        if "migrations" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in templates():
        folder = path.relative_to(ROOT / "templates").parts[0]
        if TEMPLATE_FOLDERS.get(folder, PACKAGES[0]) == package:
            text = path.read_text(encoding="utf-8")
            yield path.relative_to(ROOT).as_posix(), _as_python(text)
    if package == "memory":
        yield from _scanner_rules()


def _scanner_rules() -> Iterator[tuple[str, str]]:
    """Yield what each scanner rule looks for; the rules are data."""
    for path in sorted((ROOT / "memory" / "scanner" / "rules").glob("*.toml")):
        rules = tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
        lines = [f"gettext_noop({rule['why']!r})" for rule in rules]
        yield path.relative_to(ROOT).as_posix(), "\n".join(lines)


def _as_python(template: str) -> str:
    # Babel reads by Python's rules, by which a line's margin has a meaning.
    lines = [line.strip() for line in templatize(template).splitlines()]
    for singular, plural in COUNTED.findall(template):
        forms = f"{{count}} {singular}", f"{{count}} {plural or singular + 's'}"
        lines.append(f"ngettext({forms[0]!r}, {forms[1]!r}, 0)")
    return "\n".join(lines)


def collect(package: str, language: str) -> Words:
    """Return every text that a package marks, without translations."""
    words = _empty(language)
    for name, code in _sources(package):
        file = io.BytesIO(code.encode())
        for _line, text, comments, context in extract(
            "python", file, keywords=KEYWORDS, comment_tags=("Translators:",)
        ):
            words.add(text, locations=[(name, 1)], auto_comments=comments,
                      context=context)  # fmt: skip
    return words


def _empty(language: str) -> Words:
    header = (
        "# The words of the pages; `.ci/translations.py` keeps this file up to date."
    )
    return Words(language, fuzzy=False, header_comment=header)


# ── Catalogues on disk ───────────────────────────────────────────────────────
def _po(package: str, language: str) -> Path:
    return ROOT / package / "locale" / language / "LC_MESSAGES" / "django.po"


def _messages(catalog: Catalog) -> Iterator[Message]:
    return (message for message in catalog if message.id)


def read(package: str, language: str) -> Words:
    """Return a package's catalogue as it is on disk, or an empty one."""
    words = _empty(language)
    path = _po(package, language)
    if path.exists():
        with path.open("rb") as file:
            for message in _messages(read_po(file, locale=language)):
                words[message.id] = message
    return words


def _translated(words: Words, stored: Iterable[Words]) -> Words:
    """Fill in the translations that any of the stored catalogues has."""
    translations: dict[Any, Any] = {}
    for catalog in stored:
        for message in _messages(catalog):
            if _is_complete(message):
                translations.setdefault((message.id, message.context), message.string)
    for message in _messages(words):
        message.string = translations.get((message.id, message.context), message.string)
    return words


def _forms(message: Message) -> list[tuple[str, str]]:
    """Return each English form of a message with its translation, maybe empty."""
    if isinstance(message.id, str):
        return [(message.id, str(message.string or ""))]
    strings = message.string or ("", "")
    return [(str(i), str(s or "")) for i, s in zip(message.id, strings, strict=True)]


def _is_complete(message: Message) -> bool:
    return all(translation for _, translation in _forms(message))


def _text(words: Words) -> bytes:
    file = io.BytesIO()
    write_po(file, words, width=0, sort_output=True, include_lineno=False)
    return file.getvalue().rstrip(b"\n") + b"\n"


def _compiled(words: Words) -> bytes:
    file = io.BytesIO()
    write_mo(file, words)
    return file.getvalue()


def update(language: str) -> None:
    """Write the catalogues of a language, with the translations that there are."""
    stored = {package: read(package, language) for package in PACKAGES}
    for package in PACKAGES:
        others = [stored[name] for name in PACKAGES if name != package]
        words = _translated(collect(package, language), [stored[package], *others])
        path = _po(package, language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_text(words))
        path.with_suffix(".mo").write_bytes(_compiled(words))
        missing = sum(not _is_complete(message) for message in _messages(words))
        sys.stdout.write(
            f"{package} {language}: {len(words)} texts, {missing} not translated\n"
        )


# ── Checks ───────────────────────────────────────────────────────────────────
def faults(language: str) -> Iterator[str]:
    """Yield what keeps a language from being complete."""
    for package in PACKAGES:
        words, stored = collect(package, language), read(package, language)
        name = _po(package, language).relative_to(ROOT).as_posix()
        wanted = {(message.id, message.context) for message in _messages(words)}
        present = {(message.id, message.context) for message in _messages(stored)}
        yield from (f"{name}: missing: {text!r}" for text, _ in wanted - present)
        yield from (f"{name}: no longer used: {text!r}" for text, _ in present - wanted)
        for message in _messages(stored):
            yield from (f"{name}: {fault}" for fault in _message_faults(message))
        path = _po(package, language).with_suffix(".mo")
        if not path.exists() or path.read_bytes() != _compiled(stored):
            yield f"{name}: django.mo was compiled from other words"


def _message_faults(message: Message) -> Iterator[str]:
    if message.fuzzy:
        yield f"fuzzy: {message.id!r}"
    if not _is_complete(message):
        yield f"not translated: {message.id!r}"
        return
    for english, other in _forms(message):
        if _kept(english) != _kept(other):
            yield f"other values or markup: {english!r} → {other!r}"
        if _margins(english) != _margins(other):
            yield f"begins or ends with another space: {english!r} → {other!r}"


def _margins(text: str) -> tuple[bool, bool]:
    return text[:1].isspace(), text[-1:].isspace()


def _kept(text: str) -> Counter[str]:
    return Counter(KEPT.findall(text))


def unmarked(paths: Iterable[Path]) -> Iterator[str]:
    """Yield each text of a template that cannot be translated."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for words in template_text.unmarked(text, is_html=path.suffix == ".html"):
            yield f"{path.resolve().relative_to(ROOT)}: {words}"


def main(arguments: list[str]) -> int:
    """Run a command of the first lines above."""
    if not settings.configured:
        settings.configure(USE_I18N=True)
        django.setup()
    match arguments:
        case ["update"]:
            for language in LANGUAGES:
                update(language)
            return 0
        case ["check"]:
            lines = [fault for language in LANGUAGES for fault in faults(language)]
            lines += unmarked(templates())
        case ["unmarked", *names]:
            lines = [*unmarked([Path(name) for name in names] or templates())]
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
