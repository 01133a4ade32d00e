"""Recognizer of expressions: a state is an expression, a step is its derivative.

Brzozowski (1964) for determinized states, Antimirov (1996, "Partial derivatives of regular
expressions") for the linear form: byte sets, each with the rest after it. `arcs` makes the sets
disjoint, as And and Not need. Concatenations are hash-consed linked lists: the stack of
context-free expressions. A Capture remembers its bytes, and a blurred state does not: its arcs that
depend on them lead to UNSURE.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeAlias, assert_never, final
from weakref import ref

from guideway.automata.captures import forgotten, head_of, options_of
from guideway.automata.guarded import THOROUGH
from guideway.automata.inclusion import Inclusion
from guideway.automata.least import Least
from guideway.automata.living import Living
from guideway.automata.looking import Looking
from guideway.automata.nearest import Ways
from guideway.automata.passages import Passages
from guideway.automata.reading import read_byte, split, ways_on
from guideway.automata.words import LONGEST, text_of
from guideway.errors import GuidewayError, LimitError
from guideway.lowering.aheads import looking, parts, passed
from guideway.lowering.alternatives import alt_by_head
from guideway.lowering.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    UNSURE,
    ahead,
    both,
    capture,
    complement,
    concat,
    repeat,
)
from guideway.lowering.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Not,
    Repeat,
    Rule,
    Stop,
    Unsure,
    operands,
)
from guideway.lowering.partition import fewer, partition

Arcs: TypeAlias = list[tuple[int, Expr]]

_MET = 6  # fuel for an intersection, per operand: its derivatives take kilobytes
_KEPT = 128  # linear forms kept after compiling: six of 1,879 schemas make more, up to 2,340
_MOST_WAYS = 256  # single lines of an intersection; beyond that, whole derivatives are fewer


@final
class Derivatives:
    """The recognizer of an expression, restricted to `spellable` bytes; `living` caches emptiness.

    >>> from guideway.lowering.expr import literal, repeat
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
            return (mine() or Derivatives(expr, spellable, fuel))._ways(root)

        mine, self._expr, self._spellable, self._fuel = ref(self), expr, spellable, fuel
        self._linear: dict[Expr, Arcs] = {}
        self._captures = False  # True once a capture was derived
        self._least = Least(spellable, ways, fuel)
        self.living = Living(spellable, self._least, ways, fuel)

    @cached_property
    def _inclusion(self) -> Inclusion:
        return Inclusion(self._disjoint, self.living.check, self._fuel)

    @cached_property
    def _passages(self) -> Passages:
        within = self._inclusion.is_within
        return Passages(self._disjoint, self.living, self.unfold, within, self._fuel)

    @cached_property
    def _looking(self) -> Looking:
        return Looking(
            lambda state: (self._lines(state), ()),
            self._leading,
            lambda: self._captures,
            self._least.word,
            self._passages,
            self._fuel,
        )

    def start(self) -> Expr:
        return self._expr

    def accepts(self, state: Expr) -> bool:
        return state.nullable

    def shortest(self, state: Expr) -> bytes:
        found = self._looking.word(state, THOROUGH) if state.looks else self._least.word(state)
        return text_of(found)

    def hoped(self, state: Expr) -> bytes:
        """`shortest` if it is found soon, else a text that may repeat captured text."""
        return text_of(self._looking.hoped(state) if state.looks else self._least.word(state))

    def shortest_length(self, state: Expr) -> int:
        """Length of `shortest`; more than `words.LONGEST` if unknown or too long."""
        try:
            word = self._looking.word(state) if state.looks else self._least.word(state)
        except LimitError:
            word = None
        return LONGEST + 1 if word is None else word.length

    def alive(self, state: Expr) -> bool:
        """Return True if the state has a text, ignoring repeated captures under lookahead."""
        return self._looking.alive(state) if state.looks else self.living.check(state)

    def has_text(self, state: Expr) -> bool:
        """`alive`, but exact about repeated captures if a short search decides it."""
        return self._looking.has_text(state) if state.looks else self.living.check(state)

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
        self._looking.trust(state)

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
        self._least.forget()
        self._inclusion.forget()
        self._passages.forget()
        self._looking.forget()
        self.living.forget()

    def trim(self) -> None:
        """Drop large caches of searches; known emptiness is kept."""
        if len(self._linear) > _KEPT:
            self._linear.clear()
            self._least.forget()

    def _leading(self, state: Expr) -> tuple[Arcs, list[Ways]]:
        """The linear form; byte by byte for alternatives that read a capture."""
        plain, reading = split(state)
        lines = [line for option in plain for line in self._lines(option)]
        return lines, [ways_on(each, self._lines(each), self._derive) for each in reading]

    def _derive(self, expr: Expr, byte: int) -> Expr:
        return alt_by_head([x for members, x in self._lines(expr) if members >> byte & 1])

    def _disjoint(self, expr: Expr) -> Arcs:
        """Disjoint byte sets with whole derivatives, dead ones included."""
        known: dict[tuple[Expr, ...], Expr] = {}
        parts = partition(self._lines(expr))
        return [(members, alt_by_head(xs, known)) for members, xs in parts]

    def _ways(self, root: Expr) -> Arcs:
        """Byte sets, which may overlap, with parts of the derivative, for a search.

        Whole derivatives of an intersection can be as many as sets of lines; a complement needs
        them.
        """
        parts = operands(root)
        if len(parts) > 1:
            self._fuel(_MET * len(parts))
        lines = [self._disjoint(p) if isinstance(p, Not) else self._lines(p) for p in parts]
        made = self._crossed(lines, _MOST_WAYS)
        if made is None:
            made = self._crossed([self._disjoint(part) for part in parts])
        return list(dict.fromkeys(made or ()))

    def _crossed(self, factors: list[Arcs], most: int | None = None) -> Arcs | None:
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
            missing = [] if node in memo else [e for e in self._firsts(node) if e not in memo]
            if missing:
                if node in opened:
                    raise GuidewayError("a rule begins with itself before any byte")
                opened.add(node)
                stack.extend(missing)
                continue
            stack.pop()
            if node not in memo:
                memo[node] = made = self._line(node)
                self._fuel(1 + len(made))
        return memo[root]

    def _firsts(self, node: Expr) -> Iterable[Expr]:  # noqa: PLR0911  one arm for each node of the core
        """The expressions whose linear forms make up that of `node`."""
        match node:
            case Empty() | Epsilon() | Unsure() | Bytes() | Ahead() | Stop():
                return ()
            case Concat(Ahead()):
                return self._looked_at(node)
            case Concat(head, tail):
                return (head, tail) if head.nullable else (head,)
            case Alt(options):
                return options
            case Repeat(item) | Not(item):
                return (item,)
            case And(left, right):
                return (left, right)
            case Rule():
                return (node.body,)
            case Call():
                return (self.unfold(node),)
            case Capture(item, _, template, argument):
                return (item, template.resume(argument, None)) if item.nullable else (item,)
            case _:
                assert_never(node)

    def _line(self, node: Expr) -> Arcs:  # noqa: C901, PLR0911, PLR0912  one arm for each node of the core
        memo = self._linear
        match node:
            case Empty() | Epsilon() | Ahead() | Stop():
                return []
            case Concat(Ahead()):
                return self._looked(node)
            case Unsure():  # after a nullable part: any byte may be possible
                return [(self._spellable, UNSURE)]
            case Bytes(members):
                spelled = members & self._spellable
                return [(spelled, EPSILON)] if spelled else []
            case Concat(head, tail):
                here = [(members, concat(x, tail)) for members, x in memo[head]]
                return fewer(here + memo[tail]) if head.nullable else here
            case Alt(options):
                lines = [line for option in options for line in memo[option]]
                return lines if node.regular else fewer(lines)
            case Repeat(item, low, high):
                rest = repeat(item, max(low - 1, 0), None if high is None else high - 1)
                return [(members, concat(x, rest)) for members, x in memo[item]]
            case And(left, right):
                return self._meet(left, right)
            case Not(item):
                return self._others(item)
            case Rule():
                return memo[node.body]
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
                assert_never(node)

    def _looked_at(self, node: Expr) -> Iterable[Expr]:
        """The expressions whose linear forms make up that of a lookahead."""
        leads, rest = looking(node)
        head, tail = parts(rest)
        if isinstance(head, Stop):
            return (passed(leads, head, tail),)
        items = [lead.item for lead in leads]
        behind = () if rest is EPSILON or not head.nullable else (concat(*leads, tail),)
        return (*items, head, *behind)

    def _looked(self, node: Expr) -> Arcs:
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
        behind = [] if rest is EPSILON or not head.nullable else memo[concat(*leads, tail)]
        return [(members, x) for members, x in lines if x is not EMPTY] + behind

    def _meet(self, left: Expr, right: Expr) -> Arcs:
        others = self._disjoint(right)
        return [
            (members & more, both(x, y))
            for members, x in self._disjoint(left)
            for more, y in others
            if members & more
        ]

    def _others(self, item: Expr) -> Arcs:
        arcs = self._disjoint(item)
        rest = self._spellable & ~sum(members for members, _ in arcs)
        lines = [(members, complement(x)) for members, x in arcs]
        return [*lines, (rest, ANYTHING)] if rest else lines
