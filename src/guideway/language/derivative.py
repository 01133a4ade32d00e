"""The plain engine: expressions read byte by byte, by Brzozowski derivatives.

`Derivatives` has start, step, accepts and shortest; `Living` decides whether an expression has a
text. `automaton` does the same with compiled kernels, and tests compare both.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeAlias, TypeVar
from weakref import ref

from guideway.errors import GuidewayError, LimitError
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    UNSURE,
    ahead,
    alt,
    alt_by_head,
    both,
    capture,
    concat,
    looking,
    parts,
    passed,
)
from guideway.language.lookahead_search import (
    READING,
    THOROUGH,
    LookaheadSaturation,
    LookaheadSearch,
)
from guideway.language.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Expr,
    Not,
    Repeat,
    Rule,
    Stop,
    Unsure,
    operands,
    rebuilt,
)
from guideway.language.regular import bytes_of, firsts, line, partition, parts_of, surely_endless
from guideway.language.shortest_string import (
    LONGEST,
    Least,
    Ways,
    Word,
    forgotten,
    head_of,
    known_capture,
    options_of,
    read_items,
    text_of,
)

Derive: TypeAlias = Callable[[Expr, int], Expr]
"""The derivative of an expression by a byte that forgets what captures at its head have read."""


def read_byte(state: Expr, byte: int, derive: Derive) -> Expr:
    """The derivative by a byte with captured bytes; inner captures first."""
    if state.regular:
        return derive(state, byte)

    def read(node: Expr, after: Mapping[Expr, Expr]) -> Expr:
        return alt_by_head([_after(option, byte, after, derive) for option in options_of(node)])

    return rebuilt(state, read_items, read)


def _after(option: Expr, byte: int, after: Mapping[Expr, Expr], derive: Derive) -> Expr:
    known = known_capture(option)
    if known is None:
        return derive(option, byte)
    leads, option = looking(option)
    going = [ahead(derive(lead.item, byte), lead.level) for lead in leads]
    read, item = known.read or b"", after.get(known.item)
    item = derive(known.item, byte) if item is None else item
    going_on = capture(item, read + bytes((byte,)), known.template, known.argument)
    if known.item.nullable:
        resumed = known.template.resume(known.argument, read)
        going_on = alt(going_on, derive(resumed, byte))
    return concat(*going, going_on, parts(option)[1])


def split(state: Expr) -> tuple[list[Expr], list[Expr]]:
    """Alternatives without an open capture, and those with one."""
    plain, reading = list[Expr](), list[Expr]()
    for option in options_of(state):
        (plain if known_capture(option) is None else reading).append(option)
    return ([state], []) if not reading else (plain, reading)


def ways_on(option: Expr, lines: Iterable[tuple[int, Expr]], derive: Derive) -> Ways:
    """Lazily, in byte order, the derivatives by the bytes of the lines."""
    first = 0
    for members, _ in lines:
        first |= members
    for byte in bytes_of(first):
        yield byte, read_byte(option, byte, derive)


_Rest = TypeVar("_Rest", Expr, "Expr | None")


def read_on(known: dict[bytes, _Rest], text: bytes, step: Callable[[Expr, int], _Rest]) -> _Rest:
    """The state after a text, using and extending those after known prefixes."""
    length = len(text)
    while text[:length] not in known:
        length -= 1
    rest = known[text[:length]]
    for place in range(length, len(text)):
        rest = rest if rest is None else step(rest, text[place])
        known[text[: place + 1]] = rest
    return rest


class Living:
    """Expressions known to have a text, and known to be empty."""

    def __init__(
        self,
        spellable: int,
        least: Least,
        fuel: Callable[[int], None],
    ) -> None:
        self.least = least
        self.spellable = spellable
        self._fuel = fuel
        self._all_bytes = spellable == ALL_BYTES
        self._known: dict[Expr, bool] = {}

    def consult(self, alive: Callable[[Expr], bool] | None) -> None:
        """Set the kernel that decides regular expressions; None: search for a text."""
        self.least.alive = alive

    def forget(self) -> None:
        self._known.clear()

    def check(self, root: Expr) -> bool:
        """Return True if `root` has a text.

        >>> from guideway.language.derivative import Derivatives
        >>> from guideway.language.expr import EMPTY, alt, concat, literal
        >>> rule = Rule("list")
        >>> rule.define(concat(literal("."), rule))
        >>> Derivatives(rule).alive(rule), Derivatives(alt(rule, literal("."))).alive(rule)
        (False, False)
        """
        found = self.known(root)
        if found is None:
            found = self._solve(root)
        return found

    def _solve(self, root: Expr) -> bool:
        known = self._known
        asked = {root}
        waiting: dict[Expr, dict[Expr, None]] = {}
        stack, look = [root], _Recorder(self, root, asked, waiting)
        while stack and root not in known:
            node = look.node = stack[-1]
            look.missing, look.settled = None, True
            if node in known:
                stack.pop()
            elif self._decide(node, look):
                known[node] = True
                stack.pop()
                stack.extend(waiting.pop(node, ()))
            elif look.missing is not None:
                asked.add(look.missing)
                stack.append(look.missing)
            else:
                stack.pop()
            self._fuel(1)
        if root not in known:  # a fixed point: all else is empty
            known.update((node, False) for node in asked if node not in known)
        return known[root]

    def settle(self, root: Expr) -> None:
        """Decide each part that can be entered, so that errors come when compiling."""
        seen, todo = {root}, [root]
        while todo:
            node = todo.pop()
            self._fuel(2)
            if (node.looks or self.check(node)) and not node.regular:
                found = [part for part in _entry_parts(node) if part not in seen]
                seen.update(found)
                todo.extend(found)

    def known(self, part: Expr) -> bool | None:
        return True if part.inhabited and self._all_bytes else self._known.get(part)

    @property
    def settled(self) -> bool:
        return True

    def __call__(self, part: Expr) -> bool:
        return self.check(part)

    def word(self, part: Expr) -> bytes | None:
        word = self.least.word(part)
        return None if word is None else word.text

    def _decide(self, node: Expr, look: "_Recorder") -> bool:  # noqa: PLR0911  an arm for each node
        match node:
            case Bytes(members):
                return bool(members & self.spellable)
            case Concat(head, tail):
                return bool(look(head) and look(tail))
            case Alt(options):
                return any(look(option) for option in options)
            case Repeat(item, low):
                return low == 0 or bool(look(item))
            case And() | Not():
                return self._is_plain(node) or self._has_string(node)
            case Rule():
                return bool(look(node.body))
            case Call(template, argument):
                return bool(template.lives(argument, look))
            case Capture(item, read):
                return bool(look(item)) and bool(
                    node.template.lives_after(node.argument, look, lambda: self._read(item, read))
                )
            case _:
                return node is not EMPTY

    def _is_plain(self, node: Expr) -> bool:
        """Return True if a regular expression has a string that needs no search."""
        return node.nullable or (self._all_bytes and (node.inhabited or surely_endless(node)))

    def _has_string(self, root: Expr) -> bool:
        alive = self.least.alive
        return self.least.word(root) is not None if alive is None else alive(root)

    def _read(self, item: Expr, read: bytes | None) -> bytes | None:
        """A complete content of a capture that has read `read`, or None."""
        text = None if read is None else self.word(item)
        return None if read is None or text is None else read + text


class _Recorder:
    """Questions of a node about its parts; records dependents, and the first unknown part."""

    __slots__ = ("_asked", "_known", "_living", "_waiting", "missing", "node", "settled")

    def __init__(
        self, living: Living, node: Expr, asked: set[Expr], waiting: dict[Expr, dict[Expr, None]]
    ) -> None:
        self._living, self._asked, self._waiting = living, asked, waiting
        self._known = living.known
        self.node = node
        self.missing: Expr | None = None
        self.settled = True

    @property
    def spellable(self) -> int:
        return self._living.spellable

    def __call__(self, part: Expr) -> bool | None:
        """Return True if a part has a text; None if it must be decided first."""
        found = self._known(part)
        if found is None:
            if isinstance(part, Ahead):  # a lookahead restricts only what follows
                return True
            self.settled = False
            if part in self._asked:
                self._waiting.setdefault(part, {})[self.node] = None
                return False
            self.missing = self.missing or part
        return found

    def word(self, part: Expr) -> bytes | None:
        return self._living.word(part)


def _entry_parts(node: Expr) -> Iterable[Expr]:
    """Expressions that a text enters from a node that is not regular."""
    match node:
        case Rule():
            return () if node.inhabited or node.waits else (node.body,)
        case Call(template, argument):
            return template.parts(argument)
        case _:  # captures appear while a template is read, never before
            return parts_of(node)


Arcs: TypeAlias = list[tuple[int, Expr]]

_THOROUGHLY, _LONG = 20, 1000  # times the work of other questions
_INTERSECTION = 6  # fuel for an intersection, per operand: its derivatives take kilobytes
_KEPT = 128  # linear forms kept after compiling: six of 1,879 schemas make more, up to 2,340
_MOST_WAYS = 256  # single lines of an intersection; beyond that, whole derivatives are fewer


class Derivatives:
    """The recognizer of an expression, restricted to `spellable` bytes; `living` caches emptiness.

    States are immutable and hashable, and every returned state can reach an accepting one. The arcs
    of a state are disjoint and agree with `step`, except arcs to `unsure` states. `blurred` drops
    what only single steps need, so that many states share their arcs.

    >>> from guideway.language.expr import literal, repeat
    >>> machine = Derivatives(repeat(literal("ab"), 1, 2))
    >>> machine.accepts(machine.start()), machine.shortest(machine.start())
    (False, b'ab')
    """

    def __init__(
        self,
        expr: Expr,
        spellable: int = ALL_BYTES,
        fuel: Callable[[int], None] = lambda made: None,
    ) -> None:
        def ways(root: Expr) -> Arcs:  # weak, so that dropping it needs no garbage collection
            return (mine() or Derivatives(expr, spellable, fuel))._search_lines(root)

        mine, self._expr, self._spellable, self._fuel = ref(self), expr, spellable, fuel
        self._linear: dict[Expr, Arcs] = {}
        self._learned: dict[Expr, Word] = {}  # texts that may not be the shortest
        self._captures = False  # True once a capture was derived
        self._least = Least(spellable, ways, fuel)
        self.living = Living(spellable, self._least, fuel)

    @cached_property
    def _saturation(self) -> LookaheadSaturation:
        return LookaheadSaturation(self._disjoint, self.living, self.unfold, self._fuel)

    @cached_property
    def _hopeful(self) -> LookaheadSearch:
        """The search that ignores captured bytes."""
        decide = self._saturation.soon, self._saturation.alive
        return LookaheadSearch(
            lambda state: (self._lines(state), ()), self._least.word, *decide, self._fuel
        )

    @cached_property
    def _remembering(self) -> LookaheadSearch:
        """The search that reads captures byte by byte."""

        def known(expr: Expr) -> Word | None:
            return None if expr is UNSURE else self._least.word(expr)

        return LookaheadSearch(self._linear_form, known, self._saturation.soon, None, self._fuel)

    def start(self) -> Expr:
        return self._expr

    def accepts(self, state: Expr) -> bool:
        return state.nullable

    def refuel(self) -> None:
        """Allow the work of one more question about shortest texts; beyond it they are longer."""
        self._least.refuel()

    def think_again(self) -> None:
        """Forget texts that may be longer than the shortest, and allow much more work."""
        self._least.forget()
        self._least.refuel(_LONG)

    def learn(self, state: Expr, text: bytes) -> None:
        """Note that a text completes a state, so its suffixes complete the following states."""
        for at, byte in enumerate(text, 1):
            state = self.after(state, byte)
            self._learned[state] = Word.of(text[at:])

    def shortest(self, state: Expr) -> bytes:
        self._least.refuel(_THOROUGHLY)
        return text_of(self._ahead(state, THOROUGH) if state.looks else self._least.word(state))

    def hoped(self, state: Expr) -> bytes:
        """`shortest` if it is found soon, else a text that may repeat captured text."""
        if not state.looks:
            return text_of(self._known_least(state))
        try:
            word = self._ahead(state)
        except LimitError:
            word = self._hopeful.word(state)
        return text_of(word)

    def shortest_length(self, state: Expr) -> int:
        """Length of `shortest`; more than `shortest_string.LONGEST` if unknown or too long."""
        try:
            word = self._ahead(state) if state.looks else self._known_least(state)
        except LimitError:
            word = None
        return LONGEST + 1 if word is None else word.length

    def _ahead(self, state: Expr, reading: int = READING) -> Word | None:
        """The shortest text of a lookahead; raises LimitError after `reading` states."""
        hoped = self._hopeful.word(state)
        if hoped is None or not self._captures:
            return hoped
        return self._remembering.word(state, reading)

    def _known_least(self, state: Expr) -> Word | None:
        """The shortest text that was found or learned."""
        word, learned = self._least.word(state), self._learned.get(state)
        longer = learned is not None and (word is None or word.length >= learned.length)
        return learned if longer else word

    def alive(self, state: Expr) -> bool:
        """Return True if the state has a text, ignoring repeated captures under lookahead."""
        return self._hopeful.alive(state) if state.looks else self.living.check(state)

    def has_text(self, state: Expr) -> bool:
        """`alive`, but exact about repeated captures if a short search decides it."""
        if not self.alive(state):
            return False
        try:
            return not (state.looks and self._captures) or self._remembering.alive(state)
        except LimitError:
            return True

    def settle(self) -> None:
        """Decide the emptiness of all parts that can be entered, so that errors come now."""
        self.living.settle(self._expr)

    def step(self, state: Expr, byte: int) -> Expr | None:
        following = self.after(state, byte)
        return following if self.alive(following) else None

    def after(self, state: Expr, byte: int) -> Expr:
        """The state after a byte, without checking that it has a text."""
        return read_byte(state, byte, self._derive)

    def trust(self, state: Expr) -> None:
        self._hopeful.trust(state)

    def blurred(self, state: Expr) -> Expr:
        return state if state.regular else forgotten(state)

    def arcs(self, state: Expr) -> Arcs:
        """Disjoint byte sets of a blurred state, and the live blurred states after them."""
        found = [(members, self.blurred(target)) for members, target in self._disjoint(state)]
        return [(members, target) for members, target in found if self.alive(target)]

    def unsure(self, state: Expr) -> bool:
        return state is UNSURE

    def reads_capture(self, state: Expr) -> bool:
        """Return True if the state may be reading a capture."""
        return any(isinstance(head_of(option), Capture) for option in options_of(state))

    def unfold(self, call: Call) -> Expr:
        return call.template.unfold(call.argument, self.living)

    def forget(self) -> None:
        self._linear.clear()
        self._learned.clear()
        self._least.forget()
        self._saturation.forget()
        self._hopeful.forget()
        self._remembering.forget()
        self.living.forget()

    def trim(self) -> None:
        """Drop large caches of searches; known emptiness is kept."""
        if len(self._linear) > _KEPT:
            self._linear.clear()
            self._least.forget()

    def _linear_form(self, state: Expr) -> tuple[Arcs, list[Ways]]:
        """The linear form; byte by byte for alternatives that read a capture."""
        plain, reading = split(state)
        lines = [line for option in plain for line in self._lines(option)]
        return lines, [ways_on(each, self._lines(each), self._derive) for each in reading]

    def _derive(self, expr: Expr, byte: int) -> Expr:
        return alt_by_head([x for members, x in self._lines(expr) if members >> byte & 1])

    def _disjoint(self, expr: Expr) -> Arcs:
        """Disjoint byte sets with whole derivatives, dead ones included."""
        return _merged(self._lines(expr))

    def _search_lines(self, root: Expr) -> Arcs:
        """Byte sets, which may overlap, with parts of the derivative, for a search.

        Whole derivatives of an intersection can be as many as sets of lines; a complement needs
        them.
        """
        parts = operands(root)
        if len(parts) > 1:
            self._fuel(_INTERSECTION * len(parts))
        lines = [self._disjoint(p) if isinstance(p, Not) else self._lines(p) for p in parts]
        made = self._product(lines, _MOST_WAYS)
        if made is None:
            made = self._product([self._disjoint(part) for part in parts])
        return list(dict.fromkeys(made or ()))

    def _product(self, factors: list[Arcs], most: int | None = None) -> Arcs | None:
        """One line for each combination of the factors' lines, None beyond `most`."""
        made: Arcs = [(self._spellable, ANYTHING)]
        for lines in factors:
            made = [
                (members & more, both(x, y))
                for members, x in made
                for more, y in lines
                if members & more
            ]
            self._fuel(len(made))
            if most is not None and len(made) > most:
                return None
        return made

    def _lines(self, root: Expr) -> Arcs:
        """The linear form of `root`, without recursion."""
        memo, stack, opened = self._linear, [root], set[Expr]()
        while stack:
            node = stack[-1]
            missing = [] if node in memo else [e for e in self._first_parts(node) if e not in memo]
            if missing:
                if node in opened:
                    raise GuidewayError("a rule begins with itself before any byte")
                opened.add(node)
                stack.extend(missing)
                continue
            stack.pop()
            if node not in memo:
                memo[node] = made = self._node_lines(node)
                self._fuel(1 + len(made))
        return memo[root]

    def _first_parts(self, node: Expr) -> Iterable[Expr]:
        """The expressions whose linear forms make up that of `node`."""
        match node:
            case Concat(Ahead()):
                return self._look_parts(node)
            case Call():
                return (self.unfold(node),)
            case Capture(item, _, template, argument):
                return (item, template.resume(argument, None)) if item.nullable else (item,)
            case _:
                return firsts(node)

    def _node_lines(self, node: Expr) -> Arcs:
        memo = self._linear
        match node:
            case Ahead() | Stop():
                return []
            case Concat(Ahead()):
                return self._look_lines(node)
            case Unsure():  # after a nullable part: any byte may be possible
                return [(self._spellable, UNSURE)]
            case Call():
                return memo[self.unfold(node)]
            case Capture(item, _, template, argument):
                self._captures = True
                # Whole derivatives, so that an arc agrees with a step.
                arcs = self._disjoint(item)
                here = [(m, capture(x, None, template, argument)) for m, x in arcs]
                resumed = memo[template.resume(argument, None)] if item.nullable else []
                return here + resumed
            case _:
                return line(node, memo, _merged, self._spellable)

    def _look_parts(self, node: Expr) -> Iterable[Expr]:
        """The expressions whose linear forms make up that of a lookahead."""
        leads, rest = looking(node)
        head, tail = parts(rest)
        if isinstance(head, Stop):
            return (passed(leads, head, tail),)
        items = [lead.item for lead in leads]
        skipped = () if rest is EPSILON or not head.nullable else (concat(*leads, tail),)
        return (*items, head, *skipped)

    def _look_lines(self, node: Expr) -> Arcs:
        memo = self._linear
        leads, rest = looking(node)
        head, tail = parts(rest)
        if isinstance(head, Stop):
            return memo[passed(leads, head, tail)]
        lines = [(members, concat(x, tail)) for members, x in memo[head]]
        for lead in reversed(leads):
            lines = [
                (members & more, concat(ahead(item, lead.level), x))
                for more, item in self._disjoint(lead.item)
                for members, x in lines
                if members & more
            ]
        skipped = [] if rest is EPSILON or not head.nullable else memo[concat(*leads, tail)]
        return [(members, x) for members, x in lines if x is not EMPTY] + skipped


def _merged(lines: Arcs) -> Arcs:
    """Disjoint byte sets with whole derivatives."""
    known: dict[tuple[Expr, ...], Expr] = {}
    return [(members, alt_by_head(xs, known)) for members, xs in partition(lines)]
