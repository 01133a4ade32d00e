"""Options of a union that another option contains: a{0,3}b{0,5} beside a{0,4}b{0,7}.

Nested counts leave thousands of them. Only the first few parts are compared; a miss costs only
time.
"""

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from guideway.lowering.nodes import Concat, Expr
from guideway.lowering.ranges import Range, contains, counted

_DEPTH = 6
_PASSED: Final = 16  # nullable parts in a row
_MOST_COMPARED = 256
_UNBOUNDED = 1 << 80
_MANY: Final = 16  # options with the same first item, above which shapes are cached

Counts: TypeAlias = tuple[Range, ...]
_shapes: "WeakKeyDictionary[Expr, tuple[tuple[int, ...], Counts]]" = WeakKeyDictionary()


def superfluous(options: Iterable[Expr]) -> list[Expr]:
    """Options whose strings are all strings of another option."""
    every = dict.fromkeys(options)
    passed = tails(every)
    left = [option for option in every if option not in passed]
    begun: dict[int, list[Expr]] = {}
    for option in left:  # most have a first item of their own, and need no shape
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
    """Options that are a suffix of another option after nullable parts."""
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
