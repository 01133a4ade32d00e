"""`Decisions`: membership, all texts, a regular form of any expression. Searches may give up."""

from collections.abc import Callable
from functools import cached_property
from operator import itemgetter

from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY
from guideway.language.nodes import Alt, Call, Concat, Expr, Repeat, Rule
from guideway.language.regular import bytes_of, surely_endless, with_parts

MOST_PARTS = 20_000
"""Parts of regular expressions visited before a search gives up."""

MOST_BYTES = 1 << 22
"""Bytes of all words together."""


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

    def words(self, expr: Expr, most: int = MOST_PARTS) -> tuple[bytes, ...] | None:
        """The strings of `expr` in byte order; None if they nest, or are more than `most`."""
        flat = self.flattened(expr)
        if flat is None or surely_endless(flat):
            return None
        found: list[bytes] = []
        looked = size = 0
        stack = [(b"", flat)] if self.machine.alive(flat) else []
        while stack:
            word, state = stack.pop()
            looked += 1
            self.fuel(1)
            if state.nullable:
                found.append(word)
                size += len(word)
            if looked > MOST_PARTS or len(found) > most or size > MOST_BYTES:
                return None
            arcs = self.machine.arcs(state)
            ways = [(byte, after) for members, after in arcs for byte in bytes_of(members)]
            ways.sort(key=itemgetter(0), reverse=True)
            stack += [(word + bytes((byte,)), after) for byte, after in ways]
        return tuple(found)

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
