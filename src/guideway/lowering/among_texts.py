"""Drop from the end of a regular expression the condition that it is text."""

from collections.abc import Mapping

from guideway.lowering.expr import ANYTHING, EPSILON, alt, both, complement, concat, repeat
from guideway.lowering.nodes import Alt, And, Concat, Expr, Not, Repeat
from guideway.lowering.rebuilt import rebuilt
from guideway.lowering.unicode import TEXT_CHAR


def among_texts(root: Expr) -> Expr:
    r"""A regular expression with the same texts; it may have other byte strings.

    >>> from guideway.lowering.expr import literal
    >>> from guideway.lowering.unicode import TEXT
    >>> among_texts(concat(literal("a"), TEXT)) is concat(literal("a"), ANYTHING)
    True
    >>> among_texts(TEXT) is ANYTHING, among_texts(literal("a")) is literal("a")
    (True, True)
    """
    return rebuilt(root, _ends, _made)


def _ends(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Alt(options):
            return options
        case And(left, right):
            return (left, right)
        case Concat(_, tail):
            return (tail,)
        case Not(item):
            return (item,)
        case _:
            return ()


def _made(node: Expr, made: Mapping[Expr, Expr]) -> Expr:
    match node:
        case Alt(options):
            return alt(*(made[option] for option in options))
        case And(left, right):
            return both(made[left], made[right])
        case Concat(head, tail):
            return concat(head, made[tail])
        case Not(item):
            return complement(made[item])
        case Repeat(item, low, None) if item is TEXT_CHAR:
            return concat(repeat(TEXT_CHAR, low, low) if low else EPSILON, ANYTHING)
        case _:
            return node
