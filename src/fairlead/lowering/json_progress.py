"""What is left of a formula about an array or object when a part of it has been read.

Reading a member changes each atom on its own: what it says of the member goes to its value,
what it says of the rest stays (Brzozowski's derivative, with members instead of characters)::

    Named(a, F) and Required(b)      read "a": the value satisfies F; the rest, Required(b)
    Found(keys, F)                   read one of them: the value satisfies F, or the rest Found(..)

Where the two hang together there are alternatives: pairs of what is said of the value and what is
said of the rest, one of which has to come true.

What this module does not know: keys, spelling.
"""

from collections.abc import Callable
from math import prod
from typing import Protocol, TypeAlias, final

from fairlead.errors import FairleadError, LimitError
from fairlead.lowering.fuel import paying, spend
from fairlead.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Every,
    Formula,
    Leaf,
    Some,
    Truth,
    all_of,
    any_of,
    atoms,
    fold,
    leaf,
    opposite,
    replace,
)
from fairlead.syntax.frozen import by_value

MOST_PAIRS = 1 << 10
_MOST_KNOWN = 1 << 16
_SPLIT = 50  # parts of automata that take as long as telling a value apart once
_FEW = 24  # alternatives, or products of them
Pairs: TypeAlias = dict[Formula, Formula]  # what is said of the rest: what of the value


@final
@by_value
class Now:
    """The part that is read satisfies a formula."""

    value: Formula

    def opposite(self) -> Formula:
        """Never asked for: what is read is read once."""
        raise FairleadError("what is said of a part has no opposite")


@final
@by_value
class Kept:
    """What says nothing of the part that is read, as one atom while that is told apart."""

    said: Formula

    def opposite(self) -> Formula:
        """Never asked for: it stands where it stood."""
        raise FairleadError("what is kept aside has no opposite")


def now(value: Formula) -> Formula:
    """`Now`, unless that says nothing or cannot hold."""
    return value if isinstance(value, Truth) else leaf(Now(value))


class Judge(Protocol):
    """What is plain about values without reading them."""

    def impossible(self, value: Formula) -> bool:
        """Whether what is said of a value plainly leaves none."""
        ...

    def simple(self, value: Formula) -> bool:
        """Whether it is about scalars only, so that its opposite is simple too."""
        ...


@final
class Progress:
    """The alternatives for one kind of part, given what becomes of each atom.

    What has been found for parts of a formula is kept: the next formula has most of them too.
    """

    def __init__(self, read: Callable[[Atom], Formula], judge: Judge) -> None:
        self._read, self._judge = read, judge
        self._known: dict[Formula, Pairs | None] = {}
        self._found: dict[Formula, Pairs] = {}

    def pairs(self, formula: Formula) -> Pairs:
        """What is said of the rest, with what is said of the value.

        Raises:
            LimitError: more than `MOST_PAIRS`.
        """
        known = self._found.get(formula)
        if known is None:
            if len(self._known) > _MOST_KNOWN:
                self._known, self._found = {}, {}
            found = fold(formula, self._make, self._known)
            known = {formula: TRUE} if found is None else self._apart(found)
            self._found[formula] = known
        return known

    def _apart(self, found: Pairs) -> Pairs:
        """The same, a value that leaves less to be said no longer among those that leave more.

        Otherwise one text would lead to both, and to twice as many after each member.
        """
        if not 1 < len(found) <= _FEW:
            return found
        apart: Pairs = {}
        asked = [_asked(rest) for rest in found]
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
        """The alternatives of a part; None where it stays as it is."""
        match node:
            case Truth(holds):
                return {TRUE: TRUE} if holds else {}
            case Leaf(atom):
                after = self._read(atom)
                return None if after is node else self._listed(after)
            case _:
                parts = node.parts
                spend(1 + len(parts) // 4)
                changed = [found for part in parts if (found := made[part]) is not None]
                if not changed or (isinstance(node, Every) and not all(changed)):
                    return {} if changed else None
                same = [part for part in parts if made[part] is None]
                if isinstance(node, Some):
                    return _united([{any_of(*same): TRUE}, *changed] if same else changed)
                if _multiply(changed):
                    return self._split(replace(node, self._read))
                return self._crossed([{all_of(*same): TRUE}, *changed] if same else changed)

    def _split(self, after: Formula) -> Pairs:
        """The alternatives by what holds for the value and what does not.

        Where many alternatives ask for one of a few constants, most of their products cannot hold:
        there are as many cases as constants, and not more.
        """
        found: Pairs = {}
        todo = [(_skeleton(after), TRUE)]
        while todo:
            said, value = todo.pop()
            if said is FALSE or self._judge.impossible(value):
                continue
            tested = next((atom for atom in atoms(said) if isinstance(atom, Now)), None)
            if tested is None:
                rest = replace(
                    said, lambda atom: atom.said if isinstance(atom, Kept) else leaf(atom)
                )
                found[rest] = any_of(found.get(rest, FALSE), value)
                continue
            holds, fails = tested.value, opposite(tested.value)
            denied = any(isinstance(atom, Now) and atom.value is fails for atom in atoms(said))
            todo.append((_decided(said, fails, holds), all_of(value, fails if denied else TRUE)))
            todo.append((_decided(said, holds, fails), all_of(value, holds)))
            spend(_SPLIT)
            if len(found) + len(todo) > MOST_PAIRS and paying():
                raise _too_many()
        return found

    def _listed(self, after: Formula) -> Pairs:
        """What an atom has become, which is small."""

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
                    return self._crossed([made[part] for part in node.parts])

        return fold(after, make)

    def _crossed(self, parts: list[Pairs]) -> Pairs:
        """All of several; those without alternatives first, as they multiply nothing."""
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
                raise _too_many()
        return crossed


def _multiply(changed: list[Pairs]) -> bool:
    """Whether the alternatives of several parts have many products.

    Those of one part alone have none: told apart, 300 objects beside a member took minutes.
    """
    counts = [len(found) for found in changed if len(found) > 1]
    return len(counts) > 1 and prod(counts) > _FEW


def _skeleton(after: Formula) -> Formula:
    """A formula with all that holds no `Now` put aside."""

    def make(node: Formula, made: dict[Formula, Formula]) -> Formula:
        match node:
            case Leaf(Now()) | Truth():
                return node
            case Leaf():
                return leaf(Kept(node))
            case _:
                parts = node.parts
                joined = all_of if isinstance(node, Every) else any_of
                kept = [part for part in parts if _is_kept(made[part])]
                if len(kept) == len(parts):
                    return leaf(Kept(node))
                aside = [leaf(Kept(joined(*kept)))] if kept else []
                return joined(*aside, *(made[part] for part in parts if part not in kept))

    return fold(after, make)


def _is_kept(part: Formula) -> bool:
    return isinstance(part, Leaf) and isinstance(part.atom, Kept)


def _decided(said: Formula, holds: Formula, fails: Formula) -> Formula:
    """What is left to be said where one formula holds for the value, and another does not."""

    def change(atom: Atom) -> Formula:
        if isinstance(atom, Now) and atom.value in (holds, fails):
            return TRUE if atom.value is holds else FALSE
        return leaf(atom)

    return replace(said, change)


def _too_many() -> LimitError:
    return LimitError(
        f"alternatives about one member or item multiply to more than {MOST_PAIRS}",
        limit="alternatives",
        given=MOST_PAIRS,
    )


def _asked(said: Formula) -> frozenset[Formula]:
    """The parts that all have to hold: a formula with fewer of them leaves less to be said."""
    if said is TRUE:
        return frozenset()
    return frozenset(said.parts if isinstance(said, Every) else (said,))


def _united(options: list[Pairs]) -> Pairs:
    """Any of several: those with the same rest, or the same value, are one."""
    by_rest: Pairs = {}
    for option in options:
        for rest, value in option.items():
            by_rest[rest] = any_of(by_rest.get(rest, FALSE), value)
    by_value: Pairs = {}
    for rest, value in by_rest.items():
        by_value[value] = any_of(by_value.get(value, FALSE), rest)
    return {rest: value for value, rest in by_value.items()}
