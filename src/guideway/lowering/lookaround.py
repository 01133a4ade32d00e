"""Lookaround as intersections with what stands before, or behind.

Lookbehinds are put together from the left, lookaheads from the right; alternatives and bounded
counts with lookaround are multiplied out. What does not fit is left to `whole_matches`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, final

from guideway.lowering.anchors import AFTER, BEFORE, END, START, Sided, Sides, Value, any_of, at
from guideway.lowering.expr import EMPTY, EPSILON, alt, both, complement, concat, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr
from guideway.lowering.whole_matches import NotByParts
from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    Boundary,
    Group,
    Look,
    Node,
    Repeat,
    children,
    nodes_of,
)
from guideway.syntax.regex_tree import Sequence as Parts
from guideway.syntax.regex_width import width

MOST_MULTIPLIED = 256
MOST_NESTED = 12
MOST_ROUNDS = 12


@final
@dataclass(frozen=True, slots=True)
class _Condition:
    """A lookahead or lookbehind; `padded` are the strings up to the end, or from the beginning."""

    look: Look
    padded: Value


@final
@dataclass(frozen=True, slots=True)
class _Without:
    """`strings`, in which no word begins, even if it ends behind them."""

    strings: Expr


_Item: TypeAlias = Value | _Condition | _Without
_Options: TypeAlias = list[tuple[_Item, ...]]


@final
class Lookaround:
    """Lowers patterns that hold lookaround.

    Args:
        sides: how sequences are put together.
        value: lowers the parts without lookaround.
    """

    def __init__(self, sides: Sides, value: Callable[[Node], Value]) -> None:
        self._sides, self._value = sides, value
        self._depth = 0

    def lower(self, root: Node, around: Expr) -> Expr:
        """The texts of the pattern, with `around` before and after it."""
        return alt(*(self._whole((around, *o, around)) for o in self._options(root)))

    def _whole(self, items: tuple[_Item, ...]) -> Expr:
        found = self._sides.text
        crossing = _crossing(items)
        while crossing:
            gone = next((i for i, _ in crossing if self._sees_all(items, i)), None)
            condition = None if gone is None else items[gone]
            if gone is None or not isinstance(condition, _Condition):
                raise NotByParts
            found = both(found, at(self._strings(condition), START, END))
            items = items[:gone] + items[gone + 1 :]
            crossing = _crossing(items)
        last = max((i for i, item in enumerate(items) if _looks(item, ahead=False)), default=-1)
        before, after = self._backward(items[: last + 1]), self._forward(items[last + 1 :])
        return both(at(self._sides.then(before, after), START, END), found)

    def _sees_all(self, items: tuple[_Item, ...], index: int) -> bool:
        """Return whether nothing can stand before this lookahead, or behind this lookbehind."""
        item = items[index]
        if not isinstance(item, _Condition):
            return False
        parts = items[:index] if item.look.ahead else items[index + 1 :]
        found = self._backward([p for p in parts if not isinstance(p, _Condition | _Without)])
        sides = [(START, side) for side in AFTER] if item.look.ahead else [(s, END) for s in BEFORE]
        strings = {at(found, *pair) for pair in sides}
        return not any(isinstance(p, _Without) for p in parts) and strings <= {EPSILON, EMPTY}

    def _strings(self, condition: _Condition) -> Value:
        padded = condition.padded
        return self._sides.opposite(padded) if condition.look.negated else padded

    def _forward(self, items: Sequence[_Item]) -> Value:
        found: Value = EPSILON
        conditions: list[Value] = []  # those in a row are met at once
        for item in reversed(items):
            if isinstance(item, _Condition):
                if not item.look.ahead:
                    raise NotByParts
                conditions.append(self._strings(item))
                continue
            found, conditions = self._sides.meet(found, *conditions), []
            if isinstance(item, _Without):
                found = self._before(item, found)
            else:
                found = self._sides.then(item, found)
        return self._sides.meet(found, *conditions)

    def _backward(self, items: Sequence[_Item]) -> Value:
        found: Value = EPSILON
        conditions: list[Value] = []
        for item in items:
            if isinstance(item, _Condition) and not item.look.ahead:
                conditions.append(self._strings(item))
            elif isinstance(item, _Condition | _Without):
                raise NotByParts
            else:
                found = self._sides.then(self._sides.meet(found, *conditions), item)
                conditions = []
        return self._sides.meet(found, *conditions)

    def _before(self, item: _Without, rest: Value) -> Value:
        """The strings without the words; nothing may follow, as a word might reach into it."""
        if not {at(rest, side, END) for side in BEFORE} <= {EPSILON, EMPTY}:
            raise NotByParts
        return self._sides.then(item.strings, rest)

    def _plain(self, node: Node) -> Expr:
        value = self._value(node)
        if isinstance(value, Sided):
            raise NotByParts
        return value

    # multiplying out

    def _options(self, root: Node) -> _Options:
        """The sequences of a part, with lookaround at their top."""
        holding = _holding(root)
        done: list[_Options] = []
        todo: list[tuple[Node, bool]] = [(root, False)]
        while todo:
            node, ready = todo.pop()
            if id(node) not in holding:
                done.append([(self._value(node),)])
            elif isinstance(node, Look):
                done.append([(self._condition(node),)])
            elif not ready:
                todo.append((node, True))
                todo += [(child, False) for child in reversed(children(node))]
            else:
                count = len(children(node))
                parts = done[len(done) - count :]
                del done[len(done) - count :]
                done.append(self._joined(node, parts))
        return done[0]

    def _joined(self, node: Node, parts: list[_Options]) -> _Options:
        if isinstance(node, Group):
            return parts[0]
        if isinstance(node, Alternation):
            return self._limited([o for options in parts for o in options])
        if isinstance(node, Repeat):
            return self._repeated(node, parts[0])
        return self._product(parts)

    def _product(self, parts: Iterable[_Options]) -> _Options:
        found: _Options = [()]
        for options in parts:
            found = self._limited([(*a, *b) for a, b in product(found, options)])
        return found

    def _repeated(self, node: Repeat, options: _Options) -> _Options:
        item = node.item
        while isinstance(item, Group):
            item = item.item
        if _is_contained(item):
            return [(repeat(alt(*map(self._whole, options)), node.low, node.high),)]
        simple = len(options) == 1 and len(_holding(item)) == 1 + sum(
            isinstance(part, Look) for part in children(item)
        )
        *first, last = item.items if isinstance(item, Parts) else (item,)
        looks = [part for part in first if isinstance(part, Look) and part.ahead]
        if simple and looks and looks == first and width(last, {}) == (1, 1):
            return [(self._loop(node, looks, self._plain(last)),)]
        if node.high is None or node.high > MOST_ROUNDS:
            raise NotByParts
        counts = range(node.low, node.high + 1)
        rounds = [self._product([options] * count) for count in counts]
        return self._limited([option for options in rounds for option in options])

    def _limited(self, options: _Options) -> _Options:
        spend(sum(map(len, options)))
        if len(options) > MOST_MULTIPLIED:
            raise NotByParts
        return options

    def _condition(self, look: Look) -> _Condition:
        if self._depth >= MOST_NESTED:
            raise NotByParts
        self._depth += 1
        text = self._sides.text
        put = self._forward if look.ahead else self._backward
        options = self._options(look.item)
        padded = [put((*o, text) if look.ahead else (text, *o)) for o in options]
        self._depth -= 1
        return _Condition(look, any_of(padded))

    def _loop(self, node: Repeat, looks: list[Look], character: Expr) -> _Item:
        """(?:(?!y)c){low,high}, in which c is one character and some y is longer."""
        wrong: list[Expr] = []
        for look in looks:
            body = self._plain(look.item)
            if width(look.item, {}) == (1, 1):
                character = both(character, complement(body) if look.negated else body)
            elif not look.negated:
                raise NotByParts
            else:
                wrong.append(body)
        if any(body.nullable for body in wrong):
            return EMPTY if node.low else EPSILON
        strings = repeat(character, node.low, node.high)
        text = self._sides.text
        return _Without(both(strings, complement(concat(text, alt(*wrong), text))))


def _is_contained(root: Node) -> bool:
    """Return whether lookaround in a part surely sees nothing beyond it."""
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, Look | Anchor | Boundary):
            return False
        if not isinstance(node, Parts):
            todo += children(node)
            continue
        for place, item in enumerate(node.items):
            if not isinstance(item, Look):
                todo.append(item)
            elif not _fits(
                item.item, node.items[place + 1 :] if item.ahead else node.items[:place]
            ):
                return False
    return True


def _fits(looked_at: Node, parts: Sequence[Node]) -> bool:
    """Return whether what is looked at is never longer than these parts."""
    _, most = width(looked_at, {})
    if most is None or most > sum(width(part, {})[0] for part in parts):
        return False
    return not any(isinstance(node, Look | Anchor | Boundary) for node in nodes_of(looked_at))


def _looks(item: _Item, ahead: bool) -> bool:
    return isinstance(item, _Condition) and item.look.ahead == ahead


def _crossing(items: Sequence[_Item]) -> list[tuple[int, _Condition | _Without]]:
    """Lookaheads before a lookbehind, and these lookbehinds, with their places."""
    looks = [(i, x) for i, x in enumerate(items) if isinstance(x, _Condition | _Without)]
    aheads = [i for i, x in looks if not _looks(x, ahead=False)]
    behinds = [i for i, x in looks if _looks(x, ahead=False)]
    if not aheads or not behinds:
        return []
    return [(i, x) for i, x in looks if (i > aheads[0] if i in behinds else i < behinds[-1])]


def _holding(root: Node) -> set[int]:
    """The ids of nodes with lookaround inside."""
    found: set[int] = set()
    for node in reversed(nodes_of(root)):
        if isinstance(node, Look) or any(id(child) in found for child in children(node)):
            found.add(id(node))
    return found
