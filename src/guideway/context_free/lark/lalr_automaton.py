"""Lark's LALR automaton, and the proof that each of its stacks can end."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Final, TypeAlias

from guideway.context_free.lark.grammar import END, Indentation, LarkGrammar, LarkTable
from guideway.context_free.lowering import Production, least_texts
from guideway.errors import LimitError
from guideway.language.fuel import spend
from guideway.language.pushdown import Frame

LONGEST: Final = 1 << 20  # characters of the shortest text, which must be constructible
REMEMBERED: Final = 100_000  # cached answers
_REDUCTION: Final = 10  # fuel of a reduction: each takes 10 µs

_Spot: TypeAlias = tuple[int, int]  # a state on some stack, and its margin


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
        self.feed = lru_cache(REMEMBERED)(self._feed)
        self.ends = lru_cache(REMEMBERED)(self._ends)
        self._step = lru_cache(REMEMBERED)(self._reduce)
        self._rests = cache(self._rests_of_lines)
        self.start = Frame(table.start, None, 0)

    def _feed(self, stack: Frame, terminal: str, margin: int | None = None) -> Frame | None:
        """The stack after a terminal, None if there is no action; `margin` replaces the margin."""
        top = self._reduced(stack, terminal)
        shifted = None if top is None else self.table.shifts[top.state].get(terminal)
        return None if top is None or shifted is None else top.push(shifted, margin)

    def _ends(self, stack: Frame) -> bool:
        """Return True if the automaton accepts at the end of the text."""
        top = self._reduced(stack, END)
        return top is not None and top.state == self.table.end

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

    def _reduce(self, stack: Frame, number: int) -> tuple[Frame, int]:
        """Apply one reduction: the new stack and the lowest depth that was read."""
        spend(_REDUCTION)
        production = self.table.productions[number]
        below = stack.under(len(production.symbols))
        reduced = below.push(self.table.gotos[below.state][production.rule])
        return reduced, below.depth

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

    def _rests_of_lines(self, margin: int) -> "_Rests":
        """Bounds of rules and productions for lines with this margin."""
        widths = dict(self._widths)
        if self._lines is not None:
            widths[self._lines[0]] += margin
        return _Rests(self.table.productions, widths, self._lines)

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
            rest = rests.remaining[number][read]
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
    def remaining(self) -> Sequence[Sequence[int | None]]:
        """For each production, the characters needed after each number of symbols."""
        return [
            _suffix_widths(each.symbols, self.rules, self._widths) for each in self._productions
        ]

    @cached_property
    def closing(self) -> Sequence[Sequence[bool]]:
        """For each production, True after each number of symbols if the rest ends an open block."""
        return [_closing(each.symbols, self._lines) for each in self._productions]


def _suffix_widths(
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


class Blocks:
    """Blocks, lines and brackets in rules; `least` gives the fewest terminals of each rule."""

    def __init__(
        self, lines: Indentation, productions: Sequence[Production], least: Mapping[str, int]
    ) -> None:
        self._productions, self._least = productions, least
        self._newline, self._indent, self._dedent = lines.newline, lines.indent, lines.dedent
        self._opening, self._closing, self._items = lines.opening, lines.closing, lines.items
        self._having: dict[str, list[Production]] = {}
        for each in productions:
            for symbol in each.symbols:
                self._having.setdefault(symbol, []).append(each)

    def hold(self) -> bool:
        """Return True if every completion can be written in lines."""
        lined, ended = self._lined(), self._line_ended()
        marked = self._opening | self._closing | self._items | {self._indent, self._dedent}
        some = (each.symbols for each in self._productions if not marked.isdisjoint(each.symbols))
        return all(self._is_written(symbols, lined, ended) for symbols in some)

    def _lined(self) -> set[str]:
        """The symbols that may contain a newline, or the beginning or end of a block."""
        found = {self._newline, self._indent, self._dedent, *self._items}
        todo = [*found]
        while todo:
            for each in self._having.get(todo.pop(), ()):
                if each.rule not in found:
                    found.add(each.rule)
                    todo.append(each.rule)
        return found

    def _line_ended(self) -> set[str]:
        """The symbols whose nonempty texts all end with a line."""
        found, todo = {*self._least, self._newline, self._dedent}, [*self._productions]
        while todo:
            each = todo.pop()
            if each.rule in found and not self._ends(each.symbols, found, True):
                found.remove(each.rule)
                todo += self._having.get(each.rule, ())
        return found

    def _ends(self, symbols: Sequence[str], ended: set[str], empty: bool) -> bool:
        """Return True if the texts of symbols end with a line, or are empty and `empty` is True."""
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
            blocks += (symbol == self._indent or symbol in self._items) - (symbol == self._dedent)
            if brackets < 0 or blocks < 0 or (brackets and symbol in lined):
                return False
            if symbol == self._indent and symbols[max(place - 1, 0)] != self._newline:
                return False
            if symbol == self._dedent and not self._ends(symbols[:place], ended, False):
                return False
        return brackets == 0 and blocks == 0


def completes(grammar: LarkGrammar, table: LarkTable) -> bool:
    """Return True if every stack has a completion in terminals.

    False may also mean unknown, as without indentation where Lark resolves conflicts; with it, they
    are taken to leave a completion.
    """
    lines, rules = grammar.indentation, {each.rule for each in table.productions}
    terminals = {symbol for each in table.productions for symbol in each.symbols} - rules
    least = least_texts(table.productions, dict.fromkeys(terminals, 1))
    if least.keys() != rules:
        return False
    if lines is None:
        return not table.denied
    ends = any(name == END for _, _, name in table.denied)
    return not ends and Blocks(lines, table.productions, least).hold()


def needs_two_newlines(table: LarkTable, lines: Indentation | None) -> bool:
    """Return True if a newline must follow a newline or a block: two in a row are one terminal."""
    if lines is None:
        return False
    firsts: dict[str, set[str]] = {}
    for each in table.productions:
        firsts.setdefault(each.rule, set()).update(each.symbols[:1] or ("",))
    ending, newlines, size = {lines.newline, lines.dedent}, {lines.newline}, -1
    while size < (size := len(ending) + len(newlines)):
        ending |= {
            each.rule for each in table.productions if not ending.isdisjoint(each.symbols[-1:])
        }
        newlines |= {rule for rule, found in firsts.items() if found <= newlines}
    for state, kernel in enumerate(table.kernels):
        following = {table.productions[n].symbols[read : read + 1] for n, read in kernel}
        needed = kernel and following <= {(each,) for each in newlines}
        if needed and state != table.start and _entry(table, state) in ending:
            return True
    return False


def _entry(table: LarkTable, state: int) -> str:
    """The symbol before a state."""
    number, read = table.kernels[state][0]
    return table.productions[number].symbols[read - 1]


def shrinks(table: LarkTable, start: str, avoided: Collection[str]) -> bool:
    """Return True if every stack shrinks in the end, without the `avoided` terminals.

    A sufficient check by the symbols before states.
    """
    if not avoided:
        return True
    done = {each.rule for each in table.productions}
    symbols = {symbol for each in table.productions for symbol in each.symbols}
    taken = dict.fromkeys(symbols - done - {*avoided}, 1)
    least = least_texts(table.productions, taken).keys() | taken.keys()
    if start not in least:
        return False
    todo: dict[str, list[set[str]]] = {}  # rules that replace one symbol, by state and symbol
    for state, kernel in enumerate(table.kernels):
        readable = [
            (number, read)
            for number, read in kernel
            if least >= {*table.productions[number].symbols[read:]}
        ]
        if not kernel or state == table.end or any(read != 1 for _, read in readable):
            continue
        if not readable:
            return False
        replaced = {table.productions[number].rule for number, _ in readable}
        todo.setdefault(_entry(table, state), []).append(replaced)
    done -= todo.keys()
    while todo:
        left = {symbol: each for symbol, each in todo.items() if any(map(done.isdisjoint, each))}
        if len(left) == len(todo):
            return False
        done |= todo.keys() - left.keys()
        todo = left
    return True
