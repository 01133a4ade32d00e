r"""Loops in which something has to be, or not to be, the next character: no lookaround is left.

    (?:[a-z]|-(?=[a-z])){0,38}    as GitHub names its users
    (?:_(?!_)[a-z]*)*             no two in a row

What a part reads depends on the characters that may come next where it begins, and it leaves such a
condition where it ends. So it is a table of strings by both conditions, of which there are a few:
the sets in the lookaheads and what several of them have in common. Sequences multiply tables,
alternatives add them up, and loops close them as an automaton's states are taken out.

What this module does not know: lookaheads at more than a character, and anchors.
"""

from collections.abc import Callable
from typing import TypeAlias, final

from fairlead.lowering.characters import leaf_points, literal_points
from fairlead.lowering.expr import EMPTY, EPSILON, alt, both, concat, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Expr
from fairlead.lowering.unicode import SCALARS, CodePoints, difference, intersection, union
from fairlead.syntax.frozen import by_value
from fairlead.syntax.regex_tree import (
    Alternation,
    Anchor,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    children,
)

MOST_CONDITIONS = 8
MOST_COUNTED = 256
MOST_LOOPS = 3  # in each other: the strings of six take 1.5 s, each more three times as long
_WORK = 20  # of one entry of a table


@final
@by_value
class Next:
    """The characters of which one may come next, and whether the text may end."""

    characters: CodePoints
    end: bool


ANY = Next(SCALARS, end=True)

Table: TypeAlias = dict[tuple[Next, Next], Expr]


def next_of(look: Look) -> Next | None:
    """What a lookahead lets come next; None if it looks at more, or back."""
    found = _looked_at(look.item) if look.ahead else None
    if found is None or not look.negated:
        return found
    return Next(difference(SCALARS, found.characters), not found.end)


def _looked_at(item: Node) -> Next | None:
    while isinstance(item, Group):
        item = item.item
    parts = item.options if isinstance(item, Alternation) else (item,)
    sets: list[CodePoints] = []
    end = False
    for part in parts:
        match part:
            case Text(text, mode) if len(text) == 1:
                sets.append(literal_points(text, mode))
            case Class() | Shorthand() | Dot():
                sets.append(leaf_points(part))
            case Anchor("text end"):
                end = True
            case Sequence(()):
                return ANY
            case _:
                return None
    return Next(intersection(union(*sets), SCALARS), end)


@final
class NextCharacters:
    """Makes the tables of a loop.

    Args:
        character: one character out of a set, as an expression.
        text: any text.
        plain: lowers what holds no lookaround.
        holding: the nodes that do, by id.
    """

    def __init__(
        self,
        character: Callable[[CodePoints], Expr],
        text: Expr,
        plain: Callable[[Node], Expr],
        holding: set[int],
    ) -> None:
        self._character, self._text, self._plain = character, text, plain
        self._holding = holding
        self._conditions: list[Next] = []

    def strings(self, loop: Repeat) -> list[tuple[Expr, Next]] | None:
        """What the loop reads, by what may come next behind it; None if that is not all it asks."""
        looks = self._looks(loop)
        conditions = None if looks is None else _closed(looks)
        if conditions is None:
            return None
        self._conditions = conditions
        found = self._table(loop)
        return [(expr, after) for (before, after), expr in found.items() if before is ANY]

    def after(self, condition: Next) -> Expr:
        """The texts that may follow."""
        begun = concat(self._character(condition.characters), self._text)
        return alt(begun, EPSILON) if condition.end else begun

    def _looks(self, loop: Node) -> list[Next] | None:
        """The conditions of all lookaheads in it; None if one, a count or a nest is too much."""
        found: list[Next] = []
        todo = [(loop, 0)]
        while todo:
            node, deep = todo.pop()
            if isinstance(node, Look):
                condition = next_of(node)
                if condition is None:
                    return None
                found.append(condition)
            elif id(node) in self._holding:
                if isinstance(node, Repeat):
                    deep += 1
                    if deep > MOST_LOOPS or max(node.low, node.high or 0) > MOST_COUNTED:
                        return None
                todo += [(child, deep) for child in children(node)]
        return found

    def _table(self, root: Node) -> Table:
        """The parts first; an explicit stack."""
        done: list[Table] = []
        todo: list[tuple[Node, bool]] = [(root, False)]
        while todo:
            node, ready = todo.pop()
            if id(node) not in self._holding:
                done.append(self._reading(self._plain(node)))
            elif isinstance(node, Look):
                done.append(self._looking(node))
            elif not ready:
                todo.append((node, True))
                todo += [(child, False) for child in reversed(children(node))]
            else:
                count = len(children(node))
                parts = done[len(done) - count :]
                del done[len(done) - count :]
                done.append(self._joined(node, parts))
        return done[0]

    def _joined(self, node: Node, parts: list[Table]) -> Table:
        if isinstance(node, Alternation):
            return _added(*parts)
        if isinstance(node, Repeat):
            return self._repeated(node, parts[0])
        found, *others = parts  # a group has one
        for other in others:
            found = _multiplied(found, other)
        return found

    def _reading(self, expr: Expr) -> Table:
        found: Table = {}
        for before in self._conditions:
            if before is ANY:
                found[before, ANY] = expr
                continue
            begun = concat(self._character(before.characters), self._text)
            found[before, ANY] = both(expr, begun)
            found[before, before] = EPSILON if expr.nullable else EMPTY
        return _known(found)

    def _looking(self, look: Look) -> Table:
        condition = next_of(look)
        assert condition is not None  # noqa: S101  the loop was looked through
        pairs = ((before, self._same(_common(before, condition))) for before in self._conditions)
        return dict.fromkeys(pairs, EPSILON)

    def _same(self, condition: Next) -> Next:
        return next(one for one in self._conditions if one == condition)

    def _repeated(self, node: Repeat, item: Table) -> Table:
        one: Table = {(condition, condition): EPSILON for condition in self._conditions}
        found = one
        if node.high is None:
            found = self._closed(item, one)
        else:
            for _ in range(node.high - node.low):
                found = _added(one, _multiplied(item, found))
        for _ in range(node.low):
            found = _multiplied(item, found)
        return found

    def _closed(self, item: Table, one: Table) -> Table:
        """Any number of times: the conditions are passed through one after the other."""
        found = item
        for over in self._conditions:
            loop = repeat(found.get((over, over), EMPTY))
            into = {(a, b): concat(e, loop) for (a, b), e in found.items() if b is over}
            out: Table = {(a, b): e for (a, b), e in found.items() if a is over}
            found = _added(found, _multiplied(into, out))
        return _added(one, found)


def _closed(looks: list[Next]) -> list[Next] | None:
    """All conditions that several lookaheads can make together; None if they are many."""
    found = [ANY]
    for look in looks:
        found += [new for new in {_common(one, look) for one in found} if new not in found]
        if len(found) > MOST_CONDITIONS:
            return None
    return found


def _common(one: Next, other: Next) -> Next:
    return Next(intersection(one.characters, other.characters), one.end and other.end)


def _known(table: Table) -> Table:
    spend(_WORK * len(table))
    return {pair: expr for pair, expr in table.items() if expr is not EMPTY}


def _added(*tables: Table) -> Table:
    pairs = dict.fromkeys(pair for table in tables for pair in table)
    return _known({p: alt(*(table[p] for table in tables if p in table)) for p in pairs})


def _multiplied(first: Table, second: Table) -> Table:
    found: dict[tuple[Next, Next], list[Expr]] = {}
    for (before, middle), one in first.items():
        for (again, after), other in second.items():
            if again is middle:
                found.setdefault((before, after), []).append(concat(one, other))
    return _known({pair: alt(*exprs) for pair, exprs in found.items()})
