"""Find a terminal that always takes its successors too, so that the grammar has no text.

    start: "<t>" BODY "</t>"
    BODY: /.+/                  BODY matches to the end of the line, and "</t>" never comes

Used for the error message of a grammar without any text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

from guideway.lowering.expr import both
from guideway.lowering.lark_terminals import Terminal
from guideway.lowering.nodes import Expr
from guideway.syntax.lark_tree import END, LarkGrammar, LarkTerminal


def swallowing(
    grammar: LarkGrammar, is_empty: Callable[[Expr], bool]
) -> tuple[LarkTerminal, tuple[LarkTerminal, ...]] | None:
    """A terminal and the successors that are never read because it takes them, if there is one.

    Prefers a terminal for which these are all successors.
    """
    read = {name: Terminal(each, bool(grammar.parts)) for name, each in grammar.terminals.items()}

    def takes(taker: Terminal, other: str) -> bool:
        """Return True if one terminal goes on wherever another one could begin."""
        if other not in read or is_empty(read[other].begins):
            return False
        return all(is_empty(both(each.after, read[other].begins)) for each in taker.exits)

    best = None
    for name, names in _Symbols(grammar.rules).following(grammar.start).items():
        if name not in read or not all(takes(read[name], each) for each in grammar.ignored):
            continue
        taken = [each for each in sorted(names) if takes(read[name], each)]
        found = read[name].shape, tuple(read[each].shape for each in taken)
        if taken and len(taken) == len(names):
            return found
        best = best or (found if taken else None)
    return best


@final
@dataclass(slots=True)
class _Symbols:
    """FIRST and FOLLOW sets of symbols."""

    rules: Mapping[str, tuple[tuple[str, ...], ...]]
    nullable: set[str] = field(default_factory=set[str])
    first: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def __post_init__(self) -> None:
        self.first = {name: set() for name in self.rules}
        while self._grows():
            pass

    def _grows(self) -> bool:
        size = len(self.nullable) + sum(map(len, self.first.values()))
        for name, expansions in self.rules.items():
            for expansion in expansions:
                begins, may_end = self._begins(expansion)
                self.first[name] |= begins
                if may_end:
                    self.nullable.add(name)
        return size < len(self.nullable) + sum(map(len, self.first.values()))

    def _begins(self, symbols: tuple[str, ...]) -> tuple[set[str], bool]:
        """The first terminals of a sequence of symbols, and True if it may be empty."""
        found = set[str]()
        for symbol in symbols:
            found |= self.first.get(symbol, {symbol})
            if symbol not in self.nullable:
                return found, False
        return found, True

    def following(self, start: str) -> dict[str, set[str]]:
        """FOLLOW set of each symbol, with `END`."""
        found: dict[str, set[str]] = {start: {END}}
        size = -1
        while size < (size := sum(map(len, found.values()))):
            for name, expansions in self.rules.items():
                for expansion in expansions:
                    for at, symbol in enumerate(expansion):
                        begins, may_end = self._begins(expansion[at + 1 :])
                        behind = found.setdefault(symbol, set())
                        behind |= begins | (found.get(name, set()) if may_end else set())
        return found
