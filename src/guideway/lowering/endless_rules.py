"""Rules that surely have no end of strings, as they stand in their own with something around them.

    p: "a" p "a" | "b"      endless: whatever p is, "a" p "a" is longer, and p is it, too
    p: q | "b",  q: p       not told: nothing is around p

A search finds that out as well, and not soon: of palindromes, where any letter may be the middle,
2,000 letters took 5 s. What this cannot tell takes a search still.
"""

from collections.abc import Callable, Sequence

from guideway.lowering.circles import circles
from guideway.lowering.nodes import Alt, Concat, Expr, Repeat, Rule


def surely_endless_rules(expr: Expr, lives: Callable[[Expr], bool]) -> bool:
    """Whether a rule that surely has no end of strings surely is in texts of `expr`.

    Nothing is told where something is looked ahead for.

    Args:
        expr: what is asked about.
        lives: whether an expression has a string.

    >>> from guideway.lowering.expr import alt, concat, literal
    >>> rule = Rule("p")
    >>> rule.bodies.append(alt(concat(literal("a"), rule, literal("a")), literal("b")))
    >>> surely_endless_rules(rule, lambda part: True)
    True
    """
    if expr.looks:
        return False

    def following(node: Expr) -> Sequence[Expr]:
        return _parts(node) if lives(node) else ()

    return any(
        any(_adds(node, members) for node in members)
        for circle in circles(expr, following)
        if (members := frozenset(circle))
    )


def _parts(node: Expr) -> Sequence[Expr]:
    match node:
        case Concat(head, tail):
            return head, tail
        case Alt(options):
            return options
        case Repeat(item):
            return (item,)
        case Rule():
            return (node.body,)
        case _:
            return ()


def _adds(node: Expr, circle: frozenset[Expr]) -> bool:
    """Whether a node of a circle surely has more than the next one in it."""
    match node:
        case Concat(head, tail):
            return (head in circle and not tail.nullable) or (tail in circle and not head.nullable)
        case _:
            return False
