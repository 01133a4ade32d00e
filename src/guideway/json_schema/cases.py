"""Disjunctive forms of formulas about objects and arrays, and atoms that exclude each other."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from guideway.json_schema.formulas import (
    FALSE,
    AtLeast,
    AtMost,
    Atom,
    Beside,
    Every,
    Formula,
    Item,
    Items,
    Leaf,
    Matching,
    Named,
    Required,
    Some,
    all_of,
    conjuncts,
)
from guideway.language.values import by_value

MOST = 24
_TRIED = 16  # options per case: most exclude themselves
Case: TypeAlias = tuple[Atom, ...]


def cases(formula: Formula) -> list[Case] | None:
    """The cases of a formula in order, [] if none can hold, None if there are too many."""
    found: list[Case] = []
    todo = [_Open([formula])]
    tried = 0
    while todo:
        opened = todo.pop()
        options = opened.read()
        if opened.contradicted:
            continue
        if options is not None:
            tried += len(options.parts)
            todo.extend(opened.choose(option) for option in reversed(options.parts))
        else:
            found.append(tuple(opened.atoms))
        if tried > _TRIED * MOST or (tried and len(found) > MOST):
            return None
    return list(dict.fromkeys(found))


class _Open:
    """An unfinished case: formulas to read, atoms so far."""

    def __init__(self, formulas: list[Formula]) -> None:
        self.pending = formulas  # the last one is read first
        self.atoms: dict[Atom, None] = {}
        self.contradicted = False
        self._choices: list[Some] = []

    def read(self) -> Some | None:
        while self.pending:
            formula = self.pending.pop()
            if type(formula) is Leaf:
                self.atoms[formula.atom] = None
            elif type(formula) is Every:
                self.pending.extend(reversed(formula.parts))
            elif type(formula) is Some:
                self._choices.append(formula)
            else:
                self.contradicted |= formula is FALSE
        self.contradicted = self.contradicted or contradicted(self.atoms)
        if not self._choices:
            return None
        first, *self._choices = self._choices
        return first

    def choose(self, option: Formula) -> "_Open":
        chosen = _Open([option])
        chosen.atoms, chosen._choices = dict(self.atoms), list(self._choices)
        return chosen


def contradicted(atoms: dict[Atom, None]) -> bool:
    """Return True if atoms plainly exclude each other."""
    absent, required = set[str](), set[str]()
    low, high = 0, None
    for atom in atoms:
        if type(atom) is Named:
            if atom.value is FALSE:
                absent.add(atom.name)
        elif type(atom) is Required:
            required.add(atom.name)
        elif type(atom) is AtLeast:
            low = max(low, atom.count)
        elif type(atom) is AtMost:
            high = atom.count if high is None else min(high, atom.count)
    return not absent.isdisjoint(required) or (high is not None and low > high)


def prefix_length(case: Case) -> int:
    """The position from which on all items have the same formula."""
    positions = [atom.position + 1 for atom in case if isinstance(atom, Item)]
    positions += [atom.start for atom in case if isinstance(atom, Items)]
    return max(positions, default=0)


def items_of(case: Case) -> Callable[[int], Formula]:
    single: defaultdict[int, dict[int, Formula]] = defaultdict(dict)  # by index in the case
    several = list[tuple[int, int, Formula]]()
    for index, atom in enumerate(case):
        if isinstance(atom, Item):
            single[atom.position][index] = atom.value
        elif isinstance(atom, Items):
            several.append((index, atom.start, atom.value))

    def item(position: int) -> Formula:
        formula = {index: value for index, start, value in several if start <= position}
        formula |= single.get(position, {})
        return all_of(*(formula[index] for index in sorted(formula)))

    return item


_Values: TypeAlias = frozenset[tuple[str, Formula]]


@by_value
class Demands:
    """Conditions on members that may contradict each other.

    Attributes:
        required, absent: names that are present, and names that are not.
        held, denied: values of members, if these are present, and their opposites.
        only: all names that may be present, None for any.
    """

    required: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    held: _Values = frozenset()
    denied: _Values = frozenset()
    only: frozenset[str] | None = None

    def contradicts(self, other: "Demands") -> bool:
        """Return True if no object satisfies both."""
        for one, two in ((self, other), (other, self)):
            if not one.absent.isdisjoint(two.required):
                return True
            if one.only is not None and not one.only >= two.required:
                return True
        torn = (self.denied & other.held) | (self.held & other.denied)
        return any(name in self.required or name in other.required for name, _ in torn)


@lru_cache(maxsize=1 << 14)
def demands_in(option: Formula) -> Demands:
    """The conditions of an option of a choice."""
    return demands_of(part.atom for part in conjuncts(option) if isinstance(part, Leaf))


def demands_of(atoms: Iterable[Atom]) -> Demands:
    required, absent = set[str](), set[str]()
    held, denied = set[tuple[str, Formula]](), set[tuple[str, Formula]]()
    only: frozenset[str] | None = None
    for atom in atoms:
        match atom:
            case Required(name):
                required.add(name)
            case Named(name, value) if value is FALSE:
                absent.add(name)
            case Named(name, value):
                for one in conjuncts(value):
                    if one.denies is None:
                        held.add((name, one))
                    else:
                        denied.add((name, one.denies))
            case Matching(Beside(names, ()), value) if value is FALSE:
                only = names if only is None else only & names
            case _:
                pass
    return Demands(frozenset(required), frozenset(absent), frozenset(held), frozenset(denied), only)
