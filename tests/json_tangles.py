"""Random schemas whose parts lead back to each other, over so few small values that most matter.

`json_mixtures` has more keywords and texts; here nearly every keyword stands beside a reference to
the whole or to two definitions, and every value of a fixed pool is judged.
"""

import itertools
import random
from collections.abc import Callable
from typing import Any, TypeAlias

from json_schemas import Judges

Schema: TypeAlias = "dict[str, Any] | bool"
Make: TypeAlias = Callable[[], Any]

_WORDS = ("a", "b", "c", "", "ab")
_SCALARS: list[Any] = [None, True, False, 0, 1, 2, -1, 12, "", "a", "b", "ab"]
_ARRAYS: list[Any] = [
    *([], [0], [None], ["a"], [0, 1], ["a", "b"], [0, 0], [[]], [{}], [[], {}], [True, False]),
    *([[0], [1]], [[], []], [0, "a", None], [{"a": 0}]),
]
_SINGLE: list[dict[str, Any]] = [
    {name: value} for name in _WORDS for value in (0, "a", None, [], {}, True, [0], {"a": 0})
]
_OBJECTS: list[Any] = [
    *({}, *_SINGLE),
    *({"a": one, "b": two} for one in (0, "a", [], {}) for two in (0, None, {})),
    *({"a": 0, "b": 0, "c": 0}, {"a": {"a": {}}}, {"b": {"b": {}}}, {"a": [{}]}),
    *({"c": 1, "b": ""}, {"a": {}, "c": {}}),
]
VALUES: list[Any] = [
    *(*_SCALARS, *_ARRAYS, *_OBJECTS),
    *([each] for each in _SINGLE[:12]),
    *(list(pair) for pair in itertools.product(({}, [], 0), ({"a": 0}, [0], "a"))),
]


class Tangle:
    """One random schema, and its judges.

    Args:
        seed: of all choices.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._unique = 0.5 if self.chance.random() < 0.3 else 0.2
        said = self._any(2)
        below = {name: self._any(1) for name in "xy"}
        self.schema = {**(said if isinstance(said, dict) else {"allOf": [said]}), "$defs": below}
        self.verdict = Judges(self.schema).verdict

    def _any(self, depth: int) -> Schema:
        chance = self.chance
        if depth < 0 or chance.random() < 0.25:
            return self._leaf()
        kinds: tuple[Callable[[int], Schema], ...] = (
            self._logic,
            self._choice,
            self._objects,
            self._arrays,
        )
        return chance.choices(kinds, (1, 3, 3, 2))[0](depth - 1)

    def _leaf(self) -> Schema:
        chance = self.chance
        options: list[tuple[float, Make]] = [
            (3, lambda: {"type": "integer"}),
            (2, self._bounded),
            (4, lambda: {"enum": chance.sample([*_SCALARS, [], {}, [0], {"a": 0}], 3)}),
            (2, lambda: {"type": "string"}),
            (2, lambda: {"type": "string", "maxLength": 1}),
            (2, lambda: {"type": "string", "pattern": chance.choice(("^a", "b$", "^[ab]*$"))}),
            (2, lambda: {"type": "boolean"}),
            (3, lambda: {"const": chance.choice([0, "a", [], {}, [[]], {"a": {}}])}),
            (3, lambda: {"type": chance.sample(["null", "boolean", "array", "object"], 2)}),
            (1, lambda: {"multipleOf": 2}),
            (3, lambda: {"$ref": "#"}),
            (4, lambda: {"$ref": "#/$defs/" + chance.choice("xy")}),
            (3, lambda: True),
            (0.5, lambda: False),
        ]
        return chance.choices([make for _, make in options], [share for share, _ in options])[0]()

    def _bounded(self) -> Schema:
        low = self.chance.randrange(-1, 2)
        return {"type": "integer", "minimum": low, "maximum": low + self.chance.randrange(3)}

    def _choice(self, depth: int) -> Schema:
        chance = self.chance
        parts = [self._any(depth) for _ in range(chance.randint(1, 3))]
        made = {chance.choice(("anyOf", "allOf", "oneOf")): parts}
        if chance.random() < 0.3:
            made |= chance.choice((self._objects, self._arrays))(depth)
        return made

    def _logic(self, depth: int) -> Schema:
        if self.chance.random() < 0.6:
            return {"not": self._any(depth)}
        names = ("if", "then", "else")[: self.chance.randint(2, 3)]
        return {name: self._any(depth) for name in names}

    def _some(self, kind: str, *options: tuple[str, float, Make]) -> dict[str, Any]:
        made: dict[str, Any] = {"type": kind} if self.chance.random() < 0.75 else {}
        drawn = [(name, make) for name, share, make in options if self.chance.random() < share]
        return made | {name: make() for name, make in drawn}

    def _objects(self, depth: int) -> dict[str, Any]:
        chance = self.chance
        names: tuple[Schema, ...] = (
            *({"maxLength": 1}, {"pattern": "^[ab]"}, {"enum": ["a", "b"]}, {"minLength": 1}),
        )
        return self._some(
            "object",
            ("properties", 0.6, lambda: {name: self._any(depth) for name in self._names()}),
            ("required", 0.4, self._names),
            ("additionalProperties", 0.4, lambda: self._any(depth)),
            ("minProperties", 0.25, lambda: chance.randrange(3)),
            ("maxProperties", 0.2, lambda: chance.randint(0, 2)),
            ("propertyNames", 0.2, lambda: chance.choice(names)),
            ("patternProperties", 0.2, lambda: {chance.choice(("^a", "b$")): self._any(depth)}),
            ("dependentRequired", 0.15, lambda: {chance.choice("abc"): self._names()}),
            ("dependentSchemas", 0.1, lambda: {chance.choice("abc"): self._any(depth)}),
            ("unevaluatedProperties", 0.12, lambda: self._any(depth)),
        )

    def _names(self) -> list[str]:
        return self.chance.sample("abc", self.chance.randint(1, 2))

    def _arrays(self, depth: int) -> dict[str, Any]:
        chance = self.chance
        return self._some(
            "array",
            ("uniqueItems", self._unique, lambda: True),
            ("items", 0.6, lambda: self._any(depth)),
            ("contains", 0.25, lambda: self._any(depth)),
            ("minContains", 0.1, lambda: chance.randrange(3)),
            ("maxContains", 0.1, lambda: chance.randrange(3)),
            ("minItems", 0.4, lambda: chance.randrange(3)),
            ("maxItems", 0.25, lambda: chance.randint(0, 2)),
            ("prefixItems", 0.25, lambda: [self._any(depth) for _ in range(chance.randint(1, 2))]),
            ("unevaluatedItems", 0.12, lambda: self._any(depth)),
        )
