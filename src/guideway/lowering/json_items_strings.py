"""Arrays of distinct strings without other conditions."""

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
    """Items of such an array: strings that `begun` matches after the quote, or `words`.

    `begun` is EMPTY if all strings are listed. There are `low` to `high` items.
    """

    begun: Expr
    words: tuple[str, ...]
    low: int
    high: int | None


def different_strings(said: Formula, value: Callable[[Formula], Expr]) -> DifferentStrings | None:
    """The items of an array of distinct strings, None for any other formula."""
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
