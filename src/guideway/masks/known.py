"""What a network knows of its expressions and nodes, beginning with what its seed knows.

What this module does not know: how expressions become nodes.
"""

from typing import final

from guideway.lowering.json_text import is_choice_of_words
from guideway.lowering.nodes import Alt, Expr
from guideway.masks.kernels.entry_layout import NULLABLE, SHARED


@final
class Known:
    """The expressions and nodes of one network, or of a seed, which nobody changes.

    Attributes:
        nodes: the node of each expression.
        exprs: what nodes name by an index.
        told: the nodes that need not be asked for.
        words: where words part, below a choice between words.
    """

    __slots__ = ("__weakref__", "exprs", "nodes", "told", "words")

    def __init__(self) -> None:
        self.nodes: dict[Expr, int] = {}
        self.exprs: list[Expr] = []
        self.told: set[int] = set()
        self.words: set[Alt] = set()

    def copy(self) -> "Known":
        """The same, to be added to."""
        made = Known()
        made.nodes, made.exprs = self.nodes.copy(), self.exprs.copy()
        made.told, made.words = self.told.copy(), self.words.copy()
        return made

    def named(self, expr: Expr) -> tuple[int, int]:
        """Add an expression; what a node will name it by, and for closures what it says of it."""
        self.exprs.append(expr)
        number = len(self.exprs) - 1
        if expr.yields:
            return number, 0
        return number, (NULLABLE if expr.nullable else 0) | (0 if expr.regular else SHARED)

    def is_of_words(self, choice: Alt) -> bool:
        """Whether words part at a choice, or one that stands above it."""
        return choice in self.words or is_choice_of_words(choice)
