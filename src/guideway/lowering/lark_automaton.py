"""LALR stacks of a Lark grammar, and a lower bound of the characters that empty them.

A stack is a linked list of interned frames, so equal stacks are one object. `feed` caches the
reductions and the shift of a terminal. The bound (`needs`) counts the characters of terminals: for
a state with A = α·β it is the least length of β plus the bound of the stack after the goto on A.
In indented grammars frames hold their margin, which each newline adds to the bound.
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

LONGEST: Final = 1 << 20  # characters of the shortest text, which must be constructible
REMEMBERED: Final = 100_000  # cached answers, cleared when full
_REDUCTION: Final = 10  # fuel of a reduction: each takes 10 µs

_Spot: TypeAlias = tuple[int, int]  # a state on some stack, and its margin


@final
class Frame:
    """A stack: its topmost state and the frames below; `margin` characters begin each line.

    `needs` caches `Automaton.needs` of the stacks with one more frame, by state and margin.
    """

    __slots__ = ("__weakref__", "_above", "below", "depth", "margin", "needs", "state")

    def __init__(self, state: int, below: "Frame | None", margin: int) -> None:
        self.state, self.below, self.margin = state, below, margin
        self.depth: int = 0 if below is None else below.depth + 1
        self.needs: dict[tuple[int, int], int | None] = {}
        self._above: WeakValueDictionary[tuple[int, int], Frame] | None = None

    def push(self, state: int, margin: int | None = None) -> "Frame":
        """This stack with one more state, interned."""
        key = state, self.margin if margin is None else margin
        if self._above is None:
            self._above = WeakValueDictionary()
        found = self._above.get(key)
        if found is None:
            found = self._above[key] = Frame(state, self, key[1])
        return found

    def under(self, count: int) -> "Frame":
        """The stack without its `count` topmost states."""
        frame = self
        while count and frame.below is not None:
            frame, count = frame.below, count - 1
        return frame


@final
class Automaton:
    """LALR automaton over interned stacks; `start` is the initial stack.

    `widths` gives the fewest characters of each terminal; `lines` the newline, indent and dedent
    terminals of an indented grammar.
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
        """The stack after a terminal, None if there is no action; `margin` replaces the margin."""
        key = stack, terminal, margin
        if key not in self._fed:
            if len(self._fed) > REMEMBERED:
                self._fed.clear()
            top = self._reduced(stack, terminal)
            shifted = None if top is None else self.table.shifts[top.state].get(terminal)
            self._fed[key] = None if top is None or shifted is None else top.push(shifted, margin)
        return self._fed[key]

    def ends(self, stack: Frame) -> bool:
        """Return True if the automaton accepts at the end of the text."""
        found = self._ended.get(stack)
        if found is None:
            if len(self._ended) > REMEMBERED:
                self._ended.clear()
            top = self._reduced(stack, END)
            found = self._ended[stack] = top is not None and top.state == self.table.end
        return found

    def terminals(self, state: int) -> list[str]:
        """The terminals with an action in a state, without END."""
        return self.table.named(self.table.wanted[state])

    def _reduced(self, stack: Frame, terminal: str) -> Frame | None:
        """Apply all reductions before a terminal; None if they never end."""
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
            # Reductions that repeat a stack, or only grow it, never end.
            if stack in seen or stack.depth - lowest > len(table.shifts):
                return None
            seen.add(stack)

    def _step(self, stack: Frame, number: int) -> tuple[Frame, int]:
        """Apply one reduction: the new stack and the lowest depth that was read."""
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
        """Return True if every rule has a text, so every stack can be completed."""
        known = self._rests(0).rules.keys() | self._widths.keys()
        productions = self.table.productions
        rules = known.issuperset(each.rule for each in productions)
        return rules and known.issuperset(chain.from_iterable(e.symbols for e in productions))

    def needs(self, stack: Frame) -> int | None:
        """Lower bound of the characters to the end of the text, None if there is no completion."""
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
        """Bounds of rules and productions for lines with this margin."""
        found = self._rests_in.get(margin)
        if found is None:
            widths = dict(self._widths)
            if self._lines is not None:
                widths[self._lines[0]] += margin
            found = self._rests_in[margin] = _Rests(self.table.productions, widths, self._lines)
        return found

    def _need(self, frame: Frame, below: Frame) -> Sequence[Frame]:
        """Store the bound of a stack, or return the stacks that have to be computed first.

        Left-recursive rules lead to more states on the same stack: the shortest path among these
        (Dijkstra 1959), from its ends, settles all. One by one, 100 nested rules took 3.4 s a mask.
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
            # Block ends subtract and bounds are clamped: in indented grammars settle only `first`.
            for spot in todo if plain else (first,):
                below.needs[spot] = max(found[spot], 0) if spot in found else None
        return missing

    def _completed(self, spot: _Spot, below: Frame) -> Iterator[tuple[int, Frame, _Spot]]:
        """Remaining characters of each item of a state, and the stack and goto after it."""
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
    """Distances of all spots to the nearest end, from the distances of the ends in `queue`."""
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
    """The fewest characters of each rule that has a text."""
    return {rule: length for rule, (length, _) in briefest_texts(productions, widths).items()}


def briefest_texts(
    productions: Sequence[Production], widths: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """The fewest characters of each rule and the production that gives them (Knuth 1977).

    The order is bottom-up: a rule comes after the rules of its production.
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
    """Raise LimitError if the shortest text of a rule is too long."""
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
    """The fewest characters of each rule (`rules`) and of each rest of a production."""

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
        """For each production, the characters needed after each number of symbols."""
        return [_behind(each.symbols, self.rules, self._widths) for each in self._productions]

    @cached_property
    def closing(self) -> Sequence[Sequence[bool]]:
        """For each production, True after each number of symbols if the rest ends an open block."""
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
