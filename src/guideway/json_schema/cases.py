"""Disjunctive forms of formulas about objects and arrays."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from guideway.errors import LimitError
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formulas import (
    FALSE,
    AtLeast,
    AtMost,
    Atom,
    Beside,
    Every,
    Formula,
    Found,
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
from guideway.language.fuel import paying, spend
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


MOST_TRIED = 10_000
_OPTION = 4  # fuel per option: 5 µs each
_Judge: TypeAlias = Callable[[Case], bool | None]
_Values: TypeAlias = frozenset[tuple[str, Formula]]


def first_case(formula: Formula, viable: _Judge, accept: _Judge) -> bool | None:
    """Return True if a case of `formula` is accepted; None if that is not known yet.

    `viable` returns False if no case with these atoms can be accepted; `accept` decides a case.
    More than `MOST_TRIED` choices raise LimitError while compiling.
    """
    todo = [(_Chosen({}, [], _Demands()), formula)]
    tried = 0
    while todo:
        chosen, option = todo.pop()
        if not chosen.take(option):
            continue
        case = tuple(chosen.atoms)
        found = viable(case) if chosen.choices else accept(case)
        if found is None or (found and not chosen.choices):
            return found
        if found:
            todo += chosen.options()
        spend(1)
        tried += 1
        if tried > MOST_TRIED and paying():
            raise LimitError(
                f"the search for a valid object takes more than {MOST_TRIED} choices",
                limit="choices",
                given=MOST_TRIED,
            )
    return False


@by_value
class _Demands:
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

    def joined(self, other: "_Demands") -> "_Demands":
        """The conditions of both."""
        only = self.only if other.only is None else other.only
        if self.only is not None and other.only is not None:
            only = self.only & other.only
        return _Demands(
            self.required | other.required,
            self.absent | other.absent,
            self.held | other.held,
            self.denied | other.denied,
            only,
        )

    def contradicts(self, other: "_Demands") -> bool:
        """Return True if no object satisfies both."""
        for one, two in ((self, other), (other, self)):
            if not one.absent.isdisjoint(two.required):
                return True
            if one.only is not None and not one.only >= two.required:
                return True
        torn = (self.denied & other.held) | (self.held & other.denied)
        return any(name in self.required or name in other.required for name, _ in torn)


class _Chosen:
    """An unfinished case: its atoms, and choices with the options that are left."""

    __slots__ = ("_demands", "atoms", "choices")

    def __init__(
        self, atoms: dict[Atom, None], choices: list[tuple[Some, list[Formula]]], demands: _Demands
    ) -> None:
        self.atoms, self.choices, self._demands = atoms, choices, demands

    def take(self, formula: Formula) -> bool:
        """Add a formula, and single options that are left; return False on a contradiction."""
        pending = [formula]
        while pending:
            fresh = dict[Atom, None]()
            choices = [choice for choice, _ in self.choices]
            for part in pending:  # grows while it is read
                match part:
                    case Every(parts):
                        pending += parts
                    case Some():
                        choices.append(part)
                    case Leaf(atom):
                        fresh[atom] = None
                    case _ if part is FALSE:
                        return False
                    case _:
                        pass
            self.atoms |= fresh
            self._demands = self._demands.joined(_demands_of(fresh))
            if self._demands.contradicts(self._demands):
                return False
            spend(_OPTION * sum(len(choice.parts) for choice in choices))
            left = [(choice, self._left(choice)) for choice in choices if not self._holds(choice)]
            if any(not options for _, options in left):
                return False
            pending = [options[0] for _, options in left if len(options) == 1]
            self.choices = [(choice, options) for choice, options in left if len(options) > 1]
        return True

    def options(self) -> "list[tuple[_Chosen, Formula]]":
        """The case with each option of the smallest choice, the plainest one last."""
        choice, options = min(self.choices, key=lambda listed: len(listed[1]))
        rest = [other for other in self.choices if other[0] is not choice]
        return [
            (_Chosen(dict(self.atoms), rest, self._demands), option)
            for option in sorted(options, key=self._weight, reverse=True)
        ]

    def _holds(self, choice: Some) -> bool:
        return any(type(one) is Leaf and one.atom in self.atoms for one in choice.parts)

    def _left(self, choice: Some) -> list[Formula]:
        demands = self._demands
        return [one for one in choice.parts if not demands.contradicts(_demands_in(one))]

    def _weight(self, option: Formula) -> int:
        found = 2 * len(_demands_in(option).required - self._demands.required)
        for part in conjuncts(option):
            atom = part.atom if isinstance(part, Leaf) else None
            if isinstance(atom, (Found, Unlike)):
                found += 10
            elif not isinstance(atom, (Named, Required)):
                found += 2
        return found


@lru_cache(maxsize=1 << 14)
def _demands_in(option: Formula) -> _Demands:
    return _demands_of(part.atom for part in conjuncts(option) if isinstance(part, Leaf))


def _demands_of(atoms: Iterable[Atom]) -> _Demands:
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
    return _Demands(
        frozenset(required), frozenset(absent), frozenset(held), frozenset(denied), only
    )
