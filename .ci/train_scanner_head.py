"""Train the learned head: `PYTHONPATH=. python .ci/train_scanner_head.py FILE...`.

Each FILE holds JSON lines with `text`, `label` (attack or benign) and `source`. The
weights go to memory/scanner/head.bin; the texts themselves stay where they are.
With --loso it reports, for each source, how a head does that never saw it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from memory.scanner import head

_EPOCHS, _RATE, _DECAY, _SEED = 12, 0.4, 2e-5, 20
_LEVEL = 127


class Example(NamedTuple):
    """One text as features."""

    places: np.ndarray[Any, np.dtype[np.int64]]
    is_attack: bool
    source: str


class Model(NamedTuple):
    """Real-valued weights before they are rounded to bytes."""

    weights: np.ndarray[Any, np.dtype[np.float64]]
    bias: float


def read(paths: list[Path]) -> list[Example]:
    """Every labelled line of the files."""
    examples = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            places = np.fromiter(sorted(head.features(row["text"])), dtype=np.int64)
            if len(places):
                is_attack = row["label"] == "attack"
                examples.append(
                    Example(places, is_attack, row.get("source", path.stem))
                )
    return examples


def margin(model: Model, example: Example) -> float:
    """The raw output of a model."""
    total = model.weights[example.places].sum()
    return float(total / np.sqrt(len(example.places)) + model.bias)


def train(examples: list[Example]) -> Model:
    """Logistic regression by stochastic gradient descent, both classes balanced."""
    order = np.random.default_rng(_SEED)
    model = Model(np.zeros(head.SIZE), 0.0)
    attacks = max(sum(example.is_attack for example in examples), 1)
    share = (len(examples) - attacks) / attacks
    for epoch in range(_EPOCHS):
        rate = _RATE / (1 + epoch / 3)
        for index in order.permutation(len(examples)):
            example = examples[index]
            guess = 1.0 / (1.0 + np.exp(-np.clip(margin(model, example), -30, 30)))
            error = (float(example.is_attack) - guess) * (
                share if example.is_attack else 1.0
            )
            model.weights[example.places] += rate * error / np.sqrt(len(example.places))
            model = Model(model.weights, model.bias + 0.1 * rate * error)
        model.weights[:] *= 1 - _DECAY * len(examples)
    return model


def save(model: Model, path: Path) -> None:
    """Round to signed bytes and write them with what restores them."""
    scale = float(np.abs(model.weights).max()) / _LEVEL or 1.0
    rounded = np.round(model.weights / scale).astype(np.int8)
    facts = json.dumps({"scale": scale, "bias": model.bias, "bits": head.BITS})
    path.write_bytes(facts.encode() + b"\n" + rounded.tobytes())


def leave_one_out(examples: list[Example]) -> str:
    """Detection and false alarms at 0.5 and 0.9 for sources left out in turn."""
    lines = []
    for source in sorted({example.source for example in examples}):
        model = train([example for example in examples if example.source != source])
        rest = [example for example in examples if example.source == source]
        for is_attack in (True, False):
            margins = [
                margin(model, example)
                for example in rest
                if example.is_attack == is_attack
            ]
            if margins:
                half = sum(value > 0 for value in margins)
                sure = sum(value > np.log(9) for value in margins)
                kind = "attack" if is_attack else "benign"
                lines.append(f"{source} {kind} {len(margins)}: {half} {sure}")
    return "\n".join(lines)


def main() -> None:
    """Read the files, then train or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--loso", action="store_true")
    options = parser.parse_args()
    examples = read(options.files)
    if options.loso:
        sys.stdout.write(leave_one_out(examples) + "\n")
        return
    save(train(examples), Path(head.__file__).with_name("head.bin"))


if __name__ == "__main__":
    main()
