"""Random schemas in which keywords of all drafts stand beside each other, and instances.

Instances come from the same few keys, texts and numbers, so that many are nearly valid; more are
made from valid ones by small changes.
"""

import copy
import random
from collections.abc import Callable
from typing import Any, TypeAlias

from json_schemas import DRAFTS, Judges

Schema: TypeAlias = "dict[str, Any] | bool"
Make: TypeAlias = Callable[[], Any]

_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_KEYS = ("a", "b", "c", "ab", "é", 'q"\\', "")
_PATTERNS = (
    *("^a", "b$", "^.$", "c", "^[a-c]+$", "é|\\\\", "^(?!a)", "", "^[^b]*$", "^.{2,3}$", "a.*b"),
    *("^\\w+$", "^(ab|c){1,2}$", "\\d", "^\\S*$", "^(?=.*a).*b", "[\\s\\S]{3}"),
)
_FORMATS = {
    "date": ("2024-02-29", "2023-02-29", "2000-01-01"),
    "time": ("12:00:00Z", "25:00:00Z", "12:00:00+01:00"),
    "date-time": ("2024-02-29T12:00:00Z", "2024-02-30T12:00:00Z"),
    "ipv4": ("1.2.3.4", "256.1.1.1"),
    "ipv6": ("::1", "1::2::3"),
    "email": ("a@b.c", "a"),
}
_TEXTS = (
    *("", "a", "b", "ab", "abc", "é", "ba", "aab", "ca", 'q"\\', "💩", "\n", "a b", "1"),
    *(text for texts in _FORMATS.values() for text in texts),
)
_NUMBERS = (0, 1, -1, 2, 3, 5, 10, -10, 12, 99, 100, 0.5, -0.5, 1.5, 2.25, -7.75, 0.1, 1e6, 1e-3)
_FACTORS = (1, 2, 3, 0.5, 0.25, 0.1, 0.01, 1.5, 7, 10, 100, 12, 0.3, 1e-3, 2.5)


class Mixture:
    """One random schema, and instances for it.

    Args:
        seed: of all choices.
        draft: of the schema; any if None. If it is given, definitions refer to none in place.
        most: how many parts it has, about.
    """

    def __init__(self, seed: int, draft: int | None = None, most: int = 25) -> None:
        self.chance = random.Random(seed)
        self.draft = draft or self.chance.choice((2020, 2020, 2020, 2019, 7, 6, 4))
        self._refers = True
        self._left = self.chance.choice([count for count in (4, 8, 14, 25) if count <= most])
        self._definitions = "$defs" if self.draft >= 2019 else "definitions"
        self.schema = self._document(loops=draft is None)
        self.verdict = Judges(self.schema, self.draft).verdict

    def value(self, depth: int = 3) -> Any:
        """Any instance."""
        chance = self.chance
        if depth == 0 or chance.random() < 0.5:
            number = chance.choice(_NUMBERS)
            scalars = (None, True, False, number, number * chance.choice((2, 3, 10, -1)))
            return chance.choice((*scalars, *chance.sample(_TEXTS, 4)))
        if chance.random() < 0.45:
            items = [self.value(depth - 1) for _ in range(chance.randint(0, 3))]
            return items + (items[:1] if chance.random() < 0.3 else [])
        keys = chance.sample((*_KEYS, "x", "abc"), chance.randint(0, 4))
        return {key: self.value(depth - 1) for key in keys}

    def changed(self, value: Any) -> Any:
        """An instance that differs in one place."""
        chance = self.chance
        if chance.random() < 0.2 or not value or not isinstance(value, dict | list | str):
            return self.value(2)
        if isinstance(value, str):
            at = chance.randrange(len(value))
            return value[:at] + chance.choice(("", "a", "b", "é", "1")) + value[at + 1 :]
        made: Any = copy.copy(value)
        at = chance.choice(list(made)) if isinstance(made, dict) else chance.randrange(len(made))
        if chance.random() < 0.6:
            made[at] = self.changed(made[at])
        elif chance.random() < 0.5:
            del made[at]
        elif isinstance(made, dict):
            made[chance.choice(_KEYS)] = self.value(1)
        else:
            made.insert(chance.randrange(len(made) + 1), made[at])
        return made

    # Schemas

    def _document(self, *, loops: bool) -> dict[str, Any]:
        found = self._any(self.chance.choice((1, 2, 2, 3)))
        said = found if isinstance(found, dict) else {"allOf": [self._said(found)]}
        self._refers = loops
        below = {name: self._said(self._any(1)) for name in "xyz"}
        if self.chance.random() < 0.2:
            own = {"$ref": f"#/{self._definitions}/x"}
            below["x"] = self.chance.choice(
                (
                    {"properties": {"a": {"$ref": "#"}}},
                    {"items": own, "maxItems": 2},
                    {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"b": own}}]},
                )
            )
        return {"$schema": DRAFTS[self.draft][0], **said, self._definitions: below}

    def _said(self, schema: Schema) -> Schema:
        """What draft 4 has for `true` and `false`."""
        return (
            schema if self.draft > 4 or isinstance(schema, dict) else {} if schema else {"not": {}}
        )

    def _any(self, depth: int) -> Schema:
        self._left -= 1
        if depth <= 0 or self._left <= 0 or self.chance.random() < 0.15:
            return self._said(self._leaf())
        made: dict[str, Any] = {}
        for _ in range(self.chance.choice((1, 1, 2, 2, 3, 4))):
            kind = self.chance.choice(
                (self._logic, self._objects, self._objects, self._arrays, self._own)
            )
            made |= self._one_of(kind(depth - 1))
        if self.draft < 2019 and "$ref" in made:  # which stands alone
            return {"$ref": made["$ref"]}
        return self._old_bounds(made)

    def _one_of(self, makes: dict[str, Make]) -> dict[str, Any]:
        name = self.chance.choice(list(makes))
        return {name: makes[name]()}

    def _old_bounds(self, made: dict[str, Any]) -> dict[str, Any]:
        """In draft 4 a bound is exclusive by a boolean beside it."""
        for name, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if self.draft == 4 and name in made:
                del made[name]
                made |= {name: True} if bound in made else {}
        return made

    def _leaf(self) -> Schema:
        chance = self.chance
        options: tuple[Make, ...] = (
            lambda: chance.random() < 0.75,
            lambda: {"type": chance.choice(_TYPES)},
            lambda: {"type": chance.sample(_TYPES, 2)},
            lambda: self._some(0.4, self._strings()),
            lambda: self._old_bounds(self._some(0.4, self._numbers())),
            lambda: {"enum": [self.value(2)]},
            lambda: {
                "const" if self.draft > 4 else "minLength": self.value(2) if self.draft > 4 else 1
            },
            lambda: {"$ref": f"#/{self._definitions}/{chance.choice('xyz')}"},
        )
        return chance.choice(options if self._refers else options[:-1])()

    def _own(self, _depth: int) -> dict[str, Make]:
        found = self._leaf()
        said = found if isinstance(found, dict) else {"type": "object"}
        return {name: lambda value=value: value for name, value in said.items()} or {
            "type": lambda: "array"
        }

    def _some(self, share: float, makes: dict[str, Make]) -> dict[str, Any]:
        return {name: make() for name, make in makes.items() if self.chance.random() < share}

    def _strings(self) -> dict[str, Make]:
        chance = self.chance
        return {
            "pattern": lambda: chance.choice(_PATTERNS),
            "minLength": lambda: chance.randint(0, 3),
            "maxLength": lambda: chance.choice((0, 1, 2, 3, 5, 30)),
            "format": lambda: chance.choice(list(_FORMATS)),
            "type": lambda: "string",
        }

    def _numbers(self) -> dict[str, Make]:
        chance = self.chance
        bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        makes: dict[str, Make] = {name: lambda: chance.choice(_NUMBERS) for name in bounds}
        return {
            **makes,
            "multipleOf": lambda: chance.choice(_FACTORS),
            "type": lambda: chance.choice(("integer", "number")),
        }

    def _many(self, depth: int) -> list[Schema]:
        return [self._any(depth) for _ in range(self.chance.choice((1, 2, 2, 3)))]

    def _logic(self, depth: int) -> dict[str, Make]:
        makes: dict[str, Make] = {
            name: lambda: self._many(depth) for name in ("oneOf", "anyOf", "allOf")
        }
        makes["not"] = lambda: self._any(depth)
        if self.draft >= 7 and self.chance.random() < 0.4:
            return {name: lambda: self._any(depth) for name in ("if", "then", "else")}
        return makes

    def _keys(self, most: int) -> list[str]:
        return self.chance.sample(_KEYS, self.chance.randint(1, most))

    def _objects(self, depth: int) -> dict[str, Make]:
        chance = self.chance
        makes: dict[str, Make] = {
            "properties": lambda: {key: self._any(depth) for key in self._keys(3)},
            "required": lambda: self._keys(2),
            "patternProperties": lambda: {
                pattern: self._any(depth) for pattern in chance.sample(_PATTERNS, 2)
            },
            "additionalProperties": lambda: self._any(depth),
            "minProperties": lambda: chance.randint(1, 3),
            "maxProperties": lambda: chance.randint(0, 3),
        }
        if self.draft >= 6:
            makes["propertyNames"] = lambda: self._some(0.4, self._strings())
        if self.draft < 2019:
            makes["dependencies"] = lambda: {key: self._keys(2) for key in self._keys(2)}
            return makes
        return makes | {
            "dependentRequired": lambda: {key: self._keys(2) for key in self._keys(2)},
            "dependentSchemas": lambda: {key: self._any(depth) for key in self._keys(2)},
            "unevaluatedProperties": lambda: chance.choice((False, False, self._any(depth))),
        }

    def _arrays(self, depth: int) -> dict[str, Make]:
        chance = self.chance
        makes: dict[str, Make] = {
            "items": lambda: self._any(depth),
            "uniqueItems": lambda: True,
            "minItems": lambda: chance.randint(1, 3),
            "maxItems": lambda: chance.randint(0, 3),
        }
        makes["prefixItems" if self.draft == 2020 else "items"] = lambda: self._many(depth)
        if self.draft >= 6:
            makes["contains"] = lambda: self._any(depth)
        if self.draft >= 2019:
            makes["minContains"] = makes["maxContains"] = lambda: chance.randint(0, 2)
            makes["unevaluatedItems"] = lambda: chance.choice((False, self._any(depth)))
        return makes
