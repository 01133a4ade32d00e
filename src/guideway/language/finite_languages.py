"""`Decisions`: membership, all texts, a regular form of any expression. Searches may give up."""

from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from typing import final

from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY
from guideway.language.nodes import Alt, Call, Concat, Expr, Repeat, Rule
from guideway.language.regular import bytes_of, surely_endless, with_parts

MOST_PARTS = 20_000
"""Parts of regular expressions visited before a search gives up."""

MOST_NESTED = 2_000
"""Prefixes of texts visited if rules are recursive."""

DEEPEST_NESTED = 128
"""Bytes of such a prefix: 2,000 of `root ::= a root b` & a+b+ took 11 s, as no state repeats."""

MOST_BYTES = 1 << 22
"""Bytes of all words together."""


@final
class Decisions:
    """Answers by search; `fuel` is called with the number of parts made, and may raise."""

    def __init__(self, fuel: Callable[[int], None] = lambda made: None) -> None:
        self.fuel = fuel

    @cached_property
    def machine(self) -> Derivatives:
        return Derivatives(EMPTY, fuel=self.fuel)

    def contains(self, expr: Expr, text: bytes) -> bool:
        for byte in text:
            expr = self.machine.after(expr, byte)
        return self.machine.accepts(expr)

    def words(self, expr: Expr) -> tuple[bytes, ...] | None:
        """The strings of `expr` in byte order; None if they are infinitely or too many."""
        flat = self.flattened(expr)
        expr, most = (expr, MOST_NESTED) if flat is None else (flat, MOST_PARTS)
        deepest = DEEPEST_NESTED if flat is None else most
        if expr.regular and surely_endless(expr):
            return None
        found: list[bytes] = []
        stack: list[tuple[int, Expr | None]] = [(0, expr)] if self.machine.alive(expr) else []
        word = bytearray(1)  # the bytes read, after one byte for the start
        opened: list[Expr] = []  # states on the path to the current one
        above: set[Expr] = set()
        count = size = 0
        while stack:
            byte, state = stack.pop()
            if state is None:  # all successors are done
                above.discard(opened.pop())
                continue
            count += 1
            del word[len(opened) :]
            word.append(byte)
            if self.machine.accepts(state):
                found.append(bytes(word[1:]))
                size += len(word)
            if state in above or count > most or len(word) > deepest or size > MOST_BYTES:
                return None
            opened.append(state)
            above.add(state)
            stack += ((0, None), *reversed(self._successors(state)))
            self.fuel(1)
        return tuple(found)

    def _successors(self, state: Expr) -> list[tuple[int, Expr]]:
        found: list[tuple[int, Expr]] = []
        blurred = self.machine.blurred(state)
        for members, target in self.machine.arcs(blurred):
            plain = blurred is state and not self.machine.unsure(target)
            for byte in bytes_of(members):
                after = target if plain else self.machine.step(state, byte)
                found += [] if after is None else [(byte, after)]
        return sorted(found, key=itemgetter(0))

    def flattened(self, expr: Expr, most: int = MOST_PARTS) -> Expr | None:
        """A regular expression of the same strings; None if a rule recurs or memory is needed."""
        made: dict[Expr, Expr] = {}
        stack, opened = [expr], set[Expr]()
        while stack:
            node = stack[-1]
            parts = () if node in made or node.regular else self._operands(node)
            if parts is None or len(made) + len(stack) > most:
                return None
            missing = [part for part in parts if part not in made]
            if missing:
                if node in opened:  # a rule refers to itself
                    return None
                opened.add(node)
                stack += missing
                self.fuel(1)
                continue
            stack.pop()
            if node not in made:
                made[node] = node if node.regular else _remade(node, [made[p] for p in parts])
        return made[expr]

    def _operands(self, node: Expr) -> tuple[Expr, ...] | None:
        """Direct parts of an expression that is not regular; None if memory is needed."""
        match node:
            case Concat(head, tail):
                return head, tail
            case Alt(options):
                return options
            case Repeat(item):
                return (item,)
            case Rule():
                return (node.body,)
            case Call():
                return (self.machine.unfold(node),)
            case _:
                return None


def _remade(node: Expr, parts: list[Expr]) -> Expr:
    return parts[0] if isinstance(node, Rule | Call) else with_parts(node, parts)
