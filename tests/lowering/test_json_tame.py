"""Which schemas may be lowered late."""

from typing import Any

import pytest

from fairlead.lowering.json_tame import is_tame
from fairlead.syntax.json_schema import parse_json_schema
from fairlead.syntax.json_schema_source import JsonSchema


@pytest.mark.parametrize(
    ("schema", "tame"),
    [
        ({"type": "string", "pattern": "^a+$"}, True),
        ({"type": "string", "pattern": "^(?=a)a+$"}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1}, False),
        ({"anyOf": [{"const": value} for value in range(9)]}, False),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, False),
        ({"type": "integer", "multipleOf": 3}, False),
        ({"enum": [1, [2]]}, True),
        (True, True),
    ],
)
def test_only_what_cannot_be_refused_any_more_is_tame(schema: Any, tame: bool) -> None:
    assert is_tame(parse_json_schema(JsonSchema(schema))) is tame
