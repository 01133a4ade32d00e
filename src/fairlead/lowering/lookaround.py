r"""Lookaround: places at which the rest of a text, or what came before, has to match something too.

    x(?=y)z    x, then texts of z (to the very end) that begin with a y
    x(?<!y)z   texts of x (from the very beginning) that do not end in a y, then z

So a pattern is read from both ends: what stands before a lookbehind is put together from the left,
what stands behind a lookahead from the right, and intersections do the rest. That needs all
lookbehinds before all lookaheads, except where one looks at the whole text anyway, like a lookahead
at the beginning. Alternatives and bounded counts with lookaround inside are multiplied out. Of the
unbounded ones there are those that people write: `(?:(?!y)c)*` with one character c, strings that
have no y in them, or beginning in them and ending behind them; `(?:c(?!y))*`, the same after a
first c; and loops that ask for the next character alone (`lowering.next_characters`).

All else is refused by name: `a(?!b)\w+(?<!c)d`, lookaround in other loops, a lookbehind in a
lookahead. What sequences, anchors and counts denote is known to `lowering.anchors` alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, final

from fairlead.errors import FairleadError
from fairlead.lowering.anchors import AFTER, BEFORE, END, START, Sided, Sides, Value, any_of, at
from fairlead.lowering.expr import EMPTY, EPSILON, alt, both, complement, concat, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.next_characters import ANY, NextCharacters
from fairlead.lowering.nodes import Expr
from fairlead.lowering.texts import finite_texts
from fairlead.syntax.regex_tree import (
    Alternation,
    Group,
    Look,
    Mode,
    Node,
    Repeat,
    Text,
    children,
)
from fairlead.syntax.regex_tree import Sequence as Parts
from fairlead.syntax.regex_width import width

MOST_MULTIPLIED = 256
MOST_NESTED = 12
MOST_ROUNDS = 12
_MOST_LETTERS = 40

Refuse: TypeAlias = Callable[[str, Node], FairleadError]


@final
@dataclass(frozen=True, slots=True)
class _Condition:
    """A lookahead or lookbehind. `padded`: the strings up to the end, or from the beginning."""

    look: Look
    padded: Value


@final
@dataclass(frozen=True, slots=True)
class _Without:
    """`strings`, in which none of `words` begins, even if it ends behind them; None: unknown."""

    node: Node
    strings: Expr
    words: tuple[str, ...] | None


_Item: TypeAlias = Value | _Condition | _Without
_Options: TypeAlias = list[tuple[_Item, ...]]


@final
class Lookaround:
    """Lowers patterns that hold lookaround.

    Args:
        sides: how sequences are put together.
        value: lowers the parts without lookaround.
        refuse: the error for what has no place here: a message, where.
    """

    def __init__(self, sides: Sides, value: Callable[[Node], Value], refuse: Refuse) -> None:
        self._sides, self._value, self._refuse = sides, value, refuse
        self._depth = 0

    def lower(self, root: Node, around: Expr) -> Expr:
        """The texts of the pattern, with `around` before and after it."""
        return alt(*(self._whole((around, *o, around)) for o in self._options(root)))

    def _whole(self, items: tuple[_Item, ...]) -> Expr:
        """The texts of a sequence that is the whole text."""
        found = self._sides.text
        crossing = _crossing(items)
        while crossing:
            gone = next((i for i, _ in crossing if self._sees_all(items, i)), None)
            condition = None if gone is None else items[gone]
            if gone is None or not isinstance(condition, _Condition):
                message = "a lookahead before a lookbehind, both in the middle"
                raise self._refuse(message, _node(crossing[0][1]))
            found = both(found, at(self._strings(condition), START, END))
            items = items[:gone] + items[gone + 1 :]
            crossing = _crossing(items)
        last = max((i for i, item in enumerate(items) if _looks(item, ahead=False)), default=-1)
        before, after = self._backward(items[: last + 1]), self._forward(items[last + 1 :])
        return both(at(self._sides.then(before, after), START, END), found)

    def _sees_all(self, items: tuple[_Item, ...], index: int) -> bool:
        """Whether nothing can stand before this lookahead, or behind this lookbehind."""
        item = items[index]
        if not isinstance(item, _Condition):
            return False
        parts = items[:index] if item.look.ahead else items[index + 1 :]
        found = self._backward([p for p in parts if not isinstance(p, _Condition | _Without)])
        sides = [(START, side) for side in AFTER] if item.look.ahead else [(s, END) for s in BEFORE]
        strings = {at(found, *pair) for pair in sides}
        return not any(isinstance(p, _Without) for p in parts) and strings <= {EPSILON, EMPTY}

    def _strings(self, condition: _Condition) -> Value:
        """The strings that a condition lets through."""
        padded = condition.padded
        return self._sides.opposite(padded) if condition.look.negated else padded

    def _forward(self, items: Sequence[_Item]) -> Value:
        """What a sequence up to the end of the text denotes."""
        found: Value = EPSILON
        for item in reversed(items):
            if isinstance(item, _Without):
                found = self._before(item, found)
            elif isinstance(item, _Condition):
                if not item.look.ahead:
                    raise self._refuse("a lookbehind inside a lookahead", item.look)
                found = self._sides.meet(found, self._strings(item))
            else:
                found = self._sides.then(item, found)
        return found

    def _backward(self, items: Sequence[_Item]) -> Value:
        """What a sequence from the beginning of the text denotes."""
        found: Value = EPSILON
        for item in items:
            if isinstance(item, _Condition) and not item.look.ahead:
                found = self._sides.meet(found, self._strings(item))
            elif isinstance(item, _Condition | _Without):
                raise self._refuse("a lookahead inside a lookbehind", _node(item))
            else:
                found = self._sides.then(found, item)
        return found

    def _before(self, item: _Without, rest: Value) -> Value:
        """The strings without the words, before the rest, into which none of them may reach."""
        sides, strings = self._sides, item.strings
        if {at(rest, side, END) for side in BEFORE} <= {EPSILON, EMPTY}:
            return sides.then(strings, rest)
        if item.words is None:
            raise self._refuse("a lookahead in a loop that may reach beyond it", item.node)
        beginnings = {word[:i] for word in item.words for i in range(len(word))}
        found: list[Value] = []
        for ending in sorted(beginnings):
            longer = [other for other in beginnings if _ends(other, ending)]
            here = both(strings, concat(sides.text, self._spelled([ending])))
            here = both(here, complement(concat(sides.text, self._spelled(longer))))
            bad = [
                word[i:]
                for word in item.words
                for i in range(1, len(word))
                if ending.endswith(word[:i])
            ]
            after = sides.opposite(concat(self._spelled(bad), sides.text)) if bad else sides.text
            found.append(sides.then(here, sides.meet(rest, after)))
        return any_of(found)

    def _spelled(self, words: Iterable[str]) -> Expr:
        return alt(*(self._plain(Text(word, Mode(), 0)) for word in words))

    def _plain(self, node: Node) -> Expr:
        value = self._value(node)
        if isinstance(value, Sided):
            raise self._refuse("an anchor beside lookaround in a loop", node)
        return value

    # multiplying out

    def _options(self, root: Node) -> _Options:
        """The sequences of a part, with lookaround at their top; an explicit stack."""
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
            return self._limited([o for options in parts for o in options], node)
        if isinstance(node, Repeat):
            return self._repeated(node, parts[0])
        return self._product(parts, node)

    def _product(self, parts: Iterable[_Options], node: Node) -> _Options:
        found: _Options = [()]
        for options in parts:
            found = self._limited([(*a, *b) for a, b in product(found, options)], node)
        return found

    def _repeated(self, node: Repeat, options: _Options) -> _Options:
        """A loop over characters, or every number of rounds that there may be."""
        item = node.item
        while isinstance(item, Group):
            item = item.item
        simple = len(options) == 1 and len(_holding(item)) == 1 + sum(
            isinstance(part, Look) for part in children(item)
        )
        *first, last = item.items if isinstance(item, Parts) else (item,)
        looks = [part for part in first if isinstance(part, Look) and part.ahead]
        if simple and looks and looks == first and width(last, {}) == (1, 1):
            return [(self._loop(node, looks, self._plain(last)),)]
        if not _is_small(node, len(options)):
            found = self._next_characters(node) or self._trailing(node, item, simple)
            if found:
                return self._limited(found, node)
        if node.high is None or node.high > MOST_ROUNDS:
            raise self._refuse("lookaround in a loop over more than single characters", node)
        counts = range(node.low, node.high + 1)
        rounds = [self._product([options] * count, node) for count in counts]
        return self._limited([option for options in rounds for option in options], node)

    def _limited(self, options: _Options, node: Node) -> _Options:
        spend(sum(map(len, options)))
        if len(options) > MOST_MULTIPLIED:
            raise self._refuse(f"lookaround in more than {MOST_MULTIPLIED} alternatives", node)
        return options

    def _condition(self, look: Look) -> _Condition:
        if self._depth >= MOST_NESTED:
            raise self._refuse(f"lookaround nested more than {MOST_NESTED} deep", look)
        self._depth += 1
        text = self._sides.text
        put = self._forward if look.ahead else self._backward
        options = self._options(look.item)
        padded = [put((*o, text) if look.ahead else (text, *o)) for o in options]
        self._depth -= 1
        return _Condition(look, any_of(padded))

    def _next_characters(self, node: Repeat) -> _Options:
        """A loop that asks for the next character alone; none if it asks for more."""
        sides = self._sides
        made = NextCharacters(sides.character, sides.text, self._plain, _holding(node))
        found: _Options = []
        for strings, condition in made.strings(node) or ():
            ahead = Look(node.item, ahead=True, negated=False, place=node.place)
            after = () if condition == ANY else (_Condition(ahead, made.after(condition)),)
            found.append((strings, *after))
        return found

    def _trailing(self, node: Repeat, item: Node, simple: bool) -> _Options:
        """(?:c(?!y))*, in which c is one character: none, or c(?:(?!y)c)*(?!y)."""
        first, *looks = item.items if isinstance(item, Parts) else (item,)
        ahead = [part for part in looks if isinstance(part, Look) and part.ahead]
        if not simple or not ahead or ahead != looks or width(first, {}) != (1, 1):
            return []
        high = None if node.high is None else node.high - 1
        again = Repeat(node.item, max(node.low - 1, 0), high, node.lazy, node.place)
        character = self._plain(first)
        loop = self._loop(again, ahead, character)
        some = (character, loop, *(self._condition(look) for look in ahead))
        return [some] if node.low else [(), some]

    def _loop(self, node: Repeat, looks: list[Look], character: Expr) -> _Item:
        """(?:(?!y)c){low,high}, in which c is one character."""
        words: list[str] | None = []
        wrong: list[Expr] = []
        for look in looks:
            body = self._plain(look.item)
            if width(look.item, {}) == (1, 1):
                character = both(character, complement(body) if look.negated else body)
            elif not look.negated:
                raise self._refuse("a lookahead that must match in a loop", look)
            else:
                wrong.append(body)
                more = finite_texts(look.item, _MOST_LETTERS)
                words = None if words is None or more is None else words + more
        if any(body.nullable for body in wrong):
            return EMPTY if node.low else EPSILON
        strings = repeat(character, node.low, node.high)
        if not wrong:
            return strings
        text = self._sides.text
        strings = both(strings, complement(concat(text, alt(*wrong), text)))
        few = words is not None and sum(map(len, words)) <= _MOST_LETTERS
        return _Without(node, strings, tuple(words or ()) if few else None)


def _is_small(node: Repeat, options: int) -> bool:
    """Whether every number of rounds can be multiplied out."""
    if node.high is None or node.high > MOST_ROUNDS:
        return False
    return sum(options**count for count in range(node.low, node.high + 1)) <= MOST_MULTIPLIED


def _looks(item: _Item, ahead: bool) -> bool:
    return isinstance(item, _Condition) and item.look.ahead == ahead


def _node(item: _Condition | _Without) -> Node:
    return item.look if isinstance(item, _Condition) else item.node


def _crossing(items: Sequence[_Item]) -> list[tuple[int, _Condition | _Without]]:
    """The lookaheads that stand before a lookbehind, and these lookbehinds, with their places."""
    looks = [(i, x) for i, x in enumerate(items) if isinstance(x, _Condition | _Without)]
    aheads = [i for i, x in looks if not _looks(x, ahead=False)]
    behinds = [i for i, x in looks if _looks(x, ahead=False)]
    if not aheads or not behinds:
        return []
    return [(i, x) for i, x in looks if (i > aheads[0] if i in behinds else i < behinds[-1])]


def _ends(word: str, ending: str) -> bool:
    return len(word) > len(ending) and word.endswith(ending)


def _holding(root: Node) -> set[int]:
    """The nodes with lookaround in them, by id."""
    order, todo = list[Node](), [root]
    while todo:
        node = todo.pop()
        order.append(node)
        todo += children(node)
    found: set[int] = set()
    for node in reversed(order):
        if isinstance(node, Look) or any(id(child) in found for child in children(node)):
            found.add(id(node))
    return found
