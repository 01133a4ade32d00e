"""Strings of a part of a pattern, if they are few and do not depend on their context."""

from collections.abc import Callable
from itertools import product

from guideway.lowering.case import members
from guideway.lowering.characters import leaf_points, literal_points
from guideway.lowering.unicode import SCALARS, CodePoints, intersection
from guideway.syntax.regex_tree import (
    Alternation,
    Class,
    Dot,
    Group,
    Node,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    children,
)


def finite_texts(root: Node, most: int) -> list[str] | None:
    """All strings of `root`; None if they are more than `most` or depend on their context."""

    def few(node: Node, parts: list[list[str]]) -> list[str] | None:
        found = _texts(node, parts, most)
        return None if found is None or len(found) > most else found

    return folded(root, few)


def folded(
    root: Node, texts: Callable[[Node, list[list[str]]], list[str] | None]
) -> list[str] | None:
    """Evaluate `texts` bottom-up; None as soon as a part has None."""
    done: list[list[str] | None] = []
    todo: list[tuple[Node, bool]] = [(root, False)]
    while todo:
        node, ready = todo.pop()
        below = children(node)
        if below and not ready:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(below)]
            continue
        parts = done[len(done) - len(below) :]
        del done[len(done) - len(below) :]
        known = [part for part in parts if part is not None]
        done.append(texts(node, known) if len(known) == len(parts) else None)
    return done[0]


def _texts(  # noqa: PLR0911  one arm for each node
    node: Node, parts: list[list[str]], most: int
) -> list[str] | None:
    match node:
        case Text(text, mode):
            sets = [literal_points(char, mode) if mode.ignore_case else char for char in text]
            return _rows([[c] if isinstance(c, str) else _characters(c, most) for c in sets], most)
        case Class() | Shorthand() | Dot():
            return _characters(leaf_points(node), most)
        case Group():
            return parts[0]
        case Alternation():
            return sorted({text for part in parts for text in part})
        case Repeat(_, low, high):
            if high is None or high > most:
                return None
            rounds = [_rows(parts * count, most) for count in range(low, high + 1)]
            some = [text for texts in rounds if texts is not None for text in texts]
            return None if None in rounds else sorted(set(some))
        case Sequence():
            return _rows(parts, most)
        case _:
            return None


def _characters(ranges: CodePoints, most: int) -> list[str] | None:
    scalars = intersection(ranges, SCALARS)
    if sum(high - low + 1 for low, high in scalars) > most:
        return None
    return [chr(code) for code in members(scalars)]


def _rows(parts: "list[list[str]] | list[list[str] | None]", most: int) -> list[str] | None:
    found = [""]
    for part in parts:
        if part is None or len(found) * len(part) > most:
            return None
        found = [text + more for text, more in product(found, part)]
    return sorted(set(found))
