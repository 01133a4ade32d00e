"""Lark grammars with the LALR parser and the contextual lexer, as expressions.

The rest of a text is a call of a template with a place: the LALR stack, and in indented grammars
the open brackets and block widths. A place unfolds to the sum over the ways of its lexer state:

    place  =  Σ  Ahead(no earlier terminal matches) · text · Ahead(what has to follow) · place'
"""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Final, cast, final

from guideway.errors import UnsatisfiableError
from guideway.lowering.expr import EMPTY, EPSILON, ahead, alt, call, concat, stop
from guideway.lowering.lark_automaton import Automaton, check_length, least_texts
from guideway.lowering.lark_freedom import Freedom, freedom
from guideway.lowering.lark_indentation import Lines, Place, ReadLine
from guideway.lowering.lark_pushdown import Pushdown
from guideway.lowering.lark_scanners import Scanners, Way
from guideway.lowering.nodes import Expr, Least, Look
from guideway.lowering.uncaptured import Uncaptured
from guideway.lowering.unending import unending
from guideway.syntax.lark_dead import without_dead
from guideway.syntax.lark_tree import LarkGrammar

REMEMBERED: Final = 4096  # cached places, cleared when full


def lower_lark_contextual(grammar: LarkGrammar, parts: Mapping[str, Expr] | None = None) -> Expr:
    """Expression of a grammar with an LALR table; `parts` are its non-Lark parts, never empty.

    Raises LimitError, UnsatisfiableError or UnsupportedError, also for a single terminal.
    """
    places = Places(grammar, parts or {})
    start = places.start
    needed = places.needs(start)
    if needed is None:
        raise places.unending()
    check_length(grammar.start, needed)
    # Lookahead of the grammar ends with its own text.
    texts = concat(places.more(start), stop(places.level))
    return alt(texts, EPSILON) if places.may_end(start) else texts


@final
class Places(Uncaptured):
    """The template of one grammar; its arguments are places and partly read newlines.

    `level` is its lookahead level, `items` the terminals that begin a block and their widths.
    `pushdown` is None in indented grammars.
    """

    def __init__(self, grammar: LarkGrammar, parts: Mapping[str, Expr]) -> None:
        if grammar.table is None:
            raise UnsatisfiableError("a grammar without a table is not read by an automaton")
        widths = {name: each.min_width for name, each in grammar.terminals.items()}
        for name, first in grammar.table.alike.items():
            widths[first] = min(widths[first], widths[name])
        widths |= dict.fromkeys(parts, 1)
        # Above the lookahead levels of all parts.
        self.level = max((each.looks for each in parts.values()), default=0)
        self._scanners = Scanners(grammar, parts, self.level)
        self._scanners.check()  # refuse unsupported terminals now
        self.table = without_dead(grammar.table, self._scanners.unread)
        grammar = replace(grammar, table=self.table)
        self._grammar, self.indentation = grammar, grammar.indentation
        told, lines = grammar.indentation, None
        if told is not None:
            # A block is at least one character wider; its end takes none.
            widths |= {told.newline: 1, told.indent: 1, told.dedent: 0}
            lines = told.newline, told.indent, told.dedent
        self._automaton, self._widths = (
            Automaton(self.table, grammar.start, widths, lines),
            widths,
        )
        self.items = grammar.items
        self._lines = None if told is None else Lines(told, self._automaton, self.items)
        self._total = self._automaton.total
        self._unfolded: dict[Place | ReadLine, Expr] = {}
        self._free: dict[int, Freedom | None] = {}
        self.start = Place(self._automaton.start, 0, (0,))
        self.pushdown = Pushdown(self.table, self.ways) if told is None else None

    def unending(self) -> UnsatisfiableError:
        """The error for a grammar without any text."""
        rules, least = self._grammar.rules, least_texts(self.table.productions, self._widths)
        symbols = {symbol for rows in rules.values() for row in rows for symbol in row}
        declared = sorted(symbols - rules.keys() - self._widths.keys())
        if declared:
            said = f"{', '.join(declared)} declared, and nothing says what that matches"
            return UnsatisfiableError(f"no text ends: {said}", conflict=tuple(declared))
        return unending([each for each in rules if each not in least and not each.startswith("__")])

    def rest(self, place: Place) -> Expr:
        """All texts from a place."""
        more = self.more(place)
        return alt(more, EPSILON) if self.may_end(place) else more

    def more(self, place: Place) -> Expr:
        """The texts from a place without the empty one."""
        lives = self._total or self.needs(place) is not None
        return call(self, place, self.level + 1) if lives else EMPTY

    def may_end(self, place: Place) -> bool:
        """Return True if a text may end at a place."""
        stack = place.stack if self._lines is None else self._lines.ended(place)
        return stack is not None and self._automaton.ends(stack)

    def needs(self, place: Place) -> int | None:
        """Lower bound of the characters from a place to the end."""
        return self._automaton.needs(place.stack)

    def ways(self, state: int) -> tuple[Way, ...]:
        """The terminals that the lexer may match in a state."""
        return self._scanners.ways(self._automaton.terminals(state))

    def freedom(self, spellable: int) -> Freedom | None:
        """`freedom` of the grammar with these bytes, None if unknown; cached."""
        if spellable not in self._free:
            self._free[spellable] = freedom(self._grammar, self._scanners, spellable)
        return self._free[spellable]

    def behind(self, place: Place, terminal: str | None) -> Place | None:
        """The place after a terminal; None is an ignored one."""
        return place if terminal is None else self._behind(place, terminal)

    def taken(self, place: Place, terminal: str | None) -> Expr:
        """All texts from a place after a terminal; None is an ignored one."""
        after = self.behind(place, terminal)
        return EMPTY if after is None else self.rest(after)

    def line(self, place: Place, text: Expr, columns: int | None, after: Expr) -> Expr:
        """All texts from inside a newline terminal that began at a place."""
        lines = cast("Lines", self._lines)
        return call(self, lines.begun(place, text, columns, after), self.level + 1)

    # Template protocol.

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """All texts of a place or a partly read newline, one terminal or byte unfolded."""
        del look
        at = cast("Place | ReadLine", argument)
        found = self._unfolded.get(at)
        if found is None:
            if len(self._unfolded) > REMEMBERED:
                self._unfolded.clear()
            found = self._line(at) if isinstance(at, ReadLine) else self._place(at)
            self._unfolded[at] = found
        return found

    def _place(self, place: Place) -> Expr:
        return alt(*(self._after(place, way) for way in self.ways(place.stack.state)))

    def _after(self, place: Place, way: Way) -> Expr:
        if way.ignored:
            return concat(way.text, self.rest(place))
        if self._lines is not None and way.terminal == self._lines.newline:
            return self._newline(self._lines, place, way)
        after = self._behind(place, way.terminal)
        return EMPTY if after is None else concat(way.text, self.rest(after))

    def _behind(self, place: Place, terminal: str) -> Place | None:
        """The place after a terminal that is no newline."""
        if self._lines is not None:
            return self._lines.take(place, terminal)
        stack = self._automaton.feed(place.stack, terminal)
        return None if stack is None else Place(stack, 0, (0,))

    def _newline(self, lines: Lines, place: Place, way: Way) -> Expr:
        """A newline terminal, as calls that read it byte by byte."""
        if place.brackets:
            return concat(way.text, self.rest(place))
        if self._automaton.feed(place.stack, way.terminal) is None:
            return EMPTY
        begun = (ReadLine(each.text, None, each.after, place) for each in way.exits)
        return concat(way.guard, alt(*(call(self, line, self.level + 1) for line in begun)))

    def _line(self, line: ReadLine) -> Expr:
        lines = cast("Lines", self._lines)
        options: list[Expr] = []
        for members, following in lines.steps(line):
            after = lines.behind(following)
            ended = (
                EMPTY if after is None else concat(ahead(line.after, self.level), self.rest(after))
            )
            more = EMPTY if following.text is EPSILON else call(self, following, self.level + 1)
            options.append(concat(members, alt(more, ended)))
        return alt(*options)

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Return True if a text exists when lookahead is ignored."""
        del look
        return isinstance(argument, ReadLine) or self.needs(cast("Place", argument)) is not None

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """Placeholder bytes of the least length; `automata.guarded` finds the text."""
        del least
        if isinstance(argument, ReadLine):
            needed = cast("Lines", self._lines).needs(argument)
        else:
            needed = self.needs(cast("Place", argument))
        return None if needed is None else bytes(max(needed, 1))
