"""Whether each stack of Lark's automaton has terminals that lead to the end.

A stack is the beginning of what the grammar allows, so some do unless Lark has resolved a conflict
on the way otherwise, or lines cannot be indented so. What is looked at is more than is needed:

- of what is being read in each state something can be completed, each rule as briefly as can be,
  where no terminal comes before which Lark does not reduce (`LarkTable.denied`);
- where lines are indented, they can be written (`lark_blocks`), and no line is empty unless
  something ignored can stand in it;
- where terminals are to be avoided, something can be completed without them, and the stack gets
  shorter by that sooner or later.

What this module does not know: what terminals match.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, final

from guideway.lowering.fuel import spend
from guideway.lowering.lark_automaton import briefest_texts
from guideway.lowering.lark_blocks import Blocks
from guideway.syntax.lark_tree import END, LarkGrammar, LarkTable

_Step: TypeAlias = tuple[int, str]  # a state and what is read from it: a terminal or a rule


def always_completed(
    grammar: LarkGrammar,
    table: LarkTable,
    avoided: frozenset[str] = frozenset(),
    *,
    parted: bool = False,
) -> bool:
    """Whether they do without the terminals to be avoided; False where that is not known.

    Args:
        grammar: whose rules they complete.
        table: its automaton.
        avoided: terminals to do without.
        parted: whether a newline may come behind another one, something ignored in between.

    >>> from guideway.syntax.lark_reader import read_lark
    >>> from guideway.syntax.lark_source import Lark
    >>> grammar = read_lark(Lark('start: "a" start "b" | "c"'))
    >>> grammar.table is not None and always_completed(grammar, grammar.table)
    True
    >>> always_completed(grammar, grammar.table, frozenset({"B"}))
    False
    """
    return _Plan(grammar, table, avoided, parted).holds()


@final
class _Plan:
    """Which terminals lead to the end from each stack."""

    def __init__(
        self, grammar: LarkGrammar, table: LarkTable, avoided: frozenset[str], parted: bool
    ) -> None:
        self._grammar, self._table, self._avoided = grammar, table, avoided
        self._parted = parted
        self._rules: dict[str, list[int]] = {}
        for number, each in enumerate(table.productions):
            self._rules.setdefault(each.rule, []).append(number)
        symbols = set[str]().union(*(each.symbols for each in table.productions))
        terminals = symbols - self._rules.keys()
        taken = dict.fromkeys(terminals - avoided, 1)
        self._briefest = self._whole = briefest_texts(table.productions, taken)
        if avoided and self._whole.keys() != self._rules.keys():  # else what is empty is the same
            self._whole = briefest_texts(table.productions, dict.fromkeys(terminals, 1))
        self._least = {rule: least for rule, (least, _) in self._briefest.items()} | taken
        self._begun: dict[str, set[_Step]] = {}
        self._never: dict[str, set[_Step]] = {}
        self._below: dict[str, dict[int, list[int]]] = {}

    def holds(self) -> bool:
        """Whether they do."""
        if self._whole.keys() != self._rules.keys() or not self._is_written():
            return False
        self._begin()
        if END in self._begun or self._grammar.start not in self._least:
            return False
        if not self._begun and not self._avoided:
            return True
        return self._avoids() and self._shrinks()

    def _is_written(self) -> bool:
        lines = self._grammar.indentation
        if lines is None:
            return True
        least = {rule: least for rule, (least, _) in self._whole.items()}
        return Blocks(lines, self._table.productions, least).hold()

    def _begin(self) -> None:
        """Find the steps behind which a terminal is not what a rule would have."""
        table, begun = self._table, self._begun
        known: dict[tuple[int, int], list[_Step]] = {}  # the same of most terminals
        for state, number, terminal in table.denied:
            key = state, number
            if key not in known:
                each = table.productions[number]
                unders = self._under(state, len(each.symbols))
                known[key] = [(under, each.rule) for under in unders]
            begun.setdefault(terminal, set()).update(known[key])
        lines = self._grammar.indentation
        if lines is not None and not self._parted:
            # A line that ends behind another is no line: its newline belongs to that one.
            begun.setdefault(lines.newline, set()).update(
                (state, end)
                for state, shifts in enumerate(table.shifts)
                for end in (lines.newline, lines.dedent)
                if end in shifts
            )

    def _before(self, state: int) -> Sequence[int]:
        """The states that may be below one: few are asked for."""
        symbol = self._entry(state)
        found = self._below.get(symbol)
        if found is None:
            found = self._below[symbol] = dict[int, list[int]]()
            rows = self._table.gotos if symbol in self._rules else self._table.shifts
            for below in [below for below, row in enumerate(rows) if symbol in row]:  # a few
                found.setdefault(rows[below][symbol], []).append(below)
        return found[state]

    def _entry(self, state: int) -> str:
        """What has been read before a state, in which something is being read."""
        number, read = self._table.kernels[state][0]
        return self._table.productions[number].symbols[read - 1]

    def _under(self, state: int, count: int) -> set[int]:
        """The states that may be so far below another."""
        found = {state}
        for _ in range(count):
            found = {before for each in found for before in self._before(each)}
        return found

    @cached_property
    def _critical(self) -> Mapping[int, Sequence[tuple[int, str]]]:
        """The places in productions where a terminal may come that Lark denies there.

        It is the first of the briefest text behind a symbol that may end with one of the steps; of
        1,500 places of python.lark 20 are left, and states are looked at for these alone.
        """
        named: dict[str, list[str]] = {}
        alike: dict[frozenset[str], list[str]] = {}
        for terminal, steps in self._begun.items():
            alike.setdefault(frozenset(symbol for _, symbol in steps), []).append(terminal)
        for symbols, terminals in alike.items():
            for symbol in self._ending(symbols):
                named.setdefault(symbol, []).extend(terminals)
        found: dict[int, list[tuple[int, str]]] = {}
        for number, each in enumerate(self._table.productions):
            if named.keys().isdisjoint(each.symbols):
                continue
            after: str | None = None
            for place in range(len(each.symbols) - 1, -1, -1):
                symbol = each.symbols[place]
                if after is not None and after in named.get(symbol, ()):
                    found.setdefault(number, []).append((place, after))
                if self._least.get(symbol):
                    after = self._firsts.get(symbol, symbol)
        return found

    @cached_property
    def _firsts(self) -> Mapping[str, str]:
        """The first terminals of the briefest texts that are not empty."""
        found: dict[str, str] = {}
        for rule, (least, number) in self._briefest.items():  # those that others need come first
            if least:
                symbols = self._table.productions[number].symbols
                first = next(symbol for symbol in symbols if self._least[symbol])
                found[rule] = found.get(first, first)
        return found

    def _ending(self, symbols: frozenset[str]) -> set[str]:
        """The symbols that may end with one of these, as far as rules tell."""
        found, todo = set(symbols), [*symbols]
        while todo:
            for rule in self._closed.get(todo.pop(), ()):
                if rule not in found:
                    found.add(rule)
                    todo.append(rule)
        return found

    @cached_property
    def _closed(self) -> Mapping[str, Sequence[str]]:
        """The rules that may end with each symbol."""
        found: dict[str, list[str]] = {}
        for number, each in enumerate(self._table.productions):
            for place in self._last(number):
                found.setdefault(each.symbols[place], []).append(each.rule)
        return found

    def _last(self, number: int) -> Iterator[int]:
        """The places of a production behind which there may be nothing."""
        symbols = self._table.productions[number].symbols
        for place in range(len(symbols) - 1, -1, -1):
            yield place
            if self._least.get(symbols[place]) != 0:
                return

    def _ends(self, step: _Step, terminal: str) -> bool:
        """Whether a step may end with one behind which the terminal is denied."""
        never = self._never.setdefault(terminal, set())
        todo, seen = [step], set[_Step]()
        while todo:
            each = todo.pop()
            if each in self._begun[terminal]:
                return True
            if each in seen or each in never:
                continue
            spend(1)
            seen.add(each)
            state, rule = each
            for number in self._rules.get(rule, ()):
                symbols = self._table.productions[number].symbols
                todo += (
                    (self._read(state, symbols[:place]), symbols[place])
                    for place in self._last(number)
                )
        never |= seen
        return False

    def _avoids(self) -> bool:
        """Whether the briefest texts are completed without what is denied."""
        critical = {
            rule: number for rule, (_, number) in self._briefest.items() if number in self._critical
        }
        return all(
            self._good(state, critical[rule], 0)
            for state, gotos in enumerate(self._table.gotos if critical else ())
            if not critical.keys().isdisjoint(gotos)  # most are
            for rule in critical.keys() & gotos.keys()
        )

    def _shrinks(self) -> bool:
        """Whether of each state something is completed, and no stack stays as it is for ever.

        What is completed behind one symbol puts another state in the place of this one.
        """
        table, waiting, readable = self._table, dict[int, list[str]](), self._readable
        critical = self._critical  # few productions are
        for state, kernel in enumerate(table.kernels):
            if not kernel or state == table.end:
                continue
            rules: list[str] = []
            for number, read in kernel:
                if read >= readable[number] and (
                    number not in critical or self._good(state, number, read)
                ):
                    if read != 1:
                        break
                    rules.append(table.productions[number].rule)
            else:
                if not rules:
                    return False
                waiting[state] = rules
        if self._ranked(waiting):
            return True
        return _empties(
            {
                state: [self._behind(state, rule) for rule in rules]
                for state, rules in waiting.items()
            }
        )

    def _ranked(self, waiting: Mapping[int, Sequence[str]]) -> bool:
        """Whether that is plain from what has been read before states, whatever is below them."""
        entered: dict[str, list[set[str]]] = {}
        for state, rules in waiting.items():
            entered.setdefault(self._entry(state), []).append({*rules})
        todo, done = entered, {*self._rules} - entered.keys()
        while todo:
            left: dict[str, list[set[str]]] = {}
            for symbol, states in todo.items():
                if any(map(done.isdisjoint, states)):
                    left[symbol] = states
                else:
                    done.add(symbol)
            if len(left) == len(todo):
                return False
            todo = left
        return True

    def _behind(self, state: int, rule: str) -> set[int]:
        """The states that may stand where this one stood, a rule of one symbol completed."""
        rows = [self._table.gotos[under] for under in self._before(state)]
        return {row[rule] for row in rows if rule in row}

    @cached_property
    def _readable(self) -> Sequence[int]:
        """How much of each production has to be read, before nothing is left that is avoided."""
        found: list[int] = []
        for each in self._table.productions:
            read = len(each.symbols)
            while read and each.symbols[read - 1] in self._least:
                read -= 1
            found.append(read)
        return found

    def _good(self, state: int, number: int, read: int) -> bool:
        """Whether what is left of a production is completed without what is denied."""
        symbols = self._table.productions[number].symbols
        for place, terminal in self._critical[number]:
            if place >= read:
                steps = [(self._read(state, symbols[read:place]), symbols[place])]
            elif place == read - 1:
                steps = [(before, symbols[place]) for before in self._before(state)]
            else:
                continue
            if any(self._ends(step, terminal) for step in steps):
                return False
        return True

    def _read(self, state: int, symbols: Sequence[str]) -> int:
        """The state behind some symbols."""
        for symbol in symbols:
            after = self._table.shifts[state].get(symbol)
            state = self._table.gotos[state][symbol] if after is None else after
        return state


def _empties(ways: Mapping[int, Sequence[set[int]]]) -> bool:
    """Whether each key comes to what is none, by one of its ways, all that they have taken."""
    missing: list[int] = []
    waiting: dict[int, list[tuple[int, int]]] = {}
    done: list[int] = []
    for key, options in ways.items():
        for option in options:
            left = option & ways.keys()
            for each in left:
                waiting.setdefault(each, []).append((key, len(missing)))
            missing.append(len(left))
            if not left:
                done.append(key)
    found = set(done)
    for key in done:  # grows
        for after, number in waiting.get(key, ()):
            missing[number] -= 1
            if not missing[number] and after not in found:
                found.add(after)
                done.append(after)
    return len(found) == len(ways)
