"""A Lark grammar without its lexer: all its texts, and some more, as rules of terminals.

What looks ahead, and which terminals a state knows, is left out, so that little is to be told
apart: what may follow a rule is the same wherever it stands. A text that is none of these is none
of the grammar's (`automata.sketch` asks).

    terminal   what is ignored, as often as one likes, and then what any of its matches takes
    stack      for each A = α·β in its topmost state: β, then the stack with A in the place of α

Where lines are indented, their ends may also be ignored, and blocks begin and end without a byte.

What this module does not know: what is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, final

from guideway.lowering.expr import ANYTHING, EMPTY, EPSILON, alt, both, concat, literal, repeat
from guideway.lowering.lark_automaton import Frame
from guideway.lowering.lark_terminals import Terminal
from guideway.lowering.nodes import Expr
from guideway.syntax.frozen import by_identity
from guideway.syntax.lark_tree import LarkGrammar, LarkTable


@final
@by_identity
class Row:
    """Symbols in a row, one and the rest; equal ones of a grammar are the same object."""

    first: "Symbol"
    rest: "Row | None"


@final
@by_identity
class Choice:
    """Any of some rows: a rule."""

    rows: "list[Row | None]"


HAS_NEWLINE: Final = concat(ANYTHING, literal("\n"), ANYTHING)
"""What ends a line holds one, outside of brackets."""

Symbol: TypeAlias = Expr | Choice
Following: TypeAlias = tuple[Row | None, Frame | None]
"""What is read next, and the stack behind it; None: all is read."""


@final
class LarkSketch:
    """The sketch of one grammar.

    Args:
        grammar: the grammar.
        table: its automaton.
        start: the stack before anything is read.
        parts: what stands in it that is no Lark.
    """

    def __init__(
        self, grammar: LarkGrammar, table: LarkTable, start: Frame, parts: Mapping[str, Expr]
    ) -> None:
        self._table, self._start = table, start
        self._made: dict[tuple[Symbol, Row | None], Row] = {}
        self._following: dict[Frame, Sequence[Following]] = {}
        taken = _terminals(grammar, table, parts)
        told = grammar.indentation
        spaces = [*grammar.ignored, *(() if told is None else (told.newline,))]
        ignored = repeat(alt(*(taken[name] for name in spaces if name in taken)))
        symbols: dict[str, Symbol] = {**taken}
        if told is not None:
            symbols[told.newline] = both(taken[told.newline], HAS_NEWLINE)
            symbols |= {told.indent: EPSILON, told.dedent: EPSILON}
        rules = {each.rule: Choice([]) for each in table.productions}
        symbols |= rules
        self._ignored = ignored
        self._symbols, self._first = symbols, rules[grammar.start]
        self._ended = self._row(ignored, None)
        self._rests = [self._behind(each.symbols) for each in table.productions]
        for each, rests in zip(table.productions, self._rests, strict=True):
            if rests[0] is not _NEVER:
                rules[each.rule].rows.append(rests[0])

    def following(self, stack: Frame) -> Sequence[Following]:
        """What may be read next on a stack."""
        found = self._following.get(stack)
        if found is None:
            found = self._following[stack] = tuple(dict.fromkeys(self._next(stack)))
        return found

    def _next(self, stack: Frame) -> Iterator[Following]:
        below = stack.below
        if below is None:
            yield self._row(self._first, self._ended), None
            return
        if stack.state == self._table.end and below is self._start:
            yield self._ended, None
        for number, read in self._table.kernels[stack.state]:
            rest, under = self._rests[number][read], below.under(read - 1)
            if rest is not _NEVER:
                goto = self._table.gotos[under.state][self._table.productions[number].rule]
                yield rest, under.push(goto)

    def _behind(self, symbols: Sequence[str]) -> Sequence[Row | None]:
        """What is still to be read of a production after each number of symbols."""
        rests: list[Row | None] = [None]
        for name in reversed(symbols):
            symbol, rest = self._symbols.get(name), rests[-1]
            rests.append(_NEVER if symbol is None or rest is _NEVER else self._read(symbol, rest))
        return rests[::-1]

    def _read(self, symbol: Symbol, rest: Row | None) -> Row:
        """A symbol and the rest; what is ignored before a terminal is a part of its own.

        As one with each of 60 terminals it was read 60 times as often.
        """
        row = self._row(symbol, rest)
        spaced = not isinstance(symbol, Choice) and symbol is not EPSILON
        return self._row(self._ignored, row) if spaced else row

    def _row(self, first: Symbol, rest: Row | None) -> Row:
        key = first, rest
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Row(first, rest)
        return found


_NEVER: Final = Row(EMPTY, None)  # what holds a terminal that is declared only


def _terminals(
    grammar: LarkGrammar, table: LarkTable, parts: Mapping[str, Expr]
) -> dict[str, Expr]:
    """What each terminal takes, and those that stand for others what these take."""
    found = dict(parts)
    for name, each in grammar.terminals.items():
        terminal = Terminal(each, bool(parts))
        taken = [terminal.whole] if each.text is not None else [e.text for e in terminal.exits]
        found[name] = alt(*taken)
    alike: dict[str, list[Expr]] = {}
    for name, first in table.alike.items():
        alike.setdefault(first, []).append(found[name])
    return found | {first: alt(found[first], *more) for first, more in alike.items()}
