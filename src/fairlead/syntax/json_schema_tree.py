"""The tree of a JSON Schema: every keyword read once, in a form that all drafts share.

A schema names its parts by address (resource URI, "#", JSON pointer) instead of holding them, so
that `$ref` is nothing special, nesting has no depth, and a table holds the whole document. Keywords
are grouped by the type of instance they speak about; those of other types are inert there::

    {"type": ["string", "null"], "maxLength": 3, "minimum": 2, "anyOf": [A, B]}

    kinds = {string, null}; strings.high = 3; numbers.minimum = 2; any_of = ((A, B),)

Nothing here is simplified or merged; `lowering.json_schema` does that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias, final

from fairlead.syntax.regex_tree import Pattern

Address: TypeAlias = str
Kind: TypeAlias = Literal["null", "boolean", "number", "string", "array", "object"]
KINDS: frozenset[Kind] = frozenset(("null", "boolean", "number", "string", "array", "object"))


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range of numbers."""

    value: Decimal
    exclusive: bool = False


@final
@dataclass(frozen=True, slots=True)
class Strings:
    """What a schema says about strings; lengths count code points."""

    values: frozenset[str] | None = None
    low: int = 0
    high: int | None = None
    pattern: Pattern | None = None
    format: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Numbers:
    """What a schema says about numbers; `digits` is draft-04's integer, which 1.0 is not."""

    values: frozenset[Decimal] | None = None
    integer: bool = False
    digits: bool = False
    lower: tuple[Bound, ...] = ()
    upper: tuple[Bound, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Arrays:
    """What a schema says about arrays; `items` is for those after the prefix."""

    prefix: tuple[Address, ...] = ()
    items: Address | None = None
    low: int = 0
    high: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Objects:
    """What a schema says about objects; `properties` in declared order."""

    properties: Mapping[str, Address]
    required: tuple[str, ...] = ()
    additional: Address | None = None
    names: Address | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One schema: an instance has one of `kinds`, and satisfies all the groups below.

    Attributes:
        address: where it stands.
        keywords: the asserting keywords that stand there, for messages.
        booleans: the booleans allowed, where booleans are.
        all_of: `$ref` and `allOf`.
        any_of: `anyOf`, and `enum` where it has arrays or objects.
        one_of: `oneOf`: exactly one of each group.
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """All schemas that can be reached from the root."""

    root: Address
    schemas: Mapping[Address, Schema]
