"""Options of a union that another option contains: a{0,3}b{0,5} beside a{0,4}b{0,7}.

Nested counts leave thousands of them. Only the first few parts are compared; a miss costs time, no
text.
"""

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from guideway.lowering.nodes import Concat, Expr
from guideway.lowering.ranges import Range, contains, counted

_DEPTH = 6
_PASSED: Final = 16  # parts that may be nothing, one behind the other
_MOST_COMPARED = 256
_UNBOUNDED = 1 << 80
_MANY: Final = 16  # options that begin alike, of which it is worth to remember shapes

Counts: TypeAlias = tuple[Range, ...]
_shapes: "WeakKeyDictionary[Expr, tuple[tuple[int, ...], Counts]]" = WeakKeyDictionary()


def superfluous(options: Iterable[Expr]) -> list[Expr]:
    """The options whose strings are all strings of another one."""
    every = dict.fromkeys(options)
    passed = tails(every)
    left = [option for option in every if option not in passed]
    begun: dict[int, list[Expr]] = {}
    for option in left:  # most begin as no other does: their shapes need not be told
        head = option.head if isinstance(option, Concat) else option
        begun.setdefault(id(counted(head)[0]), []).append(option)
    alike: dict[tuple[int, ...], list[tuple[Counts, Expr]]] = {}
    for several in begun.values():
        for option in several if len(several) > 1 else ():
            shape, counts = _shape_of(option) if len(several) > _MANY else _shape(option)
            alike.setdefault(shape, []).append((counts, option))
    found = [*passed]
    for group in alike.values():
        if 1 < len(group) <= _MOST_COMPARED:
            found += _dominated(group)
    return found


def tails(options: Collection[Expr]) -> dict[Expr, None]:
    """The options that are a suffix of another one behind nullable parts.

    >>> from guideway.lowering.expr import concat, literal, repeat
    >>> rest = literal("b")
    >>> [*tails({concat(repeat(literal("a")), rest), rest})] == [rest]
    True
    """
    found: dict[Expr, None] = {}
    for option in options:
        rest, passed = option, 0
        while passed < _PASSED and isinstance(rest, Concat) and rest.head.nullable:
            rest, passed = rest.tail, passed + 1
            if rest in options and option.regular:
                found[rest] = None
                break
    return found


def _dominated(group: list[tuple[Counts, Expr]]) -> list[Expr]:
    kept: list[Counts] = []
    found: list[Expr] = []
    for counts, option in sorted(group, key=_width, reverse=True):
        if any(all(map(contains, other, counts)) for other in kept):
            found.append(option)
        else:
            kept.append(counts)
    return found


def _width(entry: tuple[Counts, Expr]) -> int:
    return sum((_UNBOUNDED if high is None else high) - low for low, high in entry[0])


def _shape_of(option: Expr) -> tuple[tuple[int, ...], Counts]:
    found = _shapes.get(option)
    if found is None:
        found = _shapes[option] = _shape(option)
    return found


def _shape(option: Expr) -> tuple[tuple[int, ...], Counts]:
    """The items of an option without their counts, and the counts."""
    shape: list[int] = []
    counts: list[Range] = []
    rest: Expr | None = option
    while rest is not None and len(shape) < _DEPTH:
        head, rest = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, None)
        item, count = counted(head)
        shape.append(id(item))
        counts.append(count)
    return (*shape, id(rest)), tuple(counts)
