"""The stack of Lark's LALR automaton, and what it takes at least to empty it.

A stack is a chain of frames, and equal stacks are the same object. What a terminal does to one, all
the reductions before it included, is looked up once. An automaton whose reductions never come to a
terminal, as priorities can make of rules that stand for each other, reads nothing there: Lark
itself would not come back.

The least that is needed (`needs`) counts characters of terminals and looks at what is being read,
not at what the automaton does with it. For a state in which A = α·β is being read it is that of β,
and then that of the stack with A in the place of α. Where lines are indented, frames know how many
characters that takes; each newline takes so many more, and the last one of a block only as many as
the block around it.

What this module does not know: texts, patterns, indentation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Final, TypeAlias, final
from weakref import WeakValueDictionary

from guideway.errors import LimitError
from guideway.lowering.fuel import spend
from guideway.syntax.lark_tree import END, LarkTable, Production

LONGEST: Final = 1 << 20  # characters of the shortest text: a text is at hand wherever one is made
REMEMBERED: Final = 100_000  # answers, before all are forgotten
_REDUCTION: Final = 10  # what a reduction costs: each takes ten microseconds

_Spot: TypeAlias = tuple[int, int]  # a state on some stack, and the characters of its margin


@final
class Frame:
    """A stack: its topmost state, and the stack below; None below the lowest state.

    Attributes:
        state: of the automaton.
        below: the rest.
        depth: how many states are below.
        margin: the characters at the beginning of each line.
        needs: what stacks need, as `Automaton.needs` has found, that have one frame more: of this
            state and margin.
    """

    __slots__ = ("__weakref__", "_above", "below", "depth", "margin", "needs", "state")

    def __init__(self, state: int, below: "Frame | None", margin: int) -> None:
        self.state, self.below, self.margin = state, below, margin
        self.depth: int = 0 if below is None else below.depth + 1
        self.needs: dict[tuple[int, int], int | None] = {}
        self._above: WeakValueDictionary[tuple[int, int], Frame] | None = None

    def push(self, state: int, margin: int | None = None) -> "Frame":
        """This stack with one more state; the same object each time."""
        key = state, self.margin if margin is None else margin
        if self._above is None:
            self._above = WeakValueDictionary()
        found = self._above.get(key)
        if found is None:
            found = self._above[key] = Frame(state, self, key[1])
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
        lines: what ends a line, begins a block and ends one, if lines are indented.

    Attributes:
        table: the table.
        start: the stack before anything is read.
    """

    def __init__(
        self,
        table: LarkTable,
        start: str,
        widths: Mapping[str, int],
        lines: tuple[str, str, str] | None = None,
    ) -> None:
        self.table, self._start, self._widths, self._lines = table, start, widths, lines
        self._fed: dict[tuple[Frame, str, int | None], Frame | None] = {}
        self._ended: dict[Frame, bool] = {}
        self._stepped: dict[tuple[Frame, int], tuple[Frame, int]] = {}
        self._rests_in: dict[int, _Rests] = {}
        self.start = Frame(table.start, None, 0)

    def feed(self, stack: Frame, terminal: str, margin: int | None = None) -> Frame | None:
        """The stack after a terminal, None where the automaton has no action for it.

        With a `margin`, lines are indented by so many characters from here on.
        """
        key = stack, terminal, margin
        if key not in self._fed:
            if len(self._fed) > REMEMBERED:
                self._fed.clear()
            top = self._reduced(stack, terminal)
            shifted = None if top is None else self.table.shifts[top.state].get(terminal)
            self._fed[key] = None if top is None or shifted is None else top.push(shifted, margin)
        return self._fed[key]

    def ends(self, stack: Frame) -> bool:
        """Whether all is read if the text ends here."""
        found = self._ended.get(stack)
        if found is None:
            if len(self._ended) > REMEMBERED:
                self._ended.clear()
            top = self._reduced(stack, END)
            found = self._ended[stack] = top is not None and top.state == self.table.end
        return found

    def terminals(self, state: int) -> list[str]:
        """The terminals with an action in a state, the end of the text excepted."""
        return self.table.named(self.table.wanted[state])

    def _reduced(self, stack: Frame, terminal: str) -> Frame | None:
        """The stack after all reductions before a terminal; None if there is no end of them.

        What reads END stops as soon as all is read.
        """
        seen: set[Frame] = set()
        table, lowest = self.table, stack.depth
        while True:
            number = table.reductions[stack.state].get(terminal)
            if number is None:
                return stack
            spend(1)
            stack, depth = self._step(stack, number)
            lowest = min(lowest, depth)
            if terminal == END and stack.state == table.end:
                return stack
            # A state above which the stack only grows, met once more, is met without end.
            if stack in seen or stack.depth - lowest > len(table.shifts):
                return None
            seen.add(stack)

    def _step(self, stack: Frame, number: int) -> tuple[Frame, int]:
        """The stack after one reduction, and the depth down to which it was looked at.

        Many terminals have the same reductions before them: they are done once.
        """
        key = stack, number
        found = self._stepped.get(key)
        if found is None:
            if len(self._stepped) > REMEMBERED:
                self._stepped.clear()
            spend(_REDUCTION)
            production = self.table.productions[number]
            below = stack.under(len(production.symbols))
            reduced = below.push(self.table.gotos[below.state][production.rule])
            found = self._stepped[key] = reduced, below.depth
        return found

    @property
    def total(self) -> bool:
        """Whether every rule has a text, and so every stack an end."""
        known = self._rests(0).rules.keys() | self._widths.keys()
        productions = self.table.productions
        rules = known.issuperset(each.rule for each in productions)
        return rules and known.issuperset(chain.from_iterable(e.symbols for e in productions))

    def needs(self, stack: Frame) -> int | None:
        """A number of characters below which no text ends from here, None if none ends at all."""
        todo = [stack]
        while todo:
            frame = todo[-1]
            if frame.below is None or (frame.state, frame.margin) in frame.below.needs:
                todo.pop()
            else:
                todo += self._need(frame, frame.below)
        if stack.below is None:
            return self._rests(0).rules.get(self._start)
        return stack.below.needs[stack.state, stack.margin]

    def _rests(self, margin: int) -> "_Rests":
        """What is needed where lines are indented so."""
        found = self._rests_in.get(margin)
        if found is None:
            widths = dict(self._widths)
            if self._lines is not None:
                widths[self._lines[0]] += margin
            found = self._rests_in[margin] = _Rests(self.table.productions, widths, self._lines)
        return found

    def _need(self, frame: Frame, below: Frame) -> Sequence[Frame]:
        """Note what a stack needs; or the stacks that have to be settled first.

        Rules that begin with one another, or with themselves, put their states on the same stack:
        the nearest way out of them (Dijkstra 1959), from its end, so that what each of them needs
        is known as well. 100 rules in a row, each before the next, took 3.4 s a mask one by one.
        """
        first, plain = (frame.state, frame.margin), self._lines is None
        missing: list[Frame] = []
        queue: list[tuple[int, _Spot]] = []
        before: dict[_Spot, list[tuple[int, _Spot]]] = {first: []}
        todo = [first]
        for spot in todo:  # grows while we go
            spend(1)
            if plain and spot in below.needs:
                known = below.needs[spot]
                queue += [] if known is None else [(known, spot)]
                continue
            if spot[0] == self.table.end and below is self.start:
                queue.append((0, spot))
            for rest, under, after in self._completed(spot, below):
                if under is below:
                    todo += [] if after in before else [after]
                    before.setdefault(after, []).append((max(rest, 0), spot))
                elif after not in under.needs:
                    missing.append(under.push(*after))
                elif (need := under.needs[after]) is not None:
                    queue.append((rest + need, spot))
        if not missing:
            found = _nearest(queue, before)
            # Where blocks end, what is known is no less than 0, and another may need less by them.
            for spot in todo if plain else (first,):
                below.needs[spot] = max(found[spot], 0) if spot in found else None
        return missing

    def _completed(self, spot: _Spot, below: Frame) -> Iterator[tuple[int, Frame, _Spot]]:
        """What is still needed of what is read on a stack, and what is on which stack then."""
        state, margin = spot
        rests = self._rests(margin)
        for number, read in self.table.kernels[state]:
            rest = rests.behind[number][read]
            if rest is not None:
                under = below.under(read - 1)
                if rests.closing[number][read]:
                    rest += under.margin - margin
                after = self.table.gotos[under.state][self.table.productions[number].rule]
                yield rest, under, (after, under.margin)


def _nearest(
    queue: list[tuple[int, _Spot]], before: Mapping[_Spot, Iterable[tuple[int, _Spot]]]
) -> dict[_Spot, int]:
    """How far it is from each spot to the nearest end, given how far it is where one is seen."""
    heapify(queue)
    found: dict[_Spot, int] = {}
    while queue:
        far, spot = heappop(queue)
        if spot not in found:
            found[spot] = far
            for more, other in before[spot]:
                if other not in found:
                    heappush(queue, (far + more, other))
    return found


def least_texts(productions: Sequence[Production], widths: Mapping[str, int]) -> dict[str, int]:
    """The fewest characters of each rule that has a text at all."""
    return {rule: length for rule, (length, _) in briefest_texts(productions, widths).items()}


def briefest_texts(
    productions: Sequence[Production], widths: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """The same with the production of such a text, rules behind those that they need (Knuth 1977).

    Args:
        productions: of all rules.
        widths: the fewest characters of each terminal.
    """
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    queue: list[tuple[int, str, int]] = []
    lengths: list[int] = []
    for number, production in enumerate(productions):
        length = unknown = 0
        for symbol in production.symbols:
            if symbol in widths:
                length += widths[symbol]
            else:
                unknown += 1
                if symbol in waiting:
                    waiting[symbol].append(number)
                else:
                    waiting[symbol] = [number]
        missing.append(unknown)
        lengths.append(length)
        if not unknown:
            queue.append((length, production.rule, number))
    heapify(queue)
    found: dict[str, tuple[int, int]] = {}
    while queue:
        length, rule, number = heappop(queue)
        if rule in found:
            continue
        found[rule] = length, number
        for after in waiting.get(rule, ()):
            missing[after] -= 1
            lengths[after] += length
            if not missing[after] and productions[after].rule not in found:
                heappush(queue, (lengths[after], productions[after].rule, after))
    return found


def check_length(rule: str, needed: int) -> None:
    """Refuse texts that are too long to be written, even the shortest."""
    if needed > LONGEST:
        raise LimitError(
            f"the shortest text of the rule {rule!r} has at least {needed} characters; at most "
            f"{LONGEST} are allowed",
            limit="characters of the shortest text",
            given=LONGEST,
            needed=needed,
        )


@final
class _Rests:
    """What is needed of rules.

    Attributes:
        rules: the fewest characters of each that has a text.
    """

    def __init__(
        self,
        productions: Sequence[Production],
        widths: Mapping[str, int],
        lines: tuple[str, str, str] | None,
    ) -> None:
        self._productions, self._widths, self._lines = productions, widths, lines
        self.rules = least_texts(productions, widths)

    @cached_property
    def behind(self) -> Sequence[Sequence[int | None]]:
        """Of each production, what is still needed after each number of symbols."""
        return [_behind(each.symbols, self.rules, self._widths) for each in self._productions]

    @cached_property
    def closing(self) -> Sequence[Sequence[bool]]:
        """And whether a block ends there that has begun before."""
        return [_closing(each.symbols, self._lines) for each in self._productions]


def _behind(
    symbols: Sequence[str], rules: Mapping[str, int], widths: Mapping[str, int]
) -> list[int | None]:
    rests: list[int | None] = [0]
    for symbol in reversed(symbols):
        width, rest = widths.get(symbol, rules.get(symbol)), rests[-1]
        rests.append(None if width is None or rest is None else width + rest)
    return rests[::-1]


def _closing(symbols: Sequence[str], lines: tuple[str, str, str] | None) -> list[bool]:
    open_, found = 0, [False]
    for symbol in reversed(symbols):
        if lines is not None:
            open_ += (symbol == lines[2]) - (symbol == lines[1])
        found.append(open_ > 0)
    return found[::-1]
