"""Arrays and objects that an `enum` or `const` lists, as hashable values."""

from collections.abc import Iterable, Sequence
from typing import Final, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_values import Exact, array, exact, object_of
from guideway.syntax.json_schema_tree import Address, Document, Kind, Schema

_REFERENCE: Final = ("$ref",)
_CONST: Final = ("const",)
_TYPED: Final = frozenset(("enum", "type"))
_LEVEL: Final = 6  # parts that an array or an object takes as long as, beside what is in it
_FEW: Final = 4  # values, which are told apart as well as schemas are


@final
class Constants:
    """The values that schemas of one document list."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._made: dict[Address, Exact] = {}
        self._ranks: dict[Exact, int] = {}
        self._places: dict[Exact, dict[Address, None]] = {}

    def many(self, address: Address, kind: Kind) -> frozenset[Exact]:
        """The values of a kind, if a schema lists many and says nothing else; else none."""
        schema = self._referred(address)
        plain = kind in schema.kinds and _TYPED.issuperset(schema.keywords)
        if not plain or len(schema.any_of) != 1:
            return frozenset()
        parts = [self._document.schemas[address] for address in schema.any_of[0]]
        here = [part.address for part in parts if part.keywords == _CONST and kind in part.kinds]
        return frozenset(map(self.value, here)) if len(here) > _FEW else frozenset()

    def differ(self, addresses: Sequence[Address]) -> bool:
        """Whether schemas allow one value each, none of them twice."""
        if not all(self._referred(address).keywords == _CONST for address in addresses):
            return False
        values = {self.value(self._referred(address).address) for address in addresses}
        return len(values) == len(addresses)

    def _referred(self, address: Address) -> Schema:
        """Follow a chain of `$ref` and `const`."""
        schema = self._document.schemas[address]
        while schema.keywords == _REFERENCE or (schema.keywords == _CONST and schema.any_of):
            (target,) = schema.all_of or schema.any_of[0]
            schema = self._document.schemas[target]
        return schema

    def value(self, root: Address) -> Exact:
        """What a constant is."""
        found = self._build(root)
        self._ranks.setdefault(found, len(self._ranks))
        self._places.setdefault(found, {})[root] = None
        return found

    def places(self, value: Exact) -> Iterable[Address]:
        """The schemas that were asked for this value."""
        return self._places.get(value, ())

    def _build(self, root: Address) -> Exact:
        made = self._made
        schemas = self._document.schemas
        todo = [root] if root not in made else []
        while todo:
            part = schemas[todo[-1]]
            below = [*part.arrays.prefix, *part.objects.properties.values()]
            missing = [address for address in below if address not in made]
            if missing:
                spend(_LEVEL)
                todo += missing
                continue
            todo.pop()
            made[part.address] = _joined(part, made)
            spend(1 + len(below))
        return made[root]

    def in_order(self, values: Iterable[Exact]) -> list[Exact]:
        """Values in the order in which they were first asked for."""
        last = len(self._ranks)
        return sorted(values, key=lambda value: self._ranks.get(value, last))


def is_constant(schema: Schema) -> bool:
    """Whether a schema is a value that an `enum` or a `const` lists."""
    return schema.keywords == _CONST and not schema.any_of


def _joined(part: Schema, made: dict[Address, Exact]) -> Exact:
    match [*part.kinds]:
        case ["array"]:
            return array(tuple(made[address] for address in part.arrays.prefix))
        case ["object"]:
            members = part.objects.properties.items()
            return object_of((name, made[address]) for name, address in members)
        case ["number"]:
            return exact(*part.numbers.values or ())
        case ["string"]:
            return exact(*part.strings.values or ())
        case ["boolean"]:
            return exact(*part.booleans)
        case _:
            return exact(None)
