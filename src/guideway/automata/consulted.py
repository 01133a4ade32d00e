"""Who knows regular expressions better than a search in Python: kernels, where there are any.

What this module does not know: how they know it (`masks.lexicon`).
"""

from typing import Protocol

from guideway.lowering.nodes import Expr


class Consulted(Protocol):
    """What is asked about regular expressions."""

    def alive(self, expr: Expr) -> bool:
        """Whether one has a text."""
        ...

    def shortest(self, expr: Expr) -> "tuple[bool, bytes | None]":
        """Whether the least of its shortest texts is told, and that; None if it has none."""
        ...
