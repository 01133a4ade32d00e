"""Check that every completion of an indented grammar can be written in lines.

Sufficient: blocks begin after newlines or items and end after lines, and brackets close in the rule
that opens them, without newlines in between.
"""

from collections.abc import Mapping, Sequence
from typing import final

from guideway.syntax.lark_tree import Indentation, Production


@final
class Blocks:
    """Blocks, lines and brackets in rules; `least` gives the fewest terminals of each rule."""

    def __init__(
        self, lines: Indentation, productions: Sequence[Production], least: Mapping[str, int]
    ) -> None:
        self._productions, self._least = productions, least
        self._newline, self._indent, self._dedent = lines.newline, lines.indent, lines.dedent
        self._opening, self._closing, self._items = lines.opening, lines.closing, lines.items
        self._having: dict[str, list[Production]] = {}
        for each in productions:
            for symbol in each.symbols:
                self._having.setdefault(symbol, []).append(each)

    def hold(self) -> bool:
        """Return True if every completion can be written in lines."""
        lined, ended = self._lined(), self._ended()
        marked = self._opening | self._closing | self._items | {self._indent, self._dedent}
        some = (each.symbols for each in self._productions if not marked.isdisjoint(each.symbols))
        return all(self._is_written(symbols, lined, ended) for symbols in some)

    def _lined(self) -> set[str]:
        """The symbols that may contain a newline, or the beginning or end of a block."""
        found = {self._newline, self._indent, self._dedent, *self._items}
        todo = [*found]
        while todo:
            for each in self._having.get(todo.pop(), ()):
                if each.rule not in found:
                    found.add(each.rule)
                    todo.append(each.rule)
        return found

    def _ended(self) -> set[str]:
        """The symbols whose nonempty texts all end with a line."""
        found, todo = {*self._least, self._newline, self._dedent}, [*self._productions]
        while todo:
            each = todo.pop()
            if each.rule in found and not self._ends(each.symbols, found, True):
                found.remove(each.rule)
                todo += self._having.get(each.rule, ())
        return found

    def _ends(self, symbols: Sequence[str], ended: set[str], empty: bool) -> bool:
        """Return True if the texts of symbols end with a line, or are empty and `empty` is True."""
        for symbol in reversed(symbols):
            if symbol not in ended:
                return False
            if self._least.get(symbol, 1):
                return True
        return empty

    def _is_written(self, symbols: Sequence[str], lined: set[str], ended: set[str]) -> bool:
        brackets, blocks = 0, 0
        for place, symbol in enumerate(symbols):
            brackets += (symbol in self._opening) - (symbol in self._closing)
            blocks += (symbol == self._indent or symbol in self._items) - (symbol == self._dedent)
            if brackets < 0 or blocks < 0 or (brackets and symbol in lined):
                return False
            if symbol == self._indent and symbols[max(place - 1, 0)] != self._newline:
                return False
            if symbol == self._dedent and not self._ends(symbols[:place], ended, False):
                return False
        return brackets == 0 and blocks == 0
