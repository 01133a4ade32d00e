"""Whether each stack of Lark's automaton has terminals that lead to the end.

A stack is the beginning of what the grammar allows, so some do unless Lark has resolved a conflict
on the way otherwise, or lines cannot be indented so. What is looked at is more than is needed:

- of what is being read in each state something can be completed, each rule as briefly as can be,
  where no terminal comes before which Lark does not reduce (`LarkTable.denied`);
- where lines are indented, blocks begin behind newlines and end behind lines, no line is empty, and
  brackets close in the rule that opens them, with no line in between;
- where terminals are to be avoided, something can be completed without them, and the stack gets
  shorter by that sooner or later.

What this module does not know: what terminals match.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, final

from fairlead.lowering.lark_automaton import least_texts
from fairlead.syntax.lark_tree import END, Indentation, LarkGrammar, LarkTable, Production

_Step: TypeAlias = tuple[int, str]  # a state and what is read from it: a terminal or a rule


def always_completed(
    grammar: LarkGrammar, table: LarkTable, avoided: frozenset[str] = frozenset()
) -> bool:
    """Whether they do without the terminals to be avoided; False where that is not known.

    >>> from fairlead.syntax.lark_reader import read_lark
    >>> from fairlead.syntax.lark_source import Lark
    >>> grammar = read_lark(Lark('start: "a" start "b" | "c"'))
    >>> grammar.table is not None and always_completed(grammar, grammar.table)
    True
    >>> always_completed(grammar, grammar.table, frozenset({"B"}))
    False
    """
    return _Plan(grammar, table, avoided).holds()


@final
class _Plan:
    """Which terminals lead to the end from each stack."""

    def __init__(
        self, grammar: LarkGrammar, table: LarkTable, avoided: frozenset[str] = frozenset()
    ) -> None:
        self._grammar, self._table, self._avoided = grammar, table, avoided
        symbols = {symbol for each in table.productions for symbol in each.symbols}
        rules = {each.rule for each in table.productions}
        self._terminals = symbols - rules
        self._whole = least_texts(table.productions, dict.fromkeys(self._terminals, 1))
        self._total = self._whole.keys() == rules
        taken = dict.fromkeys(self._terminals - avoided, 1)
        rest = least_texts(table.productions, taken) if avoided else self._whole
        self._least = {**rest, **taken}
        self._briefest = {
            each.rule: each
            for each in reversed(table.productions)
            if self._total and self._count(each.symbols) == self._least.get(each.rule, -1)
        }
        self._below = dict[tuple[int, int], frozenset[int]]()
        self._closings = dict[_Step, frozenset[_Step]]()
        self._firsts = dict[Sequence[str], str | None]()
        self._before = [list[int]() for _ in table.shifts]
        for state, (shifts, gotos) in enumerate(zip(table.shifts, table.gotos, strict=True)):
            for after in (*shifts.values(), *gotos.values()):
                self._before[after].append(state)

    def _count(self, symbols: Sequence[str]) -> int | None:
        """The fewest terminals of these; None where it takes one that is to be avoided."""
        if any(symbol not in self._least for symbol in symbols):
            return None
        return sum(self._least[symbol] for symbol in symbols)

    def holds(self) -> bool:
        """Whether they do."""
        if not self._total:
            return False
        table, begun = self._table, dict[str, set[_Step]]()
        for state, number, terminal in table.denied:
            each = table.productions[number]
            steps = ((under, each.rule) for under in self._under(state, len(each.symbols)))
            begun.setdefault(terminal, set()).update(steps)
        lines = self._grammar.indentation
        if lines is not None:
            if not _Blocks(lines, table.productions, self._whole).hold():
                return False
            # A line that ends behind another is no line: its newline belongs to that one.
            begun.setdefault(lines.newline, set()).update(
                (state, end)
                for state, shifts in enumerate(table.shifts)
                for end in (lines.newline, lines.dedent)
                if end in shifts
            )
        if END in begun or self._grammar.start not in self._least:
            return False
        endings = {terminal: self._ending(steps) for terminal, steps in begun.items()}
        if not endings and not self._avoided:
            return True
        return all(map(self._avoids, endings.values(), endings)) and self._shrinks(endings)

    def _under(self, state: int, count: int) -> frozenset[int]:
        """The states that may be so far below another."""
        key = state, count
        found = self._below.get(key)
        if found is None:
            found = frozenset((state,))
            if count:
                above = self._under(state, count - 1)
                found = frozenset(before for each in above for before in self._before[each])
            self._below[key] = found
        return found

    def _avoids(self, ending: set[_Step], terminal: str) -> bool:
        """Whether the briefest texts are completed without this terminal behind these steps."""
        named = {symbol for _, symbol in ending}
        touching = {
            rule: each.symbols
            for rule, each in self._briefest.items()
            if self._touches(each.symbols, named, terminal)
        }
        return all(
            self._good(state, touching[rule], 0, ending, terminal)
            for state, gotos in enumerate(self._table.gotos)
            for rule in gotos
            if rule in touching
        )

    def _shrinks(self, endings: Mapping[str, set[_Step]]) -> bool:
        """Whether of each state something is completed, and no stack stays as it is for ever.

        What is completed behind one symbol puts another state in the place of this one.
        """
        table, waiting = self._table, dict[int, list[set[int]]]()
        named = {end: {symbol for _, symbol in steps} for end, steps in endings.items()}
        for state, kernel in enumerate(table.kernels):
            if not kernel or state == table.end:
                continue
            ordered = sorted(kernel, key=lambda item: item[1] == 1)
            usable = (item for item in ordered if self._is_completed(state, *item, endings, named))
            rules = list[str]()
            for number, read in usable:
                if read != 1:
                    break
                rules.append(table.productions[number].rule)
            else:
                if not rules:
                    return False
                waiting[state] = [self._behind(state, rule) for rule in rules]
        while waiting:
            done = [
                state
                for state, ways in waiting.items()
                if any(waiting.keys().isdisjoint(after) for after in ways)
            ]
            if not done:
                return False
            for state in done:
                del waiting[state]
        return True

    def _behind(self, state: int, rule: str) -> set[int]:
        """The states that may stand where this one stood, a rule of one symbol completed."""
        gotos = self._table.gotos
        return {gotos[under][rule] for under in self._before[state] if rule in gotos[under]}

    def _is_completed(
        self,
        state: int,
        number: int,
        read: int,
        endings: Mapping[str, set[_Step]],
        named: Mapping[str, set[str]],
    ) -> bool:
        """Whether what is left of a production can be read, whatever Lark has resolved."""
        symbols = self._table.productions[number].symbols
        return self._count(symbols[read:]) is not None and all(
            self._good(state, symbols, read, ending, terminal)
            for terminal, ending in endings.items()
            if not named[terminal].isdisjoint(symbols)
        )

    def _touches(self, symbols: Sequence[str], named: set[str], terminal: str) -> bool:
        """Whether the terminal comes behind one of the named symbols."""
        return any(
            symbol in named and self._first(symbols[place + 1 :]) == terminal
            for place, symbol in enumerate(symbols)
        )

    def _good(
        self, state: int, symbols: Sequence[str], read: int, ending: set[_Step], terminal: str
    ) -> bool:
        """Whether what is left of a production is completed without the terminal behind a step."""
        if read and self._first(symbols[read:]) == terminal:
            last = symbols[read - 1]
            if any((before, last) in ending for before in self._before[state]):
                return False
        for place in range(read, len(symbols)):
            if (state, symbols[place]) in ending and (
                self._first(symbols[place + 1 :]) == terminal
            ):
                return False
            state = self._next(state, symbols[place])
        return True

    def _next(self, state: int, symbol: str) -> int:
        shifts, gotos = self._table.shifts[state], self._table.gotos[state]
        return shifts[symbol] if symbol in shifts else gotos[symbol]

    def _ending(self, steps: set[_Step]) -> set[_Step]:
        """The steps that may end with one of these, nothing more than needed behind it."""
        found, todo = set(steps), list(steps)
        while todo:
            fresh = self._closing(todo.pop()) - found
            found |= fresh
            todo += fresh
        return found

    def _closing(self, step: _Step) -> frozenset[_Step]:
        """The steps that may end with this one."""
        known = self._closings.get(step)
        if known is None:
            state, symbol = step
            known = self._closings[step] = frozenset(
                (under, rule)
                for rule, place in self._closed.get(symbol, ())
                for under in self._under(state, place)
                if rule in self._table.gotos[under]
            )
        return known

    @cached_property
    def _closed(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """The rules that may end with each symbol, and how many symbols are before it."""
        found = dict[str, list[tuple[str, int]]]()
        for each in self._table.productions:
            for place in range(len(each.symbols) - 1, -1, -1):
                symbol = each.symbols[place]
                found.setdefault(symbol, []).append((each.rule, place))
                if self._least.get(symbol) != 0:
                    break
        return found

    def _first(self, symbols: Sequence[str]) -> str | None:
        """The first terminal of the briefest text of these."""
        if symbols not in self._firsts:
            self._firsts[symbols] = self._found_first(symbols)
        return self._firsts[symbols]

    def _found_first(self, symbols: Sequence[str]) -> str | None:
        todo = list(reversed(symbols))
        while todo:
            symbol = todo.pop()
            if symbol in self._terminals:
                return symbol
            if self._least[symbol]:
                todo += reversed(self._briefest[symbol].symbols)
        return None


@final
class _Blocks:
    """Where rules begin and end blocks, lines and brackets."""

    def __init__(
        self, lines: Indentation, productions: Sequence[Production], least: Mapping[str, int]
    ) -> None:
        self._productions, self._least = productions, least
        self._newline, self._indent, self._dedent = lines.newline, lines.indent, lines.dedent
        self._opening, self._closing = lines.opening, lines.closing
        self._having = dict[str, list[Production]]()
        for each in productions:
            for symbol in dict.fromkeys(each.symbols):
                self._having.setdefault(symbol, []).append(each)

    def hold(self) -> bool:
        """Whether any way to complete a text can be written in lines."""
        lined, ended = self._lined(), self._ended()
        return all(self._is_written(each.symbols, lined, ended) for each in self._productions)

    def _lined(self) -> set[str]:
        """The symbols in which there may be a newline, or the beginning or end of a block."""
        found = {self._newline, self._indent, self._dedent}
        todo = [*found]
        while todo:
            for each in self._having.get(todo.pop(), ()):
                if each.rule not in found:
                    found.add(each.rule)
                    todo.append(each.rule)
        return found

    def _ended(self) -> set[str]:
        """The symbols whose texts, if they are not empty, all end with a line."""
        found, todo = {*self._least, self._newline, self._dedent}, [*self._productions]
        while todo:
            each = todo.pop()
            if each.rule in found and not self._ends(each.symbols, found, True):
                found.remove(each.rule)
                todo += self._having.get(each.rule, ())
        return found

    def _ends(self, symbols: Sequence[str], ended: set[str], empty: bool) -> bool:
        """Whether what these stand for ends with a line, or, if it may, is empty."""
        for symbol in reversed(symbols):
            if symbol not in ended:
                return False
            if self._least.get(symbol, 1):
                return True
        return empty

    def _is_written(self, symbols: Sequence[str], lined: set[str], ended: set[str]) -> bool:
        brackets, blocks = 0, 0
        for place, symbol in enumerate(symbols):
            brackets += (symbol in self._opening) - (symbol in self._closing)
            blocks += (symbol == self._indent) - (symbol == self._dedent)
            if brackets < 0 or blocks < 0 or (brackets and symbol in lined):
                return False
            if symbol == self._indent and symbols[max(place - 1, 0)] != self._newline:
                return False
            if symbol == self._dedent and not self._ends(symbols[:place], ended, False):
                return False
        return brackets == 0 and blocks == 0
