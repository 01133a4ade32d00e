"""Lark grammars as expressions, by the parser that their source asks for.

LALR with the contextual lexer: the template `Places` unfolds the stacks, and `Lines` reads the
newlines and blocks of Lark's Indenter.

Earley with the dynamic lexer: each terminal that a rule may go on with matches what `re.match`
prefers. So ambiguity, left recursion and empty rules are allowed.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import Final, cast

from guideway.context_free.gbnf import Alternative, Grammar, Item, Name, Terminal
from guideway.context_free.lark.errors import within
from guideway.context_free.lark.grammar import Indentation, LarkGrammar, LarkTerminal
from guideway.context_free.lark.lalr import without_dead
from guideway.context_free.lark.lalr_automaton import (
    Automaton,
    check_length,
    completes,
    needs_two_newlines,
    shrinks,
)
from guideway.context_free.lark.scanners import LarkPushdown, Scanners, Way
from guideway.context_free.lark.source import Lark, regexes_placed
from guideway.context_free.lark.terminals import (
    is_last,
    named,
    shortest_words,
)
from guideway.context_free.lowering import Production, least_texts, lower_grammar, unending
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
from guideway.language.regular import arcs, least_byte, remainder
from guideway.language.set_algebra import solid
from guideway.regex.backtracking import Exit, matches
from guideway.regex.parser import parse_regex
from guideway.sources.sources import Source

NEWLINE: Final = ord("\n")
BLANK: Final = ord(" ")
TAB: Final = ord("\t")
_APART: Final = (1 << NEWLINE, 1 << BLANK, 1 << TAB, ~(1 << NEWLINE | 1 << BLANK | 1 << TAB))


@dataclass(frozen=True, slots=True)
class Place:
    """LALR stack, number of open brackets, and widths of the blocks, innermost last."""

    stack: Frame
    brackets: int
    widths: tuple[int, ...]


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


class Lines:
    """The Indenter of a grammar over its LALR stacks."""

    def __init__(self, layout: Indentation, automaton: Automaton, items: Mapping[str, int]) -> None:
        self._layout, self._automaton, self._items = layout, automaton, items
        self.newline = layout.newline

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
        if terminal in self._layout.opening:
            return open_ + 1
        return open_ - 1 if terminal in self._layout.closing else open_

    def ended(self, place: Place) -> Frame | None:
        """The stack at the end of the text, after dedents for all blocks."""
        stack: Frame | None = place.stack
        for _ in place.widths[1:]:
            stack = stack and self._automaton.feed(stack, self._layout.dedent)
        return stack

    def begun(self, place: Place, text: Expr, columns: int | None, after: Expr) -> ReadLine:
        """A newline terminal at a place, read up to `text`."""
        return ReadLine(text, self._distinct_columns(columns, self._widest(place)), after, place)

    def steps(self, line: ReadLine) -> Iterator[tuple[Expr, ReadLine]]:
        """Sets of bytes, and the newline after each."""
        widest = self._widest(line.place)
        for members, text in arcs(line.text):
            for part in filter(None, (members & bytes_ for bytes_ in _APART)):
                columns = self._columns(line.columns, least_byte(part))
                columns = self._distinct_columns(columns, widest)
                yield byte_set(part), ReadLine(text, columns, line.after, line.place)

    def _distinct_columns(self, columns: int | None, widest: int | None) -> int | None:
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
        return columns // self._layout.tab + columns % self._layout.tab

    def _widest(self, place: Place) -> int | None:
        """The width at which wider lines need no distinction: no block may begin."""
        stack = self._automaton.feed(place.stack, self.newline)
        begun = stack and self._automaton.feed(stack, self._layout.indent)
        return place.widths[-1] + 1 if begun is None else None

    def _columns(self, columns: int | None, byte: int) -> int | None:
        if byte == NEWLINE:
            return 0
        if columns is None:
            return None
        return columns + (1 if byte == BLANK else self._layout.tab if byte == TAB else 0)

    def place_after(self, line: ReadLine) -> Place | None:
        """The place after a newline that may end here, else None."""
        ended = line.text.nullable and line.columns is not None
        return self.indented(line.place, line.columns or 0) if ended else None

    def after(self, place: Place, newline: bytes) -> Place | None:
        """The place after a whole newline."""
        columns: int | None = None
        for byte in newline:
            columns = self._columns(columns, byte)
        return self.indented(place, columns or 0)

    def indented(self, place: Place, columns: int) -> Place | None:
        """The place after a newline whose last line has this width, else None."""
        stack, widths = self._automaton.feed(place.stack, self.newline), place.widths
        if columns > widths[-1]:
            margin = self._characters(columns)
            stack = stack and self._automaton.feed(stack, self._layout.indent, margin)
            widths = (*widths, columns)
        while columns < widths[-1]:
            stack = stack and self._automaton.feed(stack, self._layout.dedent)
            widths = widths[:-1]
        if stack is None or columns != widths[-1]:
            return None
        return Place(stack, 0, widths)


_WORDS: Final = 4  # texts tried for a terminal
_MARGINS: Final = [b"\n" + b" " * width for width in range(9)]  # tried for any width


class Freedom:
    """The texts after which every LALR stack is taken to have a completion.

    No guard is pending after the spacer `spacer`. `lines` are the newline exits that may begin any
    line, `last` those that may begin a last line of any width.
    """

    def __init__(
        self, spacer: bytes, lines: frozenset[Exit], last: frozenset[Exit], spellable: int
    ) -> None:
        self.spacer, self.lines, self.last, self._spellable = spacer, lines, last, spellable

    def word(self, way: Way) -> bytes | None:
        """A text of a terminal with the spacer, valid whatever follows; not for newlines."""
        word = None if way.ignored else _kept_word(way, self.spacer, self._spellable)
        return None if word is None else word + self.spacer


def freedom(grammar: LarkGrammar, scanners: Scanners, spellable: int = ALL_BYTES) -> Freedom | None:
    """The first spacer that any two terminals may have between them, None if unknown.

    A LALR automaton makes only stacks that the rules can complete. Their completions are texts if
    the lexer reads a text of each terminal before the spacer, or if each state has a completion
    without the other terminals.
    """
    table, lines = grammar.table, grammar.indentation
    # Non-Lark parts have no terminals to separate.
    if table is None or grammar.parts or not grammar.ignored or not completes(grammar, table):
        return None
    # No transition leads to the start state: only ignored text precedes it.
    begun, *states = [table.named(wanted) for wanted in table.wanted]
    widest, withheld = [*scanners.widest(states)], scanners.withheld([begun, *states])
    ignored = [way for _, way in widest if way.ignored]
    first = [way for way in scanners.ways(begun) if way.ignored]
    newline = "" if lines is None else lines.newline
    newlines = [way for _, way in widest if way.terminal == newline]
    made = set[str]() if lines is None else {newline, lines.indent, lines.dedent}
    for spacer in _spacers(ignored, spellable):
        kept = dict[str, bytes | None]()
        for called, way in widest:
            if not way.ignored and way.terminal != newline and called not in withheld:
                word, name = _kept_word(way, spacer, spellable), table.alike.get(called, called)
                kept[name] = word and kept.get(name, word)
        words = {name: word for name, word in kept.items() if word is not None}
        following = [*words.values()]
        if newlines:
            words[newline] = b"\n"
        # Two newlines in a row are one terminal, unless the spacer parts them.
        following += [spacer] if needs_two_newlines(table, lines) else []
        starts = [[e for e in way.exits if _starts_lines(e, following)] for way in newlines]
        if (
            any(_skips(way, spacer, words.values()) for way in ignored)
            and any(_skips(way, spacer, [words[n]]) for way in first for n in begun if n in words)
            and all(starts)
            and shrinks(table, grammar.start, {*table.terminals[1:]} - made - words.keys())
        ):
            exits = (each for way in newlines for each in way.exits)
            last = (each for each in exits if is_last(each.after) and _goes_on(each.text))
            return Freedom(spacer, frozenset(chain(*starts)), frozenset(last), spellable)
    return None


def _spacers(ignored: Iterable[Way], spellable: int) -> list[bytes]:
    """Short ignored texts, shortest first, and two blanks.

    A newline ends most comments, other spaces do not. Two blanks keep a YAML dash from beginning a
    block on its line.
    """
    exits = [leaving.text for way in ignored for leaving in way.exits]
    found = {word for text in exits for word in shortest_words(text, spellable, 1)}
    for word in (b"\n", b" ", b"  "):
        if spellable >> word[0] & 1 and any(remainder(text, word).nullable for text in exits):
            found.add(word)
    return sorted(found, key=lambda each: (len(each), each != b"\n", each))


def _kept_word(way: Way, spacer: bytes, spellable: int) -> bytes | None:
    """A text that matches a terminal whatever follows the spacer after it."""
    for leaving in way.exits:
        if remainder(leaving.after, spacer) is ANYTHING:
            for word in shortest_words(leaving.text, spellable, _WORDS):
                if _unrivalled(way, word + spacer):
                    return word
    return None


def _unrivalled(way: Way, text: bytes) -> bool:
    """Return True if no earlier terminal matches, whatever follows the text."""
    return not isinstance(way.guard, Ahead) or remainder(way.guard.item, text) is ANYTHING


def _skips(way: Way, spacer: bytes, words: Iterable[bytes]) -> bool:
    """Return True if a spacer is ignored before each word and before the end."""
    if isinstance(way.guard, Ahead) and not remainder(way.guard.item, spacer).nullable:
        return False
    return any(
        leaving.after.nullable
        and remainder(leaving.text, spacer).nullable
        and all(
            remainder(leaving.after, word) is ANYTHING and _unrivalled(way, spacer + word)
            for word in words
        )
        for leaving in way.exits
    )


def _starts_lines(newline: Exit, following: Iterable[bytes]) -> bool:
    """Return True if a newline may end after any margin, before each of these texts."""
    return (
        newline.after.nullable
        and all(remainder(newline.after, text) is ANYTHING for text in following)
        and all(remainder(newline.text, margin).nullable for margin in _MARGINS)
    )


def _goes_on(newline: Expr) -> bool:
    """Return True if any margin may begin a last line."""
    return all(remainder(newline, margin) is not EMPTY for margin in _MARGINS)


REMEMBERED: Final = 4096  # cached places


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
        self.grammar, self.indentation = grammar, grammar.indentation
        layout, lines = grammar.indentation, None
        if layout is not None:
            # A block is at least one character wider; its end takes none.
            widths |= {layout.newline: 1, layout.indent: 1, layout.dedent: 0}
            lines = layout.newline, layout.indent, layout.dedent
        self._automaton, self._widths = (
            Automaton(self.table, grammar.start, widths, lines),
            widths,
        )
        self.items = grammar.items
        self._lines = None if layout is None else Lines(layout, self._automaton, self.items)
        self._total = self._automaton.total
        self._unfolded = lru_cache(REMEMBERED)(self._texts)
        self.freedom = cache(self._freedom)
        self.start = Place(self._automaton.start, 0, (0,))
        self.pushdown = LarkPushdown(self.table, self.ways) if layout is None else None

    def unending(self) -> UnsatisfiableError:
        """The error for a grammar without any text."""
        rules, least = self.grammar.rules, least_texts(self.table.productions, self._widths)
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

    def terminals(self, place: Place) -> list[str]:
        """The terminals with an action at a place."""
        return self._automaton.terminals(place.stack.state)

    def ways(self, state: int) -> tuple[Way, ...]:
        """The terminals that the lexer may match in a state."""
        return self._scanners.ways(self._automaton.terminals(state))

    def _freedom(self, spellable: int) -> Freedom | None:
        """`freedom` of the grammar with these bytes, None if unknown; cached."""
        return freedom(self.grammar, self._scanners, spellable)

    def place_after(self, place: Place, terminal: str | None) -> Place | None:
        """The place after a terminal that is no newline; None is an ignored one."""
        if terminal is None:
            return place
        if self._lines is not None:
            return self._lines.take(place, terminal)
        stack = self._automaton.feed(place.stack, terminal)
        return None if stack is None else Place(stack, 0, (0,))

    def read(self, place: Place, terminal: str | None, text: bytes) -> Place | None:
        """The place after a terminal with this text; None is an ignored one."""
        if self._lines is None or terminal != self._lines.newline:
            return self.place_after(place, terminal)
        return place if place.brackets else self._lines.after(place, text)

    def taken(self, place: Place, terminal: str | None) -> Expr:
        """All texts from a place after a terminal; None is an ignored one."""
        after = self.place_after(place, terminal)
        return EMPTY if after is None else self.rest(after)

    # Template protocol.

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """All texts of a place or a partly read newline, one terminal or byte unfolded."""
        del look
        return self._unfolded(cast("Place | ReadLine", argument))

    def _texts(self, at: Place | ReadLine) -> Expr:
        return self._newline_rest(at) if isinstance(at, ReadLine) else self._place(at)

    def _place(self, place: Place) -> Expr:
        return alt(*(self._after_way(place, way) for way in self.ways(place.stack.state)))

    def _after_way(self, place: Place, way: Way) -> Expr:
        if self._lines is not None and way.terminal == self._lines.newline and not way.ignored:
            return self._newline(self._lines, place, way)
        return concat(way.text, self.taken(place, None if way.ignored else way.terminal))

    def _newline(self, lines: Lines, place: Place, way: Way) -> Expr:
        """A newline terminal, as calls that read it byte by byte."""
        if place.brackets:
            return concat(way.text, self.rest(place))
        if self._automaton.feed(place.stack, way.terminal) is None:
            return EMPTY
        begun = (ReadLine(each.text, None, each.after, place) for each in way.exits)
        return concat(way.guard, alt(*(call(self, line, self.level + 1) for line in begun)))

    def _newline_rest(self, line: ReadLine) -> Expr:
        lines = cast("Lines", self._lines)
        options: list[Expr] = []
        for members, following in lines.steps(line):
            after = lines.place_after(following)
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
        name: _terminal_texts(each, level, bool(others)) for name, each in grammar.terminals.items()
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


def _terminal_texts(terminal: LarkTerminal, level: int, marks: bool) -> Expr:
    """The texts of a terminal with the lookahead that `re.match` implies."""
    try:
        found = _exits(terminal.pattern, marks, terminal.solid)
    except (SourceError, UnsupportedError, LimitError) as error:
        raise named(terminal, error) from None
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
