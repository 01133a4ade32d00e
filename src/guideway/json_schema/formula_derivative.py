"""Derivatives of formulas by one member or item."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeAlias

from guideway.errors import GuidewayError, LimitError
from guideway.json_schema.discriminators import Outlines, Unlike
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    AtLeast,
    AtMost,
    Atom,
    Distinct,
    Every,
    Exact,
    Formula,
    Holding,
    Holds,
    Item,
    Items,
    Leaf,
    Matching,
    Named,
    Parts,
    Some,
    SomeItem,
    Truth,
    all_of,
    any_of,
    array,
    at_least,
    at_most,
    atoms,
    conjuncts,
    fold,
    holding,
    holds,
    items_of,
    leaf,
    members_of,
    object_of,
    opposite,
    read_exact,
    replace,
)
from guideway.language.fuel import paying, spend
from guideway.language.nodes import Expr, Least
from guideway.language.values import by_value

MOST_PAIRS = 1 << 10
_MOST_KNOWN = 1 << 16
_FEW = 24  # alternatives that are made disjoint
Pairs: TypeAlias = dict[Formula, Formula]  # formula of the rest: formula of the value


@by_value
class Now:
    """The part that is being read satisfies a formula."""

    value: Formula

    def opposite(self) -> Formula:
        """Never called: a part is read once."""
        raise GuidewayError("the formula of a part has no opposite")


def now(value: Formula) -> Formula:
    """`Now`, or a constant."""
    return value if isinstance(value, Truth) else leaf(Now(value))


class Progress:
    """Derivatives by one kind of member or item; `read` returns None for atoms that stay."""

    def __init__(self, read: Callable[[Atom], Formula | None], judge: Outlines) -> None:
        self._read, self._judge = read, judge
        self._known: dict[Formula, Pairs | None] = {}
        self._found: dict[Formula, Pairs] = {}

    def pairs(self, formula: Formula) -> Pairs:
        """The pairs of a formula; LimitError above `MOST_PAIRS`."""
        known = self._found.get(formula)
        if known is None:
            if len(self._known) > _MOST_KNOWN:
                self._known, self._found = {}, {}
            found = fold(formula, self._make, self._known)
            known = {formula: TRUE} if found is None else self._disjoint(found)
            self._found[formula] = known
        return known

    def _disjoint(self, found: Pairs) -> Pairs:
        """Make alternatives disjoint: a value leads to the least demanding one."""
        if not 1 < len(found) <= _FEW:
            return found
        apart: Pairs = {}
        asked = [frozenset(conjuncts(rest)) for rest in found]
        denied = [opposite(one) if self._judge.simple(one) else TRUE for one in found.values()]
        for place, (rest, value) in enumerate(found.items()):
            milder = [
                denied[at]
                for at, parts in enumerate(asked)
                if at != place and parts <= asked[place] and (at < place or parts != asked[place])
            ]
            kept = all_of(value, *milder)
            if not self._judge.impossible(kept):
                apart[rest] = kept
        return apart

    def _make(self, node: Formula, made: "dict[Formula, Pairs | None]") -> Pairs | None:
        match node:
            case Truth(holds):
                return {TRUE: TRUE} if holds else {}
            case Leaf(atom):
                after = self._read(atom)
                return None if after is None or after is node else self._pairs(after)
            case _:
                parts = node.parts
                spend(1 + len(parts) // 4)
                changed = [found for part in parts if (found := made[part]) is not None]
                if not changed or (isinstance(node, Every) and not all(changed)):
                    return {} if changed else None
                same = [part for part in parts if made[part] is None]
                if isinstance(node, Some):
                    return _united([{any_of(*same): TRUE}, *changed] if same else changed)
                return self._product([{all_of(*same): TRUE}, *changed] if same else changed)

    def _pairs(self, after: Formula) -> Pairs:
        def make(node: Formula, made: dict[Formula, Pairs]) -> Pairs:
            match node:
                case Truth(holds):
                    return {TRUE: TRUE} if holds else {}
                case Leaf(Now(value)):
                    return {TRUE: value}
                case Leaf():
                    return {node: TRUE}
                case Some(parts):
                    return _united([made[part] for part in parts])
                case _:
                    return self._product([made[part] for part in node.parts])

        return fold(after, make)

    def _product(self, parts: list[Pairs]) -> Pairs:
        """Conjunction of alternatives; single ones first."""
        single = [next(iter(part.items())) for part in parts if len(part) == 1]
        rest, value = all_of(*(rest for rest, _ in single)), all_of(*(value for _, value in single))
        crossed = {} if rest is FALSE or self._judge.impossible(value) else {rest: value}
        for part in parts:
            if len(part) == 1:
                continue
            products = [
                {all_of(rest, more): all_of(value, other)}
                for rest, value in crossed.items()
                for more, other in part.items()
            ]
            crossed = {
                rest: value
                for rest, value in _united(products).items()
                if rest is not FALSE and not self._judge.impossible(value)
            }
            spend(len(crossed))
            if len(crossed) > MOST_PAIRS and paying():
                raise _too_many(any_of(*crossed.values()))
        return crossed


def _too_many(value: Formula) -> LimitError:
    address = next((atom.schema for atom in atoms(value) if isinstance(atom, Holds)), "")
    return LimitError(
        f"the alternatives of one member or item have more than {MOST_PAIRS} combinations",
        limit="alternatives",
        given=MOST_PAIRS,
        place=address.partition("#")[2],
    )


def _united(options: list[Pairs]) -> Pairs:
    """Disjunction of alternatives, merged by rest and by value."""
    by_rest: Pairs = {}
    for option in options:
        for rest, value in option.items():
            by_rest[rest] = any_of(by_rest.get(rest, FALSE), value)
    by_value: Pairs = {}
    for rest, value in by_rest.items():
        by_value[value] = any_of(by_value.get(value, FALSE), rest)
    return {rest: value for value, rest in by_value.items()}


def unlike_member(values: frozenset[Exact], name: str | None) -> Formula:
    """The derivative of `Unlike` by a member `name`; None is a name in none of the values."""
    groups: dict[Exact, list[Exact]] = {}
    for value in values:
        members = members_of(value)
        part = None if name is None else members.pop(name, None)
        if part is not None:
            groups.setdefault(part, []).append(object_of(members.items()))
    return _by_part(groups)


def unlike_item(values: frozenset[Exact]) -> Formula:
    """The derivative of `Unlike` by an item."""
    groups: dict[Exact, list[Exact]] = {}
    for value in values:
        items = items_of(value)
        if items:
            groups.setdefault(items[0], []).append(array(items[1:]))
    return _by_part(groups)


def _by_part(groups: dict[Exact, list[Exact]]) -> Formula:
    if not groups:
        return TRUE
    agreeing = (
        all_of(now(leaf(Among(frozenset((part,))))), leaf(Unlike(frozenset(rests))))
        for part, rests in groups.items()
    )
    return any_of(now(Among(frozenset(groups)).opposite()), *agreeing)


Twice: TypeAlias = bool | None
"""True if some value must repeat, False if none may; None if it does not matter."""


def split_twice(formula: Formula) -> list[tuple[Formula, Twice]]:
    """Split a formula by `Twice`: must all items differ, or must one repeat?"""
    signs = {atom.sign for atom in atoms(formula) if isinstance(atom, Distinct)}
    if not signs:
        return [(formula, None)]
    different, equal = _where(formula, True), _where(formula, False)
    options: list[tuple[Formula, Twice]] = [
        (different, False if True in signs else None),
        (equal, True if False in signs else None),
    ]
    return [(rest, twice) for rest, twice in options if rest is not FALSE]


def _where(formula: Formula, distinct: bool) -> Formula:
    def change(atom: Atom) -> Formula:
        if isinstance(atom, Distinct):
            return TRUE if atom.sign is distinct else FALSE
        return leaf(atom)

    return replace(formula, change)


def reach(atom: Atom) -> int:
    """The position from which on an atom is the same at each."""
    match atom:
        case Item(position, _):
            return position + 1
        case Items(start, _) | SomeItem(start, _):
            return start
        case _:
            return 0


def holds_at_end(atom: Atom) -> bool:
    """Return True if an atom holds without further items or members."""
    match atom:
        case Item() | Items() | Named() | Matching() | AtMost():
            return True
        case Holding(_, low, _):
            return low == 0
        case Unlike(values):
            return all(value[1].all for value in values if isinstance(value[1], Parts))
        case _:
            return False


def read_item(atom: Atom, position: int) -> Formula | None:  # noqa: PLR0911  an arm for each atom
    """The formula of an atom after the item at a position; None if it does not change."""
    match atom:
        case Item(at, value):
            return now(value) if at == position else None
        case Items(start, value):
            return all_of(now(value), leaf(atom)) if start <= position else None
        case SomeItem(start, value):
            return any_of(now(value), leaf(atom)) if start <= position else None
        case Holding(value, low, high):
            return _count_item(value, low, high)
        case AtLeast(count):
            return at_least(count - 1)
        case AtMost(count):
            return at_most(count - 1)
        case Unlike(values):
            return unlike_item(values)
        case _:
            raise TypeError(f"{atom} says nothing about items")


def _count_item(value: Formula, low: int, high: int | None) -> Formula:
    stays = leaf(Holding(value, low, high))
    if high is None:
        return any_of(all_of(now(value), holding(value, low - 1)), stays)
    one_less = holding(value, max(low - 1, 0), high - 1)
    return any_of(all_of(now(value), one_less), all_of(now(opposite(value)), stays))


Used: TypeAlias = "frozenset[Exact | None]"
MOST_LOOKED_AT = 15_000  # tries, of .12 ms each
_NONE: Used = frozenset()


@by_value
class Rest:
    """The state after an item or, at position -1, before the array."""

    position: int
    used: Used
    formula: Formula
    twice: Twice = None


@by_value
class Step:
    """Condition on the next item, and the formula after it."""

    position: int
    formula: Formula
    value: Formula


class ItemSteps:
    """Steps from each position of an array with a formula."""

    def __init__(self, formula: Formula, value: Callable[[Formula], Expr], judge: Outlines) -> None:
        self.value = value
        self._last = max((reach(atom) for atom in atoms(formula)), default=0)
        self.single = max((reach(a) for a in atoms(formula) if isinstance(a, Item)), default=0)
        self._judge = judge
        self._listed: dict[Formula, list[Exact]] = {}
        self._progress: dict[int, Progress] = {}

    def steps(self, rest: Rest) -> list[Step]:
        """The alternative steps from here."""
        position = max(rest.position, 0)
        progress = self._progress.get(position)
        if progress is None:
            progress = Progress(lambda atom: read_item(atom, position), self._judge)
            self._progress[position] = progress
        found = progress.pairs(rest.formula)
        behind = min(position + 1, self._last)
        return [Step(behind, formula, value) for formula, value in found.items()]

    def listed(self, value: Formula) -> list[Exact]:
        found = self._listed.get(value)
        if found is None:
            found = self._listed[value] = self._judge.listed(value)
        return found

    def may_close(self, formula: Formula) -> bool:
        """Return True if the formula holds without further items."""
        return holds(formula, holds_at_end)

    def ends(self, rest: Rest) -> bool:
        """Return True if the array may end here, repeated values included."""
        return rest.twice is not True and self.may_close(rest.formula)

    def nearest(self, start: Rest, least: Least) -> list[bytes] | None:
        """A short completion, found greedily; None does not mean that there is none."""
        serial = 0
        queue: list[tuple[int, list[bytes], int, Rest]] = [(0, [], serial, start)]
        seen: set[Rest] = set()
        while queue:
            length, words, _, rest = heappop(queue)
            if self.ends(rest):
                return words
            if rest in seen:
                continue
            seen.add(rest)
            for step in self.steps(rest):
                for value, follow in self._greedy(rest, step):
                    word = least(self.value(value))
                    if word is not None:
                        serial += 1
                        entry = (length + len(word) + 1, [*words, word], serial, follow(word))
                        heappush(queue, entry)
            pay(serial)
        return None

    def _greedy(self, rest: Rest, step: Step) -> "list[tuple[Formula, Callable[[bytes], Rest]]]":
        stays = step.formula is rest.formula and step.position == rest.position
        if rest.twice is None:
            plain = Rest(step.position, _NONE, step.formula)
            return [] if stays else [(step.value, lambda word: plain)]

        def another(word: bytes) -> Rest:
            return Rest(step.position, rest.used | {read_exact(word)}, step.formula, rest.twice)

        found = [(beside(step.value, rest.used), another)]
        if rest.twice is True:
            behind = Rest(step.position, _NONE, step.formula)
            return [(among(step.value, rest.used), lambda word: behind), *found]
        return [] if stays else found


def among(value: Formula, values: Used) -> Formula:
    """A value that satisfies a formula and is one of `values`."""
    used = known(values)
    return all_of(value, leaf(Among(used))) if used else FALSE


def beside(value: Formula, values: Used) -> Formula:
    """A value that satisfies a formula and is none of `values`."""
    used = known(values)
    return all_of(value, opposite(leaf(Among(used)))) if used else value


def known(values: Used) -> frozenset[Exact]:
    return frozenset(value for value in values if value is not None)


def pay(tries: int) -> None:
    """Count one more try; while compiling, raise LimitError beyond `MOST_LOOKED_AT`."""
    spend(1)
    if tries > MOST_LOOKED_AT and paying():
        raise LimitError(
            f"the search for a valid array takes more than {MOST_LOOKED_AT} tries",
            limit="tries",
            given=MOST_LOOKED_AT,
        )
