"""A Lark automaton in the arrays of an automaton: LALR tables, options of each state, stacks."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.arena import Arena
from guideway.automaton.jit.records import dtype
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import Lalr
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.automaton.object_tables import Nodes
from guideway.context_free.lark.grammar import END, LarkTable
from guideway.context_free.lark.lowering import Freedom, Place, Places, ReadLine
from guideway.context_free.lark.scanners import Way
from guideway.context_free.lark.terminals import one_word
from guideway.language.expr import ANYTHING, EPSILON
from guideway.language.nodes import Expr
from guideway.language.pushdown import Frame
from guideway.regex.backtracking import Exit

_WORD: Final = 32  # bits
_ROOM: Final = 64  # states that a reduction may push, besides one for each automaton state


class LalrNodes:
    def __init__(self, places: Places, pda: Nodes, dfa: LexerDfa) -> None:
        self._places, self._pda, self._dfa = places, pda, dfa
        self._arena: Arena = pda.arena
        self._lines = places.indentation
        self._newline = "" if self._lines is None else self._lines.newline
        self._names = [*places.table.terminals[1:], END]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._states = range(len(places.table.shifts))
        self._free: Freedom | None = places.freedom(dfa.spellable)
        self._known: dict[tuple[Way, ...], tuple[int, int]] = {}
        self._scanned = set[int]()
        self._ways: dict[Way, Sequence[int]] = {}
        self._spacers: dict[bytes, int] = {}
        self._reached = self._arena.make(at.CLEAR, 1)
        self.table = self._describe(places.table)

    def node(self, argument: Place | ReadLine) -> int:
        """The node of all texts from a place, or from the newlines being read there."""
        place = argument.place if isinstance(argument, ReadLine) else argument
        line = 0
        if isinstance(argument, ReadLine):
            line = self._line_node(argument.text, argument.columns, argument.after)
        states: list[int] = []
        frame: Frame | None = place.stack
        while frame is not None:
            states += (frame.margin, frame.state)
            frame = frame.below
        start = self._arena.put("edges", np.array(states[::-1], np.int32))
        lines = self._lines_of(place)
        return self._arena.make(at.PUSH_STATES, self.table, lines, start, len(states) // 2, line)

    def scan(self, state: int, *, ahead: bool = False) -> None:
        """Write the options of a state.

        `ahead` also does other states, as many as are done. A kernel that asks for a state
        restarts: one at a time, the first mask of 1,000 rules in a chain took 7 s.
        """
        self._scan(state)
        fresh = (each for each in self._states if each not in self._scanned)
        for each in islice(fresh, len(self._scanned) if ahead else 0):
            self._scan(each)

    def _scan(self, state: int) -> None:
        ways = self._places.ways(state)
        known = self._known.get(ways)
        if known is None:
            listed = [number for way in ways for number in self._numbers_of(way)]
            start = self._arena.put("edges", np.array(listed, np.int32))
            known = self._known[ways] = start, len(listed) // at.WAY_SIZE
        self._scanned.add(state)
        self._arena.set_scanner(self.table, state, known[0] + 1, known[1])

    def _lines_of(self, place: Place) -> int:
        made = 0
        if self._lines is not None:
            for width in place.widths[:-1]:
                made = self._arena.make(at.LINES, 0, width, made)
            made = self._arena.make(at.LINES, place.brackets, place.widths[-1], made)
        return made

    def _numbers_of(self, way: Way) -> Sequence[int]:
        found = self._ways.get(way)
        if found is None:
            found = self._ways[way] = self._way(way)
        return found

    def _way(self, way: Way) -> list[int]:
        """Option fields of a way: node, terminal, where it is allowed, and FREE node."""
        if not way.ignored and way.terminal not in self._numbers:
            return []  # the automaton does not use it
        read = self._read(way.text)
        if way.ignored:
            return [read, at.IGNORED, at.EVERYWHERE, 0]
        if way.terminal != self._newline:
            word = None if self._free is None else self._free.word(way)
            free = 0 if word is None else self._spacer(word)
            return [read, self._numbers[way.terminal], at.EVERYWHERE, free]
        begun = [self._line_node(each.text, None, each.after) for each in way.exits]
        line = begun[0] if len(begun) == 1 else self._arena.choice(begun)
        if way.guard is not EPSILON:
            line = self._arena.make(at.SEQUENCE, self._pda.node(way.guard), line)
        newline = self._numbers[way.terminal]
        return [read, at.IGNORED, at.INSIDE, 0, line, newline, at.OUTSIDE, 0]

    def _read(self, text: Expr) -> int:
        """Node of a terminal's text; a single word becomes a literal at once."""
        word = one_word(text)
        if not word or not self._dfa.alive(text):
            return self._pda.entered(text)
        return self._arena.make(at.LITERAL, self._arena.pool(word), len(word), at.NIL)

    def _line_node(self, text: Expr, columns: int | None, after: Expr) -> int:
        if not self._dfa.alive(text) or not self._dfa.alive(after) or self._lines is None:
            return at.DEAD
        free = 0
        if self._free is not None:
            ended = ((self._free.lines, at.FREE_LINE), (self._free.last, at.LAST_LINE))
            free = sum(kind for lines, kind in ended if Exit(text, after) in lines)
        state = self._dfa.state(text)
        following = 0 if after is ANYTHING else self._dfa.state(after)
        begun = -1 if columns is None else columns
        return self._arena.make(at.LINE, state, begun, following, self._lines.tab, free)

    def _describe(self, table: LarkTable) -> int:
        """Write the table to the arena; return its position."""
        arena, states, terminals = self._arena, len(table.shifts), len(self._names)
        numbers = {name: number for number, name in enumerate(table.rules)}
        pairs = ((len(each.symbols), numbers[each.rule]) for each in table.productions)
        productions = [number for pair in pairs for number in pair]
        rows, cells = self._cells(table, numbers)
        sizes = {
            "action": at.CELL_ROW_SIZE * states,
            "goto": at.CELL_ROW_SIZE * states,
            "production": len(productions),
            "bracket": terminals,
            "scanner": at.SCANNER_SIZE * states,
        }
        head, size = Lalr(), dtype(Lalr).itemsize // 4
        begin = arena.reserve("lalr", size + sum(sizes.values()) + len(cells))
        place = begin + size
        for field, each in sizes.items():
            setattr(head, field, place)
            place += each
        rows[:: at.CELL_ROW_SIZE] += place
        arena.write("lalr", head.action, rows)
        arena.write("lalr", place, cells)
        arena.write("lalr", head.production, np.array(productions, np.int32))
        arena.write("lalr", head.bracket, np.array(self._brackets(), np.int32))
        head.terminals = terminals
        head.end, head.depth = table.end, len(table.shifts) + _ROOM
        head.reached = self._reached
        head.level = self._places.level
        head.free = 0 if self._free is None else self._spacer(self._free.spacer)
        if self._lines is not None:
            head.newline = self._numbers.get(self._lines.newline, at.IGNORED)
            head.indent = self._numbers.get(self._lines.indent, at.IGNORED)
            head.dedent = self._numbers.get(self._lines.dedent, at.IGNORED)
            head.tab = self._lines.tab
            head.line = 0 if self._free is None else self._spacer(b"\n")
        head.words = -(-len(self._names) // _WORD)
        arena.write("lalr", begin, head.as_array(np.int32))
        arena.reserve("lalr_work", len(table.shifts) + 2 * _ROOM + head.words)
        arena.context.any_lalr = True
        return begin

    def _cells(
        self, table: LarkTable, rules: Mapping[str, int]
    ) -> "tuple[NDArray[np.int32], NDArray[np.int32]]":
        """Rows of terminals, then of rules, as in `layout`, and their cells."""
        numbers, rows, cells = self._numbers, list[int](), list[int]()
        for shifts, reductions in zip(table.shifts, table.reductions, strict=True):
            found = {numbers[name]: to + 1 for name, to in shifts.items()}
            found |= {numbers[name]: -1 - made for name, made in reductions.items()}
            _add_row(found, rows, cells)
        for gotos in table.gotos:
            _add_row({rules[name]: to + 1 for name, to in gotos.items()}, rows, cells)
        return np.array(rows, np.int32), np.array(cells, np.int32)

    def _brackets(self) -> list[int]:
        if self._lines is None:
            return [0] * len(self._names)
        opening, closing, items = self._lines.opening, self._lines.closing, self._places.items
        return [
            1 + items[name] if name in items else (name in opening) - (name in closing)
            for name in self._names
        ]

    def _spacer(self, text: bytes) -> int:
        if text not in self._spacers:
            clear = self._arena.make(at.CLEAR)
            made = self._arena.make(at.LITERAL, self._arena.pool(text), len(text), clear)
            self._spacers[text] = made
        return self._spacers[text]


def _add_row(found: Mapping[int, int], rows: list[int], cells: list[int]) -> None:
    """Add a row: the position of its column 0, its range of columns, its cells."""
    low, high = min(found, default=0), max(found, default=-1) + 1
    rows += (len(cells) - low, low, high)
    cells += (found.get(column, 0) for column in range(low, high))
