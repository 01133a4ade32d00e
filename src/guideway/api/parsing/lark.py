"""Find the captures of a Lark grammar in a finished text.

Texts are read as the lexer and the automaton do (`read`), or with Lark itself for the dynamic
lexer. The text of a rule is from its first to its last terminal, without ignored text around it. If
a rule is JSON Schemas alone, its text is JSON with a value.

For the contextual lexer, `Texts` finds the ends of an expression's strings, `read` the terminals
that the lexer takes (by a search, because embedded sources may be ambiguous), `reduced` the
reductions of the LALR automaton.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias, cast

from guideway.context_free.lark.grammar import END, LarkGrammar, LarkTable
from guideway.context_free.lark.lowering import Place, Places
from guideway.context_free.lark.reader import earley, read_lark
from guideway.context_free.lark.scanners import Way
from guideway.context_free.lark.source import Lark
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.expr import ANYTHING, EPSILON
from guideway.language.nodes import Ahead, Concat, Expr
from guideway.sources.regions import Captured
from guideway.sources.sources import Either, Source, Text

Ends: TypeAlias = Callable[[Source, int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A terminal and its position."""

    name: str
    begin: int
    end: int


Option: TypeAlias = tuple[list[Leaf], int, Place]  # what is read, up to where, and the place there


class Texts:
    """One text, and matches of regular expressions in it."""

    def __init__(self, data: bytes) -> None:
        self.data, self._machine = data, cache(Derivatives)
        self.ends, self.holds = cache(self._ends), cache(self._holds)

    def _ends(self, expr: Expr, begin: int) -> Sequence[int]:
        """Ends of its strings that begin there."""
        states = enumerate(self._states(expr, begin), begin)
        return [end for end, state in states if self._machine(expr).accepts(state)]

    def _holds(self, expr: Expr, begin: int) -> bool:
        """Return True if the rest of the text is one of its strings."""
        if expr is ANYTHING:
            return True
        for end, state in enumerate(self._states(expr, begin), begin):
            if state is ANYTHING:
                return True
            if end == len(self.data):
                return self._machine(expr).accepts(state)
        return False

    def _states(self, expr: Expr, begin: int) -> Iterator[Expr]:
        """The state after each byte, until it is dead."""
        machine, state = self._machine(expr), expr
        yield state
        for byte in self.data[begin:]:
            after = machine.step(state, byte)
            if after is None:
                return
            state = after
            yield state


def read(places: Places, texts: Texts, ends: Ends) -> list[Leaf] | None:
    """The terminals of a whole text, None if it is not in the language."""
    reader = _Contextual(places, texts, ends)
    seen = set[tuple[int, Place]]()
    leaves: list[Leaf] = []
    # For each place on the path: remaining options, and the number of leaves before it.
    first: list[Option] = [([], 0, places.start)]
    ways = [(iter(first), 0)]
    while ways:
        options, count = ways[-1]
        option = next(options, None)
        if option is None:
            ways.pop()
            continue
        taken, at, place = option
        if (at, place) in seen:
            continue
        seen.add((at, place))
        del leaves[count:]
        leaves += taken
        if at == len(texts.data) and places.may_end(place):
            return leaves + reader.dedents(at, len(place.widths) - 1)
        ways.append((iter(reader.options(at, place)), len(leaves)))
    return None


class _Contextual:
    """The contextual lexer and the automaton, one step after the other."""

    def __init__(self, places: Places, texts: Texts, ends: Ends) -> None:
        self._places, self._texts, self._ends_of = places, texts, ends

    def options(self, at: int, place: Place) -> list[Option]:
        """Possible leaves at a place, longest first, with the next place."""
        places, data = self._places, self._texts.data
        taken: list[tuple[str | None, int]] = []
        for way in places.ways(place.stack.state):
            terminal = None if way.ignored else way.terminal
            taken += [(terminal, end) for end in self._way_ends(way, at)]
        for name in places.terminals(place):
            if name in places.grammar.parts:
                ends = self._ends_of(places.grammar.parts[name].source, at)
                taken += [(name, end) for end in ends if end > at]
        found: list[Option] = []
        for terminal, end in sorted(taken, key=lambda each: -each[1]):
            after = places.read(place, terminal, data[at:end])
            if after is not None:
                found.append((self._leaves(terminal, at, end, place, after), end, after))
        return found

    def _leaves(
        self, terminal: str | None, at: int, end: int, before: Place, after: Place
    ) -> list[Leaf]:
        """The terminal, unless it is ignored, and the blocks that begin or end with a newline."""
        told = self._places.indentation
        if terminal is None or before is after:
            return []
        leaf, more = Leaf(terminal, at, end), len(after.widths) - len(before.widths)
        if told is None or terminal != told.newline:
            return [leaf]
        return [leaf, *([Leaf(told.indent, end, end)] if more > 0 else self.dedents(end, -more))]

    def dedents(self, at: int, count: int) -> list[Leaf]:
        """The ends of some blocks."""
        told = self._places.indentation
        return [] if told is None else [Leaf(told.dedent, at, at)] * count

    def _way_ends(self, way: Way, at: int) -> Iterator[int]:
        guard = way.guard
        while guard is not EPSILON:
            head, guard = (
                (guard.head, guard.tail) if isinstance(guard, Concat) else (guard, EPSILON)
            )
            if isinstance(head, Ahead) and not self._texts.holds(head.item, at):
                return
        for each in way.exits:
            for end in self._texts.ends(each.text, at):
                if self._texts.holds(each.after, end):
                    yield end


def reduced(table: LarkTable, leaves: Sequence[Leaf]) -> list[tuple[str, int, int]]:
    """The rules of a text, outer ones first, with the first leaf and the one after the last."""
    found: list[tuple[str, int, int]] = []
    stack, firsts = [table.start], [0]
    for number, name in enumerate([*(leaf.name for leaf in leaves), END]):
        while stack[-1] != table.end or name != END:
            step = table.reductions[stack[-1]].get(name)
            if step is None:
                stack.append(table.shifts[stack[-1]][name])
                firsts.append(number)
                break
            production = table.productions[step]
            below = len(stack) - len(production.symbols)
            first = firsts[below] if production.symbols else number
            found.append((production.rule, first, number))
            stack[below:] = [table.gotos[stack[below - 1]][production.rule]]
            firsts[below:] = [first]
    order = sorted(range(len(found)), key=lambda n: (found[n][1], -found[n][2], -n))
    return [found[number] for number in order]


_read, _earley = lru_cache(maxsize=32)(read_lark), lru_cache(maxsize=32)(earley)


@lru_cache(maxsize=32)
def _places(source: Lark) -> Places:
    return Places(_read(source), {})


def captured(source: Lark, data: bytes, ends: Ends) -> Iterator[tuple[Source, int, int]]:
    r"""Captures and parts in a text, outer ones first, with begin and end.

    `ends` gives the ends of the texts of a source from a position.

    >>> source = Lark('start[capture]: name "=" "1"\nname[capture="n"]: /[a-z]+/')
    >>> for place, begin, end in captured(source, b"ab=1", lambda source, begin: []):
    ...     print(place.name, begin, end)
    start 0 4
    n 0 2
    """
    grammar, names = _read(source), dict(source.captures)
    if grammar.table is None:
        leaves, rules = _dynamic(source, data)
    else:
        places = _places(source)
        leaves = read(places, Texts(data), ends) or []
        rules = reduced(places.table, leaves) if leaves or not data else []
    for rule, first, last in rules:
        if rule in names:
            begin = leaves[first].begin if first < last else 0
            end = leaves[last - 1].end if first < last else 0
            yield Captured(names[rule], _item(grammar, rule)), begin, end
    for leaf in leaves:
        if leaf.name in grammar.parts:
            yield grammar.parts[leaf.name].source, leaf.begin, leaf.end


def _dynamic(source: Lark, data: bytes) -> tuple[list[Leaf], list[tuple[str, int, int]]]:
    """Terminals and rules of a text, as `read` and `reduced` have them, by Lark's Earley parser."""
    text = data.decode()
    tree = _earley(source)(text)
    leaves, rules = list[Leaf](), list[tuple[str, int, int]]()
    todo: list[Any] = [] if tree is None else [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, int):  # the end of a rule
            rules[node] = (*rules[node][:2], len(leaves))
        elif isinstance(node, tuple):
            name, children = cast("tuple[str, list[Any]]", node)
            todo += [len(rules), *reversed(children)]
            rules.append((name, len(leaves), 0))
        else:
            begin = len(text[: node.start_pos].encode())
            leaves.append(Leaf(str(node.type), begin, begin + len(node.encode())))
    return leaves, rules


def counted(source: Lark, inner: Callable[[Source], Mapping[str, int]]) -> dict[str, int]:
    r"""The most occurrences of each capture, 1 or 2 for more; `inner` counts those of parts.

    >>> counted(Lark('start: (a ",")* b\na[capture]: "a"\nb[capture]: "b"'), lambda part: {})
    {'a': 2, 'b': 1}
    """
    grammar, found = _read(source), dict[str, int]()
    named = [(rule, {name: 1}) for rule, name in source.captures]
    named += [(name, inner(part.source)) for name, part in grammar.parts.items()]
    for symbol, counts in named:
        often = _most_occurrences(grammar, symbol) if counts else 0
        for name, count in counts.items():
            found[name] = min(found.get(name, 0) + often * count, 2)
    return found


def _most_occurrences(grammar: LarkGrammar, symbol: str) -> int:
    """The most occurrences of a rule or a part in a text: 0, 1, or 2 for more."""
    rules, places = list[str](), defaultdict[str, list[int]](list)
    for rule, expansions in grammar.rules.items():
        for expansion in expansions:
            for each in expansion:
                places[each].append(len(rules))
            rules.append(rule)
    # Sums for each expansion from its symbols; new counts of rules are propagated.
    sums, counts, todo = [0] * len(rules), defaultdict[str, int](int, {symbol: 1}), [(symbol, 1)]
    while todo:
        name, more = todo.pop()
        for place in places[name]:
            sums[place] += more
            rule = rules[place]
            count = min(sums[place] + (rule == symbol), 2)
            if count > counts[rule]:
                todo.append((rule, count - counts[rule]))
                counts[rule] = count
    return counts[grammar.start]


def _item(grammar: LarkGrammar, rule: str) -> Source:
    """JSON Schemas that a rule consists of, or Text."""
    found: list[Source] = []
    seen, todo = {rule}, [rule]
    while todo:
        for expansion in grammar.rules[todo.pop()]:
            symbol = expansion[0] if len(expansion) == 1 else ""
            part = grammar.parts.get(symbol)
            if part is not None and isinstance(part.source, JsonSchema):
                found.append(part.source)
            elif symbol in grammar.rules:
                todo += {symbol} - seen
                seen.add(symbol)
            else:
                return Text()
    return found[0] if len(found) == 1 else Either(tuple(found))
