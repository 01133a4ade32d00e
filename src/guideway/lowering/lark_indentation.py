"""Lark's Indenter: newline terminals and block widths.

Outside of brackets a newline terminal is followed by an indent terminal if its last line is wider
than the block, else by a dedent terminal for each wider block; a width between two blocks is an
error. A terminal of `items` begins a block that is wider by its own width. The width of a line
counts its blanks, and its tabs as often as the Indenter says. Newlines are read byte by byte.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

from guideway.lowering.expr import EMPTY, byte_set
from guideway.lowering.lark_automaton import Automaton, Frame
from guideway.lowering.nodes import Expr
from guideway.lowering.regular import byte_classes, derivative, least_byte
from guideway.syntax.lark_tree import Indentation

NEWLINE: Final = ord("\n")
BLANK: Final = ord(" ")
TAB: Final = ord("\t")


@final
@dataclass(frozen=True, slots=True)
class Place:
    """LALR stack, number of open brackets, and widths of the blocks, innermost last."""

    stack: Frame
    brackets: int
    widths: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class ReadLine:
    """A partly read newline terminal that began at `place`.

    `text` is the derivative, `columns` the width of the last line (None before its newline),
    `after` the required lookahead.
    """

    text: Expr
    columns: int | None
    after: Expr
    place: Place


@final
class Lines:
    """The Indenter of a grammar over its LALR stacks."""

    def __init__(self, told: Indentation, automaton: Automaton, items: Mapping[str, int]) -> None:
        self._told, self._automaton, self._items = told, automaton, items
        self.newline = told.newline

    def take(self, place: Place, terminal: str) -> Place | None:
        """The place after a terminal, None if there is no action."""
        stack = self._automaton.feed(place.stack, terminal)
        brackets = self._brackets(place.brackets, terminal)
        if stack is None or brackets < 0:
            return None
        item = 0 if brackets else self._items.get(terminal, 0)
        widths = (*place.widths, place.widths[-1] + item) if item else place.widths
        return Place(stack, brackets, widths)

    def _brackets(self, open_: int, terminal: str) -> int:
        if terminal in self._told.opening:
            return open_ + 1
        return open_ - 1 if terminal in self._told.closing else open_

    def ended(self, place: Place) -> Frame | None:
        """The stack at the end of the text, after dedents for all blocks."""
        stack: Frame | None = place.stack
        for _ in place.widths[1:]:
            stack = stack and self._automaton.feed(stack, self._told.dedent)
        return stack

    def begun(self, place: Place, text: Expr, columns: int | None, after: Expr) -> ReadLine:
        """A newline terminal at a place, read up to `text`."""
        return ReadLine(text, self._told_apart(columns, self._widest(place)), after, place)

    def steps(self, line: ReadLine) -> Iterator[tuple[Expr, ReadLine]]:
        """Sets of bytes, and the newline after each."""
        widest = self._widest(line.place)
        for members in _classes(line.text):
            least = least_byte(members)
            text = derivative(line.text, least)
            if text is not EMPTY:
                columns = self._told_apart(self._columns(line.columns, least), widest)
                yield byte_set(members), ReadLine(text, columns, line.after, line.place)

    def _told_apart(self, columns: int | None, widest: int | None) -> int | None:
        return columns if columns is None or widest is None else min(columns, widest)

    def needs(self, line: ReadLine) -> int | None:
        """Lower bound (at least 1) of the characters to the end, None if there is no completion."""
        place, columns = line.place, line.columns or 0
        found: list[int] = []
        for width in (*place.widths, max(columns, place.widths[-1] + 1)):
            after = self.indented(place, width)
            need = None if after is None else self._automaton.needs(after.stack)
            if need is not None:
                # A line that is too wide needs another newline.
                more = width - columns if width >= columns else width + 1
                found.append(self._characters(more) + need)
        return max(min(found), 1) if found else None

    def _characters(self, columns: int) -> int:
        """The fewest blanks and tabs with this width."""
        return columns // self._told.tab + columns % self._told.tab

    def _widest(self, place: Place) -> int | None:
        """The width at which wider lines need no distinction: no block may begin."""
        stack = self._automaton.feed(place.stack, self.newline)
        begun = stack and self._automaton.feed(stack, self._told.indent)
        return place.widths[-1] + 1 if begun is None else None

    def _columns(self, columns: int | None, byte: int) -> int | None:
        if byte == NEWLINE:
            return 0
        if columns is None:
            return None
        return columns + (1 if byte == BLANK else self._told.tab if byte == TAB else 0)

    def behind(self, line: ReadLine) -> Place | None:
        """The place after a newline that may end here, else None."""
        ended = line.text.nullable and line.columns is not None
        return self.indented(line.place, line.columns or 0) if ended else None

    def indented(self, place: Place, columns: int) -> Place | None:
        """The place after a newline whose last line has this width, else None."""
        stack, widths = self._automaton.feed(place.stack, self.newline), place.widths
        if columns > widths[-1]:
            margin = self._characters(columns)
            stack = stack and self._automaton.feed(stack, self._told.indent, margin)
            widths = (*widths, columns)
        while columns < widths[-1]:
            stack = stack and self._automaton.feed(stack, self._told.dedent)
            widths = widths[:-1]
        if stack is None or columns != widths[-1]:
            return None
        return Place(stack, 0, widths)


@lru_cache(maxsize=1 << 12)
def _classes(text: Expr) -> tuple[int, ...]:
    """Byte classes of an expression, with newline, blank and tab on their own."""
    alone = [1 << NEWLINE, 1 << BLANK, 1 << TAB]
    others = (members & ~sum(alone) for members in byte_classes(text))
    return (*alone, *(members for members in others if members))
