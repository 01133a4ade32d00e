"""Membership, disjointness, byte classes and derivatives of regular expressions."""

from functools import lru_cache
from typing import final

from guideway.lowering.expr import (
    ANYTHING,
    EMPTY,
)
from guideway.lowering.linear import arcs, firsts
from guideway.lowering.nodes import (
    Bytes,
    Concat,
    Expr,
)

_LOOKED_AT = 24  # pairs of derivatives in a search


def contains(expr: Expr, text: bytes) -> bool:
    """Return True if `text` is in the regular `expr`."""
    for byte in text:
        expr = derivative(expr, byte)
        if expr is EMPTY or expr is ANYTHING:
            break
    return expr.nullable


def surely_apart(first: Expr, second: Expr) -> bool:
    """Return True if a short search shows that two regular expressions are disjoint.

    >>> from guideway.lowering.expr import literal, repeat
    >>> surely_apart(repeat(literal("ab")), repeat(literal("ba"), 1))
    True
    """
    while isinstance(first, Concat) and isinstance(second, Concat):
        # Common prefixes first: 100,000 pairs of short keys .19 s -> .05.
        if not isinstance(first.head, Bytes) or not isinstance(second.head, Bytes):
            break
        if not first.head.members & second.head.members:
            return True
        first, second = first.tail, second.tail
    todo = [(first, second)]
    seen = {*todo}
    for looked_at, (one, other) in enumerate(todo):  # grows, shortest strings first
        if (one.nullable and other.nullable) or looked_at > _LOOKED_AT:
            return False
        for members, left in arcs(one):
            for more, right in arcs(other):
                pair = left, right
                if members & more and pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
    return True


def least_byte(members: int) -> int:
    """The least byte of a nonempty set."""
    return (members & -members).bit_length() - 1


def byte_classes(root: Expr) -> list[int]:
    """Partition of all bytes into sets with the same derivative."""
    classes, seen, todo = [(1 << 256) - 1], {root}, [root]
    while todo:
        node = todo.pop()
        if isinstance(node, Bytes):
            split = ((part & node.members, part & ~node.members) for part in classes)
            classes = [part for pair in split for part in pair if part]
        for part in firsts(node):
            if part not in seen:
                seen.add(part)
                todo.append(part)
    return classes


@final
class Remainders:
    """Cached derivatives of regular expressions by texts."""

    def __init__(self) -> None:
        self._known: dict[tuple[Expr, bytes], Expr] = {}

    def __call__(self, expr: Expr, text: bytes) -> Expr:
        """The derivative of the regular `expr` by `text`."""
        key = expr, text
        found = self._known.get(key)
        if found is None:
            found = expr
            for byte in text:
                if found is EMPTY or found is ANYTHING:
                    break
                found = derivative(found, byte)
            self._known[key] = found
        return found

    def __len__(self) -> int:
        """Number of cached derivatives."""
        return len(self._known)

    def clear(self) -> None:
        self._known.clear()


@lru_cache(maxsize=1 << 14)
def derivative(root: Expr, byte: int) -> Expr:
    """The derivative of the regular `root` by one byte."""
    return next((left for members, left in arcs(root) if members >> byte & 1), EMPTY)
