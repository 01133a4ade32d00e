"""Schemas of all applicators and assertions, drawn from one seed; they are judged elsewhere."""

import random
from typing import Any

KEYS = ("a", "b", "c", "ab")
SCALARS = (None, True, False, 0, 1, 2, 1.5, "", "a", "ab", "b")
LEAVES: tuple[Any, ...] = (
    True, False, {"type": "string"}, {"type": "integer"}, {"type": "null"}, {"type": "boolean"},
    {"const": 1}, {"const": "a"}, {"enum": [1, "a", None, [1], {"a": 1}]}, {"minimum": 1},
    {"maxLength": 1}, {"pattern": "^a"}, {"type": ["object", "array"]}, {"const": {"a": 1}},
    {"const": [1, 2]}, {"enum": [1, 2]}, {"type": "number", "exclusiveMaximum": 2},
    {"type": "object"}, {"type": "array"}, {"$ref": "#/$defs/x"},
)  # fmt: skip
NAMES: tuple[Any, ...] = (
    {"maxLength": 1}, {"pattern": "a"}, {"enum": ["a", "b"]}, {"not": {"const": "a"}},
)  # fmt: skip
DEFINITIONS: tuple[Any, ...] = (
    {"properties": {"a": {"$ref": "#"}}},
    {"type": "string"},
    {"items": {"$ref": "#/$defs/x"}, "maxItems": 2},
)


class Applicators:
    """Draws schemas, and instances that come near them."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def document(self) -> dict[str, Any]:
        made = self._schema(2)
        schema = made if isinstance(made, dict) else {"allOf": [made]}
        return {**schema, "$defs": {"x": self._chance.choice(DEFINITIONS)}}

    def instance(self, depth: int = 3) -> Any:
        pick = self._chance
        if depth == 0 or pick.random() < 0.25:
            return pick.choice(SCALARS)
        if pick.random() < 0.45:
            return [self.instance(depth - 1) for _ in range(pick.choice((0, 1, 2, 2, 3, 3)))]
        names = pick.sample((*KEYS, "x", "bb"), pick.choice((0, 1, 1, 2, 2, 3)))
        return {name: self.instance(depth - 1) for name in names}

    def _schema(self, depth: int) -> Any:
        pick = self._chance
        if depth == 0 or pick.random() < 0.15:
            return pick.choice(LEAVES)
        made: dict[str, Any] = {}
        for _ in range(pick.choice((1, 1, 2, 2, 3))):
            kinds = (self._logic, self._objects, self._objects, self._arrays, self._type)
            made |= pick.choice(kinds)(depth)
        return made

    def _logic(self, depth: int) -> dict[str, Any]:
        pick, keyword = self._chance, self._chance.choice(("not", "if", "oneOf", "anyOf", "allOf"))
        if keyword == "not":
            return {"not": self._schema(depth - 1)}
        if keyword == "if":
            parts = [name for name in ("then", "else") if pick.random() < 0.7]
            return {name: self._schema(depth - 1) for name in ("if", *parts)}
        return {keyword: [self._schema(depth - 1) for _ in range(pick.choice((1, 2, 2, 3)))]}

    def _objects(self, depth: int) -> dict[str, Any]:
        pick, inner = self._chance, lambda: self._schema(depth - 1)
        return pick.choice((
            lambda: {"properties": {name: inner() for name in pick.sample(KEYS, 2)}},
            lambda: {"required": pick.sample(KEYS, pick.choice((1, 2)))},
            lambda: {"patternProperties": {
                name: inner() for name in pick.sample(("^a", "b$", "^.$", "c"), 2)}},
            lambda: {"additionalProperties": inner()},
            lambda: {"propertyNames": pick.choice(NAMES)},
            lambda: {"minProperties": pick.choice((1, 2, 3))},
            lambda: {"maxProperties": pick.choice((0, 1, 2))},
            lambda: {"dependentRequired": {pick.choice(KEYS): pick.sample(KEYS, 2)}},
            lambda: {"dependentSchemas": {pick.choice(KEYS): inner()}},
            lambda: {"unevaluatedProperties": pick.choice((False, inner()))},
        ))()  # fmt: skip

    def _arrays(self, depth: int) -> dict[str, Any]:
        pick, inner = self._chance, lambda: self._schema(depth - 1)
        return pick.choice((
            lambda: {"items": inner()},
            lambda: {"prefixItems": [inner() for _ in range(pick.choice((1, 2)))]},
            lambda: {"contains": inner()},
            lambda: {"contains": inner(), "minContains": pick.choice((0, 1, 2)),
                     "maxContains": pick.choice((0, 1, 2))},
            lambda: {"uniqueItems": True},
            lambda: {"minItems": pick.choice((1, 2, 3))},
            lambda: {"maxItems": pick.choice((0, 1, 2))},
            lambda: {"unevaluatedItems": pick.choice((False, inner()))},
        ))()  # fmt: skip

    def _type(self, depth: int) -> dict[str, Any]:
        found = self._chance.choice(({"type": "object"}, {"type": "array"}, *LEAVES[2:]))
        return dict(found) if depth else {}
