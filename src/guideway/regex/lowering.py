"""Regular expressions to expressions, for full matches and for searches."""

from dataclasses import replace
from functools import cached_property, partial

from guideway.errors import UnsupportedError
from guideway.language.expr import (
    EMPTY,
    EPSILON,
    all_of,
    alt,
    complement,
    concat,
    either,
    repeat,
)
from guideway.language.nodes import Concat, Expr
from guideway.language.nodes import Repeat as Counted
from guideway.language.utf8 import SCALARS, character, points
from guideway.regex.backtracking_automaton import whole_matches
from guideway.regex.plain import NotByParts, Spell, lower_plain
from guideway.regex.references import written_out
from guideway.regex.tree import (
    Alternation,
    Anchor,
    Group,
    Look,
    Node,
    Pattern,
    Sequence,
    children,
)
from guideway.sources.reading import where

MOST_NESTED = 12  # levels of nested lookaheads
_ENDS = ("text end", "last line end", "line end")


def lower_regex(pattern: Pattern, spell: Spell = character) -> Expr:
    """The texts that match `pattern` as a whole; `spell` gives the spellings of a character."""
    return _lowered(pattern, spell, search=False)


def lower_search(pattern: Pattern, spell: Spell = character) -> Expr:
    """The texts in which `pattern` matches somewhere."""
    return _lowered(pattern, spell, search=True)


def _lowered(pattern: Pattern, spell: Spell, *, search: bool) -> Expr:
    body = written_out(pattern.body, partial(_refuse_reference, pattern))
    pattern = replace(pattern, body=body)
    lowering = _Lowering(spell)
    around = lowering.text if search else EPSILON
    try:
        return lowering.between(pattern.body, around, around)
    except NotByParts:
        return whole_matches(pattern, search, spell)


def _refuse_reference(pattern: Pattern, what: str, node: Node) -> UnsupportedError:
    return UnsupportedError(
        f"{what} is not supported here; write the pattern without it",
        feature="backreference",
        **where(pattern.text, node.place),
    )


class _Lowering:
    """Lowers patterns with anchors only at the ends, and lookaheads only in sequences."""

    def __init__(self, spell: Spell) -> None:
        self._spell, self._depth = spell, 0

    @cached_property
    def text(self) -> Expr:
        return repeat(self._spell(SCALARS))

    def between(self, body: Node, before: Expr | None, after: Expr) -> Expr:
        """`before`, a match, then `after`; anchors at the ends narrow these.

        `before` reaches to the start of the text (None: unknown), `after` to its end.
        """
        return either(
            self._framed(_flat(option, Sequence), before, after)
            for option in _flat(body, Alternation)
        )

    def _framed(self, items: list[Node], before: Expr | None, after: Expr) -> Expr:
        newline, item = self._spell(points([0x0A])), items[0] if items else None
        if isinstance(item, Anchor) and item.kind in ("text start", "line start"):
            if before is None:
                raise NotByParts
            lines = item.kind == "line start" and before is not EPSILON
            before, items = alt(EPSILON, concat(before, newline)) if lines else EPSILON, items[1:]
        item = items[-1] if items else None
        if isinstance(item, Anchor) and item.kind in _ENDS:
            rest = {"text end": EMPTY, "last line end": newline, "line end": concat(newline, after)}
            more = EMPTY if after is EPSILON else rest[item.kind]
            after, items = alt(EPSILON, more), items[:-1]
        if not any(isinstance(item, Look) for item in items):
            return self._short(before or EPSILON, self._sequence(items), after)
        end = len(items)
        for place in range(end - 1, -1, -1):
            look = items[place]
            if isinstance(look, Look):
                if not look.ahead or self._depth == MOST_NESTED:
                    raise NotByParts
                self._depth += 1
                met = self.looked(look, None)
                self._depth -= 1
                after = all_of([concat(self._sequence(items[place + 1 : end]), after), met])
                end = place
        return concat(before or EPSILON, self._sequence(items[:end]), after)

    def looked(self, look: Look, before: Expr | None) -> Expr:
        """The rest of the text that a lookahead allows; `before` as for `between`."""
        found = self.between(look.item, before, self.text)
        return complement(found) if look.negated else found

    def _short(self, before: Expr, middle: Expr, after: Expr) -> Expr:
        """`middle` between `before` and `after`; next to any text, its ends are made minimal."""
        parts = _sequence_of(middle)
        if after is self.text:
            parts = _shorter(parts)
        if before is self.text:
            parts = _shorter(parts[::-1], backwards=True)[::-1]
        return concat(before, *parts, after)

    def _sequence(self, items: list[Node]) -> Expr:
        return lower_plain(Sequence(tuple(items), 0), self._spell)


def _flat(root: Node, kind: type[Sequence | Alternation]) -> list[Node]:
    """The parts of a sequence or an alternation, without groups and nested ones of its kind."""
    found, todo = list[Node](), [root]
    while todo:
        node = todo.pop()
        if isinstance(node, (Group, kind)):
            todo += reversed(children(node))
        else:
            found.append(node)
    return found


def _shorter(parts: list[Expr], *, backwards: bool = False) -> list[Expr]:
    """Drop nullable parts at the end, and repetitions beyond the least."""
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
