"""An expression made anew from what its parts are made into, with a stack of its own.

What this module does not know: what is made.
"""

from collections.abc import Callable, Mapping, Sequence

from guideway.lowering.nodes import Expr


def rebuilt(
    root: Expr,
    parts: Callable[[Expr], Sequence[Expr]],
    make: Callable[[Expr, Mapping[Expr, Expr]], Expr],
) -> Expr:
    """What `make` makes of `root`, given what it has made of each of the parts that it needs.

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
