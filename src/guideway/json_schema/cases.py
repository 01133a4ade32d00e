"""Disjunctive forms of formulas about objects and arrays."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Final, TypeAlias, TypeGuard, final

from guideway.errors import LimitError
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
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
    any_of,
    leaf,
    named,
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


_DEEP: Final = 4  # levels of nested alternatives
_ROUNDS: Final = 8  # a settled choice may settle others
_FEW: Final = 8  # names that another key may have
_MOST: Final = (
    50_000  # atoms; ten conditions under `unevaluatedProperties` have fewer, and took minutes
)


@final
@by_value
class _Facts:
    """Facts that hold in any case.

    required: names that are present; values: formulas of their values, if present; closed: the only
    names that may be present, None for any.
    """

    required: frozenset[str] = frozenset()
    values: dict[str, Formula] = field(default_factory=dict[str, Formula])
    closed: frozenset[str] | None = None

    def with_units(self, parts: Iterable[Formula]) -> "_Facts":
        """These facts and the atoms among some parts."""
        required, values, closed = set(self.required), dict(self.values), self.closed
        for part in parts:
            atom = part.atom if type(part) is Leaf else None
            if type(atom) is Required:
                required.add(atom.name)
            elif type(atom) is Named:
                known = values.get(atom.name)
                values[atom.name] = atom.value if known is None else all_of(known, atom.value)
            elif type(atom) is Matching and atom.value is FALSE:
                keys = atom.keys
                if type(keys) is Beside and not keys.patterns:
                    closed = keys.names if closed is None else closed & keys.names
        return _Facts(frozenset(required), values, closed)

    def value(self, name: str) -> Formula:
        """Formula of a name's value; FALSE if the name cannot be present."""
        if self.closed is not None and name not in self.closed:
            return FALSE
        return self.values.get(name, TRUE)


@final
class Clauses:
    """Shortens formulas about objects; `impossible` tells formulas that plainly have no value."""

    def __init__(self, impossible: Callable[[Formula], bool]) -> None:
        self._impossible = impossible

    def shortened(self, said: Formula) -> Formula:
        """An equivalent formula."""
        return self._made(said, _Facts(), _DEEP) if _gains(said) else said

    def _made(self, said: Formula, facts: _Facts, deep: int) -> Formula:
        """Simplify a part under facts."""
        match said:
            case Leaf(atom):
                return self._left(atom, said, facts)
            case Some(parts) if deep:
                spend(len(parts))
                return _joined([self._made(part, facts, deep - 1) for part in parts])
            case Every():
                return self._every(said, facts, deep)
            case _:
                return said

    def _every(self, said: Every, facts: _Facts, deep: int) -> Formula:
        found: Formula = said
        before = None
        for _ in range(_ROUNDS):
            if not isinstance(found, Every):
                return self._made(found, facts, deep)
            spend(20 + len(found.parts) + len(facts.values))  # 27 µs on average, about 40 parts
            inner = facts.with_units(found.parts)
            if inner == before:  # no new facts
                break
            before = inner
            if self._excluded(inner, found.parts):
                return FALSE
            made = all_of(
                *[
                    self._left(part.atom, part, facts)
                    if type(part) is Leaf
                    else self._made(part, inner, deep)
                    for part in found.parts
                ]
            )
            if made is found:
                break
            found = made
        return found

    def _excluded(self, facts: _Facts, parts: Iterable[Formula]) -> bool:
        """Return True if the atoms contradict each other or the facts."""
        for part in parts:
            atom = part.atom if type(part) is Leaf else None
            if type(atom) is not Named and type(atom) is not Required:
                continue
            if atom.name in facts.required and self._is_none(facts.value(atom.name)):
                return True
        return False

    def _is_none(self, value: Formula) -> bool:
        return value is FALSE or self._impossible(value)

    def _left(self, atom: Atom, said: Formula, facts: _Facts) -> Formula:
        """Simplify an atom under facts."""
        if type(atom) is Named:
            return self._of_value(atom.name, atom.value, said, facts)
        match atom:
            case Required(name):
                if name in facts.required:
                    return TRUE
                return FALSE if self._is_none(facts.value(name)) else said
            case Found(Beside(names, ()), value) if facts.closed is not None:
                return self._some_name(facts.closed - names, value, said, facts)
            case Matching(Beside(names, ()), _) if facts.closed is not None:
                return TRUE if facts.closed <= names else said
            case _:
                return said

    def _of_value(self, name: str, value: Formula, said: Formula, facts: _Facts) -> Formula:
        known = facts.value(name)
        both = value if known is TRUE else known if known is value else all_of(known, value)
        if both is known:  # implied
            return TRUE
        if not self._is_none(both):
            return said
        return FALSE if name in facts.required else named(name, FALSE)

    def _some_name(
        self, names: frozenset[str], value: Formula, said: Formula, facts: _Facts
    ) -> Formula:
        """Formula: one of these names is present with such a value."""
        if len(names) > _FEW:
            return said
        ways = (all_of(leaf(Required(name)), named(name, value)) for name in sorted(names))
        return any_of(*(self._made(way, facts, 0) for way in ways))


def _gains(said: Formula) -> bool:
    """Return True if a conjunction contains alternatives, and not too many."""
    options = said.parts if isinstance(said, Some) else (said,)
    clauses = [
        part
        for option in options
        if isinstance(option, Every)
        for part in option.parts
        if isinstance(part, Some)
    ]
    size = sum(len(one.parts) for clause in clauses for one in clause.parts if _is_joined(one))
    return bool(clauses) and size + sum(len(clause.parts) for clause in clauses) <= _MOST


def _is_joined(said: Formula) -> TypeGuard[Every | Some]:
    return isinstance(said, (Every, Some))


def _joined(options: list[Formula]) -> Formula:
    """Disjunction; merges an option on an optional member with options that require the member."""
    without: dict[str, Formula] = {}
    present: defaultdict[str, list[Formula]] = defaultdict(list)
    others: list[Formula] = []
    for option in options:
        atom = option.atom if isinstance(option, Leaf) else None
        if isinstance(atom, Named):
            without[atom.name] = any_of(without.get(atom.name, FALSE), atom.value)
        elif (name := _only_of(option)) is not None:
            present[name].append(option)
        else:
            others.append(option)
    for name, wanting in present.items():
        if name in without:
            without[name] = any_of(without[name], *map(_value_of, wanting))
        else:
            others += wanting
    return any_of(*(named(name, value) for name, value in without.items()), *others)


def _only_of(option: Formula) -> str | None:
    """The only member that an option constrains, if the option requires it."""
    names, wanted = set[str](), False
    for part in option.parts if isinstance(option, Every) else (option,):
        atom = part.atom if isinstance(part, Leaf) else None
        if not isinstance(atom, (Named, Required)):
            return None
        names.add(atom.name)
        wanted |= isinstance(atom, Required)
    return names.pop() if wanted and len(names) == 1 else None


def _value_of(option: Formula) -> Formula:
    """Formula of the value of that member."""
    parts = option.parts if isinstance(option, Every) else (option,)
    listed = [part.atom for part in parts if isinstance(part, Leaf)]
    return all_of(*(atom.value for atom in listed if isinstance(atom, Named)))


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
