"""A template's names exist: Django renders an unknown attribute as nothing at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.project import source

TEMPLATES = source.ROOT / "templates"
COMMENT = re.compile(r"{#(.*?)#}")
EXPRESSION = re.compile(r"{{(.*?)}}|{%(.*?)%}", re.DOTALL)
STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
ATTRIBUTES = re.compile(r"(?<![\w.|])[A-Za-z_]\w*((?:\.\w+)+)")
CLASS = re.compile(r"\b([a-z_]+)\.([A-Z]\w+)")
# Attributes of Django, allauth and the built-in types.
OF_LIBRARIES = frozenset(
    """
    all alt aria_describedby choice_label counter counter0 generate_codes
    get_full_path get_unused_codes html_name htmx id_for_label instance
    is_authenticated is_hidden last_login level_tag month new_password1 new_password2
    non_field_errors oldpassword parentloop password password1 password2 readonly
    recovery_codes Referer resolver_match splitlines super total_seconds totp
    use_fieldset widget_type year
    """.split()
)


def templates() -> Iterator[tuple[str, str]]:
    """Yield every template's name and text."""
    for path in sorted(TEMPLATES.rglob("*.html")):
        yield path.relative_to(TEMPLATES).as_posix(), path.read_text(encoding="utf-8")


def members(path: Path) -> Iterator[str]:
    """Yield names of members: of classes, objects, mappings, and a module's own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef() | ast.Module():
                yield from body_members(node)
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.keyword(arg=str(name)):
                yield name
            case ast.Dict(keys=keys):
                yield from (
                    key.value
                    for key in keys
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                )
            case _:
                pass


def body_members(node: ast.ClassDef | ast.Module) -> Iterator[str]:
    """Yield fields and methods; of a field with choices or a relation also Django's."""
    for item in node.body:
        match item:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield from (name, f"{name}_id", f"get_{name}_display")
            case _:
                pass


def test_every_attribute_in_a_template_is_a_member_of_something() -> None:
    defined = {name for path in source.sources() for name in members(path)}
    unknown = [
        f"{template}: {match[0]}"
        for template, text in templates()
        for value, tag in EXPRESSION.findall(COMMENT.sub("", text))
        for match in ATTRIBUTES.finditer(STRING.sub('""', value or tag))
        for name in match[1].strip(".").split(".")
        if not name.isdigit() and name not in defined | OF_LIBRARIES
    ]

    assert sorted(set(unknown)) == []


def test_a_class_named_in_a_template_s_comment_is_in_that_module() -> None:
    unknown = [
        f"{template}: {module}.{name}"
        for template, text in templates()
        for comment in COMMENT.findall(text)
        for module, name in CLASS.findall(comment)
        if not any(
            f"class {name}" in path.read_text(encoding="utf-8")
            for path in source.sources()
            if module in (path.stem, path.parent.name)
        )
    ]

    assert unknown == []
