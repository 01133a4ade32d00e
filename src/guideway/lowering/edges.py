"""Restrict strings to those that begin, or end, with a given kind of character."""

from collections.abc import Mapping
from typing import final

from guideway.lowering.expr import ALL_BYTES, EMPTY, EPSILON, alt, both, byte_set, concat, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Alt, And, Bytes, Concat, Empty, Epsilon, Expr, Repeat

# Shapes as bits: sets of them are sums.
NOTHING, NEWLINE, OTHER, WORD, ONE_NEWLINE = 1, 2, 4, 8, 16
SOMETHING = NEWLINE | OTHER | WORD | ONE_NEWLINE

_DEEPEST = 50
_MOST_KNOWN = 10_000


@final
class Edge:
    """One end of strings.

    Args:
        at_end: which one.
        shapes: all strings of each shape.
        characters: of an expression that is one character, what it is of each shape; only for
            expressions whose characters are worth telling apart.
        plain: the bytes that are whole characters of each shape, wherever they stand.
    """

    def __init__(
        self,
        at_end: bool,
        shapes: Mapping[int, Expr],
        characters: Mapping[Expr, Mapping[int, Expr]],
        plain: Mapping[int, int],
    ) -> None:
        self._at_end, self._shapes, self._characters = at_end, shapes, characters
        self._plain = plain
        self._known: dict[Expr, int] = {}
        self._cuts: dict[tuple[Expr, int], Expr] = {}
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
        nothing = EPSILON if kept & NOTHING else EMPTY
        newlines = possible & (NEWLINE | ONE_NEWLINE)
        cut = self._cut(expr, kept, 0) if kept & newlines in (0, newlines) else None
        if cut is not None:
            return alt(cut, nothing)
        strings = [strings for shape, strings in self._shapes.items() if shape & kept]
        return both(expr, alt(*strings, nothing))

    def _cut(self, expr: Expr, shapes: int, depth: int) -> Expr | None:
        """Restrict non-empty strings to a shape; None if the characters are unknown."""
        found = self._cuts.get((expr, shapes))
        if found is None:
            found = self._made(expr, shapes, depth)
            if len(self._cuts) > _MOST_KNOWN:
                self._cuts.clear()
            if found is not None:
                self._cuts[(expr, shapes)] = found
        return found

    def _made(  # noqa: PLR0911  one arm for each node
        self, expr: Expr, shapes: int, depth: int
    ) -> Expr | None:
        found = self._characters.get(expr)
        if found is not None:
            return alt(*(part for shape, part in found.items() if shape & shapes))
        if depth > _DEEPEST:
            return None
        match expr:
            case Epsilon():
                return EMPTY
            case Bytes(members):
                kept = [bits for shape, bits in self._plain.items() if shape & shapes]
                return byte_set(members & sum(kept)) if self._plain and members < 1 << 128 else None
            case Alt():
                return self._cut_options(expr, shapes, depth + 1)
            case Repeat(item, low, high):
                cut = self._cut(item, shapes, depth + 1)  # of the first round that is not empty
                rest = repeat(item, max(low - 1, 0), None if high is None else high - 1)
                return None if cut is None else self._joined(cut, [rest])
            case Concat():
                return self._cut_parts(expr, shapes, depth + 1)
            case _:
                return None

    def _cut_options(self, union: Alt, shapes: int, depth: int) -> Expr | None:
        rest = set(union.options)
        single = sum(option.members for option in rest if isinstance(option, Bytes))
        found: list[Expr] = []
        for character, kinds in self._characters.items():
            if isinstance(character, Alt):
                several = {o for o in character.options if not isinstance(o, Bytes)}
                bits = sum(o.members for o in character.options if isinstance(o, Bytes))
                if several & rest and several <= set(union.options) and not bits & ~single:
                    rest -= several
                    found += [part for shape, part in kinds.items() if shape & shapes]
        for option in rest:
            cut = self._cut(option, shapes, depth)
            if cut is None:
                return None
            found.append(cut)
        return alt(*found)

    def _cut_parts(self, expr: Expr, shapes: int, depth: int) -> Expr | None:
        parts: list[Expr] = []
        while isinstance(expr, Concat):
            parts.append(expr.head)
            expr = expr.tail
        parts.append(expr)
        spend(len(parts))
        if self._at_end:
            parts.reverse()
        found: list[Expr] = []
        for index, part in enumerate(parts):
            cut = self._cut(part, shapes, depth)
            if cut is None:
                return None
            found.append(self._joined(cut, parts[index + 1 :]))
            if not part.nullable:
                break
        return alt(*found)

    def _joined(self, edge: Expr, inward: list[Expr]) -> Expr:
        return concat(*reversed(inward), edge) if self._at_end else concat(edge, *inward)

    def _members(self, expr: Expr) -> int:
        """A superset of the bytes at the edge."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        members, todo, seen = 0, [expr], {expr}
        while todo:
            node = todo.pop()
            below: list[Expr] = []
            match node:
                case _ if node in self._known:
                    members |= self._known[node]
                case Bytes(bits):
                    members |= bits
                case Concat(head, tail):
                    edge, inner = (tail, head) if self._at_end else (head, tail)
                    below = [edge, inner] if edge.nullable else [edge]
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
