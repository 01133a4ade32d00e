"""Expressions and nodes known to a network, starting with those of its seed."""

from typing import final

from guideway.lowering.json_text import is_choice_of_words
from guideway.lowering.nodes import Alt, Expr
from guideway.masks.kernels.entry_layout import NULLABLE, SHARED


@final
class Known:
    """Expressions and nodes of one network or seed.

    `told` has the nodes already entered, `words` inner choices of a choice of words.
    """

    __slots__ = ("__weakref__", "exprs", "nodes", "told", "words")

    def __init__(self) -> None:
        self.nodes: dict[Expr, int] = {}
        self.exprs: list[Expr] = []
        self.told: set[int] = set()
        self.words: set[Alt] = set()

    def copy(self) -> "Known":
        made = Known()
        made.nodes, made.exprs = self.nodes.copy(), self.exprs.copy()
        made.told, made.words = self.told.copy(), self.words.copy()
        return made

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
