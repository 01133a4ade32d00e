"""Disjunctive forms of formulas about objects and arrays."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeAlias, final

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
    Longer,
    Matching,
    Named,
    Required,
    Shorter,
    Some,
    all_of,
)
from guideway.language.fuel import paying, spend

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


MOST_TRIED = 10_000
_OPTION = 4  # fuel per option: 5 µs each
_REMEMBERED = 1 << 14
_Judge: TypeAlias = Callable[[Case], bool | None]
_Values: TypeAlias = frozenset[tuple[str, Formula]]
# Names required and forbidden, values asserted and denied, the only names (None: any).
_Demands: TypeAlias = tuple[frozenset[str], frozenset[str], _Values, _Values, frozenset[str] | None]

# Many options have equal demands: they share one object, which saves garbage collection.
_demanded: dict[Formula, _Demands] = {}
_shared: dict[_Demands, _Demands] = {}
_singles: dict[Some, tuple[Atom, ...]] = {}


def first_case(formula: Formula, viable: _Judge, accept: _Judge) -> bool | None:
    """Return True if a case of `formula` is accepted; None if that is not known yet.

    `viable` returns False if no case with these atoms can be accepted; `accept` decides a case.
    More than `MOST_TRIED` choices raise LimitError while compiling.
    """
    todo = [_ChoicesOpen({}, (), [formula])]
    tried = 0
    while todo:
        opened = todo.pop()
        if not opened.read():
            continue
        case = tuple(opened.atoms)
        found = viable(case) if opened.choices else accept(case)
        if found is None or (found and not opened.choices):
            return found
        if found:
            todo += opened.options()
        spend(1)
        tried += 1
        if tried > MOST_TRIED and paying():
            raise LimitError(
                f"the search for a valid object takes more than {MOST_TRIED} choices",
                limit="choices",
                given=MOST_TRIED,
            )
    return False


@final
class _ChoicesOpen:
    """An unfinished case: atoms so far, choices left."""

    __slots__ = (
        *("_absent", "_denied", "_held", "_listed", "_only", "_pending", "_required"),
        *("atoms", "choices"),
    )

    def __init__(
        self, atoms: dict[Atom, None], choices: tuple[Some, ...], pending: list[Formula]
    ) -> None:
        self.atoms, self.choices, self._pending = atoms, choices, pending
        self._listed: list[tuple[Some, list[Formula]]] = []  # choices with their options left
        self._required, self._absent = set[str](), set[str]()
        self._held, self._denied = set[tuple[str, Formula]](), set[tuple[str, Formula]]()
        self._only: frozenset[str] | None = None

    def read(self) -> bool:
        """Unit propagation; return False on a contradiction."""
        changed = True
        while changed:
            if not self._take_all():
                return False
            choices, self.choices, changed = self.choices, (), False
            spend(_OPTION * sum(len(choice.parts) for choice in choices))
            left: list[tuple[Some, list[Formula]]] = []
            for choice in choices:
                options = self._left(choice)
                if len(options) > 1:
                    left.append((choice, options))
                elif options:  # take it at once: it mostly settles a choice that comes next
                    self._pending, changed = options, True
                    if not self._take_all():
                        return False
                elif not self._holds(choice):
                    return False
            self.choices = (*[choice for choice, _ in left], *self.choices)
            self._listed = left
        return True

    def _take_all(self) -> bool:
        while self._pending:
            if not self._take(self._pending.pop()):
                return False
        return True

    def options(self) -> "list[_ChoicesOpen]":
        """The case with each option of the smallest choice, the plainest one last."""
        choice, found = min(self._listed, key=lambda listed: len(listed[1]))
        rest = tuple([other for other in self.choices if other is not choice])
        options = sorted(found, key=self._weight, reverse=True)
        return [self._with(option, rest) for option in options]

    def _with(self, option: Formula, rest: tuple[Some, ...]) -> "_ChoicesOpen":
        made = _ChoicesOpen(dict(self.atoms), rest, [option])
        made._required, made._absent = self._required.copy(), self._absent.copy()
        made._held, made._denied, made._only = self._held.copy(), self._denied.copy(), self._only
        return made

    def _weight(self, option: Formula) -> int:
        required = _demands(option)[0]
        return 2 * len(required - self._required) + _weight(option)

    def _take(self, formula: Formula) -> bool:
        match formula:
            case Every(parts):
                self._pending.extend(reversed(parts))
            case Some():
                self.choices = (*self.choices, formula)
            case Leaf(atom):
                self.atoms[atom] = None
                self._add(formula)
                return self._may_hold(formula)
            case _:
                return formula is not FALSE
        return True

    def _add(self, atom: Formula) -> None:
        required, absent, held, denied, only = _demands(atom)
        self._required |= required
        self._absent |= absent
        self._held |= held
        self._denied |= denied
        if only is not None:
            self._only = only if self._only is None else self._only & only

    def _left(self, choice: Some) -> list[Formula]:
        if self._holds(choice):
            return []
        return [option for option in choice.parts if self._may_hold(option)]

    def _holds(self, choice: Some) -> bool:
        return not self.atoms.keys().isdisjoint(_single(choice))

    def _may_hold(self, option: Formula) -> bool:
        required, absent, held, denied, only = _demands(option)
        if not (self._absent.isdisjoint(required) and self._required.isdisjoint(absent)):
            return False
        if self._only is not None and not self._only >= required:
            return False
        if only is not None and not only >= self._required:
            return False
        if self._denied.isdisjoint(held) and self._held.isdisjoint(denied):
            return True
        torn = (self._denied & held) | (self._held & denied)
        return all(name not in self._required and name not in required for name, _ in torn)


def _single(choice: Some) -> tuple[Atom, ...]:
    found = _singles.get(choice)
    if found is None:
        if len(_singles) >= _REMEMBERED:
            _singles.clear()
        found = tuple(option.atom for option in choice.parts if isinstance(option, Leaf))
        _singles[choice] = found
    return found


def _demands(option: Formula) -> "_Demands":
    """Names that an option requires and forbids, and values that it asserts and denies."""
    found = _demanded.get(option)
    if found is None:
        found = _read_demands(option.parts if isinstance(option, Every) else (option,))
        if len(_demanded) >= _REMEMBERED:
            _demanded.clear()
            _shared.clear()
        found = _demanded[option] = _shared.setdefault(found, found)
    return found


def _read_demands(parts: Iterable[Formula]) -> "_Demands":
    required, absent = set[str](), set[str]()
    held, denied = set[tuple[str, Formula]](), set[tuple[str, Formula]]()
    only: frozenset[str] | None = None
    for part in parts:
        match part:
            case Leaf(Required(name)):
                required.add(name)
            case Leaf(Named(name, value)) if value is FALSE:
                absent.add(name)
            case Leaf(Named(name, value)):
                for one in value.parts if isinstance(value, Every) else (value,):
                    if one.denies is None:
                        held.add((name, one))
                    else:
                        denied.add((name, one.denies))
            case Leaf(Matching(Beside(names, ()), value)) if value is FALSE:
                only = names if only is None else only & names
            case _:
                pass
    return frozenset(required), frozenset(absent), frozenset(held), frozenset(denied), only


def _weight(option: Formula) -> int:
    parts = option.parts if isinstance(option, Every) else (option,)
    found = 0
    for part in parts:
        atom = part.atom if isinstance(part, Leaf) else None
        if isinstance(atom, (Found, Unlike)):
            found += 10
        elif not isinstance(atom, (Named, Required)):
            found += 2
    return found
