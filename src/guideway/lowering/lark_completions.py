"""Whether each stack of Lark's automaton has terminals that lead to the end, told by the table.

Where Lark has resolved conflicts, a rule may not be completed before each terminal that could come
behind it, and what `lark_plans` knows of rules alone is too little: of the stacks of a grammar of
Java or SQL it tells nothing, though each has an end. Here the table itself is asked:

- between states and rules a relation: `follows[state, rule]` holds the terminals with which a text
  of the rule begins, and those behind it before which the automaton has the rule on its stack;
- behind each stack a set: the terminals before which what is being read may be completed so that
  the rest is, too. It follows from the sets for what is being read below, one for each production
  that is begun in the topmost state; stacks with the same state and the same sets are one class.

Both are what they are, but that each path through the states is taken for a stack. Some 600 states
with 70 terminals have 3,000 to 6,000 classes (LALR against LR(1), Knuth 1965).

What this module does not know: what terminals match; indentation.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias, final

from guideway.lowering.fuel import spend
from guideway.lowering.lark_automaton import Frame
from guideway.syntax.lark_dead import dead_states
from guideway.syntax.lark_tree import LarkTable

_MOST: Final = 50_000  # classes, before nothing is said
_REMEMBERED: Final = 100_000  # stacks, before all are forgotten
_END: Final = 1  # that of END, as a set of terminals

_Rows: TypeAlias = tuple[tuple[int, int], ...]
"""Disjoint sets of terminals with which texts begin, and what may follow those texts."""
_Step: TypeAlias = tuple[int, str]  # a state and the rule that is read from it
_Part: TypeAlias = tuple[_Step | None, int, int]  # that; or a terminal, and what is read behind it
_Chain: TypeAlias = tuple[int, tuple[_Part, ...]]  # before what a production is reduced, its parts
_Class: TypeAlias = tuple[int, tuple[int, ...]]  # a state, and what may follow what it has begun


def completions(
    table: LarkTable, written: Sequence[int], met: frozenset[str]
) -> "Completions | None":
    """What tells which stacks lead to the end by terminals that can be written.

    None where some are plainly without one, whatever is below them.

    Args:
        table: the automaton, no lines of which are indented.
        written: for each state, the terminals that can be written behind it, as bits as in
            `LarkTable.wanted`.
        met: all terminals that may be read at all: what is begun by others is on no stack.

    >>> from guideway.syntax.lark_reader import read_lark
    >>> from guideway.syntax.lark_source import Lark
    >>> table = read_lark(Lark('start: "a" start "b" | "c"')).table
    >>> completions(table, table.wanted, frozenset("ABC")).hold()
    True
    >>> completions(table, [bits & 0b1011 for bits in table.wanted], frozenset("ABC")) is None
    True
    """
    some = reduce(int.__or__, written)
    never = [name for at, name in enumerate(table.terminals) if not some >> at & 1]
    shifted = {after for row in table.shifts for name, after in row.items() if name in met}
    # What each text has from there on is never written: of mermaid 11 ms earlier known.
    if not shifted.isdisjoint(dead_states(table, never)):
        return None
    return Completions(table, written, met)


@final
class Completions:
    """What completes stacks."""

    def __init__(self, table: LarkTable, written: Sequence[int], met: frozenset[str]) -> None:
        self._table, self._written, self._met = table, written, met
        self._bits = {name: 1 << at for at, name in enumerate(table.terminals)}
        self._rules: dict[str, list[int]] = {}
        for number, each in enumerate(table.productions):
            self._rules.setdefault(each.rule, []).append(number)
        self._ending: list[dict[int, int]] = []
        for row in table.reductions:
            found: dict[int, int] = {}
            for terminal, number in row.items():
                found[number] = found.get(number, 0) | self._bits[terminal]
            self._ending.append(found)
        self._places = [{item: at for at, item in enumerate(kernel)} for kernel in table.kernels]
        self._chains: dict[tuple[int, int, int], _Chain] = {}
        self._left: dict[tuple[int, int, int], tuple[_Rows, int]] = {}
        self._follows: dict[_Step, tuple[_Rows, int]] = {}  # and what follows no text at all
        self._classes: dict[Frame, _Class] = {}
        self._behind: dict[_Class, Mapping[str, int]] = {}
        self._relate()

    def completes(self, stack: Frame) -> bool:
        """Whether one stack has some."""
        if len(self._classes) > _REMEMBERED:
            self._classes.clear()
            self._behind.clear()
        frames: list[Frame] = []
        frame = stack
        while frame not in self._classes and frame.below is not None:
            frames.append(frame)
            frame = frame.below
        found: _Class = self._classes.get(frame) or (self._table.start, ())
        for each in reversed(frames):
            behind = self._behind.get(found)
            if behind is None:
                behind = self._behind[found] = self._sets(found)[0]
            found = self._classes[each] = each.state, self._begun(found, each.state, behind)
        begun = self._completing(*found) if stack.below else self._sets(found)[1]
        return begun & self._written[stack.state] > 0

    def hold(self) -> bool:
        """Whether each stack has some; False if there are too many."""
        table, met = self._table, self._met
        start: _Class = table.start, ()
        if not self._sets(start)[1] & self._written[table.start]:
            return False
        todo, known = list[_Class]((start,)), set[_Class]((start,))
        for each in todo:  # grows while we go
            spend(1)
            state = each[0]
            behind, _ = self._sets(each)
            for symbol, after in (*table.shifts[state].items(), *table.gotos[state].items()):
                shifted = symbol not in self._rules
                if after == table.end or (shifted and symbol not in met):
                    continue
                found = after, self._begun(each, after, behind)
                if found in known:
                    continue
                if shifted and not self._completing(*found) & self._written[after]:
                    return False
                known.add(found)
                todo.append(found)
            if len(known) > _MOST:
                return False
        return True

    def _begun(self, below: _Class, after: int, behind: Mapping[str, int]) -> tuple[int, ...]:
        """What may follow each production that is being read in the state on top of a stack."""
        places, sets = self._places[below[0]], below[1]
        return tuple(
            sets[places[number, read - 1]]
            if read > 1
            else behind.get(self._table.productions[number].rule, 0)
            for number, read in self._table.kernels[after]
        )

    def _completing(self, state: int, sets: Sequence[int]) -> int:
        """The terminals before which something that is being read there can be completed."""
        found = 0
        for (number, read), allowed in zip(self._table.kernels[state], sets, strict=True):
            found |= self._before(state, number, read, allowed)
        return found

    def _before(self, state: int, number: int, read: int, allowed: int) -> int:
        """Those before which this production can, if it may be followed by some."""
        key = state, number, read
        found = self._left.get(key)
        if found is None:
            found = self._left[key] = self._read(self._chain(*key))
        rows, same = found
        return same & allowed | sum(begun for begun, then in rows if then & allowed)

    def _sets(self, stack: _Class) -> tuple[Mapping[str, int], int]:
        """What may follow each rule that may be read on a stack, and what begins the whole text."""
        table, (state, sets) = self._table, stack
        gotos, places = table.gotos[state], self._places[state]
        found: dict[str, int] = {}
        waiting: list[tuple[str, int, int]] = []
        for rule, after in gotos.items():
            found[rule] = _END if after == table.end else 0
            for number, read in table.kernels[after]:
                if read > 1:
                    allowed = sets[places[number, read - 1]]
                    found[rule] |= self._before(after, number, read, allowed)
                else:
                    waiting.append((rule, after, number))
        grows = True
        while grows:
            grows = False
            for rule, after, number in waiting:
                allowed = found.get(table.productions[number].rule, 0)
                more = found[rule] | self._before(after, number, 1, allowed)
                grows |= more != found[rule]
                found[rule] = more
        begun = 0
        if state == table.start:
            for rule, after in gotos.items():
                if after == table.end:
                    rows, same = self._follows.get((state, rule), _NOTHING)
                    begun |= same & _END | sum(row for row, then in rows if then & _END)
        return found, begun

    def _chain(self, state: int, number: int, read: int) -> _Chain:
        """What is read of a production from a state on, the last first."""
        key = state, number, read
        found = self._chains.get(key)
        if found is None:
            found = self._chains[key] = self._chained(*key)
        return found

    def _chained(self, state: int, number: int, read: int) -> _Chain:
        parts: list[_Part] = []
        for symbol in self._table.productions[number].symbols[read:]:
            rows = self._table.gotos if symbol in self._rules else self._table.shifts
            after = rows[state].get(symbol)
            if after is None:  # before it Lark reduces by something else
                return _NEVER
            if symbol in self._rules:
                parts.append(((state, symbol), 0, 0))
            else:
                parts.append((None, self._bits[symbol], self._written[after]))
            state = after
        return self._ending[state].get(number, 0), tuple(reversed(parts))

    def _read(self, chain: _Chain) -> tuple[_Rows, int]:
        """The terminals with which such texts begin, and what may follow them."""
        same, parts = chain
        rows: _Rows = ()
        for step, terminal, written in parts:
            if step is not None:
                rows, same = _joined(self._follows.get(step, _NOTHING), rows, same)
            else:
                following = _following(rows, same, written)
                rows, same = ((terminal, following),) if following else (), 0
            if not rows and not same:
                break
        return rows, same

    def _relate(self) -> None:
        """Find what follows each rule: the least that there is."""
        steps: list[_Step] = [
            (state, rule) for state, row in enumerate(self._table.gotos) for rule in row
        ]
        asking: dict[_Step, dict[_Step, None]] = {}
        for step in steps:
            for number in self._rules[step[1]]:
                for part, _, _ in self._chain(step[0], number, 0)[1]:
                    if part is not None:
                        asking.setdefault(part, {})[step] = None
        todo, waiting = deque(steps), {*steps}
        while todo:
            spend(1)
            step = todo.popleft()  # the first that waits: by the last sql.lark took 11 s, not .9
            waiting.remove(step)
            old = rows, same = self._follows.get(step, _NOTHING)
            for number in self._rules[step[1]]:
                more, empty = self._read(self._chain(step[0], number, 0))
                rows += more
                same |= empty
            found = _disjoint(rows), same
            if found != old:
                self._follows[step] = found
                again = [each for each in asking.get(step, ()) if each not in waiting]
                todo += again
                waiting.update(again)


_NOTHING: Final[tuple[_Rows, int]] = ((), 0)
_NEVER: Final[_Chain] = (0, ())


def _following(rows: _Rows, same: int, begun: int) -> int:
    """What may follow those of these texts that begin so, or none."""
    found = same & begun
    for other, then in rows:
        if other & begun:
            found |= then
    return found


def _joined(first: tuple[_Rows, int], rows: _Rows, same: int) -> tuple[_Rows, int]:
    """One text behind another one."""
    found: list[tuple[int, int]] = []
    for begun, then in first[0]:
        following = _following(rows, same, then)
        if following:
            found.append((begun, following))
    if first[1]:
        found += ((other & first[1], behind) for other, behind in rows if other & first[1])
    return _disjoint(found), same & first[1]


def _disjoint(rows: Sequence[tuple[int, int]]) -> _Rows:
    """The same with each terminal in one row, and each set that follows once."""
    if len(rows) < 2:
        return tuple(rows)
    apart: list[tuple[int, int]] = []
    for given, then in rows:
        begun, found = given, list[tuple[int, int]]()
        for other, behind in apart:
            both = begun & other
            if both and then | behind != behind:
                found.append((both, then | behind))
                found += [(other & ~both, behind)] if other & ~both else []
            else:
                found.append((other, behind))
            begun &= ~both
        apart = [*found, (begun, then)] if begun else found
    merged: dict[int, int] = {}
    for begun, then in apart:
        merged[then] = merged.get(then, 0) | begun
    return tuple(sorted((begun, then) for then, begun in merged.items()))
