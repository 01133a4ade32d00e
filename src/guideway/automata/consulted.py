"""Interface to kernels that answer questions about regular expressions."""

from typing import Protocol

from guideway.lowering.nodes import Expr


class Consulted(Protocol):
    """Answers about regular expressions."""

    def alive(self, expr: Expr) -> bool: ...

    def shortest(self, expr: Expr) -> "tuple[bool, bytes | None]":
        """Whether the shortest text is known, and the text; None if there is none."""
        ...
