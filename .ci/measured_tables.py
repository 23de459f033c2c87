"""The tables of memory/README.md about the scanner, made from its measured figures.

measure_scanner.py writes them. `PYTHONPATH=. python .ci/measured_tables.py` writes them
anew from memory/review/measured.json, where only their words have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from memory.review import measured
from memory.review.measured import Figures, Row, Share, Spread
from memory.review.measured_words import ACTS, HONEST, KINDS

PAGE: Final = Path(__file__).resolve().parents[1] / "memory" / "README.md"
BEGIN: Final = "<!-- scanner figures, written by .ci/measure_scanner.py -->"
END: Final = "<!-- end of the scanner figures -->"
# Sources that were looked for and could not be had: no copy, or none with its texts.
UNREACHABLE: Final = (
    "Lakera gandalf_ignore_instructions", "Lakera mosscap", "lakeraai/pint-benchmark",
    "xTRam1/safe-guard-prompt-injection", "Harelix mixed techniques",
    "microsoft/llmail-inject-challenge", "AI-secure/AgentPoison",
    "uiuc-kang-lab/InjecAgent", "agiresearch/ASB", "verazuo/jailbreak_llms",
    "liu00222/Open-Prompt-Injection", "gbvolkov/mdeberta-ru",
    "Meffazm/ru-jailbreak-guard", "slhkrkya", "LeThaiMinh",
    "jangwonii/korean", "thu-coai/Safety-Prompts",
)  # fmt: skip
Extra = dict[str, Any]
_RIDDLES: Final = frozenset({"indirect_reference", "payload_splitting"})
_OTHER_LANGUAGE: Final = "different_user_input_language"
# Kind → its sources, and which of their rows are of it.
_KINDS: Final[dict[str, dict[str, Callable[[Extra], bool]]]] = {
    "harmful_question": {
        "multijail": lambda _: True,
        "korean_guardrail_translated": lambda row: "red-teaming" in row["set"],
        "hinglish": lambda row: row["injection_like"] is False,
    },
    "led_up_request": {
        "jailbreakbench": lambda row: row["method"] == "PAIR",
        "tasktracker": lambda row: row["kind"] == "PAIR prompt",
    },
    "everyday_task": {"bipia_attacks": lambda _: True},
    "announced_task": {"tasktracker": lambda row: row["kind"] != "PAIR prompt"},
    "request_in_data": {
        "injecagent_attacks": lambda row: row["form"] == "InjecAgent base"
    },
    "summary_order": {
        "garak": lambda row: row["set"].endswith(("ReportFull", "ResumeFull"))
    },
    "riddle": {
        "purplellama_multi": lambda row: row["injection_variant"] in _RIDDLES,
        "purplellama_en": lambda row: row["injection_variant"] in _RIDDLES,
    },
    "bare_question": {
        "purplellama_multi": lambda row: row["injection_variant"] == _OTHER_LANGUAGE,
        "purplellama_en": lambda row: row["injection_variant"] == _OTHER_LANGUAGE,
    },
    "bare_code": {
        "pi_and_benign": lambda row: row["kind"] in {"code_execution", "obfuscation"}
    },
    "harmful_skill": {"oasb_attacks": lambda _: True},
    "small_language": {"spikee": lambda row: row.get("is_small_language", False)},
    "misused_agent": {"tencent_aig": lambda row: row["set"] == "agentic-tool-misuse"},
}


def kind(source: str, tier: str, extra: Extra) -> str | None:
    """The kind of an attack, of those that stand in the table of what is not seen."""
    if source == "spikee":
        extra = extra | {"is_small_language": tier == "multilingual"}
    for name, sources in _KINDS.items():
        if source in sources and sources[source](extra):
            return name
    return None


# ── The tables ───────────────────────────────────────────────────────────────
def cell(share: Share | None, digits: int = 0) -> str:
    """A share with its interval, in percent."""
    if share is None:
        return ""
    low, high = share.interval
    return f"{share.percent:.{digits}f} % ({low:.{digits}f}–{high:.{digits}f})"


def _average(spread: Spread) -> str:
    return f"{spread.mean:.0f} % ({spread.low:.0f}–{spread.high:.0f})"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table whose first columns are words and whose other ones are numbers."""
    marks = ["---"] * words + ["--:"] * (len(titles) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (titles, marks, *rows))


def _numbers(row: Row, digits: int) -> list[str]:
    shares = cell(row.share, digits), cell(row.share_without, digits)
    return [f"{row.share.texts:,}", *filter(None, shares)]


def _summary(figures: Figures) -> str:
    return (
        f"Measured on {figures.measured_on:%d %B %Y} with set {figures.rules_version},"
        f" on {figures.text_count:,} texts of {figures.source_count} public sources.\n"
        f"Of an average source of attacks it holds {_average(figures.mean)}, of one"
        f" that the rules were made without {_average(figures.mean_without)}.\n"
        "Computed from the lines of rules that fired, the verdict is the scanner's own"
        f" for {figures.recomputed_count:,} of the texts."
    )


def _attack_table(rows: Iterable[Row]) -> str:
    lines = (
        [f"[{row.name}]({row.url})" if row.url else row.name, *_numbers(row, 0)]
        for row in rows
    )
    titles = "Attacks of", "Texts", "Held", "Held by rules made without it"
    return _table(titles, lines)


def _honest_table(rows: Iterable[Row]) -> str:
    titles = "Honest texts", "Texts", "Held, which is wrong", "Without their source"
    return _table(titles, ([HONEST[row.name], *_numbers(row, 2)] for row in rows))


def _blind_table(rows: Iterable[Row]) -> str:
    titles = "Written blind", "Texts", "Held"
    return _table(titles, ([ACTS[row.name], *_numbers(row, 0)] for row in rows))


def _unseen_table(rows: Iterable[Row]) -> str:
    titles = "Kind", "An example, in our words", "Texts", "Held"
    return _table(titles, ([*KINDS[row.name], *_numbers(row, 0)] for row in rows), 2)


def render(figures: Figures) -> str:
    """The part of the page between the two marks."""
    blind = (
        "Of attacks that were written for this project, by language models that had not"
        f" read the rules, it holds {cell(figures.blind_attacks)}:"
    )
    names = ", ".join(figures.unreachable)
    parts = (
        _summary(figures),
        _attack_table(figures.attacks),
        _honest_table(figures.honest),
        blind,
        _blind_table(figures.blind),
        "Kinds of attacks that it mostly does not see:",
        _unseen_table(figures.missed_kinds),
        f"Could not be reached: {names}. Of some of them copies of others were taken.",
    )
    return "\n\n".join(parts)


def write(figures: Figures) -> None:
    """Put the figures between the marks of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    content = f"{before}{BEGIN}\n\n{render(figures)}\n\n{END}{after}"
    PAGE.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(measured.figures())
