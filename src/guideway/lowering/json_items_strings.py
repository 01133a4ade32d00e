"""Arrays of which nothing is said but that all items are strings, and different ones.

Each may be any that has not come, as a key may be any that has not. What this module does not know:
how such arrays are read then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from guideway.lowering.expr import EMPTY
from guideway.lowering.json_atoms import Items, Longer
from guideway.lowering.json_endless import is_open_string, value_of
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
        filled: whether there has to be one.
        plenty: whether endlessly many begin as any of them does.
    """

    begun: Expr
    words: tuple[str, ...]
    filled: bool
    plenty: bool


def different_strings(said: Formula, value: Callable[[Formula], Expr]) -> DifferentStrings | None:
    """The items of an array of which this is said, and that all are different.

    None if they are not strings, or are counted.

    Args:
        said: of the array.
        value: the values that a formula allows.
    """
    items, filled = list[Formula](), False
    for part in said.parts if isinstance(said, Every) else (said,):
        match part:
            case Leaf(Items(0, item)):
                items.append(item)
            case Leaf(Longer(1)):
                filled = True
            case _:
                return None
    if len(items) != 1:
        return None
    strings = value_of(value(items[0]))
    if isinstance(strings, Rule):
        listed = words_of(strings)
        return None if listed is None else DifferentStrings(EMPTY, listed[0], filled, plenty=False)
    if isinstance(strings, Concat) and strings.head is QUOTE and strings.regular:
        return DifferentStrings(strings.tail, (), filled, is_open_string(strings))
    return None
