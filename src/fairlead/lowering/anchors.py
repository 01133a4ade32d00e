r"""Parts of a pattern with anchors: what they denote depends on what stands beside them.

Every place of a text has a side before it and a side after it, of which anchors see

    before   START (nothing), NEWLINE (a newline), OTHER
    after    END (nothing), LAST (a newline that ends the text), NEWLINE (another), OTHER

A part without anchors denotes the same strings between all sides: an Expr. A part with anchors is
`Sided`: twelve Exprs, one for each pair of a side before its first and a side after its last
character. `^`, for instance, is ε after START and ∅ after the others. The whole pattern stands
between START and END.

In a sequence each part makes a side of the other: after `a` it is OTHER, but in `a?^b`, where the a
is left out, ^ sees what was before. `Sides.then` sums over these cases: for strings u of the first
part and v of the second, it tells whether u is empty, ends in a newline or in something else, and
whether v is empty, is one newline, begins with a newline or with something else. Cases in which the
parts come out equal are not told apart, so `^[a-z]+$` becomes `[a-z]+` and nothing else. Counts are
in `lowering.anchored_counts`.

What this module does not know: how characters are spelled, `spell` says; patterns.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, final

from fairlead.lowering.alternatives import either
from fairlead.lowering.expr import (
    ALL_BYTES,
    EMPTY,
    EPSILON,
    Alt,
    And,
    Bytes,
    Concat,
    Epsilon,
    Expr,
    Repeat,
    alt,
    both,
    concat,
    repeat,
)
from fairlead.lowering.unicode import SCALARS, CodePoints, difference, points
from fairlead.syntax.regex_tree import AnchorKind

START, BEFORE_NEWLINE, BEFORE_OTHER = BEFORE = range(3)
END, LAST, AFTER_NEWLINE, AFTER_OTHER = AFTER = range(4)
SIDES = tuple(product(BEFORE, AFTER))


@final
@dataclass(frozen=True, slots=True)
class Sided:
    """What a part with anchors denotes, for each pair of SIDES, in their order."""

    table: tuple[Expr, ...]


Value: TypeAlias = Expr | Sided
Shapes: TypeAlias = frozenset[str]

# The side that strings of each shape make for what stands after and before them.
_NOTHING, _BREAK, _NEWLINE, _OTHER = "nothing", "one newline", "newline", "other"
_MADE_BEFORE = {_NEWLINE: BEFORE_NEWLINE, _OTHER: BEFORE_OTHER}
_MADE_AFTER = {_NEWLINE: AFTER_NEWLINE, _OTHER: AFTER_OTHER}
SOMETHING: Shapes = frozenset((_BREAK, _NEWLINE, _OTHER))


def at(value: Value, before: int, after: int) -> Expr:
    """What a part denotes between two sides."""
    return value.table[before * len(AFTER) + after] if isinstance(value, Sided) else value


def sided(entries: Iterable[Expr]) -> Value:
    """The part that denotes these between SIDES: an Expr, if it is the same everywhere."""
    table = tuple(entries)
    return table[0] if all(entry is table[0] for entry in table) else Sided(table)


def anchor(kind: AnchorKind) -> Value:
    """The empty string where the condition holds."""
    holds: dict[AnchorKind, Callable[[int, int], bool]] = {
        "text start": lambda before, after: before == START,
        "line start": lambda before, after: before != BEFORE_OTHER,
        "text end": lambda before, after: after == END,
        "last line end": lambda before, after: after in (END, LAST),
        "line end": lambda before, after: after != AFTER_OTHER,
    }
    return sided(EPSILON if holds[kind](*sides) else EMPTY for sides in SIDES)


def any_of(values: Sequence[Value | bytes]) -> Value:
    """Any of the parts; `bytes` are themselves."""
    plain = [value for value in values if not isinstance(value, Sided)]
    anchored = [value for value in values if isinstance(value, Sided)]
    if not anchored:
        return either(plain)
    rows = [tuple(value.table[i] for value in anchored) for i in range(len(SIDES))]
    found = {row: either([*plain, *row]) for row in set(rows)}
    return sided(found[row] for row in rows)


@final
class Sides:
    """Sequences of parts, for a spelling of characters.

    Args:
        spell: one character out of a set, as bytes.
    """

    def __init__(self, spell: Callable[[CodePoints], Expr]) -> None:
        newline, other = points([0x0A]), difference(SCALARS, points([0x0A]))
        self.text = repeat(spell(SCALARS))
        self._break = spell(newline)
        something = repeat(spell(SCALARS), 1)
        self._beginnings = {
            _NOTHING: EPSILON,
            _BREAK: self._break,
            _NEWLINE: concat(self._break, something),
            _OTHER: concat(spell(other), self.text),
        }
        self._endings = {
            _NOTHING: EPSILON,
            _NEWLINE: concat(self.text, self._break),
            _OTHER: concat(self.text, spell(other)),
        }

    def then(self, first: Value, second: Value) -> Value:
        """A string of the first part, then one of the second."""
        if not isinstance(first, Sided) and not isinstance(second, Sided):
            return concat(first, second)
        return sided(self._joined(first, second, *sides) for sides in SIDES)

    def _joined(self, first: Value, second: Value, before: int, after: int) -> Expr:
        firsts: dict[Expr, set[str]] = {}
        for shape in self._beginnings:
            side = {_NOTHING: after, _BREAK: LAST if after == END else AFTER_NEWLINE}
            part = at(first, before, (side | _MADE_AFTER)[shape])
            firsts.setdefault(part, set()).add(shape)
        seconds: dict[Expr, set[str]] = {}
        for shape in self._endings:
            part = at(second, ({_NOTHING: before} | _MADE_BEFORE)[shape], after)
            seconds.setdefault(part, set()).add(shape)
        return alt(
            *(
                concat(self.ending(head, ends), self.beginning(tail, begins))
                for head, begins in firsts.items()
                for tail, ends in seconds.items()
                if head is not EMPTY and tail is not EMPTY
            )
        )

    def beginning(self, expr: Expr, shapes: Iterable[str]) -> Expr:
        """The strings of `expr` that begin so."""
        return _restrict(expr, frozenset(shapes), self._beginnings, _first)

    def ending(self, expr: Expr, shapes: Iterable[str]) -> Expr:
        """The strings of `expr` that end so."""
        return _restrict(expr, frozenset(shapes), self._endings, _last)

    def nonempty(self, value: Value) -> Value:
        """The strings of a part that are not empty."""
        return sided(self.beginning(at(value, *sides), SOMETHING) for sides in SIDES)


def _restrict(
    expr: Expr, shapes: Shapes, forms: dict[str, Expr], edge: Callable[[Concat], list[Expr]]
) -> Expr:
    """The strings of `expr` that have one of the shapes; `forms` are all strings of each shape."""
    if expr is forms.get(_BREAK):
        return expr if _BREAK in shapes else EMPTY
    possible = {_NOTHING} if expr.nullable else set[str]()
    members = _edge_bytes(expr, edge)
    possible |= {s for s, f in forms.items() if s != _NOTHING and members & _edge_bytes(f, edge)}
    if possible <= shapes:
        return expr
    kept = possible & shapes
    if not kept or kept == {_NOTHING}:
        return EPSILON if kept else EMPTY
    if kept == possible - {_NOTHING} and isinstance(expr, Repeat) and not expr.item.nullable:
        return repeat(expr.item, 1, expr.high)
    return both(expr, alt(*(forms[shape] for shape in kept)))


def _edge_bytes(expr: Expr, edge: Callable[[Concat], list[Expr]]) -> int:
    """The bytes with which a string of a regular expression may begin, or end; maybe a few more."""
    members, todo, seen = 0, [expr], {expr}
    while todo:
        match todo.pop():
            case Bytes(bits):
                members |= bits
                below = []
            case Concat() as pair:
                below = edge(pair)
            case Alt(options):
                below = list(options)
            case Repeat(item):
                below = [item]
            case And(left):
                below = [left]
            case Epsilon():
                below = []
            case _:
                return ALL_BYTES
        todo += [part for part in below if part not in seen]
        seen.update(below)
    return members


def _first(pair: Concat) -> list[Expr]:
    return [pair.head, pair.tail] if pair.head.nullable else [pair.head]


def _last(pair: Concat) -> list[Expr]:
    return [pair.head, pair.tail] if pair.tail.nullable else [pair.tail]
