"""Formulas about bounds of numbers, as sets of ranges; integers and fractions apart."""

from collections import defaultdict
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from typing import Final, TypeAlias, final

from guideway.lowering.expr import EMPTY, alt, both
from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import Amount
from guideway.lowering.json_formulas import (
    FALSE,
    Every,
    Formula,
    Leaf,
    Some,
    fold,
)
from guideway.lowering.nodes import Expr
from guideway.lowering.numbers import lower_numbers, multiples, number_range, tightest
from guideway.syntax.frozen import by_value
from guideway.syntax.json_schema_tree import Bound, Numbers

_LONGEST: Final = 300  # digits of a bound that is rounded
_Cut: TypeAlias = "tuple[Decimal, bool]"  # before a number, or, True, behind it
_Range: TypeAlias = "tuple[Bound | None, Bound | None]"


@final
@by_value
class _Cells:
    """A set of numbers: whether it holds the least, and the cuts where that changes."""

    least: bool
    cuts: tuple[_Cut, ...] = ()

    def others(self) -> "_Cells":
        return _Cells(not self.least, self.cuts)

    def ranges(self) -> list[_Range]:
        bounds = [Bound(value, behind) for value, behind in self.cuts]
        ends = [None, *bounds] if self.least else [*bounds]
        lasts: list[Bound | None] = [
            None if end is None else Bound(end.value, not end.exclusive) for end in ends[1::2]
        ]
        return [*zip(ends[::2], [*lasts, None], strict=False)]


_NONE: Final = _Cells(False)


@final
@by_value
class _Ranges:
    """A set of integers and a set of fractions."""

    whole: _Cells
    broken: _Cells


def in_ranges(formula: Formula, *, plain: bool) -> Expr | None:
    """The numbers that satisfy a formula about bounds alone; None for others, and for one range."""
    if isinstance(formula, Leaf) or not formula.parts:
        return None
    found = _found(formula)
    if found is None:
        return None
    alike, whole, broken = _parted(found)
    spend(len(alike.cuts) + len(whole.cuts) + len(broken.cuts))
    fractions = multiples(Decimal(1), denied=True, plain=plain) if broken != _NONE else EMPTY
    return alt(
        *(number_range(low, high, plain=plain) for low, high in alike.ranges()),
        *(lower_numbers(_numbers(low, high, True), plain=plain) for low, high in whole.ranges()),
        *(both(number_range(low, high, plain=plain), fractions) for low, high in broken.ranges()),
    )


def _numbers(low: Bound | None, high: Bound | None, integer: bool) -> Numbers:
    lower, upper = () if low is None else (low,), () if high is None else (high,)
    return Numbers(integer=integer, lower=lower, upper=upper)


def _found(formula: Formula) -> _Ranges | None:
    def make(node: Formula, made: "dict[Formula, _Ranges | None]") -> _Ranges | None:
        match node:
            case Leaf(Amount(numbers, sign)):
                return _told(numbers, sign)
            case Every(parts) | Some(parts):
                told = [found for part in parts if (found := made[part]) is not None]
                if len(told) < len(parts):
                    return None
                least = len(parts) if isinstance(node, Every) else 1
                return _joined(told, lambda count: count >= least)
            case _:
                every = _Cells(node is not FALSE)
                return _Ranges(every, every)

    return fold(formula, make)


def _told(numbers: Numbers, sign: bool) -> _Ranges | None:
    if numbers != Numbers(integer=numbers.integer, lower=numbers.lower, upper=numbers.upper):
        return None
    lower, upper = tightest(numbers)
    cuts: list[_Cut] = [] if lower is None else [(lower.value, lower.exclusive)]
    if upper is not None:
        cuts.append((upper.value, not upper.exclusive))
    cells = _Cells(lower is None, tuple(cuts))
    if len(cuts) > 1 and cuts[0] >= cuts[1]:
        cells = _NONE
    broken = _NONE if numbers.integer else cells
    return _Ranges(cells, broken) if sign else _Ranges(cells.others(), broken.others())


def _joined(sets: list[_Ranges], wanted: Callable[[int], bool]) -> _Ranges:
    """Numbers in as many of the sets as are wanted."""
    return _Ranges(
        _counted([one.whole for one in sets], wanted),
        _counted([one.broken for one in sets], wanted),
    )


def _counted(sets: list[_Cells], wanted: Callable[[int], bool]) -> _Cells:
    changes: defaultdict[_Cut, int] = defaultdict(int)
    for cells in sets:
        entered = not cells.least
        for cut in cells.cuts:
            changes[cut] += 1 if entered else -1
            entered = not entered
    spend(len(sets) + len(changes))
    count = sum(cells.least for cells in sets)
    least = inside = wanted(count)
    cuts: list[_Cut] = []
    for cut in sorted(changes):
        count += changes[cut]
        if wanted(count) is not inside:
            inside = not inside
            cuts.append(cut)
    return _Cells(least, tuple(cuts))


def _parted(found: _Ranges) -> tuple[_Cells, _Cells, _Cells]:
    """Where all numbers are in a set, only integers, only fractions."""
    alike = _counted([found.whole, found.broken], lambda count: count == 2)
    whole = _counted([found.whole, alike.others()], lambda count: count == 2)
    broken = _counted([found.broken, alike.others()], lambda count: count == 2)
    return alike, _rounded(whole), broken


def _rounded(cells: _Cells) -> _Cells:
    """The same integers, with each cut behind an integer."""
    changes: dict[_Cut, None] = {}
    for value, behind in cells.cuts:
        cut = _behind(value, behind)
        if cut in changes:  # it changes there and back
            del changes[cut]
        else:
            changes[cut] = None
    return _Cells(cells.least, tuple(changes))


def _behind(value: Decimal, behind: bool) -> _Cut:
    if abs(value.adjusted()) > _LONGEST:
        return value, behind
    whole = int(value.to_integral_value(ROUND_FLOOR))
    return Decimal(whole if behind or whole != value else whole - 1), True
