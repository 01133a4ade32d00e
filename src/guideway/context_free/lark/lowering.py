"""Lark grammars to expressions, by the parser that their source asks for.

The Earley parser with the dynamic lexer has no lexer: each terminal that a rule may go on with
matches what `re.match` prefers at its place. So any grammar is a context-free one over its
terminals, and ambiguity, left recursion and empty rules are allowed. Ignored terminals may repeat
before each terminal and at the end.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final, cast, final

from guideway.context_free.gbnf import Alternative, Grammar, Item, Name, Terminal
from guideway.context_free.lark.errors import (
    Indentation,
    LarkGrammar,
    LarkTable,
    LarkTerminal,
    Production,
    within,
)
from guideway.context_free.lark.lalr import without_dead
from guideway.context_free.lark.plans import (
    Automaton,
    always_completed,
    check_length,
    least_texts,
)
from guideway.context_free.lark.scanners import LarkPushdown, Scanners, Way
from guideway.context_free.lark.source import Lark, regexes_placed
from guideway.context_free.lark.terminals import (
    is_last,
    limited,
    said_of,
    shortest_words,
    takes_lines,
)
from guideway.context_free.lowering import lower_grammar, unending
from guideway.errors import LimitError, SourceError, UnsatisfiableError, UnsupportedError
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    ahead,
    alt,
    byte_set,
    call,
    concat,
    repeat,
    stop,
)
from guideway.language.nodes import Ahead, Expr, Least, Look
from guideway.language.pushdown import Frame, Stacked
from guideway.language.regular import byte_classes, derivative, least_byte, remainder
from guideway.language.set_algebra import solid
from guideway.regex.backtracking import Exit, matches
from guideway.regex.parser import parse_regex
from guideway.sources.sources import Source

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


_WORDS: Final = 1, 8  # texts tried for a terminal, first few, then more
_NEWLINE: Final = b"\n"
_BLANK: Final = ord(" ")


@final
class Freedom:
    """The texts after which each stack has a completion.

    `spacer` is one if no guard is pending after it. `lines` are the newline exits that may begin
    any line, `last` those that may begin a last line of any width.
    """

    def __init__(
        self, spacer: bytes, lines: frozenset[Exit], last: frozenset[Exit], spelling: "_Spelling"
    ) -> None:
        self.spacer, self.lines, self.last = spacer, lines, last
        self._spelling = spelling

    def word(self, way: Way) -> bytes | None:
        """A text of a terminal with the spacer, valid whatever follows; not for newlines."""
        word = None if way.ignored else self._spelling.kept_word(way, self.spacer)
        return None if word is None else word + self.spacer


def freedom(grammar: LarkGrammar, scanners: Scanners, spellable: int = ALL_BYTES) -> Freedom | None:
    """The spacer and newlines of a grammar if every stack has a completion, else None."""
    table = grammar.table
    # Non-Lark parts have no terminals to separate.
    if table is None or grammar.parts or not grammar.ignored:
        return None
    return _Spelling(grammar, table, scanners, spellable).freedom()


@final
class _Spelling:
    """Search for a spacer between any two terminals."""

    def __init__(
        self, grammar: LarkGrammar, table: LarkTable, scanners: Scanners, spellable: int
    ) -> None:
        self._grammar, self._table, self._spellable = grammar, table, spellable
        lines = grammar.indentation
        self._scanners = scanners
        self._newline = "" if lines is None else lines.newline
        declared = set[str]() if lines is None else {lines.indent, lines.dedent}
        # No transition leads to the start state: only ignored text precedes it.
        begun = table.named(table.wanted[table.start])
        others = {wanted for at, wanted in enumerate(table.wanted) if at != table.start}
        states = [table.named(wanted) for wanted in others]
        # Terminals without an action in any state cannot be written.
        self._names = frozenset(table.terminals[1:]) - declared
        self._alike = table.alike
        self._first = scanners.ways(begun)
        self._newlines: list[Way] = []
        self._ignored: list[Way] = []
        self._taken: dict[str, list[Way]] = {}
        self._withheld = scanners.withheld([begun, *states])
        for called, way in scanners.widest(states):
            if way.ignored:
                self._ignored.append(way)
            else:
                self._take(called, way)
        for way in self._first:
            if not way.ignored:
                self._take(way.terminal, way)
        # The start goes on with one of the shifted terminals, else with any.
        self._begun = [[name] for name in begun if name in table.shifts[table.start]] or [begun]
        self._kept: dict[tuple[Way, bytes], bytes | None] = {}
        self._words = _WORDS[0]
        self._completed: dict[tuple[frozenset[str], bool], bool] = {}
        self._after = cache(remainder)

    def _take(self, called: str, way: Way) -> None:
        if way.terminal == self._newline:
            self._newlines.append(way)
        else:
            self._taken.setdefault(called, []).append(way)

    def freedom(self) -> Freedom | None:
        """The freedom with the first spacer that works."""
        exits = [leaving for way in self._ignored for leaving in way.exits]
        spaces = {
            word
            for leaving in exits
            for word in shortest_words(leaving.text, self._spellable, _WORDS[0])
        }
        blanks = [bytes((_BLANK,)) * count for count in range(1, 3 if self._newline else 2)]
        for word in (_NEWLINE, *blanks):
            # A newline ends most comments, other spaces do not. Two blanks keep a YAML dash from
            # beginning a block on its line.
            if self._spellable >> word[0] & 1 and any(
                self._after(leaving.text, word).nullable for leaving in exits
            ):
                spaces.add(word)
        for self._words in _WORDS:
            for word in _by_length(spaces):
                lines = self._spacer_exits(word)
                if lines is not None:
                    return Freedom(word, lines, self._last(), self)
            self._kept.clear()
        return None

    def _spacer_exits(self, space: bytes) -> frozenset[Exit] | None:
        """The newline exits that may begin any line if `space` is a spacer, else None."""
        words = self._spelled(space)
        spelled = [*words.values()]
        if not any(self._stands(way, space, spelled) for way in self._ignored):
            return None
        if not self._stands_first(space, words):
            return None
        avoided = self._names.difference(words)
        others = [word for name, word in words.items() if name != self._newline]
        if self._is_completed(avoided):
            return self._lines(others) if self._newline else frozenset()
        # A newline may be required after the end of a block, as in Python's interactive mode.
        lines = self._lines([*others, space]) if self._newline else None
        return lines if lines and self._is_completed(avoided, parted=True) else None

    def _is_completed(self, avoided: frozenset[str], *, parted: bool = False) -> bool:
        key = avoided, parted
        if key not in self._completed:
            self._completed[key] = always_completed(
                self._grammar, self._table, avoided, parted=parted
            )
        return self._completed[key]

    def _spelled(self, space: bytes) -> dict[str, bytes]:
        """A text for each terminal that has one before the space in every state."""
        found: dict[str, bytes] = {}
        for called, ways in self._taken.items():
            if called in self._withheld:
                continue
            words = [self.kept_word(way, space) for way in ways]
            if words[0] is not None and None not in words:
                found[self._alike.get(called, called)] = words[0] + space
        if self._newlines:
            found[self._newline] = _NEWLINE
        return found

    def kept_word(self, way: Way, space: bytes) -> bytes | None:
        """A text that matches a terminal whatever follows the space after it."""
        key = way, space
        if key not in self._kept:
            self._kept[key] = next(
                (
                    word
                    for leaving in way.exits
                    if self._after(leaving.after, space) is ANYTHING
                    for word in shortest_words(leaving.text, self._spellable, self._words)
                    if self._holds(way, word + space)
                ),
                None,
            )
        return self._kept[key]

    def _stands(self, way: Way, space: bytes, words: Iterable[bytes]) -> bool:
        """Return True if a space is ignored before each word and before the end."""
        guard = way.guard
        if isinstance(guard, Ahead) and not self._after(guard.item, space).nullable:
            return False
        return any(
            leaving.after.nullable
            and self._after(leaving.text, space).nullable
            and all(
                self._after(leaving.after, word) is ANYTHING and self._holds(way, space + word)
                for word in words
            )
            for leaving in way.exits
        )

    def _stands_first(self, space: bytes, words: Mapping[str, bytes]) -> bool:
        """Return True if a space is ignored at the start of the text."""
        read = [[words[name] for name in names if name in words] for names in self._begun]
        return any(
            self._stands(way, space, each)
            for way in self._first
            if way.ignored
            for each in read
            if each
        )

    def _holds(self, way: Way, text: bytes) -> bool:
        """Return True if no earlier terminal matches, whatever follows the text."""
        guard = way.guard
        return not isinstance(guard, Ahead) or self._after(guard.item, text) is ANYTHING

    def _lines(self, words: Sequence[bytes]) -> frozenset[Exit] | None:
        """The newline exits of any width before each word and the end; None if a way has none."""
        if not self._spellable >> _NEWLINE[0] & self._spellable >> _BLANK & 1:
            return None
        found = set[Exit]()
        for way in self._newlines:
            taken = {each for each in way.exits if self._begins_lines(each, words)}
            if not taken or not self._holds(way, _NEWLINE):
                return None
            found |= taken
        return frozenset(found)

    def _last(self) -> frozenset[Exit]:
        """The newline exits that nothing follows."""
        return frozenset(
            each
            for way in self._newlines
            for each in way.exits
            if is_last(each.after) and takes_lines(each.text, self._spellable)
        )

    def _begins_lines(self, newline: Exit, words: Iterable[bytes]) -> bool:
        return (
            newline.after.nullable
            and all(self._after(newline.after, word) is ANYTHING for word in words)
            and takes_lines(newline.text)
        )


def _by_length(spaces: Iterable[bytes]) -> list[bytes]:
    return sorted(spaces, key=lambda each: (len(each), each != _NEWLINE, each))


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
class Places(Stacked):
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
        self.pushdown = LarkPushdown(self.table, self.ways) if told is None else None

    def unending(self) -> UnsatisfiableError:
        """The error for a grammar without any text."""
        rules, least = self._grammar.rules, least_texts(self.table.productions, self._widths)
        symbols = {symbol for rows in rules.values() for row in rows for symbol in row}
        declared = sorted(symbols - rules.keys() - self._widths.keys())
        if declared:
            said = f"{', '.join(declared)} declared, and nothing says what that matches"
            return UnsatisfiableError(f"no text ends: {said}", conflict=tuple(declared))
        return unending([each for each in rules if each not in least and not each.startswith("__")])

    def stack(self, argument: Hashable) -> Frame:
        return cast("Place", argument).stack

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
        return place if terminal is None else self._after_terminal(place, terminal)

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
        after = self._after_terminal(place, way.terminal)
        return EMPTY if after is None else concat(way.text, self.rest(after))

    def _after_terminal(self, place: Place, terminal: str) -> Place | None:
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
        """Placeholder bytes of the least length; `language.lookahead_search` finds the text."""
        del least
        if isinstance(argument, ReadLine):
            needed = cast("Lines", self._lines).needs(argument)
        else:
            needed = self.needs(cast("Place", argument))
        return None if needed is None else bytes(max(needed, 1))


UNNAMED: Final = "__"  # prefix of rules that Lark generates


def lower_lark_dynamic(grammar: LarkGrammar, parts: Mapping[str, Expr] | None = None) -> Expr:
    """Expression of a grammar; `parts` are its non-Lark parts, never empty.

    Raises UnsatisfiableError, UnsupportedError or LimitError.
    """
    others: Mapping[str, Expr] = parts or {}
    _check_length(grammar, others)
    # Above the lookahead levels of all parts.
    level = max((each.looks for each in others.values()), default=0)
    terminals = {
        name: _taken(each, level, bool(others)) for name, each in grammar.terminals.items()
    }
    terminals |= others
    ignored = repeat(alt(*(terminals[name] for name in grammar.ignored)))
    rules = {
        name: tuple(
            _alternative(expansion, grammar.rules, terminals)
            for expansion in expansions
            if not any(terminals.get(symbol) is EMPTY for symbol in expansion)
        )
        for name, expansions in grammar.rules.items()
    }
    unnamed = frozenset(name for name in rules if name.startswith(UNNAMED))
    found = lower_grammar(
        Grammar(rules, grammar.start, unnamed),
        {name: concat(ignored, text) for name, text in terminals.items()},
    )
    texts = concat(found, ignored)
    if not texts.looks:
        return texts
    if not texts.nullable:
        return concat(texts, stop(level))
    # The empty alternative has no lookahead, so the whole may be repeated.
    return alt(concat(solid(texts), stop(level)), EPSILON)


def _check_length(grammar: LarkGrammar, others: Mapping[str, Expr]) -> None:
    """Check the shortest text before lowering, which would build it."""
    widths = {name: each.min_width for name, each in grammar.terminals.items()}
    made = [Production(name, each) for name, rows in grammar.rules.items() for each in rows]
    needed = least_texts(made, {**widths, **dict.fromkeys(others, 1)}).get(grammar.start)
    check_length(grammar.start, needed or 0)


def _alternative(
    expansion: tuple[str, ...], rules: Mapping[str, object], terminals: Mapping[str, Expr]
) -> Alternative:
    for symbol in expansion:
        if symbol not in rules and symbol not in terminals:
            raise UnsupportedError(
                f"the terminal {symbol} is only declared, and the dynamic lexer has no postlex "
                "that makes it",
                feature="%declare",
            )
    return tuple(Item(Name(name) if name in rules else Terminal(name)) for name in expansion)


@lru_cache(maxsize=1 << 10)  # many grammars share terminals
def _exits(regex: str, marks: bool, solid: bool) -> tuple[Exit, ...]:
    return matches(parse_regex(regex), marks, solid).exits


def _taken(terminal: LarkTerminal, level: int, marks: bool) -> Expr:
    """The texts of a terminal with the lookahead that `re.match` implies."""
    try:
        found = _exits(terminal.pattern, marks, terminal.solid)
    except (SourceError, UnsupportedError) as error:
        raise said_of(terminal, error) from None
    except LimitError as error:
        raise limited(terminal, error) from None
    return alt(*(concat(each.text, ahead(each.after, level)) for each in found))


def lower_lark(grammar: LarkGrammar, lower: Callable[[Source], Expr]) -> Expr:
    """Expression of a grammar; `lower` compiles its non-Lark parts."""
    parts = {name: _lowered(name, grammar, lower) for name in grammar.parts}
    if grammar.table is None:
        return lower_lark_dynamic(grammar, parts)
    return lower_lark_contextual(grammar, parts)


def _lowered(name: str, grammar: LarkGrammar, lower: Callable[[Source], Expr]) -> Expr:
    part = grammar.parts[name]
    with within(part):
        if isinstance(part.source, Lark):
            nested = grammar.nested[name]
            with regexes_placed(part.source, nested.terminals.values()):
                found = lower_lark(nested, lower)
        else:
            found = lower(part.source)
    return solid(found) if found.nullable else found
