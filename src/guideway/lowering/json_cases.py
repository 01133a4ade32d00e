"""Disjunctive normal form of a formula about objects or arrays, if it is small."""

from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias, final

from guideway.lowering.json_atoms import (
    AtLeast,
    AtMost,
    Item,
    Items,
    Longer,
    Named,
    Required,
    Shorter,
)
from guideway.lowering.json_formulas import FALSE, Atom, Every, Formula, Leaf, Some, all_of

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


@final
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
        elif type(atom) is AtLeast or type(atom) is Longer:
            low = max(low, atom.count)
        elif type(atom) is AtMost or type(atom) is Shorter:
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
        said = {index: value for index, start, value in several if start <= position}
        said |= single.get(position, {})
        return all_of(*(said[index] for index in sorted(said)))

    return item
