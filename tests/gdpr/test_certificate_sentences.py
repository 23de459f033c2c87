"""No sentence of a certificate without a test that would make it false."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import pytest

from gdpr.matching.forms import Form
from tests.gdpr import certificate_sentences as sentences
from tests.project import source


def _is_sentence(value: object) -> bool:
    return isinstance(value, str) and value.count(" ") >= 2 and "SELECT" not in value


def _names(module_name: str) -> Iterator[str]:
    """Yield the constants of a module that are sentences, or lists of them."""
    module = importlib.import_module(module_name)
    for name, value in vars(module).items():
        if not name.isupper() or name.startswith("_"):
            continue
        path = f"{module_name}.{name}"
        if name == "OUT_OF_REACH":
            yield from (f"{path}.{key}" for key in value)
        elif (
            _is_sentence(value)
            or isinstance(value, Form)
            or _has_forms(value)
            or name.endswith("GROUNDS")
        ):
            yield path


def _has_forms(value: object) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return any(isinstance(item, Form) for item in values)


def _signed() -> set[str]:
    names = {name for module in sentences.MODULES for name in _names(module)}
    return names - sentences.NOT_SIGNED.keys()


def test_each_sentence_has_a_test_that_would_make_it_false() -> None:
    assert sorted(_signed() - sentences.TESTS.keys()) == []
    assert sorted(sentences.TESTS.keys() - _signed()) == []


@pytest.mark.parametrize("test", sorted(set(sentences.TESTS.values())))
def test_that_test_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (source.ROOT / path).read_text(), re.M), test
