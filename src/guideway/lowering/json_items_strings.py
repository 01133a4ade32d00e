"""Arrays of distinct strings about which nothing else is said."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from guideway.lowering.expr import EMPTY
from guideway.lowering.json_atoms import Items, Longer, Shorter
from guideway.lowering.json_endless import value_of
from guideway.lowering.json_formulas import Every, Formula, Leaf
from guideway.lowering.json_text import QUOTE
from guideway.lowering.json_words import words_of
from guideway.lowering.nodes import Concat, Expr, Rule


@final
@dataclass(frozen=True, slots=True)
class DifferentStrings:
    """Items of such an array.

    Attributes:
        begun: what may stand behind their opening quotes, EMPTY if words are all.
        words: or one of these.
        low: how many there are at least,
        high: and at most.
    """

    begun: Expr
    words: tuple[str, ...]
    low: int
    high: int | None


def different_strings(said: Formula, value: Callable[[Formula], Expr]) -> DifferentStrings | None:
    """The items of an array of distinct strings.

    None if they are not strings, if listed ones are counted, or if more is said.

    Args:
        said: of the array.
        value: the values that a formula allows.
    """
    items, low, high = list[Formula](), 0, None
    for part in said.parts if isinstance(said, Every) else (said,):
        match part:
            case Leaf(Items(0, item)):
                items.append(item)
            case Leaf(Longer(count)):
                low = max(low, count)
            case Leaf(Shorter(count)):
                high = count if high is None else min(high, count)
            case _:
                return None
    if len(items) != 1:
        return None
    strings = value_of(value(items[0]))
    if isinstance(strings, Rule):
        listed = words_of(strings)
        if listed is None or low > 1 or high is not None:
            return None
        return DifferentStrings(EMPTY, listed[0], low, high)
    if isinstance(strings, Concat) and strings.head is QUOTE and strings.regular:
        return DifferentStrings(strings.tail, (), low, high)
    return None
