"""Measure the scanner: `PYTHONPATH=. python .ci/measure_scanner.py FOLDER --blind DIR`.

FOLDER has labelled texts of public sources, a file of JSON lines each, with `text`,
`label` (attack or benign), `tier`, `source` and `repo`; DIR those that were written for
this project by writers who had not read the rules. The figures go to
memory/review/measured.json and to the tables in memory/README.md; the texts stay where
they are.

For each source of at least 100 attacks or 100 honest texts the rules are made anew
without it and its texts: a line of a rule that fewer than three attacks of the other
sources that are fitted to carry is excluded, and the weights of the combined rules are
fitted to those sources. Which are not fitted to says NOT_FITTED.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import measured_tables
import scanner_refit
from scanner_refit import Example

from memory.review import measured
from memory.scanner import VERSION

ROOT: Final = Path(__file__).resolve().parents[1]
MIN_TEXTS: Final = 100
_DRAWS: Final = 2_000
# Their attacks are plain harmful questions or everyday tasks, or their honest texts are
# known to hold attacks: the rules are not fitted to them, but are measured on them.
NOT_FITTED: Final = {
    "attack": {"multijail", "bipia_attacks", "tasktracker"},
    "benign": {
        "bigpromptlibrary_gpts", "injecguard_wildguard", "malignant_paraphrase",
        "neuralchemy", "promptshield_db", "qualifire_benchmark", "tencent_aig",
        "wild_test_strings",
    },
}  # fmt: skip


class Text(NamedTuple):
    """A labelled row."""

    text: str
    source: str
    tier: str
    is_attack: bool
    place: str
    extra: dict[str, Any]


def _place(words: str) -> str:
    """The repository of a row, owner and name, without what else is said of it."""
    return words.partition(" (")[0] if "/" in words.split(" ", 1)[0] else words


def read(folder: Path) -> list[Text]:
    """Every row of the files, each text once for a source."""
    rows: dict[tuple[str, str], Text] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, filter(str.strip, path.open(encoding="utf-8"))):
            source = row.get("source", path.stem)
            tier = row.get("tier") or row.get("concept") or ""
            place, extra = _place(row.get("repo", "")), row.get("extra") or {}
            text = Text(
                row["text"], source, tier, row["label"] == "attack", place, extra
            )
            rows.setdefault((source, text.text), text)
    return list(rows.values())


# ── Scanning ─────────────────────────────────────────────────────────────────
def _split(folder: Path) -> None:
    """Copy the scanner, with each line of a rule as a rule of its own."""
    shutil.copytree(ROOT / "memory" / "scanner", folder / "memory" / "scanner")
    (folder / "memory" / "__init__.py").touch()
    for path in sorted(folder.glob("memory/scanner/rules/*.toml")):
        if path.stem == "secrets":
            continue
        rules = tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
        rows = [row for rule in rules for row in _lines(rule)]
        path.write_text("\n".join(map(_toml, rows)), encoding="utf-8")


def _lines(rule: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("combinations", "phrases", "expressions")
    common = {name: value for name, value in rule.items() if name not in names}
    lines = [(name, line) for name in names for line in rule.get(name, ())]
    if not lines:
        return [rule]
    return [
        common | {"id": f"{rule['id']}#{number}", name: [line]}
        for number, (name, line) in enumerate(lines, 1)
    ]


def _toml(rule: dict[str, Any]) -> str:
    fields = (
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in rule.items()
    )
    return "\n".join(["[[rule]]", *fields, ""])


def _scan(tree: Path, texts: Sequence[Text]) -> list[Any]:
    """What the scanner of a tree finds in each text, by a process for each core."""
    count = os.cpu_count() or 1
    program = str(ROOT / ".ci" / "scanner_evidence.py")
    environment = os.environ | {"PYTHONPATH": str(tree)}
    answers: list[Any] = [None] * len(texts)
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number in range(count):
            source, target = Path(folder, f"{number}.in"), Path(folder, f"{number}.out")
            rows = (json.dumps({"text": row.text}) for row in texts[number::count])
            source.write_text("\n".join(rows) + "\n", encoding="utf-8")
            with source.open() as stdin, target.open("w") as stdout:
                process = subprocess.Popen(  # noqa: S603  (our own program)
                    [sys.executable, program],
                    stdin=stdin, stdout=stdout, env=environment,
                )  # fmt: skip
            running.append((process, number, target))
        for process, number, target in running:
            if process.wait():
                sys.exit(f"A scan ended with code {process.returncode}.")
            lines = target.read_text(encoding="utf-8").splitlines()
            answers[number::count] = map(json.loads, lines)
    return answers


def examples(texts: Sequence[Text]) -> list[Example]:
    """Scan for the lines that carry a verdict, then those with any for the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        _split(Path(folder))
        evidence = [findings for _, findings in _scan(Path(folder), texts)]
    places = [number for number, findings in enumerate(evidence) if findings]
    verdicts = _scan(ROOT, [texts[number] for number in places])
    held_places = {
        place for place, (is_held, _) in zip(places, verdicts, strict=True) if is_held
    }
    result = []
    for number, (row, findings) in enumerate(zip(texts, evidence, strict=True)):
        items = [
            scanner_refit.item(*finding, is_hidden=is_hidden)
            for *finding, is_hidden in findings
        ]
        windows = scanner_refit.windows(items)
        lines = frozenset(item.line for item in items)
        result.append(Example(*row[:4], number in held_places, windows, lines))
    return result


# ── One source left out ──────────────────────────────────────────────────────
def _is_fitted(example: Example) -> bool:
    label = "attack" if example.is_attack else "benign"
    return example.source not in NOT_FITTED[label]


def _without(source: str) -> tuple[str, list[bool]]:
    """Which texts of a source are held by rules made without it and its texts."""
    rows = _EXAMPLES[0]
    own = [example for example in rows if example.source == source]
    texts = {example.text for example in own}
    training = [row for row in rows if row.text not in texts and _is_fitted(row)]
    lines = {line for row in rows for line in row.lines}
    excluded = scanner_refit.lines_without_others(training, lines)
    weights = scanner_refit.fit(training, excluded)
    return source, scanner_refit.verdicts(own, weights, excluded)


# Read by the processes that are forked from this one.
_EXAMPLES: list[list[Example]] = []


def leave_out(rows: list[Example], sources: Iterable[str]) -> dict[int, bool]:
    """Whether rules that never saw its source hold an example, by its number."""
    _EXAMPLES[:] = [rows]
    places: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        places[row.source].append(number)
    answers: dict[int, bool] = {}
    with Pool() as pool:
        for source, verdicts in pool.imap_unordered(_without, sources):
            answers |= dict(zip(places[source], verdicts, strict=True))
            sys.stderr.write(
                f"without {source}: {sum(verdicts)} of {len(verdicts)} held\n"
            )
    return answers


# ── The figures ──────────────────────────────────────────────────────────────
def _mean(rows: Sequence[dict[str, Any]], name: str) -> dict[str, float]:
    """The mean share of sources, with an interval by drawing the sources anew."""
    shares = [100 * row[name] / row["texts"] for row in rows]
    chance = random.Random(15)  # noqa: S311  (draws, no secret)
    means = sorted(fmean(chance.choices(shares, k=len(shares))) for _ in range(_DRAWS))
    numbers = fmean(shares), means[_DRAWS // 40], means[-_DRAWS // 40]
    return dict(
        zip(("mean", "low", "high"), (round(n, 1) for n in numbers), strict=True)
    )


def _row(
    name: str, numbers: Sequence[int], rows: Sequence[Example], without: dict[int, bool]
) -> dict[str, Any]:
    held_count = sum(rows[number].is_held for number in numbers)
    fields = {"name": name, "texts": len(numbers), "held": held_count}
    if all(number in without for number in numbers):
        fields["left_out"] = sum(without[number] for number in numbers)
    return fields


def _groups(
    rows: Sequence[Any], key: Callable[[Any], str | None]
) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        if (name := key(row)) is not None:
            groups[name].append(number)
    return dict(sorted(groups.items()))


def _kind(row: Text) -> str | None:
    if not row.is_attack:
        return None
    return measured_tables.kind(row.source, row.tier, row.extra)


def _honest_kind(row: Example) -> str | None:
    if row.is_attack:
        return None
    return row.tier if _is_fitted(row) else "noisy"


def figures(texts: Sequence[Text], rows: list[Example]) -> dict[str, Any]:
    """Everything that measured.json says about the public sources."""
    attacks = _groups(rows, lambda row: row.source if row.is_attack else None)
    honest = _groups(rows, lambda row: None if row.is_attack else row.source)
    large = {
        source
        for table in (attacks, honest)
        for source, numbers in table.items()
        if len(numbers) >= MIN_TEXTS
    }
    without = leave_out(rows, sorted(large))
    measured_attacks = [
        _row(source, numbers, rows, without) | {"place": texts[numbers[0]].place}
        for source, numbers in attacks.items()
        if len(numbers) >= MIN_TEXTS
    ]
    by_kind = _groups(
        rows, lambda row: _honest_kind(row) if row.source in large else None
    )
    by_kind["noisy"] = by_kind.pop("noisy", [])
    kinds = [
        _row(name, numbers, rows, {}) for name, numbers in _groups(texts, _kind).items()
    ]
    return {
        "texts": len(rows),
        "sources": len({row.source for row in rows}),
        "mean": _mean(measured_attacks, "held"),
        "mean_left_out": _mean(measured_attacks, "left_out"),
        "attacks": measured_attacks,
        "honest": [_row(name, own, rows, without) for name, own in by_kind.items()],
        "unseen": sorted(
            (row for row in kinds if row["held"] * 2 < row["texts"]),
            key=lambda row: row["held"] / row["texts"],
        ),
    }


def blind(folder: Path) -> list[dict[str, Any]]:
    """What is held of the texts that were written without reading the rules, by act."""
    texts = read(folder)
    verdicts = [is_held for is_held, _ in _scan(ROOT, texts)]
    groups = _groups(texts, lambda row: row.tier if row.is_attack else "honest")
    # The honest ones last.
    groups["honest"] = groups.pop("honest", [])
    return [
        {"name": name, "texts": len(own), "held": sum(verdicts[n] for n in own)}
        for name, own in groups.items()
    ]


def main() -> None:
    """Measure, then write the file and the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--blind", type=Path, required=True)
    options = parser.parse_args()
    texts = read(options.folder)
    rows = examples(texts)
    agreeing = sum(
        verdict == row.is_held
        for row, verdict in zip(
            rows, scanner_refit.verdicts(rows, None, ()), strict=True
        )
    )
    document = {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "rules_version": VERSION,
        "recomputed": agreeing,
        **figures(texts, rows),
        "blind": blind(options.blind),
        "unreachable": list(measured_tables.UNREACHABLE),
    }
    content = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    measured.FILE.write_text(content, encoding="utf-8")
    measured_tables.write(measured.read(document))


if __name__ == "__main__":
    main()
