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
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias, cast, final

from guideway.context_free.lark.errors import END, LarkGrammar, LarkTable
from guideway.context_free.lark.reader import earley, read_lark
from guideway.context_free.lark.scanners import Scanners, Way
from guideway.context_free.lark.source import Lark
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.expr import ANYTHING, EPSILON
from guideway.language.nodes import Ahead, Concat, Expr
from guideway.sources.regions import Captured
from guideway.sources.sources import Either, Source, Text

Ends: TypeAlias = Callable[[Source, int], Sequence[int]]
Stack: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Leaf:
    """A terminal and its position."""

    name: str
    begin: int
    end: int


@final
class Texts:
    """One text, and what regular expressions have to do with it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._machines: dict[Expr, Derivatives] = {}
        self._ends: dict[tuple[Expr, int], Sequence[int]] = {}
        self._holds: dict[tuple[Expr, int], bool] = {}

    def ends(self, expr: Expr, begin: int) -> Sequence[int]:
        """Ends of its strings that begin there."""
        key = expr, begin
        if key not in self._ends:
            states = enumerate(self._states(expr, begin), begin)
            machine = self._machine(expr)
            self._ends[key] = [end for end, state in states if machine.accepts(state)]
        return self._ends[key]

    def holds(self, expr: Expr, begin: int) -> bool:
        """Return True if the rest of the text is one of its strings."""
        key = expr, begin
        if key not in self._holds:
            self._holds[key] = self._follows(expr, begin)
        return self._holds[key]

    def _follows(self, expr: Expr, begin: int) -> bool:
        if expr is ANYTHING:
            return True
        end = begin - 1
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

    def _machine(self, expr: Expr) -> Derivatives:
        found = self._machines.get(expr)
        if found is None:
            found = self._machines[expr] = Derivatives(expr)
        return found


@final
@dataclass(frozen=True, slots=True)
class _Place:
    """Reading state: text position, automaton stack, brackets and blocks."""

    at: int
    stack: Stack
    brackets: int = 0
    widths: tuple[int, ...] = (0,)


def read(grammar: LarkGrammar, table: LarkTable, texts: Texts, ends: Ends) -> list[Leaf] | None:
    """The terminals of a whole text, None if it is not in the language."""
    reader = _Contextual(grammar, table, texts, ends)
    seen = set[_Place]()
    leaves: list[Leaf] = []
    # For each place on the path: remaining options, and the number of leaves before it.
    ways = [(iter(reader.options(_Place(0, (table.start,)))), 0)]
    while ways:
        options, count = ways[-1]
        option = next(options, None)
        if option is None:
            ways.pop()
            continue
        taken, place = option
        if place in seen:
            continue
        seen.add(place)
        del leaves[count:]
        leaves += taken
        rest = reader.ended(place)
        if rest is not None:
            return leaves + rest
        ways.append((iter(reader.options(place)), len(leaves)))
    return reader.ended(_Place(0, (table.start,)))


@final
class _Contextual:
    """The contextual lexer and the automaton, one step after the other."""

    def __init__(self, grammar: LarkGrammar, table: LarkTable, texts: Texts, ends: Ends) -> None:
        self._grammar, self._table, self._texts, self._ends_of = grammar, table, texts, ends
        self._scanners = Scanners(grammar)

    def options(self, place: _Place) -> list[tuple[list[Leaf], _Place]]:
        """Possible leaves at a place, longest first, with the next place."""
        state = place.stack[-1]
        names = [
            n for n in (*self._table.shifts[state], *self._table.reductions[state]) if n != END
        ]
        found = [
            (self._after_terminal(place, way, end), end)
            for way in self._scanners.ways(names)
            for end in self._taken(way, place.at)
        ]
        for name in names:
            if name in self._grammar.parts:
                ends = self._ends_of(self._grammar.parts[name].source, place.at)
                found += [(self._fed(place, name, end), end) for end in ends if end > place.at]
        found.sort(key=lambda each: -each[1])
        return [option for option, _ in found if option is not None]

    def ended(self, place: _Place) -> list[Leaf] | None:
        """Final leaves (dedents) at the end of the text; None if the text cannot end here."""
        if place.at < len(self._texts.data):
            return None
        indentation, stack, leaves = self._grammar.indentation, place.stack, list[Leaf]()
        if indentation is not None:
            for _ in place.widths[1:]:
                stack = _shifted(self._table, stack, indentation.dedent)
                if stack is None:
                    return None
                leaves.append(Leaf(indentation.dedent, place.at, place.at))
        return leaves if _reduced(self._table, stack, END)[-1] == self._table.end else None

    def _taken(self, way: Way, at: int) -> Iterator[int]:
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

    def _after_terminal(
        self, place: _Place, way: Way, end: int
    ) -> tuple[list[Leaf], _Place] | None:
        """Leaves and place after a terminal, by the indenter and the automaton."""
        indentation = self._grammar.indentation
        if way.ignored:
            return [], replace(place, at=end)
        if indentation is not None and way.terminal == indentation.newline:
            if place.brackets:
                return [], replace(place, at=end)
            return self._newline(place, end)
        found = self._fed(place, way.terminal, end)
        if found is None or indentation is None:
            return found
        more = (way.terminal in indentation.opening) - (way.terminal in indentation.closing)
        after = replace(found[1], brackets=place.brackets + more)
        item = 0 if after.brackets else self._grammar.items.get(way.terminal, 0)
        if item:
            after = replace(after, widths=(*place.widths, place.widths[-1] + item))
        return found[0], after

    def _fed(self, place: _Place, name: str, end: int) -> tuple[list[Leaf], _Place] | None:
        stack = _shifted(self._table, place.stack, name)
        leaf = Leaf(name, place.at, end)
        return None if stack is None else ([leaf], replace(place, at=end, stack=stack))

    def _newline(self, place: _Place, end: int) -> tuple[list[Leaf], _Place] | None:
        """The end of a line, and the blocks that begin or end with it."""
        indentation = self._grammar.indentation
        found = self._fed(place, indentation.newline, end) if indentation is not None else None
        if indentation is None or found is None:
            return None
        leaves, after = found
        line = self._texts.data[place.at : end].rpartition(b"\n")[2]
        width, widths = line.count(b" ") + line.count(b"\t") * indentation.tab, place.widths
        names = [indentation.indent] if width > widths[-1] else []
        while width < widths[-1]:
            names, widths = [*names, indentation.dedent], widths[:-1]
        if names == [indentation.indent]:
            widths = (*widths, width)
        stack: Stack | None = after.stack
        for name in names:
            stack = None if stack is None else _shifted(self._table, stack, name)
            leaves.append(Leaf(name, end, end))
        if stack is None or width != widths[-1]:
            return None
        return leaves, replace(after, stack=stack, widths=widths)


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


def _shifted(table: LarkTable, stack: Stack, name: str) -> Stack | None:
    """The stack after a terminal, if there may be one."""
    stack = _reduced(table, stack, name)
    target = table.shifts[stack[-1]].get(name)
    return None if target is None else (*stack, target)


def _reduced(table: LarkTable, stack: Stack, name: str) -> Stack:
    """The stack after all reductions before a terminal; without end there are none."""
    for _ in range(len(table.shifts) * (len(stack) + 1)):
        step = table.reductions[stack[-1]].get(name)
        if step is None or (name == END and stack[-1] == table.end):
            break
        production = table.productions[step]
        below = len(stack) - len(production.symbols)
        stack = (*stack[:below], table.gotos[stack[below - 1]][production.rule])
    return stack


@lru_cache(maxsize=32)
def _read(source: Lark) -> LarkGrammar:
    return read_lark(source)


@lru_cache(maxsize=32)
def _earley(source: Lark) -> Callable[[str], Any]:
    return earley(source)


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
        leaves = read(grammar, grammar.table, Texts(data), ends) or []
        rules = reduced(grammar.table, leaves) if leaves or not data else []
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
    r"""How often each capture may occur: once (1) or more (2); `inner` counts those of parts.

    >>> counted(Lark('start: (a ",")* b\na[capture]: "a"\nb[capture]: "b"'), lambda part: {})
    {'a': 2, 'b': 1}
    """
    grammar, found = _read(source), dict[str, int]()
    named = [(rule, {name: 1}) for rule, name in source.captures]
    named += [(name, inner(part.source)) for name, part in grammar.parts.items()]
    for symbol, counts in named:
        often = _often(grammar, symbol) if counts else 0
        for name, count in counts.items():
            found[name] = min(found.get(name, 0) + often * count, 2)
    return found


def _often(grammar: LarkGrammar, symbol: str) -> int:
    """How often a rule or a part may occur in a text: 0, 1, or 2 for more."""
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
