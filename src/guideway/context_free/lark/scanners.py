"""The terminal that Lark's contextual lexer takes, and the pushdown system of its parser."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from itertools import repeat
from typing import Final

from guideway.context_free.lark.grammar import END, LarkGrammar, LarkTable
from guideway.context_free.lark.terminals import (
    Named,
    Rivals,
    Terminal,
    one_word,
    shortest_beginnings,
)
from guideway.language.expr import ANYTHING, EPSILON, ahead, alt, complement, concat, either
from guideway.language.nodes import Expr
from guideway.language.pushdown import DONE, FIRST, Control, Move
from guideway.language.values import by_identity
from guideway.regex.backtracking import Exit

MANY_STRINGS: Final = 16  # more rivals become one guard
_MANY_REGEXES: Final = 32  # 490 like /[a-z]+1x?/, one guard each, took 15 s to be refused


@by_identity
class Way:
    """Texts at which the lexer takes a terminal; most states share them.

    `guard` is an Ahead that no earlier terminal matches, or EPSILON; `level` its lookahead level.
    """

    terminal: str
    ignored: bool
    guard: Expr
    exits: tuple[Exit, ...]
    level: int = 0

    @property
    def text(self) -> Expr:
        """The whole way as one expression."""
        taken = (concat(each.text, ahead(each.after, self.level)) for each in self.exits)
        return concat(self.guard, alt(*taken))


class _Called:
    """Exits of a terminal under one name, their possible rivals, and ways by rivals tried."""

    __slots__ = ("exits", "rivals", "terminal", "ways")

    def __init__(self, terminal: Terminal, exits: tuple[Exit, ...], rivals: int) -> None:
        self.terminal, self.exits, self.rivals = terminal, exits, rivals
        self.ways: dict[int, Way] = {}


class Scanners:
    """The lexers of all states; non-Lark `parts` are allowed where they have an action."""

    def __init__(
        self, grammar: LarkGrammar, parts: Mapping[str, Expr] | None = None, level: int = 0
    ) -> None:
        self._parts: Mapping[str, Expr] = parts or {}
        self._level = level
        always = () if grammar.indentation is None else (grammar.indentation.newline,)
        self._extra = frozenset(
            name for name in (*grammar.ignored, *always) if name in grammar.terminals
        )
        self._ignored = frozenset(grammar.ignored)
        self._terminals = {
            name: Terminal(each, bool(grammar.parts)) for name, each in grammar.terminals.items()
        }
        self._alike: dict[str, list[Terminal]] = {}
        self._first: dict[str, str] = {}
        for name, first in () if grammar.table is None else grammar.table.alike.items():
            self._alike.setdefault(first, []).append(self._terminals[name])
            self._first |= {name: first, first: first}
        # Most states share their ways and rivals.
        self._known, self._gone = cache(self._known_ways), cache(self._swallowed)
        self._called, self._part = cache(self._calls), cache(self._called_part)
        self._one_of, self._not_at = cache(self._union), cache(self._guard)
        self._inside = cache(self._strings_inside)

    def check(self) -> None:
        """Refuse terminals that cannot be matched exactly."""
        for terminal in self._terminals.values():
            terminal.refuse()

    def ways(self, names: Sequence[str]) -> tuple[Way, ...]:
        """The ways of a state with these terminals."""
        found = self._known(self._bits(names))
        if self._parts:
            others = (name for name in names if name in self._parts)
            found += tuple(
                self._one_of(name, EPSILON, ANYTHING, (self._parts[name],)) for name in others
            )
        return found

    def _known_ways(self, there: int) -> tuple[Way, ...]:
        ways = self._ways_of(there)
        return tuple(self._merged(ways) if self._first else ways)

    def _merged(self, ways: Iterable[Way]) -> Iterable[Way]:
        """Merge the ways of terminals that are alike and have the same guard and lookahead."""
        alike: dict[tuple[str, Expr, Expr], list[Expr]] = {}
        for way in ways:
            name = self._first.get(way.terminal)
            if name is None or way.ignored or len(way.exits) != 1:
                yield way
            else:
                key = name, way.guard, way.exits[0].after
                alike.setdefault(key, []).append(way.exits[0].text)
        for (name, guard, after), texts in alike.items():
            yield self._one_of(name, guard, after, tuple(one_word(text) or text for text in texts))

    def widest(self, states: Iterable[Iterable[str]]) -> Iterator[tuple[str, Way]]:
        """Yield names and ways, guarded against all rivals that any of the states tries.

        What holds for a text of such a way holds in every state: 150 ways replace the 2,400 of the
        146 states of python.lark. Ignored terminals come once, and only if every state tries them.
        """
        met: dict[Terminal, int] = {}
        within: dict[Terminal, int] = {}
        largest: list[tuple[int, int]] = []
        rivals, everywhere = self._rivals, -1
        tried = {there: self._lexed(there) for there in {self._bits(names) for names in states}}
        for there in sorted(tried, key=int.bit_count, reverse=True):
            some = tried[there]
            everywhere &= some
            for all_, most in largest:
                if there & all_ == there and some & most == some:
                    break
            else:
                largest.append((there, some))
        for there, some in largest:  # 30 of the 146: the others are subsets
            for each in rivals.among(some):
                met[each] = met.get(each, 0) | some
            for each in rivals.among(some & rivals.regexes):
                within[each] = within.get(each, 0) | self._inside(each)[0] & there
        for each, others in met.items():
            before = others & (rivals.bits[each] - 1)
            ignored = each.shape.name in self._ignored
            if ignored and not everywhere & rivals.bits[each]:
                continue
            for called in self._called(each, 0 if ignored else within.get(each, 0)):
                way = self._way(called, each, called.rivals & before)
                yield called.terminal.shape.name, way

    @property
    def unread(self) -> set[str]:
        """Terminals that the automaton never gets: ignored ones, strings that they swallow."""
        rivals, found = self._rivals, set[str]()
        swallowed, called = 0, 0
        for each in rivals.among(rivals.regexes):
            strings, held = self._inside(each)
            if each.shape.name in self._ignored:
                found.add(each.shape.name)
                swallowed |= held
            else:
                called |= strings
        found |= {e.shape.name for e, bit in rivals.strings if swallowed & ~called & bit}
        read = {first for name, first in self._first.items() if name not in found}
        return found - read

    def withheld(self, states: Iterable[Iterable[str]]) -> set[str]:
        """Terminals that some of these states have an action for but never get."""
        rivals, found = self._rivals, {*self._ignored}
        spaces = [each for each in rivals.among(rivals.regexes) if each.shape.name in found]
        if not any(self._inside(each)[1] for each in spaces):
            return found  # saves .7 of 5 ms to the first mask of SQL
        for there in {self._bits(names) for names in states}:
            called = 0
            for each in rivals.among(there & rivals.regexes):
                called |= 0 if each.shape.name in self._ignored else self._inside(each)[0]
            lost = there & ~self._lexed(there) & ~called
            found.update(each.shape.name for each in rivals.among(lost))
        return found

    def _bits(self, names: Iterable[str]) -> int:
        """The set of these terminals and of those that are always tried."""
        return reduce(int.__or__, map(self._alike_bits.get, (*names, *self._extra), repeat(0)), 0)

    @cached_property
    def _alike_bits(self) -> Mapping[str, int]:
        """The set of each terminal and those alike."""
        bits = self._rivals.bits
        own = {name: bits[each] for name, each in self._terminals.items()}
        for name, alike in self._alike.items():
            for each in alike:
                own[name] |= bits[each]
        return own

    def _lexed(self, there: int) -> int:
        """The terminals of a set that are tried: strings that a regex swallows are not."""
        return there & ~self._gone(there & self._rivals.regexes)

    def _swallowed(self, regexes: int) -> int:
        swallowed = 0
        for each in self._rivals.among(regexes):
            swallowed |= self._inside(each)[1]
        return swallowed

    def _ways_of(self, there: int) -> Iterable[Way]:
        rivals = self._rivals
        tried = self._lexed(there)
        for each in rivals.among(tried):
            before = tried & (rivals.bits[each] - 1)
            for called in self._called(each, self._inside(each)[0] & there):
                met = called.rivals & before
                yield called.ways.get(met) or self._way(called, each, met)

    def _union(self, name: str, guard: Expr, after: Expr, texts: tuple[bytes | Expr, ...]) -> Way:
        """The way of a union of texts."""
        return Way(name, False, guard, (Exit(either(texts), after),), self._level)

    def _calls(self, taken: Terminal, strings: int) -> Sequence[_Called]:
        """The exits of a terminal, split by the strings that it swallows."""
        made: list[_Called] = []
        named = Named()
        for string in self._rivals.among(strings):
            made.append(self._part(taken, string, taken.exits_within(string, named)))
            named.add(string)
        exits = taken.exits_without(named) if strings else taken.exits
        return [*made, self._part(taken, taken, exits)]

    def _called_part(self, taken: Terminal, called: Terminal, exits: tuple[Exit, ...]) -> _Called:
        """A part of the exits of the terminal `taken`, shared between states."""
        del taken
        return _Called(called, exits, self._rivals.of(exits, called))

    @cached_property
    def _rivals(self) -> Rivals:
        return Rivals(sorted(self._terminals.values(), key=lambda each: each.order))

    def _strings_inside(self, regex: Terminal) -> tuple[int, int]:
        """The strings that a regex swallows, and those of them whose flags it has."""
        strings, held, begun = 0, 0, self._rivals.begun[regex]
        for each, bit in self._rivals.strings if regex.shape.text is None else ():
            if self._rivals.begun[each] & begun and regex.swallows(each):
                strings |= bit
                held |= bit if regex.flags_hold(each) else 0
        return strings, held

    def _guard(self, rival: Terminal) -> Expr:
        """Lookahead that a rival does not match; shared by many ways."""
        return ahead(complement(rival.begins), self._level)

    def _way(self, called: _Called, taken: Terminal, met: int) -> Way:
        rivals = self._rivals.among(met) if met else ()  # mostly empty
        strings: list[bytes | Expr] = []
        if len(rivals) > MANY_STRINGS:  # a guard each would be intersected with all before
            strings += shortest_beginnings(each.word for each in rivals if each.word is not None)
            strings += (e.whole for e in rivals if e.folded is not None and e.word is None)
            rivals = [each for each in rivals if each.folded is None]
        if len(rivals) > _MANY_REGEXES:
            guards = [ahead(complement(either(each.begins for each in rivals)), self._level)]
        else:
            guards = [self._not_at(each) for each in rivals]
        if strings:
            begun = concat(either(strings), ANYTHING)
            guards.append(ahead(complement(begun), self._level))
        # The matching terminal decides if the text is ignored, not its name.
        ignored = taken.shape.name in self._ignored
        name = called.terminal.shape.name
        guard = concat(*guards)
        found = Way(self._first.get(name, name), ignored, guard, called.exits, self._level)
        called.ways[met] = found
        return found


_NEXT: Final = Control(left=-1)  # after a terminal: the text may end


class LarkPushdown:
    """The `Pushdown` of a Lark automaton."""

    def __init__(self, table: LarkTable, ways: Callable[[int], Sequence[Way]]) -> None:
        self._table, self._ways_of = table, ways
        self.moves = cache(self._distinct_moves)

    def _distinct_moves(self, control: Control, state: int) -> tuple[Move, ...]:
        """All moves in a state, without duplicates."""
        return tuple(dict.fromkeys(self._moves(control, state)))

    def _moves(self, control: Control, state: int) -> Iterator[Move]:
        if control.rule is not None:
            yield self._reduced(control, control.rule, state)
        elif control.terminal is not None:
            yield from self._moves_on_terminal(control.terminal, state)
        else:
            for way in self._ways_of(state):
                after = _NEXT if way.ignored else Control(way.terminal)
                yield Move(way.text, after, (state,))
            if control is not FIRST:
                yield Move(EPSILON, Control(END), (state,))

    def _reduced(self, control: Control, rule: str, state: int) -> Move:
        if control.left:
            return Move(EPSILON, Control(control.terminal, rule, control.left - 1), ())
        return Move(EPSILON, Control(control.terminal), (state, self._table.gotos[state][rule]))

    def _moves_on_terminal(self, terminal: str, state: int) -> Iterator[Move]:
        number = self._table.reductions[state].get(terminal)
        shifted = self._table.shifts[state].get(terminal)
        if terminal == END and state == self._table.end:
            yield Move(EPSILON, DONE, (state,))
        elif number is not None:
            each = self._table.productions[number]
            begun = Control(terminal, each.rule, len(each.symbols))
            yield self._reduced(begun, each.rule, state)
        elif shifted is not None:
            yield Move(EPSILON, _NEXT, (state, shifted))
