"""Regular expressions to expressions, for full matches and for searches."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import assert_never

from guideway.errors import GuidewayError, UnsupportedError
from guideway.lowering.alternatives import either
from guideway.lowering.anchored_counts import count
from guideway.lowering.anchors import (
    END,
    START,
    Sided,
    Sides,
    Value,
    anchor,
    any_of,
    at,
    boundary,
)
from guideway.lowering.characters import leaf_points, literal_points, word_points
from guideway.lowering.expr import EMPTY, EPSILON, concat, literal, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.lookaround import Lookaround
from guideway.lowering.nodes import Concat, Expr
from guideway.lowering.nodes import Repeat as Counted
from guideway.lowering.references import written_out
from guideway.lowering.unicode import CodePoints, character
from guideway.lowering.whole_matches import NotByParts, whole_matches
from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    AnchorKind,
    Back,
    Boundary,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Pattern,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    children,
    nodes_of,
)
from guideway.syntax.source import describe_place

Spell = Callable[[CodePoints], Expr]


def lower_regex(pattern: Pattern, spell: Spell = character) -> Expr:
    """The texts that match `pattern` as a whole.

    >>> from guideway.syntax.regex import parse_regex
    >>> lower_regex(parse_regex("^a(?:b|c)$")) is lower_regex(parse_regex("a[bc]"))
    True

    Args:
        pattern: the tree.
        spell: one character out of a set, as bytes; UTF-8, or as it stands in a JSON string.

    Raises:
        UnsupportedError: a reference back that is not known to be regular, or lookaround nested
            more than 12 deep.
        LimitError: a part that looks at lines, as `(?m:^a$)` does, is counted beyond 1,000; the
            automaton of lookaround in loops is too large.
    """
    return _lowered(pattern, spell, search=False)


def lower_search(pattern: Pattern, spell: Spell = character) -> Expr:
    """The texts in which `pattern` matches somewhere; arguments and errors as in `lower_regex`.

    >>> from guideway.lowering.unicode import TEXT
    >>> from guideway.syntax.regex import parse_regex
    >>> lower_search(parse_regex("^a")) is concat(literal("a"), TEXT)
    True
    """
    return _lowered(pattern, spell, search=True)


def _lowered(pattern: Pattern, spell: Spell, *, search: bool) -> Expr:
    if pattern.backs:
        body = written_out(pattern.body, partial(_refuse_reference, pattern))
        # A group without texts takes what stands beside it along.
        bounded = any(isinstance(node, Boundary) for node in nodes_of(body))
        pattern = replace(pattern, body=body, backs=False, boundaries=bounded)
    try:
        lowering = _Lowering(pattern, spell)
        return lowering.between(lowering.sides.text if search else EPSILON)
    except NotByParts:
        return whole_matches(pattern, search, spell)


def _refuse_reference(pattern: Pattern, what: str, node: Node) -> UnsupportedError:
    text, position = pattern.text, node.place
    return UnsupportedError(
        f"{what} is not supported here; write the pattern without it",
        feature="backreference",
        place=describe_place(text, position),
        text=text,
        position=position,
    )


@lru_cache(maxsize=64)
def _sides(spell: Spell) -> Sides:
    return Sides(spell)


class _Lowering:
    def __init__(self, pattern: Pattern, spell: Spell) -> None:
        self._pattern, self._spell = pattern, spell
        self.sides = Sides(spell, self._words()) if pattern.boundaries else _sides(spell)

    def between(self, around: Expr) -> Expr:
        sides, body = self.sides, self._pattern.body
        if self._pattern.looks:
            return Lookaround(sides, self.value).lower(body, around)
        framed = None if self._pattern.boundaries else self._framed(body, around)
        if framed is not None:
            return framed
        value = self.value(body)
        if not isinstance(value, Sided):
            return _between(around, value, around)
        return at(sides.then(around, sides.then(value, around)), START, END)

    def _framed(self, body: Node, around: Expr) -> Expr | None:
        """`between` for anchors at the ends of options alone; None otherwise."""
        while isinstance(body, Group):
            body = body.item
        options = body.options if isinstance(body, Alternation) else (body,)
        listed = [option.items if isinstance(option, Sequence) else (option,) for option in options]
        begun = [_is_anchor(items[:1], "text start") for items in listed]
        ended = [_is_anchor(items[-1:], "text end") for items in listed]
        if not any(begun) and not any(ended):
            return None
        found = list[Expr]()
        for items, begins, ends in zip(listed, begun, ended, strict=True):
            middle = self.value(Sequence(items[begins : len(items) - ends], body.place))
            if isinstance(middle, Sided):
                return None
            before, after = EPSILON if begins else around, EPSILON if ends else around
            found.append(_between(before, middle, after))
        return either(found)

    def _words(self) -> CodePoints:
        found = {
            word_points(node.mode)
            for node in nodes_of(self._pattern.body)
            if isinstance(node, Boundary)
        }
        if len(found) > 1:
            raise NotByParts
        return found.pop()

    def value(self, root: Node) -> Value:
        values: list[Value | bytes] = []
        todo: list[tuple[Node, bool]] = [(root, False)]
        while todo:
            node, ready = todo.pop()
            below = children(node)
            if below and not ready:
                todo.append((node, True))
                todo += [(child, False) for child in reversed(below)]
            else:
                parts = values[len(values) - len(below) :]
                del values[len(values) - len(below) :]
                values.append(self._value(node, parts))
        return _plain(values[0])

    def _value(  # noqa: PLR0911  one arm for each node
        self, node: Node, parts: list[Value | bytes]
    ) -> Value | bytes:
        match node:
            case Text():
                return self._text(node)
            case Class() | Shorthand() | Dot():
                found = leaf_points(node)
                spend(len(found))
                return self.sides.character(found)
            case Anchor(kind):
                return anchor(kind)
            case Boundary(negated, mode):
                return boundary(negated, in_empty=mode.dialect == "ecma")
            case Back() | Look():
                raise GuidewayError("lookaround and references are lowered before")
            case Group():
                return parts[0]
            case Repeat(_, low, high):
                place = partial(describe_place, self._pattern.text, node.place)
                return count(self.sides, _plain(parts[0]), low, high, place)
            case Sequence():
                return self._sequence(parts)
            case Alternation():
                return any_of(parts)
            case _:
                assert_never(node)

    def _text(self, node: Text) -> Expr | bytes:
        if self._spell is not character or node.mode.ignore_case or self._pattern.boundaries:
            if not node.mode.ignore_case:
                return concat(*map(self.sides.letter, node.text))
            sets = [literal_points(char, node.mode) for char in node.text]
            return concat(*map(self.sides.character, sets))
        try:
            return node.text.encode()
        except UnicodeEncodeError:  # no text holds a lone surrogate
            return EMPTY

    def _sequence(self, parts: list[Value | bytes]) -> Value:
        """From the end; runs without anchors are joined first."""
        found: Value = EPSILON
        run: list[Expr] = []
        for part in map(_plain, reversed(parts)):
            if isinstance(part, Sided):
                found = self.sides.then(part, self.sides.then(concat(*reversed(run)), found))
                run = []
            else:
                run.append(part)
        return self.sides.then(concat(*reversed(run)), found)


def _between(before: Expr, middle: Expr, after: Expr) -> Expr:
    """`middle` between `before` and `after`; beside any text, its ends are made minimal."""
    parts = _sequence_of(middle)
    if after is not EPSILON:
        parts = _shorter(parts)
    if before is not EPSILON:
        parts = _shorter(parts[::-1], backwards=True)[::-1]
    return concat(before, *parts, after)


def _shorter(parts: list[Expr], *, backwards: bool = False) -> list[Expr]:
    """Drop what may be empty, or repeat, at the end."""
    found = [*parts]
    while found:
        last = found.pop()
        if isinstance(last, Counted) and last.low == 1:
            inner = _sequence_of(last.item)
            found += inner[::-1] if backwards else inner
        elif not last.nullable:
            again = isinstance(last, Counted)
            return [*found, repeat(last.item, last.low, last.low) if again else last]
    return []


def _sequence_of(expr: Expr) -> list[Expr]:
    found: list[Expr] = []
    while isinstance(expr, Concat):
        found.append(expr.head)
        expr = expr.tail
    return [*found, expr]


def _is_anchor(items: tuple[Node, ...], kind: AnchorKind) -> bool:
    return any(isinstance(item, Anchor) and item.kind == kind for item in items)


def _plain(value: Value | bytes) -> Value:
    return literal(value) if isinstance(value, bytes) else value
