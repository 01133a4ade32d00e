"""Merge strings that occur in the same places of a Lark grammar.

Otherwise each of thousands of alternatives has its own state, with an entry for each of the others.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Final

_LONG: Final = 16  # symbols; a terminal in a longer production is not merged


def alike_of(rules: Sequence[Any], strings: Collection[str]) -> dict[str, str]:
    """Map strings to a representative with the same contexts, which itself is omitted."""
    places = dict[str, set[Hashable]]()
    for rule in rules:
        symbols = tuple(str(symbol.name) for symbol in rule.expansion)
        for at, name in enumerate(symbols):
            if name in strings:
                around = rule.origin, rule.options.priority, symbols[:at], symbols[at + 1 :]
                long = len(symbols) > _LONG
                places.setdefault(name, set()).add(name if long else around)
    firsts = dict[frozenset[Hashable], str]()
    found = ((name, firsts.setdefault(frozenset(held), name)) for name, held in places.items())
    return {name: first for name, first in found if name != first}
