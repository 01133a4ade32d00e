"""What a network knows of its expressions and nodes, beginning with what its seed knows.

That is not copied: of a small schema's network nobody asks for most of it, and to count all of its
expressions once more, and once less in the end, takes as long as all the schema's own nodes.

What this module does not know: how expressions become nodes.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import final

from guideway.lowering.json_text import is_choice_of_words
from guideway.lowering.nodes import Alt, Expr
from guideway.masks.kernels.entry_layout import NULLABLE, SHARED


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Facts:
    """What a seed knows; nobody changes it.

    Attributes:
        nodes: the node of each expression.
        exprs: what nodes name by an index.
        told: the nodes that need not be asked for.
        words: where words part, below a choice between words.
    """

    nodes: Mapping[Expr, int]
    exprs: Sequence[Expr]
    told: AbstractSet[int]
    words: AbstractSet[Alt]


@final
class Known:
    """The same for one network, which gets to know more."""

    __slots__ = ("_exprs", "_first", "_nodes", "_old", "_told", "_words")

    def __init__(self, old: Facts) -> None:
        self._old, self._first = old, len(old.exprs)
        self._nodes: dict[Expr, int] = {}
        self._exprs: list[Expr] = []
        self._told: set[int] = set()
        self._words: set[Alt] = set()

    def facts(self) -> Facts:
        """All of it, for a seed."""
        old = self._old
        nodes, exprs = {**old.nodes, **self._nodes}, [*old.exprs, *self._exprs]
        return Facts(nodes, exprs, old.told | self._told, old.words | self._words)

    def node(self, expr: Expr) -> int | None:
        """The node of an expression, if it has one."""
        found = self._nodes.get(expr)
        return self._old.nodes.get(expr) if found is None else found

    def set_node(self, expr: Expr, node: int) -> None:
        """Say what the node of an expression is."""
        self._nodes[expr] = node

    def named(self, expr: Expr) -> tuple[int, int]:
        """What a node will name an expression by, and for closures what it says of it."""
        self._exprs.append(expr)
        if expr.yields:
            return len(self) - 1, 0
        return len(self) - 1, (NULLABLE if expr.nullable else 0) | (0 if expr.regular else SHARED)

    def __len__(self) -> int:
        """How many expressions nodes name."""
        return self._first + len(self._exprs)

    def __getitem__(self, number: int) -> Expr:
        """The expression that nodes name so."""
        if number < self._first:
            return self._old.exprs[number]
        return self._exprs[number - self._first]

    def is_told(self, node: int) -> bool:
        """Whether a node need not be asked for."""
        return node in self._told or node in self._old.told

    def tell(self, node: int) -> None:
        """Note that a node need not be asked for any more."""
        self._told.add(node)

    def is_of_words(self, choice: Alt) -> bool:
        """Whether words part at a choice, or one that stands above it."""
        below = choice in self._words or choice in self._old.words
        return below or is_choice_of_words(choice)

    def add_words(self, choices: "list[Alt]") -> None:
        """Note that words part there."""
        self._words.update(choices)
