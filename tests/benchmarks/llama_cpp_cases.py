"""Schemas with a type, as people write them, each with an instance that one keyword excludes."""

from typing import Any, Final

TWICE: Final = "a key twice"  # its instance is a text: Python has no such value
PAIR: Final = {"a": {"type": "integer"}, "b": {"type": "integer"}}
CASES: Final[dict[str, tuple[Any, Any]]] = {
    "minimum": ({"type": "integer", "minimum": 10}, 3),
    "maximum": ({"type": "integer", "maximum": 10}, 11),
    "minimum, number": ({"type": "number", "minimum": 0}, -0.5),
    "exclusiveMaximum": ({"type": "number", "exclusiveMaximum": 1}, 1),
    "multipleOf": ({"type": "integer", "multipleOf": 5}, 7),
    "minLength": ({"type": "string", "minLength": 3}, "ab"),
    "maxLength": ({"type": "string", "maxLength": 3}, "abcd"),
    "pattern": ({"type": "string", "pattern": "^[A-Z]{3}$"}, "abc"),
    "pattern, not anchored": ({"type": "string", "pattern": "[0-9]"}, "abc"),
    "pattern and maxLength": ({"type": "string", "pattern": "^a+$", "maxLength": 3}, "aaaa"),
    "format date": ({"type": "string", "format": "date"}, "2026-02-30"),
    "format time": ({"type": "string", "format": "time"}, "25:00:00Z"),
    "format email": ({"type": "string", "format": "email"}, "nobody"),
    "format uuid": ({"type": "string", "format": "uuid"}, "12"),
    "format ipv4": ({"type": "string", "format": "ipv4"}, "1.2.3.999"),
    "format uri": ({"type": "string", "format": "uri"}, "no uri"),
    "uniqueItems": ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 1]),
    "contains": ({"type": "array", "contains": {"const": 1}}, [2]),
    "minItems": ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1]),
    "maxItems": ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [1, 2]),
    "prefixItems": ({"type": "array", "prefixItems": [{"type": "integer"}]}, ["a"]),
    "items false": (
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
        [1, 2],
    ),
    "required": ({"type": "object", "properties": PAIR, "required": ["a"]}, {"b": 1}),
    "required, not declared": ({"type": "object", "properties": PAIR, "required": ["c"]}, {"a": 1}),
    "additionalProperties": (
        {"type": "object", "properties": PAIR, "additionalProperties": False},
        {"a": 1, "c": 1},
    ),
    "additionalProperties, schema": (
        {"type": "object", "properties": PAIR, "additionalProperties": {"type": "string"}},
        {"a": 1, "c": 1},
    ),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^x": {"type": "integer"}}},
        {"x1": "a"},
    ),
    "propertyNames": (
        {"type": "object", "propertyNames": {"type": "string", "maxLength": 2}},
        {"abc": 1},
    ),
    "minProperties": ({"type": "object", "minProperties": 1}, {}),
    "maxProperties": ({"type": "object", "properties": PAIR, "maxProperties": 1}, {"a": 1, "b": 1}),
    "dependentRequired": (
        {"type": "object", "properties": PAIR, "dependentRequired": {"a": ["b"]}},
        {"a": 1},
    ),
    "not": ({"type": "string", "not": {"const": "no"}}, "no"),
    "if, then": (
        {
            "type": "object",
            "properties": PAIR,
            "if": {"required": ["a"]},
            "then": {"required": ["b"]},
        },
        {"a": 1},
    ),
    "allOf": (
        {"allOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 9}]},
        12,
    ),
    "oneOf, both": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1),
    "anyOf beside properties": (
        {"type": "object", "properties": PAIR, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {},
    ),
    "enum beside type": ({"type": "integer", "enum": [1, "a"]}, "a"),
    "const beside minimum": ({"const": 1, "minimum": 2}, 1),
    TWICE: ({"type": "object", "additionalProperties": {"type": "integer"}}, '{"a":1,"a":2}'),
}
"""The name, the schema, the instance."""
