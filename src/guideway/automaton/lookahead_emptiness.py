"""Emptiness of states with lookahead: the verdicts that kernels ask Python for."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, final

from guideway.automaton.arena import Arena
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import NULLABLE, SHARED
from guideway.automaton.lark_tables import LalrNodes
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.errors import LimitError
from guideway.json_schema.spelling import is_choice_of_words
from guideway.language.derivative import Derivatives
from guideway.language.expr import EPSILON, ahead, concat, literal, repeat
from guideway.language.nodes import Alt, Concat, Expr, Repeat, Rule, Stop
from guideway.language.pushdown import Frame

SHORT: Final = 256  # places of a search before the plain engine is asked,
MOST: Final = 4096  # and of one where the plain engine cannot decide
_FUTILE: Final = 64  # long searches without a result (4 ms each) before giving them up
_SHORTEST: Final = 16  # places of a search after that
_LOOKED_AT: Final = 64  # expressions of a search for a settled text
_REMEMBERED: Final = 100_000  # stacks before the cache is cleared
_DEEPEST: Final = 1024  # expressions of a stack


@final
class Verdicts:
    """The verdicts of one automaton; `exprs` by node index, `automata` by table."""

    def __init__(
        self,
        arena: Arena,
        dfa: LexerDfa,
        exprs: list[Expr],
        automata: Mapping[int, LalrNodes],
        machine: Derivatives,
    ) -> None:
        self._automata = automata
        self._arena, self._dfa, self._exprs, self._alive = arena, dfa, exprs, machine.alive
        self._settled: dict[Expr, bool] = {}
        self._frames: dict[int, Frame] = {}
        self._states: dict[int, Expr] = {}
        self._futile = 0

    def judge_all(self, wanted: int, search: Callable[[int, int], int]) -> None:
        """Decide a place and the postponed ones; `search` as for `judge`, with the place first."""
        for place in dict.fromkeys((*self._arena.put_off(), wanted)):
            if self._arena.verdict(place) in (at.V_UNKNOWN, at.V_SEARCH):
                self.judge(place, partial(search, place))

    def judge(self, place: int, search: Callable[[int], int]) -> None:
        """Decide a place that a short search of the kernels did not, or leave it in doubt.

        A new place without a guard comes from a search that can read on from it: it becomes
        V_SEARCH. `search` looks at a number of places and returns 0 if it could decide.
        """
        arena = self._arena
        node, stack = arena.place(place)
        asked = arena.verdict(place) == at.V_UNKNOWN and arena.record(node)[0] != at.GUARDED
        whole = self._stack_expr(node, stack)
        if whole is not None:
            arena.set_verdict(place, self._verdict(whole))
        elif asked:
            arena.set_verdict(place, at.V_SEARCH)
        elif self._futile == _FUTILE or search(MOST):
            self._set_doubt(place)

    def _set_doubt(self, place: int) -> None:
        """Mark a place as undecided; after _FUTILE of them, searches become short."""
        self._arena.set_verdict(place, at.V_DOUBT)
        self._futile = min(self._futile + 1, _FUTILE)
        if self._futile == _FUTILE:
            self._arena.context.short = _SHORTEST

    def settled(self, expr: Expr) -> bool:
        """Return True if an expression surely has a text that leaves no guard."""
        if not expr.looks:
            return True
        found = self._settled.get(expr)
        if found is None:
            found = self._settled[expr] = _Settled().look(expr)
        return found

    def _verdict(self, whole: Expr) -> int:
        try:
            return at.V_ALIVE if self._alive(whole) else at.V_DEAD
        except LimitError:
            return at.V_DOUBT

    def _stack_expr(self, node: int, stack: int) -> Expr | None:
        parts: list[Expr] = []
        if self._arena.record(node)[0] == at.GUARDED:
            _, node, guards, *_ = self._arena.record(node)
            parts += self._guards(guards)
        while len(parts) < _DEEPEST:
            if self._arena.record(node)[0] in (at.LINE, at.LEXED):
                expr, stack = self._read(node, stack)
            else:
                expr = self._said(node)
            if expr is None:
                return None
            parts.append(expr)
            if stack == 0:
                return concat(*parts)
            node, stack = self._arena.pop(stack)
        return None

    def _read(self, node: int, stack: int) -> tuple[Expr, int]:
        """Expression of a node of a Lark automaton on its stack, and the stack below."""
        arena, record = self._arena, self._arena.record(node)
        took = record
        if record[0] == at.LINE:
            top, stack = arena.pop(stack)
            took = arena.record(top)
        automaton, (frame, below) = self._automata[took[1]], self._frame(took[1], stack)
        if record[0] == at.LINE:
            return automaton.lined(record, took, frame), below
        return automaton.taken(took, frame), below

    def _frame(self, table: int, stack: int) -> tuple[Frame, int]:
        """Frame of a stack of LALR states, and the stack below; frames are cached."""
        automaton, below = self._automata[table], self._arena.record(self._arena.pop(stack)[0])[4]
        pending: list[tuple[int, list[int]]] = []
        known = self._frames
        if len(known) > _REMEMBERED:
            known.clear()
        reached = stack
        while reached != below and reached not in known:
            state, after = self._arena.pop(reached)
            pending.append((reached, self._arena.record(state)))
            reached = after
        frame = None if reached == below else known[reached]
        for number, (_, _, state, margin, *_) in reversed(pending):
            frame = known[number] = automaton.pushed(frame, state, margin)
        return known[stack], below

    def _said(self, node: int) -> Expr | None:
        kind, a, b, c, *_ = self._arena.record(node)
        if kind == at.LITERAL:
            rest = self._said(c)
            return None if rest is None else concat(literal(self._arena.pooled(a, b)), rest)
        if kind == at.COUNTED:
            return self._count(node)
        if kind == at.LEXEME:
            return self._lexical(a)
        if kind == at.EXPR:
            return self._exprs[a]
        return EPSILON if kind == at.NIL else None

    def _lexical(self, state: int) -> Expr:
        found = self._states.get(state)
        if found is None:
            found = self._states[state] = self._dfa.expr(state)
        return found

    def _guards(self, guard: int) -> list[Expr]:
        found: list[Expr] = []
        while guard:
            _, state, level, guard, *_ = self._arena.record(guard)
            found.append(ahead(self._lexical(state), level))
        return found

    def _count(self, node: int) -> Expr | None:
        """Expression of a COUNTED node between two items."""
        _, state, low, high, between, _ = self._arena.record(node)
        items = self._lexical(between)
        if state != between or not isinstance(items, Repeat):
            return None
        return repeat(items.item, low, None if high < 0 else high)


@final
class _Settled:
    """Bounded search for a text that leaves no guard."""

    def __init__(self) -> None:
        self._left = _LOOKED_AT

    def look(self, expr: Expr) -> bool:
        self._left -= 1
        if not expr.looks or isinstance(expr, Stop):
            return True
        if self._left < 0:
            return False
        if isinstance(expr, Repeat):
            return expr.low == 0 or self.look(expr.item)
        if isinstance(expr, Alt):
            return any(self.look(option) for option in expr.options)
        if isinstance(expr, Concat):
            return self._all(expr)
        return isinstance(expr, Rule) and self.look(expr.body)

    def _all(self, expr: Expr) -> bool:
        while isinstance(expr, Concat):
            if expr.head.looks and not self.look(expr.head):  # few do
                return False
            expr = expr.tail
        return self.look(expr)


@final
class Known:
    """Expressions and nodes of one automaton.

    `told` has the nodes already entered, `words` inner choices of a choice of words.
    """

    __slots__ = ("__weakref__", "exprs", "nodes", "told", "words")

    def __init__(self) -> None:
        self.nodes: dict[Expr, int] = {}
        self.exprs: list[Expr] = []
        self.told: set[int] = set()
        self.words: set[Alt] = set()

    def named(self, expr: Expr) -> tuple[int, int]:
        """Add an expression; return its index, and flags if it is a closure."""
        self.exprs.append(expr)
        number = len(self.exprs) - 1
        if expr.yields:
            return number, 0
        return number, (NULLABLE if expr.nullable else 0) | (0 if expr.regular else SHARED)

    def is_of_words(self, choice: Alt) -> bool:
        """Return True if a choice is one of words, or part of one."""
        return choice in self.words or is_choice_of_words(choice)
