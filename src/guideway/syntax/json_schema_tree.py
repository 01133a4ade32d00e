"""The tree of a JSON Schema, in a form that all drafts share.

A schema names its parts by address (resource URI, "#", JSON pointer), so `$ref` needs no special
case and nesting has no depth. Keywords are grouped by the type of instance to which they apply:

    {"type": ["string", "null"], "maxLength": 3, "minimum": 2, "anyOf": [A, B]}

    kinds = {string, null}; strings.high = 3; numbers.minimum = 2; any_of = ((A, B),)

Nothing is simplified or merged.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import chain
from typing import Literal, TypeAlias, final

from guideway.syntax.frozen import by_identity, by_value
from guideway.syntax.regex_tree import Pattern

Address: TypeAlias = str
Kind: TypeAlias = Literal["null", "boolean", "number", "string", "array", "object"]
KINDS: frozenset[Kind] = frozenset(("null", "boolean", "number", "string", "array", "object"))


@final
@by_value
class Bound:
    value: Decimal
    exclusive: bool = False


@final
@by_value
class Strings:
    """Keywords of strings; lengths count code points, `holds` is the schema of embedded JSON."""

    values: frozenset[str] | None = None
    low: int = 0
    high: int | None = None
    pattern: Pattern | None = None
    format: str | None = None
    holds: "Address | None" = None


@final
@by_value
class Numbers:
    """Keywords of numbers; None for all values.

    `integer`: whole numbers. `digits`: draft 4's integer, which excludes 1.0. `double`: format
    "double", which limits the digits of plain spelling.
    """

    values: frozenset[Decimal] | None = None
    integer: bool = False
    digits: bool = False
    lower: tuple[Bound, ...] = ()
    upper: tuple[Bound, ...] = ()
    multiples: tuple[Decimal, ...] = ()
    double: bool = False


@final
@by_value
class Contains:
    """Number of items that satisfy a schema; `marks`: they count as evaluated (2020)."""

    schema: Address
    low: int = 1
    high: int | None = None
    marks: bool = True


@final
@by_value
class Arrays:
    """Keywords of arrays; `items` is for those after the prefix."""

    prefix: tuple[Address, ...] = ()
    items: Address | None = None
    low: int = 0
    high: int | None = None
    contains: Contains | None = None
    unique: bool = False
    unevaluated: Address | None = None


@final
@by_value
class Objects:
    """Keywords of objects.

    Attributes:
        properties: in declared order.
        additional: schema of members in neither `properties` nor `patterns`.
        names: schema of all names.
        low: least number of members.
        high: greatest number.
        needs: names that must be present if another one is.
        dependents: schema of the object if a name is present.
        unevaluated: schema of members that no other keyword evaluates, here or in place.
    """

    properties: Mapping[str, Address]
    required: tuple[str, ...] = ()
    patterns: tuple[tuple[Pattern, Address], ...] = ()
    additional: Address | None = None
    names: Address | None = None
    low: int = 0
    high: int | None = None
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    dependents: tuple[tuple[str, Address], ...] = ()
    unevaluated: Address | None = None


@final
@by_value
class Condition:
    test: Address
    then: Address | None = None
    otherwise: Address | None = None


@final
@by_identity
class Schema:
    """One schema: an instance has one of `kinds` and satisfies all the groups below.

    Attributes:
        keywords: its asserting keywords, for messages.
        all_of: `$ref` and `allOf`.
        any_of: `anyOf`, and `enum` with arrays or objects.
        one_of: `oneOf`: exactly one of each group.
        none_of: `not`.
    """

    address: Address
    keywords: tuple[str, ...] = ()
    kinds: frozenset[Kind] = KINDS
    booleans: frozenset[bool] = frozenset((True, False))
    strings: Strings = Strings()
    numbers: Numbers = Numbers()
    arrays: Arrays = Arrays()
    objects: Objects = Objects({})
    all_of: tuple[Address, ...] = ()
    any_of: tuple[tuple[Address, ...], ...] = ()
    one_of: tuple[tuple[Address, ...], ...] = ()
    none_of: tuple[Address, ...] = ()
    condition: Condition | None = None

    @property
    def in_place(self) -> tuple[Address, ...]:
        """All schemas that apply to the same instance."""
        combined = self.all_of or self.any_of or self.one_of or self.none_of or self.condition
        if not combined and not self.objects.dependents:  # the usual case, and a hot path
            return ()
        found = [*self.all_of, *chain.from_iterable(self.any_of + self.one_of), *self.none_of]
        if self.condition is not None:
            found += [
                part
                for part in (self.condition.test, self.condition.then, self.condition.otherwise)
                if part is not None
            ]
        found += [schema for _, schema in self.objects.dependents]
        return tuple(found)


@final
@by_identity
class Document:
    """All reachable schemas; `speaks`: a schema surely restricts something and allows something."""

    root: Address
    schemas: Mapping[Address, Schema]
    speaks: Callable[[Address], bool] = lambda address: False
