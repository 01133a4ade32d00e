"""Schemas with a type, as people write them, each with an instance that one keyword excludes."""

from typing import Any, Final

TWICE: Final = "a key twice"  # its instance is a text: Python has no such value
WHOLE: Final = {"type": "integer"}
PAIR: Final = {"a": WHOLE, "b": WHOLE}


def _text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def _list(**more: Any) -> dict[str, Any]:
    return {"type": "array", **more}


def _pair(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": PAIR, **more}


def _open(**more: Any) -> dict[str, Any]:
    return {"type": "object", **more}


A, B = {"required": ["a"]}, {"required": ["b"]}
CASES: Final[dict[str, tuple[Any, Any]]] = {
    "minimum": ({"type": "integer", "minimum": 10}, 3),
    "maximum": ({"type": "integer", "maximum": 10}, 11),
    "minimum, number": ({"type": "number", "minimum": 0}, -0.5),
    "exclusiveMaximum": ({"type": "number", "exclusiveMaximum": 1}, 1),
    "multipleOf": ({"type": "integer", "multipleOf": 5}, 7),
    "minLength": (_text(minLength=3), "ab"),
    "maxLength": (_text(maxLength=3), "abcd"),
    "pattern": (_text(pattern="^[A-Z]{3}$"), "abc"),
    "pattern, not anchored": (_text(pattern="[0-9]"), "abc"),
    "pattern and maxLength": (_text(pattern="^a+$", maxLength=3), "aaaa"),
    "format date": (_text(format="date"), "2026-02-30"),
    "format time": (_text(format="time"), "25:00:00Z"),
    "format email": (_text(format="email"), "nobody"),
    "format uuid": (_text(format="uuid"), "12"),
    "format ipv4": (_text(format="ipv4"), "1.2.3.999"),
    "format uri": (_text(format="uri"), "no uri"),
    "uniqueItems": (_list(items=WHOLE, uniqueItems=True), [1, 1]),
    "contains": (_list(contains={"const": 1}), [2]),
    "minItems": (_list(items=WHOLE, minItems=2), [1]),
    "maxItems": (_list(items=WHOLE, maxItems=1), [1, 2]),
    "prefixItems": (_list(prefixItems=[WHOLE]), ["a"]),
    "items false": (_list(prefixItems=[WHOLE], items=False), [1, 2]),
    "required": (_pair(**A), {"b": 1}),
    "required, not declared": (_pair(required=["c"]), {"a": 1}),
    "additionalProperties": (_pair(additionalProperties=False), {"a": 1, "c": 1}),
    "additionalProperties, schema": (_pair(additionalProperties=_text()), {"a": 1, "c": 1}),
    "patternProperties": (_open(patternProperties={"^x": WHOLE}), {"x1": "a"}),
    "propertyNames": (_open(propertyNames=_text(maxLength=2)), {"abc": 1}),
    "minProperties": (_open(minProperties=1), {}),
    "maxProperties": (_pair(maxProperties=1), {"a": 1, "b": 1}),
    "dependentRequired": (_pair(dependentRequired={"a": ["b"]}), {"a": 1}),
    "not": (_text(**{"not": {"const": "no"}}), "no"),
    "if, then": (_pair(**{"if": A, "then": B}), {"a": 1}),
    "allOf": ({"allOf": [WHOLE | {"minimum": 0}, WHOLE | {"maximum": 9}]}, 12),
    "oneOf, both": ({"oneOf": [WHOLE, {"type": "number"}]}, 1),
    "anyOf beside properties": (_pair(anyOf=[A, B]), {}),
    "enum beside type": ({"type": "integer", "enum": [1, "a"]}, "a"),
    "const beside minimum": ({"const": 1, "minimum": 2}, 1),
    TWICE: (_open(additionalProperties=WHOLE), '{"a":1,"a":2}'),
}
"""The name, the schema, the instance."""
