"""The stack of Lark's LALR automaton, and what it takes at least to empty it.

A stack is a chain of frames, and equal stacks are the same object. What a terminal does to one, all
the reductions before it included, is looked up once. An automaton whose reductions never come to a
terminal, as priorities can make of rules that stand for each other, reads nothing there: Lark
itself would not come back.

The least that is needed (`needs`) counts characters of terminals and looks at what is being read,
not at what the automaton does with it: it is never too much. For a state in which A = α·β is being
read it is that of β, and then that of the stack with A in the place of α.

What this module does not know: texts, patterns, indentation.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, final
from weakref import WeakValueDictionary

from fairlead.lowering.fuel import spend
from fairlead.syntax.lark_tree import END, LarkTable, Production

REMEMBERED: Final = 100_000  # answers, before all are forgotten


@final
class Frame:
    """A stack: its topmost state, and the stack below; None below the lowest state.

    Attributes:
        state: of the automaton.
        below: the rest.
        depth: how many states are below.
        needs: what stacks need, as `Automaton.needs` has found, that have one state more: this.
    """

    __slots__ = ("__weakref__", "_above", "below", "depth", "needs", "state")

    def __init__(self, state: int, below: "Frame | None") -> None:
        self.state, self.below = state, below
        self.depth: int = 0 if below is None else below.depth + 1
        self.needs = dict[int, int | None]()
        self._above = WeakValueDictionary[int, Frame]()

    def push(self, state: int) -> "Frame":
        """This stack with one more state; the same object each time."""
        found = self._above.get(state)
        if found is None:
            found = self._above[state] = Frame(state, self)
        return found

    def under(self, count: int) -> "Frame":
        """The stack without its topmost states."""
        frame = self
        while count and frame.below is not None:
            frame, count = frame.below, count - 1
        return frame


@final
class Automaton:
    """Lark's table at work.

    Args:
        table: the table.
        start: the rule of whole texts.
        widths: the fewest characters of each terminal.

    Attributes:
        start: the stack before anything is read.
    """

    def __init__(self, table: LarkTable, start: str, widths: Mapping[str, int]) -> None:
        self._table = table
        self._fed = dict[tuple[Frame, str], Frame | None]()
        self._ended = dict[Frame, bool]()
        self._least = least_texts(table.productions, widths)
        self._rests = [_rests(each, self._least, widths) for each in table.productions]
        self.start = Frame(table.start, None)
        self._whole = self._least.get(start)

    def feed(self, stack: Frame, terminal: str) -> Frame | None:
        """The stack after a terminal, None where the automaton has no action for it."""
        key = stack, terminal
        if key not in self._fed:
            if len(self._fed) > REMEMBERED:
                self._fed.clear()
            top = self._reduced(stack, terminal)
            shifted = None if top is None else self._table.shifts[top.state].get(terminal)
            self._fed[key] = None if top is None or shifted is None else top.push(shifted)
        return self._fed[key]

    def ends(self, stack: Frame) -> bool:
        """Whether all is read if the text ends here."""
        found = self._ended.get(stack)
        if found is None:
            if len(self._ended) > REMEMBERED:
                self._ended.clear()
            top = self._reduced(stack, END)
            found = self._ended[stack] = top is not None and top.state == self._table.end
        return found

    def terminals(self, state: int) -> list[str]:
        """The terminals with an action in a state, the end of the text excepted."""
        table = self._table
        return [name for name in (*table.shifts[state], *table.reductions[state]) if name != END]

    def _reduced(self, stack: Frame, terminal: str) -> Frame | None:
        """The stack after all reductions before a terminal; None if there is no end of them.

        What reads END stops as soon as all is read.
        """
        table, seen, lowest = self._table, set[Frame](), stack.depth
        while True:
            number = table.reductions[stack.state].get(terminal)
            if number is None:
                return stack
            spend(1)
            production = table.productions[number]
            below = stack.under(len(production.symbols))
            lowest = min(lowest, below.depth)
            stack = below.push(table.gotos[below.state][production.rule])
            if terminal == END and stack.state == table.end:
                return stack
            # A state above which the stack only grows, met once more, is met without end.
            if stack in seen or stack.depth - lowest > len(table.shifts):
                return None
            seen.add(stack)

    def needs(self, stack: Frame) -> int | None:
        """A number of characters below which no text ends from here, None if none ends at all."""
        todo = [stack]
        while todo:
            frame = todo[-1]
            if frame.below is None or frame.state in frame.below.needs:
                todo.pop()
            else:
                missing, found = self._need(frame, frame.below)
                todo += missing
                if not missing:
                    frame.below.needs[frame.state] = found
        return self._whole if stack.below is None else stack.below.needs[stack.state]

    def _need(self, frame: Frame, below: Frame) -> tuple[Sequence[Frame], int | None]:
        """The stacks that have to be settled first, and what is needed if there are none.

        Rules that begin with one another, or with themselves, put their states on the same stack:
        the nearest way out of them (Dijkstra 1959).
        """
        missing, found = list[Frame](), list[int]()
        queue, seen = [(0, frame.state)], set[int]()
        while queue:
            far, state = heappop(queue)
            if state in seen:
                continue
            seen.add(state)
            spend(1)
            if state == self._table.end and below is self.start:
                found.append(far)
            for number, read in self._table.kernels[state]:
                rest, rule = self._rests[number][read], self._table.productions[number].rule
                under = below.under(read - 1)
                after = self._table.gotos[under.state][rule]
                if rest is None:
                    continue
                if read == 1:
                    heappush(queue, (far + rest, after))
                elif after not in under.needs:
                    missing.append(under.push(after))
                elif (need := under.needs[after]) is not None:
                    found.append(far + rest + need)
        return missing, min(found, default=None)


def least_texts(productions: Sequence[Production], widths: Mapping[str, int]) -> dict[str, int]:
    """The fewest characters of each rule that has a text at all (Knuth 1977)."""
    waiting = dict[str, list[int]]()
    missing = list[int]()
    queue = list[tuple[int, str]]()
    lengths = [0] * len(productions)
    for number, production in enumerate(productions):
        unknown = [symbol for symbol in production.symbols if symbol not in widths]
        missing.append(len(unknown))
        lengths[number] = sum(widths.get(symbol, 0) for symbol in production.symbols)
        for symbol in unknown:
            waiting.setdefault(symbol, []).append(number)
        if not unknown:
            heappush(queue, (lengths[number], production.rule))
    found = dict[str, int]()
    while queue:
        length, rule = heappop(queue)
        if rule in found:
            continue
        found[rule] = length
        for number in waiting.get(rule, ()):
            missing[number] -= 1
            lengths[number] += length
            if not missing[number]:
                heappush(queue, (lengths[number], productions[number].rule))
    return found


def _rests(
    production: Production, least: Mapping[str, int], widths: Mapping[str, int]
) -> list[int | None]:
    """What is still needed after each number of symbols that have been read."""
    rests: list[int | None] = [0]
    for symbol in reversed(production.symbols):
        width, rest = widths.get(symbol, least.get(symbol)), rests[-1]
        rests.append(None if width is None or rest is None else width + rest)
    return rests[::-1]
