"""Check that every LALR stack of a Lark grammar can be completed.

Conflict resolution and indentation can break this. The checks are sufficient, not necessary:

- in each state some production can be completed with the shortest texts of rules, without a
  terminal that Lark denies there (`LarkTable.denied`);
- in indented grammars the completion can be written in lines (`lark_blocks`), without empty lines
  unless ignored text can separate newlines;
- with avoided terminals, some completion exists without them, and it shrinks the stack in the end.
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
    """Return True if every stack has a completion without the `avoided` terminals.

    False may also mean unknown. `parted`: ignored text may separate two newlines.
    """
    return _Plan(grammar, table, avoided, parted).holds()


@final
class _Plan:
    """Search for terminals that complete each stack."""

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
        if avoided and self._whole.keys() != self._rules.keys():  # otherwise the same
            self._whole = briefest_texts(table.productions, dict.fromkeys(terminals, 1))
        self._least = {rule: least for rule, (least, _) in self._briefest.items()} | taken
        self._begun: dict[str, set[_Step]] = {}
        self._never: dict[str, set[_Step]] = {}
        self._below: dict[str, dict[int, list[int]]] = {}

    def holds(self) -> bool:
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
        """Collect, by terminal, the steps after which Lark denies it."""
        table, begun = self._table, self._begun
        known: dict[tuple[int, int], list[_Step]] = {}  # most terminals share them
        for state, number, terminal in table.denied:
            key = state, number
            if key not in known:
                each = table.productions[number]
                unders = self._under(state, len(each.symbols))
                known[key] = [(under, each.rule) for under in unders]
            begun.setdefault(terminal, set()).update(known[key])
        lines = self._grammar.indentation
        if lines is not None and not self._parted:
            # Two newlines in a row are one terminal.
            begun.setdefault(lines.newline, set()).update(
                (state, end)
                for state, shifts in enumerate(table.shifts)
                for end in (lines.newline, lines.dedent)
                if end in shifts
            )

    def _before(self, state: int) -> Sequence[int]:
        """The states that may be directly below one; computed by symbol on demand."""
        symbol = self._entry(state)
        found = self._below.get(symbol)
        if found is None:
            found = self._below[symbol] = dict[int, list[int]]()
            rows = self._table.gotos if symbol in self._rules else self._table.shifts
            for below in [below for below, row in enumerate(rows) if symbol in row]:  # a few
                found.setdefault(rows[below][symbol], []).append(below)
        return found[state]

    def _entry(self, state: int) -> str:
        """The symbol before a state."""
        number, read = self._table.kernels[state][0]
        return self._table.productions[number].symbols[read - 1]

    def _under(self, state: int, count: int) -> set[int]:
        """The states that may be `count` frames below another."""
        found = {state}
        for _ in range(count):
            found = {before for each in found for before in self._before(each)}
        return found

    @cached_property
    def _critical(self) -> Mapping[int, Sequence[tuple[int, str]]]:
        """Places in productions whose next terminal, the first of the shortest rest, may be denied.

        Of 1,500 places of python.lark 20 are left; only these need the check by state.
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
        """The first terminals of the shortest nonempty texts."""
        found: dict[str, str] = {}
        for rule, (least, number) in self._briefest.items():  # bottom-up
            if least:
                symbols = self._table.productions[number].symbols
                first = next(symbol for symbol in symbols if self._least[symbol])
                found[rule] = found.get(first, first)
        return found

    def _ending(self, symbols: frozenset[str]) -> set[str]:
        """The symbols that may end with one of these, ignoring states."""
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
        """The places of a production whose rest may be empty."""
        symbols = self._table.productions[number].symbols
        for place in range(len(symbols) - 1, -1, -1):
            yield place
            if self._least.get(symbols[place]) != 0:
                return

    def _ends(self, step: _Step, terminal: str) -> bool:
        """Return True if a step may end with one after which the terminal is denied."""
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
        """Return True if the shortest texts contain no denied terminal."""
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
        """Return True if each state completes a production and every stack shrinks in the end."""
        table, waiting, readable = self._table, dict[int, list[str]](), self._readable
        critical = self._critical  # few productions
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
        """Sufficient check by entry symbols only: replacements of states end."""
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
        """The states that may replace this one when a rule of one symbol is completed."""
        rows = [self._table.gotos[under] for under in self._before(state)]
        return {row[rule] for row in rows if rule in row}

    @cached_property
    def _readable(self) -> Sequence[int]:
        """For each production, how many symbols to read until the rest avoids `avoided`."""
        found: list[int] = []
        for each in self._table.productions:
            read = len(each.symbols)
            while read and each.symbols[read - 1] in self._least:
                read -= 1
            found.append(read)
        return found

    def _good(self, state: int, number: int, read: int) -> bool:
        """Return True if the rest of a production contains no denied terminal."""
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
        """The state after some symbols."""
        for symbol in symbols:
            after = self._table.shifts[state].get(symbol)
            state = self._table.gotos[state][symbol] if after is None else after
        return state


def _empties(ways: Mapping[int, Sequence[set[int]]]) -> bool:
    """Return True if each key has an option that leads, in finitely many steps, out of the keys."""
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
