"""What several JSON Schemas say together, by the type of instance they speak about.

A *meet* is a tuple of addresses: the instances that satisfy all of these schemas. `expand` resolves
references and alternatives and leaves *cases*: meets without `$ref`, `allOf`, `anyOf` and `oneOf`,
one of which an instance satisfies, each with the types that it still admits. For each type the
keywords of a case combine simply: bounds tighten, sets of values intersect, the value of a property
meets the schemas that each of them has for it::

    {"$ref": "#/$defs/A", "anyOf": [B, C], "maxLength": 3}    the meet (root,)
    (root, A, B), (root, A, C)                                its cases

Meets are named by addresses, of which there are finitely many; that is why lowering ends, however
schemas refer to one another.

What this module does not know: expressions, JSON's spelling.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias, TypeVar, assert_never, final

from fairlead.errors import LimitError
from fairlead.syntax.json_schema_tree import (
    KINDS,
    Address,
    Arrays,
    Bound,
    Document,
    Kind,
    Numbers,
    Schema,
    Strings,
)

Meet: TypeAlias = tuple[Address, ...]
MAX_CASES = 10_000
_LOOK_INTO = 6  # levels of parts that a proof of emptiness looks into
_Value = TypeVar("_Value", bound="str | Decimal")


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Schemas that an instance of one of `kinds` satisfies all."""

    schemas: tuple[Schema, ...]
    kinds: frozenset[Kind]

    @property
    def meet(self) -> Meet:
        """The addresses, which tell cases apart."""
        return tuple(schema.address for schema in self.schemas)

    # Numbers

    def numbers(self) -> Numbers:
        """The number keywords together; `values`, if any, satisfy the others."""
        parts = [schema.numbers for schema in self.schemas]
        lower = [bound for part in parts for bound in part.lower]
        upper = [bound for part in parts for bound in part.upper]
        merged = Numbers(
            _common(part.values for part in parts),
            any(part.integer for part in parts),
            any(part.digits for part in parts),
            (max(lower, key=lambda bound: (bound.value, bound.exclusive)),) if lower else (),
            (min(upper, key=lambda bound: (bound.value, not bound.exclusive)),) if upper else (),
        )
        if merged.values is None:
            return merged
        kept = frozenset(value for value in merged.values if _within(value, merged))
        return Numbers(kept, merged.integer, merged.digits)

    # Strings

    def strings(self) -> list[Strings]:
        """The string keywords: first lengths and values together, then patterns and formats."""
        parts = [schema.strings for schema in self.schemas]
        values = _common(part.values for part in parts)
        low = max((part.low for part in parts), default=0)
        high = _least(part.high for part in parts)
        if values is not None:
            values = frozenset(v for v in values if low <= len(v) <= _or_more(high, len(v)))
        others = [part for part in parts if part.pattern is not None or part.format is not None]
        return [Strings(values, low, high), *others]

    # Arrays

    def arrays(self) -> Arrays:
        """How long arrays may be; the prefix and items are asked for by position."""
        parts = [schema.arrays for schema in self.schemas]
        low = max((part.low for part in parts), default=0)
        return Arrays(low=low, high=_least(part.high for part in parts))

    def prefix_length(self) -> int:
        """From this position on all items are the same."""
        return max((len(schema.arrays.prefix) for schema in self.schemas), default=0)

    def item(self, position: int) -> Meet:
        """What the item at `position` satisfies."""
        return _meet(_item(schema.arrays, position) for schema in self.schemas)

    # Objects

    def names(self) -> tuple[str, ...]:
        """All property names that are mentioned, in declared order, then as required."""
        declared = (name for schema in self.schemas for name in schema.objects.properties)
        return tuple(dict.fromkeys((*declared, *self.required())))

    def required(self) -> dict[str, None]:
        """The names that must be there, in order."""
        return dict.fromkeys(n for schema in self.schemas for n in schema.objects.required)

    def property(self, name: str) -> Meet:
        """What the value of a property satisfies."""
        return _meet(
            schema.objects.properties.get(name, schema.objects.additional)
            for schema in self.schemas
        )

    def additional(self) -> Meet:
        """What the value of a property that is not mentioned satisfies."""
        return _meet(schema.objects.additional for schema in self.schemas)

    def property_names(self) -> Meet:
        """What property names satisfy."""
        return _meet(schema.objects.names for schema in self.schemas)


def expand(document: Document, meet: Meet) -> Iterator[Case]:
    """The cases of a meet.

    Raises:
        LimitError: alternatives multiply to more than `MAX_CASES`.
    """
    found = 0
    todo = [_Open(meet)]
    while todo:
        opened = todo.pop().read(document)
        if opened.kinds and opened.groups:
            group, *others = opened.groups
            branches = [opened.choose(branch, others) for branch in group]
            todo.extend(reversed(branches))
        elif opened.kinds:
            yield Case(tuple(opened.schemas.values()), opened.kinds)
        found += 1
        if found > MAX_CASES:
            raise LimitError(
                f"alternatives multiply to more than {MAX_CASES} cases",
                limit="cases",
                given=MAX_CASES,
                place=next(iter(meet)).partition("#")[2],
            )


@final
class _Open:
    """A meet on its way to cases: addresses to read, schemas read, groups to choose from."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self.addresses = list(addresses)
        self.seen: dict[Address, None] = {}
        self.schemas: dict[Address, Schema] = {}
        self.kinds = KINDS
        self.groups: list[tuple[Address, ...]] = []

    def read(self, document: Document) -> "_Open":
        """Follow the addresses, all of which hold."""
        for address in self.addresses:  # grows while we go
            if address in self.seen:
                continue
            self.seen[address] = None
            schema = document.schemas[address]
            self.kinds &= schema.kinds
            self.addresses.extend(schema.all_of)
            self.groups.extend(schema.any_of + schema.one_of)
            if _says_something(schema):
                self.schemas[address] = schema
        return self

    def choose(self, branch: Address, others: list[tuple[Address, ...]]) -> "_Open":
        """This, with one branch of a group chosen and the others still open."""
        chosen = _Open((branch,))
        chosen.seen, chosen.schemas = dict(self.seen), dict(self.schemas)
        chosen.kinds, chosen.groups = self.kinds, list(others)
        return chosen


def surely_empty(document: Document, meet: Meet, look_into: int = _LOOK_INTO) -> bool:
    """Whether the keywords prove, without automata, that no instance satisfies the meet.

    Branches of `oneOf` exclude each other when their meets are surely empty.
    """
    return all(
        _kind_is_empty(document, case, kind, look_into)
        for case in expand(document, meet)
        for kind in case.kinds
    )


def _kind_is_empty(document: Document, case: Case, kind: Kind, look_into: int) -> bool:
    match kind:
        case "null":
            return False
        case "boolean":
            return not booleans(case)
        case "number":
            return _no_number(case.numbers())
        case "string":
            first = case.strings()[0]
            return not first.values if first.values is not None else _crossed(first)
        case "array":
            lengths = case.arrays()
            parts = [case.item(position) for position in range(min(lengths.low, 32))]
            return _crossed(lengths) or _any_empty(document, parts, look_into)
        case "object":
            parts = [case.property(name) for name in case.required()]
            return _any_empty(document, parts, look_into)
        case _:
            assert_never(kind)


def booleans(case: Case) -> frozenset[bool]:
    """The booleans that a case allows."""
    return frozenset((True, False)).intersection(*(schema.booleans for schema in case.schemas))


def _any_empty(document: Document, meets: list[Meet], look_into: int) -> bool:
    return look_into > 0 and any(surely_empty(document, meet, look_into - 1) for meet in meets)


def _crossed(part: Strings | Arrays) -> bool:
    return part.high is not None and part.low > part.high


def _no_number(numbers: Numbers) -> bool:
    if numbers.values is not None:
        return not numbers.values
    return any(
        not _within(low.value, Numbers(upper=(high,)))
        or (low.value == high.value and low.exclusive)
        for low in numbers.lower
        for high in numbers.upper
    )


def _within(value: Decimal, numbers: Numbers) -> bool:
    return (
        not (numbers.integer and value != value.to_integral_value())
        and all(_above(value, bound) for bound in numbers.lower)
        and all(_above(value.copy_negate(), _mirror(bound)) for bound in numbers.upper)
    )


def _above(value: Decimal, bound: Bound) -> bool:
    return value > bound.value or (value == bound.value and not bound.exclusive)


def _mirror(bound: Bound) -> Bound:
    return Bound(bound.value.copy_negate(), bound.exclusive)


def _says_something(schema: Schema) -> bool:
    """Whether a schema asserts anything itself: `{"$ref": …}` only passes on what others say."""
    return not {"$ref", "allOf", "anyOf", "oneOf"}.issuperset(schema.keywords)


def _item(arrays: Arrays, position: int) -> Address | None:
    return arrays.prefix[position] if position < len(arrays.prefix) else arrays.items


def _meet(addresses: Iterable[Address | None]) -> Meet:
    return tuple(dict.fromkeys(address for address in addresses if address is not None))


def _common(sets: "Iterable[frozenset[_Value] | None]") -> "frozenset[_Value] | None":
    known = [values for values in sets if values is not None]
    return known[0].intersection(*known[1:]) if known else None


def _least(counts: Iterable[int | None]) -> int | None:
    return min((count for count in counts if count is not None), default=None)


def _or_more(high: int | None, length: int) -> int:
    return length if high is None else high
