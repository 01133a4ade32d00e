"""What is asked of tangled schemas beside their masks is told as soon as these."""

from typing import Any

import pytest

import guideway as gw

VOCABULARY = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<end>"], {256})


def _ends(*names: str) -> list[Any]:
    return [{"pattern": rf"^.*\.{name}$"} for name in names]


@pytest.mark.parametrize("count", [4, 8])
def test_the_shortest_text_of_choices_between_patterns_that_meet(count: int) -> None:
    """Both compiling and `distance` took all fuel, or never came back."""
    names = ["json", "schema", "md", "properties", "yaml", "yml", "toml", "xml"][:count]
    paths = [{"path": {"type": "string", "oneOf": _ends(*names)}},
             {"path": {"type": "string", "anyOf": _ends(*names[::2])}}]  # fmt: skip
    schema = {"required": ["path"], "oneOf": [{"properties": path} for path in paths]}
    constraint = gw.compile(gw.JsonSchema(schema), VOCABULARY)
    shortest = min((name for name in names[1::2]), key=lambda name: (len(name), name))
    assert constraint.example() == f'{{"path":".{shortest}"}}'
    assert constraint.distance(constraint.start()) == len(constraint.example())


def test_the_shortest_text_where_patterns_are_denied_item_by_item() -> None:
    choices = {"anyOf": [{"properties": {"path": {"oneOf": _ends("json", "schema", "md", "rest")}}},
                         {"properties": {"lib": {"type": "string"}}}]}  # fmt: skip
    closed = {"additionalProperties": False,
              "properties": {"path": {"anyOf": _ends("json", "schema")}}}  # fmt: skip
    schema = {"oneOf": [{"properties": {"files": {"items": one}}} for one in (choices, closed)]}
    constraint = gw.compile(gw.JsonSchema(schema), VOCABULARY)
    assert constraint.example() == '{"files":[{"":0}]}'
