"""What the keywords of parts of a JSON Schema may hold, so that nothing of them is refused.

What this module does not know: which keywords stand together.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, final

from guideway.syntax.json_schema_keywords import LATEST, Draft
from guideway.syntax.json_schema_multiples import factor_of
from guideway.syntax.json_schema_needs import Raw, Said
from guideway.syntax.json_schema_tame_values import is_shallow
from guideway.syntax.json_schema_values import FORMATS, TYPES

Lowers = Callable[[str], bool]
_MOST_MEETING: Final = 256  # branches of a part that waits though they do not stand alone
_KNOWN_TYPES: Final = frozenset(TYPES)
_KNOWN_FORMATS: Final = frozenset(FORMATS)
_NUMBERS: Final = frozenset((int, Decimal))


@final
class Holding:
    """Looks at what keywords hold.

    >>> found = []
    >>> holding = Holding(2020, False, lambda pattern: True, found)
    >>> part = {"items": {}, "type": "text"}
    >>> holding.may_hold(part, {"items"}), holding.may_hold(part, {"type"}), found
    (True, False, [{}])

    Args:
        draft: of the document.
        strict: whether unknown formats are to be refused.
        lowers: tells whether a pattern is well formed and has an automaton.
        below: where schemas are put that have to be looked at, too.
    """

    def __init__(self, draft: Draft, strict: bool, lowers: Lowers, below: list[Any]) -> None:
        self._draft, self._strict, self._lowers, self._todo = draft, strict, lowers, below

    def may_hold(self, raw: Raw, said: Said) -> bool:
        """Whether keywords hold what they can hold, those of tame parts."""
        for name in said:
            check = _CHECKS.get(name)
            if check is None or not check(self, raw[name]):
                return False
        return True

    def may_hold_wilder(self, name: str, value: Any) -> bool:
        """Whether a keyword of any part may hold this, but for references."""
        check = _CHECKS.get(name) or _WILDER.get(name)
        return check is not None and check(self, value)

    def type(self, value: Any) -> bool:
        """The names of types."""
        if value.__class__ is str:
            return value in _KNOWN_TYPES
        return value.__class__ is list and len(value) > 0 and all(map(self.is_type, value))

    def is_type(self, name: Any) -> bool:
        """The name of a type."""
        return name.__class__ is str and name in _KNOWN_TYPES

    def values(self, value: Any) -> bool:
        """One or more values."""
        return value.__class__ is list and len(value) > 0 and is_shallow(value)

    def count(self, value: Any) -> bool:
        """A length or a number of items."""
        return value.__class__ is int and value >= 0

    def number(self, value: Any) -> bool:
        """A number."""
        return value.__class__ in _NUMBERS

    def bound(self, value: Any) -> bool:
        """A number, or in draft 4 a boolean."""
        return value.__class__ is bool if self._draft == 4 else value.__class__ in _NUMBERS

    def multiple(self, value: Any) -> bool:
        """A number of which multiples can be told."""
        return value.__class__ in _NUMBERS and value > 0 and factor_of(Decimal(value)) is not None

    def pattern(self, value: Any) -> bool:
        """A pattern that has an automaton."""
        return value.__class__ is str and self._lowers(value)

    def format(self, value: Any) -> bool:
        """The name of a format."""
        return value.__class__ is str and (not self._strict or value in _KNOWN_FORMATS)

    def names(self, value: Any) -> bool:
        """A list of names."""
        return value.__class__ is list and all(name.__class__ is str for name in value)

    def schema(self, value: Any) -> bool:
        """A schema."""
        self._todo.append(value)
        return value.__class__ is not list

    def schemas(self, value: Any) -> bool:
        """A list of one or more schemas."""
        if value.__class__ is list and value:
            self._todo.extend(value)
            return True
        return False

    def items(self, value: Any) -> bool:
        """A schema, or before 2020-12 a list of them."""
        if value.__class__ is list:
            return self._draft < LATEST and self.schemas(value)
        return self.schema(value)

    def members(self, value: Any) -> bool:
        """Schemas by name."""
        if value.__class__ is dict:
            self._todo.extend(value.values())
            return True
        return False

    def branches(self, value: Any) -> bool:
        """A list of schemas, not very many."""
        return self.schemas(value) and len(value) <= _MOST_MEETING

    def patterns(self, value: Any) -> bool:
        """Schemas by patterns that have automata."""
        return self.members(value) and all(map(self._lowers, value))

    def lists(self, value: Any) -> bool:
        """Lists of names by name."""
        return value.__class__ is dict and all(map(self.names, value.values()))

    def conditions(self, value: Any) -> bool:
        """Lists of names, or schemas, by name."""
        return value.__class__ is dict and all(
            self.names(part) or (part.__class__ is not list and self.schema(part))
            for part in value.values()
        )


_CHECKS: Final[dict[str, Callable[[Holding, Any], bool]]] = {
    "type": Holding.type,
    "enum": Holding.values,
    "const": lambda check, value: is_shallow(value),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), Holding.count),
    **dict.fromkeys(("minimum", "maximum"), Holding.number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), Holding.bound),
    "pattern": Holding.pattern,
    "format": Holding.format,
    "required": Holding.names,
    "properties": Holding.members,
    "additionalProperties": Holding.schema,
    "items": Holding.items,
    "prefixItems": Holding.schemas,
    "additionalItems": Holding.schema,
    "multipleOf": Holding.multiple,
}
_WILDER: Final[dict[str, Callable[[Holding, Any], bool]]] = {
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), Holding.branches),
    **dict.fromkeys(("not", "if", "then", "else", "propertyNames", "contains"), Holding.schema),
    **dict.fromkeys(
        ("minProperties", "maxProperties", "minContains", "maxContains"), Holding.count
    ),
    "patternProperties": Holding.patterns,
    "dependencies": Holding.conditions,
    "dependentRequired": Holding.lists,
    "dependentSchemas": Holding.members,
}
