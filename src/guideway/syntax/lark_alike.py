"""Which strings stand in the same places of a Lark grammar.

Each of thousands of alternatives would have a state of its own in the table of the grammar, and
each state an entry for each of them.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Final

_LONG: Final = 16  # symbols of a production; what stands in longer ones is like nothing else


def alike_of(rules: Sequence[Any], strings: Collection[str]) -> dict[str, str]:
    """One for each string that may be replaced by it wherever it stands, and the other way round.

    Args:
        rules: Lark's own.
        strings: terminals of which one may stand for others.
    """
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
