"""Derivatives of regular expressions by all bytes at once (Antimirov 1996)."""

from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from guideway.errors import GuidewayError
from guideway.lowering.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    alt,
    both,
    complement,
    concat,
    repeat,
)
from guideway.lowering.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Not,
    Repeat,
    Rule,
    Stop,
    Unsure,
)
from guideway.lowering.partition import partition

Lines: TypeAlias = list[tuple[int, Expr]]
_REMEMBERED: Final = 1 << 13  # expressions
_known: list[dict[Expr, Lines]] = [{}]


@lru_cache(maxsize=1 << 12)
def arcs(root: Expr) -> Lines:
    """Derivatives of a regular expression, each with all bytes that lead to it.

    >>> from guideway.lowering.expr import literal
    >>> [(bin(members).count("1"), left is EPSILON) for members, left in arcs(literal("a"))]
    [(1, True)]
    """
    if len(_known[0]) > _REMEMBERED:
        _known[0] = {}  # other threads keep the old one
    return _disjoint(_lines(root, _known[0]))


def _disjoint(lines: Lines) -> Lines:
    found: dict[Expr, int] = {}
    for members, lefts in partition(lines):
        after = lefts[0] if len(lefts) == 1 else alt(*lefts)
        if after is not EMPTY:
            found[after] = found.get(after, 0) | members
    return [(members, after) for after, members in found.items()]


def _lines(root: Expr, known: dict[Expr, Lines]) -> Lines:
    stack = [root]
    while stack:  # user input decides the nesting
        node = stack[-1]
        missing = [] if node in known else [part for part in firsts(node) if part not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        if node not in known:
            known[node] = _line(node, known)
    return known[root]


def _line(node: Expr, known: dict[Expr, Lines]) -> Lines:  # noqa: PLR0911  an arm for each node
    match node:
        case Empty() | Epsilon():
            return []
        case Bytes(members):
            return [(members, EPSILON)]
        case Concat(head, tail):
            here = [(members, concat(left, tail)) for members, left in known[head]]
            return here + known[tail] if head.nullable else here
        case Alt(options):
            return [line for option in options for line in known[option]]
        case Repeat(item, low, high):
            rest = repeat(item, max(low - 1, 0), None if high is None else high - 1)
            return [(members, concat(left, rest)) for members, left in known[item]]
        case And(left, right):
            return _met(_disjoint(known[left]), _disjoint(known[right]))
        case Not(item):
            lines = _disjoint(known[item])
            others = ALL_BYTES & ~sum(members for members, _ in lines)
            opposite = [(members, complement(left)) for members, left in lines]
            return [*opposite, (others, ANYTHING)] if others else opposite
        case Rule() if node.regular:
            return known[node.body]
        case Rule() | Call() | Capture() | Ahead() | Stop() | Unsure():
            raise GuidewayError("only regular expressions are searched here")
        case _:
            assert_never(node)


def _met(lines: Lines, others: Lines) -> Lines:
    return [
        (members & more, both(one, other))
        for members, one in lines
        for more, other in others
        if members & more
    ]


def firsts(node: Expr) -> tuple[Expr, ...]:
    """The parts whose derivatives make up that of `node`."""
    if isinstance(node, Rule) and node.regular:
        return (node.body,)
    if isinstance(node, Concat) and not node.head.nullable:
        return (node.head,)
    return parts_of(node)


def parts_of(node: Expr) -> tuple[Expr, ...]:
    """The expressions that the regular `node` is made of."""
    match node:
        case Concat(head, tail):
            return (head, tail)
        case Alt(options):
            return options
        case Repeat(item) | Not(item):
            return (item,)
        case And(left, right):
            return (left, right)
        case _:
            return ()
