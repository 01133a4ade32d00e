"""Words of a pattern that has few, from its tree: `^(get|set)_[xy]$` has four."""

from itertools import product
from typing import Final

from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    Class,
    Group,
    Node,
    Pattern,
    Range,
    Repeat,
    Sequence,
    Text,
)

_MOST: Final = 32  # words
_DEEPEST: Final = 16  # nodes within nodes


def words_of_pattern(pattern: Pattern) -> frozenset[str] | None:
    r"""Texts in which an ECMA pattern is found, if they are few printable ASCII texts, else None.

    >>> from guideway.syntax.regex import parse_regex
    >>> sorted(words_of_pattern(parse_regex(r"^a(b|[cd])$", "ecma")) or ())
    ['ab', 'ac', 'ad']
    """
    body = pattern.body
    if not isinstance(body, Sequence) or len(body.items) < 2:
        return None
    first, *middle, last = body.items
    if not (_is_anchor(first, "text start") and _is_anchor(last, "text end")):
        return None
    return _all_of(middle, _DEEPEST)


def _is_anchor(node: Node, kind: str) -> bool:
    return isinstance(node, Anchor) and node.kind == kind


def _words(  # noqa: PLR0911  one arm for each node
    node: Node, left: int
) -> frozenset[str] | None:
    """Texts of a part without anchors; None if they are many or unknown."""
    if left == 0:
        return None
    match node:
        case Text(text, mode) if not mode.ignore_case and _is_plain(text):
            return frozenset((text,))
        case Class(items, negated, mode) if not negated and not mode.ignore_case:
            return _of_class(items)
        case Group(item):
            return _words(item, left - 1)
        case Sequence(items):
            return _all_of(items, left - 1)
        case Alternation(options):
            return _any_of(options, left - 1)
        case Repeat(item, low, high) if high is not None and high <= _MOST:
            ways = [_all_of((item,) * count, left - 1) for count in range(low, high + 1)]
            return _united(ways)
        case _:
            return None


def _of_class(items: tuple[object, ...]) -> frozenset[str] | None:
    found = set[str]()
    for item in items:
        low, high = (item.low, item.high) if isinstance(item, Range) else (item, item)
        if not isinstance(low, int) or not isinstance(high, int) or high - low > _MOST:
            return None
        found.update(map(chr, range(low, high + 1)))
    return frozenset(found) if _is_plain("".join(found)) else None


def _all_of(items: "tuple[Node, ...] | list[Node]", left: int) -> frozenset[str] | None:
    found = frozenset(("",))
    for item in items:
        more = _words(item, left)
        if more is None or len(more) * len(found) > _MOST:
            return None
        found = frozenset(map("".join, product(found, more)))
    return found


def _any_of(options: tuple[Node, ...], left: int) -> frozenset[str] | None:
    return None if len(options) > _MOST else _united([_words(one, left) for one in options])


def _united(ways: list[frozenset[str] | None]) -> frozenset[str] | None:
    told = [way for way in ways if way is not None]
    found = frozenset[str]().union(*told)
    return found if len(told) == len(ways) and len(found) <= _MOST else None


def _is_plain(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)
