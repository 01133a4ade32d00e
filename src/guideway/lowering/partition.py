"""Split overlapping byte sets into disjoint ones."""

from typing import Final

from guideway.lowering.alternatives import alt_by_head
from guideway.lowering.nodes import Expr

_FEW: Final = 4


def fewer(lines: list[tuple[int, Expr]]) -> list[tuple[int, Expr]]:
    """One line for each byte set, if they are more than a few.

    >>> from guideway.lowering.expr import literal
    >>> [members for members, _ in fewer([(1, literal(text)) for text in "abcde"])]
    [1]
    """
    if len(lines) <= _FEW:
        return lines
    targets: dict[int, dict[Expr, None]] = {}
    for members, target in lines:
        targets.setdefault(members, {})[target] = None
    return [(members, alt_by_head([*found])) for members, found in targets.items()]


def partition(lines: list[tuple[int, Expr]]) -> list[tuple[int, list[Expr]]]:
    """Split the byte sets of `lines` where they overlap.

    >>> from guideway.lowering.expr import EMPTY, EPSILON
    >>> [members for members, exprs in partition([(0b011, EMPTY), (0b110, EPSILON)])]
    [2, 1, 4]
    """
    alike: dict[int, list[Expr]] = {}
    for members, expr in lines:
        alike.setdefault(members, []).append(expr)
    parts: list[tuple[int, list[Expr]]] = []
    covered = 0
    for members, exprs in alike.items():
        if members & covered:
            parts = _split(parts, members, exprs)
        else:
            parts.append((members, exprs))
        covered |= members
    return parts


def _split(
    parts: list[tuple[int, list[Expr]]], members: int, exprs: list[Expr]
) -> list[tuple[int, list[Expr]]]:
    split: list[tuple[int, list[Expr]]] = []
    for part, before in parts:
        common = part & members
        if common:
            split.append((common, before + exprs))
            members &= ~common
        if part & ~common:
            split.append((part & ~common, before))
    if members:
        split.append((members, exprs))
    return split
