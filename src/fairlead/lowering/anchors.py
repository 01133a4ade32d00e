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
from fairlead.lowering.expr import ALL_BYTES, EMPTY, EPSILON, alt, both, concat, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Alt, And, Bytes, Concat, Empty, Epsilon, Expr, Repeat
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

# How strings begin and end, as bits: sets of them are sums. A string that is one newline and ends
# the text is told apart from other beginnings, as $ is true before it.
NOTHING, NEWLINE, OTHER, ONE_NEWLINE = 1, 2, 4, 8
SOMETHING = NEWLINE | OTHER | ONE_NEWLINE
_BEGINNINGS = (NOTHING, NEWLINE, OTHER, ONE_NEWLINE)
_ENDINGS = (NOTHING, NEWLINE, OTHER)


def _sides_after(after: int) -> tuple[int, ...]:
    """What is after u in u·v, by the beginning of v, where `after` is after v."""
    return (after, AFTER_NEWLINE, AFTER_OTHER, LAST if after == END else AFTER_NEWLINE)


def _sides_before(before: int) -> tuple[int, ...]:
    """What is before v in u·v, by the ending of u, where `before` is before u."""
    return (before, BEFORE_NEWLINE, BEFORE_OTHER)


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
class _Edge:
    """The bytes with which strings of regular expressions may begin, or end, and what that tells.

    Args:
        inward: of a concatenation, the parts in which its strings begin, or end.
        shapes: all strings of each shape.
    """

    def __init__(self, inward: Callable[[Concat], list[Expr]], shapes: dict[int, Expr]) -> None:
        self._inward, self._shapes = inward, shapes
        self._known: dict[Expr, int] = {}
        self._bytes = {shape: self._members(strings) for shape, strings in shapes.items()}

    def restrict(self, expr: Expr, shapes: int) -> Expr:
        """The strings of `expr` that have one of the shapes."""
        members = self._members(expr)
        possible = sum(shape for shape, edge in self._bytes.items() if members & edge)
        possible |= NOTHING if expr.nullable else 0
        kept = possible & shapes
        if kept == possible:
            return expr
        if kept in (0, NOTHING):
            return EPSILON if kept else EMPTY
        if kept == possible - NOTHING and isinstance(expr, Repeat) and not expr.item.nullable:
            return repeat(expr.item, 1, expr.high)
        strings = [strings for shape, strings in self._shapes.items() if shape & kept]
        return both(expr, alt(*strings, EPSILON if kept & NOTHING else EMPTY))

    def _members(self, expr: Expr) -> int:
        """The bytes at the edge, maybe a few more: of And one side is asked, of Not nothing."""
        members, todo, seen = 0, [expr], {expr}
        while todo:
            node = todo.pop()
            below: list[Expr] = []
            match node:
                case _ if node in self._known:
                    members |= self._known[node]
                case Bytes(bits):
                    members |= bits
                case Concat():
                    below = self._inward(node)
                case Alt(options):
                    below = list(options)
                case Repeat(item) | And(item):
                    below = [item]
                case Epsilon() | Empty():
                    pass
                case _:
                    members = ALL_BYTES
            todo += [part for part in below if part not in seen]
            seen.update(below)
        self._known[expr] = members
        return members


@final
class Sides:
    """Sequences of parts, for a spelling of characters.

    Args:
        spell: one character out of a set, as bytes.
    """

    def __init__(self, spell: Callable[[CodePoints], Expr]) -> None:
        newline, other = spell(points([0x0A])), spell(difference(SCALARS, points([0x0A])))
        self.text = repeat(spell(SCALARS))
        self._newline = newline
        begins = {
            NEWLINE: concat(newline, repeat(spell(SCALARS), 1)),
            OTHER: concat(other, self.text),
            ONE_NEWLINE: newline,
        }
        ends = {NEWLINE: concat(self.text, newline), OTHER: concat(self.text, other)}
        self._begin, self._end = _Edge(_first, begins), _Edge(_last, ends)

    def then(self, first: Value, second: Value) -> Value:
        """A string of the first part, then one of the second."""
        if not isinstance(first, Sided) and not isinstance(second, Sided):
            return concat(first, second)
        if first is EPSILON or second is EPSILON:
            return second if first is EPSILON else first
        spend(len(SIDES))
        known: dict[tuple[tuple[Expr, ...], tuple[Expr, ...]], Expr] = {}
        entries: list[Expr] = []
        for before, after in SIDES:
            firsts = tuple(at(first, before, side) for side in _sides_after(after))
            seconds = tuple(at(second, side, after) for side in _sides_before(before))
            found = known.get((firsts, seconds))
            if found is None:
                found = known[firsts, seconds] = self._joined(firsts, seconds)
            entries.append(found)
        return sided(entries)

    def _joined(self, firsts: tuple[Expr, ...], seconds: tuple[Expr, ...]) -> Expr:
        """The sum over how v begins and u ends, equal cases together."""
        return alt(
            *(
                concat(self.ending(head, ends), self.beginning(tail, begins))
                for head, begins in _together(firsts, _BEGINNINGS).items()
                for tail, ends in _together(seconds, _ENDINGS).items()
            )
        )

    def beginning(self, expr: Expr, shapes: int) -> Expr:
        """The strings of `expr` that begin so."""
        if expr is self._newline:
            return expr if shapes & ONE_NEWLINE else EMPTY
        return self._begin.restrict(expr, shapes)

    def ending(self, expr: Expr, shapes: int) -> Expr:
        """The strings of `expr` that end so."""
        return self._end.restrict(expr, shapes)

    def nonempty(self, value: Value) -> Value:
        """The strings of a part that are not empty."""
        return sided(self.beginning(at(value, *sides), SOMETHING) for sides in SIDES)


def _together(parts: tuple[Expr, ...], shapes: tuple[int, ...]) -> dict[Expr, int]:
    """For each part that is not ∅, the shapes with which it goes."""
    found: dict[Expr, int] = {}
    for part, shape in zip(parts, shapes, strict=True):
        if part is not EMPTY:
            found[part] = found.get(part, 0) | shape
    return found


def _first(pair: Concat) -> list[Expr]:
    return [pair.head, pair.tail] if pair.head.nullable else [pair.head]


def _last(pair: Concat) -> list[Expr]:
    return [pair.head, pair.tail] if pair.tail.nullable else [pair.tail]
