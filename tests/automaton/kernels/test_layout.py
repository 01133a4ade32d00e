"""Records of the kernels: each field has a use, and each table can grow."""

import ast
from pathlib import Path
from typing import Any

import pytest

from guideway.automaton import arena
from guideway.automaton.jit.records import Record, field_of
from guideway.automaton.kernels import layout, regex_layout

ROOM = Path(str(layout.__file__)).parent.parent
RECORDS = [
    each
    for module in (layout, regex_layout)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Record) and each.__module__ == module.__name__
]


def names() -> set[str]:
    """Names of attributes and keywords, and strings, in all modules of the automaton."""
    found = set[str]()
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                found.add(node.arg)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {*node.value.split(".")}
    return found


NAMES = names()


@pytest.mark.parametrize("declared", RECORDS, ids=lambda declared: declared.__name__)
def test_each_field_has_a_use(declared: Any) -> None:
    assert {*declared.__annotations__} - NAMES <= {"unused"}


def test_each_array_of_a_context_has_room_of_its_own() -> None:
    paths = [path for _, arrays in arena.GROWING.values() for path in arrays]
    assert len({field_of(layout.Context, path)[0] for path in paths}) == len(paths) > 30
    assert [*arena.GROWING] == [*range(len(layout.TABLES))]
