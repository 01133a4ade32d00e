"""Whether a value that is given satisfies what is said of it.

What an `enum` lists is evaluated, where a meet of its values with what is said beside them would
read each of them member by member.

What this module does not know: how values are listed.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final, cast, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import (
    Amount,
    AtLeast,
    AtMost,
    Beside,
    Distinct,
    Flag,
    Found,
    Holding,
    Holds,
    Item,
    Items,
    Keys,
    Longer,
    Matching,
    Named,
    Required,
    Shorter,
    SomeItem,
    Text,
)
from guideway.lowering.json_formulas import Atom, Formula, holds, leaf
from guideway.lowering.json_given import Like, Unlike
from guideway.lowering.json_meaning import Meaning
from guideway.lowering.json_numbers import within
from guideway.lowering.json_patterns import has_string
from guideway.lowering.json_scalars import text_content
from guideway.lowering.json_text import Spelling
from guideway.lowering.json_values import Exact, items_of, members_of
from guideway.lowering.nodes import Expr
from guideway.lowering.number_far import is_far
from guideway.lowering.regular import contains
from guideway.syntax.json_schema_tree import Address

_DEEPEST: Final = 32  # levels that are looked into, as each takes some of Python's stack


@final
class Untold(Exception):  # noqa: N818  it says that an answer is not plain, and is no error
    """Whether a value satisfies something depends on how it is written, or it nests deeply."""


@final
class Satisfied:
    """What values satisfy, by the schemas of one document.

    Args:
        meaning: what these say.
        spelling: how strings are written.
    """

    def __init__(self, meaning: Meaning, spelling: Spelling) -> None:
        self._meaning, self._spelling = meaning, spelling
        self._known: dict[tuple[Address, Exact], bool] = {}
        self._strings: dict[Text, Expr] = {}

    def holds(self, atom: Atom, value: Exact) -> bool:
        """Whether an atom about arrays or objects holds of one.

        Raises:
            Untold: that is not plain.
        """
        return self._of_kind(atom, value, _DEEPEST)

    def _every(self, said: Formula, parts: Iterable[Exact], deep: int) -> bool:
        return all(self._satisfies(said, part, deep) for part in parts)

    def _satisfies(self, said: Formula, value: Exact, deep: int) -> bool:
        """Whether a value satisfies what is said of a value of any type."""
        if not deep:
            raise Untold

        def judge(atom: Atom) -> bool:
            holding = cast("Holds", atom)  # nothing else is said by schemas of members and items
            return self._allows(holding.schema, value, deep) is holding.sign

        return holds(said, judge)

    def _allows(self, schema: Address, value: Exact, deep: int) -> bool:
        found = self._known.get((schema, value))
        if found is None:
            said = self._meaning.schema(schema, value[0])
            found = holds(said, lambda atom: self._of_kind(atom, value, deep - 1))
            self._known[schema, value] = found
        return found

    def _of_kind(self, atom: Atom, value: Exact, deep: int) -> bool:
        """Whether an atom about values of one type holds of a value of it."""
        spend(1)
        match value[0]:
            case "object":
                return self._of_object(atom, value, deep)
            case "array":
                return self._of_array(atom, value, deep)
            case _:
                return self._of_scalar(atom, value[1])

    def _of_object(  # noqa: PLR0911  an arm for each atom
        self, atom: Atom, value: Exact, deep: int
    ) -> bool:
        members = members_of(value)
        match atom:
            case Named(name, said):
                return name not in members or self._satisfies(said, members[name], deep)
            case Required(name):
                return name in members
            case Matching(keys, said):
                return self._every(said, self._among(keys, members), deep)
            case Found(keys, said):
                parts = self._among(keys, members)
                return any(self._satisfies(said, part, deep) for part in parts)
            case AtLeast(count):
                return len(members) >= count
            case AtMost(count):
                return len(members) <= count
            case _:
                return _is_given(atom, value)

    def _of_array(  # noqa: PLR0911  an arm for each atom
        self, atom: Atom, value: Exact, deep: int
    ) -> bool:
        items = items_of(value)
        match atom:
            case Item(position, said):
                return self._every(said, items[position : position + 1], deep)
            case Items(start, said):
                return self._every(said, items[start:], deep)
            case SomeItem(start, said):
                return any(self._satisfies(said, part, deep) for part in items[start:])
            case Holding(said, low, high):
                count = sum(self._satisfies(said, part, deep) for part in items)
                return low <= count and (high is None or count <= high)
            case Longer(count):
                return len(items) >= count
            case Shorter(count):
                return len(items) <= count
            case Distinct(sign):
                return (len(set(items)) == len(items)) is sign
            case _:
                return _is_given(atom, value)

    def _of_scalar(self, atom: Atom, content: object) -> bool:
        match atom:
            case Flag(values):
                return content in values
            case Text():
                return self._is_text(atom, cast("str", content))
            case _:
                return _is_amount(cast("Amount", atom), cast("Decimal", content))

    def _among(self, keys: Keys, members: dict[str, Exact]) -> list[Exact]:
        """The values of the members whose names are among some keys."""
        return [part for name, part in members.items() if self._is_among(name, keys)]

    def _is_among(self, name: str, keys: Keys) -> bool:
        if isinstance(keys, Beside):
            return name not in keys.names and not any(
                has_string(one, name, self._spelling) for one in keys.patterns
            )
        return has_string(keys, name, self._spelling)

    def _is_text(self, atom: Text, text: str) -> bool:
        strings = atom.strings
        if strings.pattern is None and strings.format is None:
            high = len(text) if strings.high is None else strings.high
            listed = strings.values is None or text in strings.values
            return (listed and strings.low <= len(text) <= high) is atom.sign
        found = self._strings.get(atom)
        if found is None:
            found = self._strings[atom] = text_content(leaf(atom), self._spelling)
        return contains(found, self._spelling.write(text))


def _is_given(atom: Atom, value: Exact) -> bool:
    if isinstance(atom, Like):
        return value in atom.values
    return value not in cast("Unlike", atom).values


def _is_amount(atom: Amount, amount: Decimal) -> bool:
    numbers = atom.numbers
    if numbers.digits or is_far(amount):
        raise Untold
    listed = numbers.values is None or amount in numbers.values
    return (listed and within(amount, numbers)) is atom.sign
