"""The tree of a JSON Schema: every keyword read once, in a form that all drafts share.

A schema names its parts by address (resource URI, "#", JSON pointer) instead of holding them, so
that `$ref` is nothing special, nesting has no depth, and a table holds the whole document. Keywords
are grouped by the type of instance they speak about; those of other types are inert there::

    {"type": ["string", "null"], "maxLength": 3, "minimum": 2, "anyOf": [A, B]}

    kinds = {string, null}; strings.high = 3; numbers.minimum = 2; any_of = ((A, B),)

Nothing here is simplified or merged; `lowering.json_schema` does that.
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
    """One end of a range of numbers."""

    value: Decimal
    exclusive: bool = False


@final
@by_value
class Strings:
    """What a schema says about strings.

    Attributes:
        values: the strings allowed, None for all.
        low: the least number of code points.
        high: the greatest.
        pattern: what is found in them.
        format: a format.
        holds: the schema of the JSON text that they are.
    """

    values: frozenset[str] | None = None
    low: int = 0
    high: int | None = None
    pattern: Pattern | None = None
    format: str | None = None
    holds: "Address | None" = None


@final
@by_value
class Numbers:
    """What a schema says about numbers.

    Attributes:
        values: the numbers allowed, None for all.
        integer: whether only whole ones are.
        digits: draft-04's integer, which 1.0 is not.
        lower: bounds.
        upper: the same.
        multiples: what they are multiples of.
        double: format "double", which limits the digits of plain spelling.
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
    """How many items satisfy a schema; `marks`: unevaluatedItems then leaves them alone (2020)."""

    schema: Address
    low: int = 1
    high: int | None = None
    marks: bool = True


@final
@by_value
class Arrays:
    """What a schema says about arrays; `items` is for those after the prefix."""

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
    """What a schema says about objects.

    Attributes:
        properties: in declared order.
        required: the names that have to be there.
        patterns: `patternProperties`.
        additional: for the values of names in neither `properties` nor `patterns`.
        names: what all names satisfy.
        low: the least number of members.
        high: the greatest.
        needs: the names that have to be there if another one is.
        dependents: the schema that the object satisfies if a name is there.
        unevaluated: for the values that no other keyword, here or in place, looks at.
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
    """`if`, and what holds then and else."""

    test: Address
    then: Address | None = None
    otherwise: Address | None = None


@final
@by_identity
class Schema:
    """One schema: an instance has one of `kinds`, and satisfies all the groups below.

    Attributes:
        address: where it stands.
        keywords: the asserting keywords that stand there, for messages.
        booleans: the booleans allowed, where booleans are.
        all_of: `$ref` and `allOf`.
        any_of: `anyOf`, and `enum` where it has arrays or objects.
        one_of: `oneOf`: exactly one of each group.
        none_of: `not`.
        condition: `if`, `then` and `else`.
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
        """All schemas that look at the same instance."""
        combined = self.all_of or self.any_of or self.one_of or self.none_of or self.condition
        if not combined and not self.objects.dependents:  # as most are, and all are asked often
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
    """All schemas that can be reached from the root.

    Attributes:
        root: its address.
        schemas: by their addresses.
        speaks: whether a schema is known to say something, and to allow something; not all are.
    """

    root: Address
    schemas: Mapping[Address, Schema]
    speaks: Callable[[Address], bool] = lambda address: False
