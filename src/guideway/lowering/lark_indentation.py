"""What Lark's Indenter makes of the ends of lines.

Outside of brackets the terminal of newlines is followed by one that begins a block, where the last
line of it is wider than the block is, or by one that ends a block for each block that is wider than
the line; a width between two blocks is an error. Behind the terminal of an item a block has begun
that is as much wider as the terminal is. A line is as wide as it has blanks, tabs counted
as often as the Indenter says, wherever they stand in it. Inside of brackets newlines are not seen.

So a place holds the widths of the blocks, and the terminal of newlines is read byte by byte, with
the columns of its last line counted.

What this module does not know: what else is taken where, and that there are expressions of places.
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
    """Where a text may go on.

    Attributes:
        stack: of the automaton.
        brackets: how many are open.
        widths: of the blocks, the innermost last.
    """

    stack: Frame
    brackets: int
    widths: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class ReadLine:
    """The terminal of newlines while it is read.

    Attributes:
        text: what is left of it.
        columns: of its last line so far; None before its first newline.
        after: what has to follow it.
        place: where it began.
    """

    text: Expr
    columns: int | None
    after: Expr
    place: Place


@final
class Lines:
    """An Indenter at work.

    Attributes:
        newline: the terminal that ends a line.
    """

    def __init__(self, told: Indentation, automaton: Automaton, items: Mapping[str, int]) -> None:
        self._told, self._automaton, self._items = told, automaton, items
        self.newline = told.newline

    def take(self, place: Place, terminal: str) -> Place | None:
        """The place after a terminal, None where there is none."""
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
        """The stack at the end of the text: all blocks end."""
        stack: Frame | None = place.stack
        for _ in place.widths[1:]:
            stack = stack and self._automaton.feed(stack, self._told.dedent)
        return stack

    def begun(self, place: Place, text: Expr, columns: int | None, after: Expr) -> ReadLine:
        """The terminal of newlines at a place, so far as it has been read."""
        return ReadLine(text, self._told_apart(columns, self._widest(place)), after, place)

    def steps(self, line: ReadLine) -> Iterator[tuple[Expr, ReadLine]]:
        """Sets of bytes, and how far a line is read after one of them."""
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
        """A number of characters below which no text ends from here, one byte at least."""
        place, columns = line.place, line.columns or 0
        found: list[int] = []
        for width in (*place.widths, max(columns, place.widths[-1] + 1)):
            after = self.indented(place, width)
            need = None if after is None else self._automaton.needs(after.stack)
            if need is not None:
                # A wider line is begun again.
                more = width - columns if width >= columns else width + 1
                found.append(self._characters(more) + need)
        return max(min(found), 1) if found else None

    def _characters(self, columns: int) -> int:
        """How many blanks and tabs are so wide, at least."""
        return columns // self._told.tab + columns % self._told.tab

    def _widest(self, place: Place) -> int | None:
        """A width than which none need be told from wider ones: where no block may begin."""
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
        """The place where a line is read, None where it cannot end here."""
        ended = line.text.nullable and line.columns is not None
        return self.indented(line.place, line.columns or 0) if ended else None

    def indented(self, place: Place, columns: int) -> Place | None:
        """The place behind a newline whose last line is so wide, None where it cannot be."""
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
    """Sets of bytes with the same derivative; those that count are alone."""
    alone = [1 << NEWLINE, 1 << BLANK, 1 << TAB]
    others = (members & ~sum(alone) for members in byte_classes(text))
    return (*alone, *(members for members in others if members))
