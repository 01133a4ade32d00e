"""Very many branches of one value each, which are read as one list; `jsonschema` is the oracle."""

import json
from typing import Any

import pytest
from jsonschema.validators import validator_for

import guideway as gw
from guideway.json_schema.parser import parse_json_schema

# Older drafts do not have `const`, which a warning says.
pytestmark = pytest.mark.filterwarnings("ignore::guideway.errors.GuidewayWarning")

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
MANY: list[Any] = [{"const": n} for n in range(3, 73)]
VALUES = [None, True, False, 0, 1, 3, 4, 5.0, 72, 73, 4.5, "", "a", "b", [], [3], {}, {"a": 3}]
BESIDE: list[list[Any]] = [
    [],
    [{"const": 3}],
    [{"const": 3.0, "title": "three"}, {"const": 3}],
    [{"const": True}, {"const": 1}, {"const": None}, {"const": False}],
    [{"const": 1}, {"const": 1.0}],
    [{"type": "string", "const": "a"}, {"const": "b", "$comment": "said before"}],
    [{"type": "string", "const": "a"}, {"const": "a"}],
    [{"type": "string", "const": 73}],
    [{"type": "integer", "const": 4.5}],
    [{"type": "boolean", "const": True}],
    [{"type": ["string", "null"], "const": "a"}],
    [{"const": [3]}, {"const": {"a": 3}}],
    [{"const": 73, "minimum": 74}, {"enum": ["a", None]}],
    [True],
    [False],
    [{}],
    [{"type": "string"}],
    [{"$ref": "#/$defs/a"}],
]
AROUND: list[Any] = [
    lambda said: said,
    lambda said: {"not": said},
    lambda said: {"type": ["string", "boolean", "integer"], "allOf": [said, {"not": {"const": 5}}]},
    lambda said: {"if": said, "then": {"type": "number"}, "else": {"type": "object"}},
    lambda said: {"oneOf": [said, {"const": 4}, {"type": "string"}]},
    lambda said: said | {"unevaluatedProperties": False, "unevaluatedItems": False},
    lambda said: said | {"$schema": "http://json-schema.org/draft-07/schema#"},
    lambda said: said | {"$schema": "http://json-schema.org/draft-04/schema#"},
]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("beside", BESIDE)
def test_branches_of_one_value_each_mean_what_they_say(
    keyword: str, around: Any, beside: list[Any]
) -> None:
    schema = around({keyword: [*MANY, *beside]}) | {"$defs": {"a": {"maxLength": 0}}}
    judge = validator_for(schema)(schema)
    expected = [judge.is_valid(value) for value in VALUES]
    if not any(expected):  # as where draft 4 knows no const, and each branch allows anything
        with pytest.raises(gw.UnsatisfiableError):
            gw.compile(gw.JsonSchema(schema), BYTES)
        return
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    assert [constraint.matches(json.dumps(value)) for value in VALUES] == expected


@pytest.mark.parametrize(
    ("branches", "read"),
    [(MANY, 2), (MANY[:9], 10), ([*MANY, {"minimum": 5}], 72), ([*MANY, True], 72)],
)
def test_they_are_one_schema_if_they_are_very_many(branches: list[Any], read: int) -> None:
    document = parse_json_schema(gw.JsonSchema({"anyOf": branches}))
    assert len([part for part in document.schemas if part != "never"]) == read


def test_where_each_value_stands_twice_one_of_them_is_none() -> None:
    with pytest.raises(gw.UnsatisfiableError):
        gw.compile(gw.JsonSchema({"oneOf": [*MANY, *MANY]}), BYTES)
