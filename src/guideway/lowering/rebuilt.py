"""Rebuild an expression from its parts, with an explicit stack."""

from collections.abc import Callable, Mapping, Sequence

from guideway.lowering.nodes import Expr


def rebuilt(
    root: Expr,
    parts: Callable[[Expr], Sequence[Expr]],
    make: Callable[[Expr, Mapping[Expr, Expr]], Expr],
) -> Expr:
    """Apply `make` bottom-up: to each node, with the results for its parts.

    >>> from guideway.lowering.expr import literal
    >>> rebuilt(literal("a"), lambda node: (), lambda node, made: literal("b")) is literal("b")
    True
    """
    made: dict[Expr, Expr] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [part for part in parts(node) if part not in made]
        if missing:
            stack += missing
            continue
        made[stack.pop()] = make(node, made)
    return made[root]
