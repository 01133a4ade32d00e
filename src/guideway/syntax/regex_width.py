r"""Number of characters that a part of a pattern matches, which `re` needs for lookbehinds.

    [a-z]\d{2,3}   3 to 4          a*   0 or more          ^ \b (?=…)   0

An empty character class counts as one, as in `re`.
"""

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    Back,
    Boundary,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    children,
)

Width: TypeAlias = tuple[int, int | None]


def width(root: Node, groups: Mapping[int, Width]) -> Width:
    r"""Fewest and most characters (None: any number), given the widths of groups; not recursive.

    >>> from guideway.syntax.regex import parse_regex
    >>> width(parse_regex(r"a\d{2,3}").body, {})
    (3, 4)
    """
    done: list[Width] = []
    todo: list[tuple[Node, bool]] = [(root, False)]
    while todo:
        node, ready = todo.pop()
        known = isinstance(node, Look) or (isinstance(node, Group) and node.number in groups)
        below = () if known else children(node)
        if below and not ready:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(below)]
        else:
            parts = done[len(done) - len(below) :]
            del done[len(done) - len(below) :]
            done.append(_width(node, parts, groups))
    return done[0]


def _width(  # noqa: PLR0911  one arm for each node
    node: Node, parts: list[Width], groups: Mapping[int, Width]
) -> Width:
    match node:
        case Text(text):
            return len(text), len(text)
        case Class() | Shorthand() | Dot():
            return 1, 1
        case Anchor() | Boundary() | Look():
            return 0, 0
        case Back(number):
            return groups[number]
        case Repeat(_, low, high):
            least, most = parts[0]
            return least * low, 0 if most == 0 or high == 0 else _product(most, high)
        case Group(_, number):
            return groups[number] if number in groups else parts[0]
        case Alternation():
            most = [part[1] for part in parts]
            return min(part[0] for part in parts), None if None in most else max(_known(most))
        case Sequence():
            most = [part[1] for part in parts]
            return sum(part[0] for part in parts), None if None in most else sum(_known(most))
        case _:
            assert_never(node)


def _product(most: int | None, high: int | None) -> int | None:
    return None if most is None or high is None else most * high


def _known(widths: list[int | None]) -> list[int]:
    return [width for width in widths if width is not None]
