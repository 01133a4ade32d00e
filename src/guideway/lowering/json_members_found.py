"""Completions of objects found before, tried on the next states first.

States of one object differ by a member or two, so the members that complete one mostly complete the
next: one evaluation of a formula instead of a search (one of eight schemas with 18 names, 130
states: 1.6 s without, .4 s with). A row has a bit for "no more members" and for each name with each
formula of its value; shared parts of formulas share rows. Undecided cases are left to the search.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from guideway.lowering.json_cases import Case
from guideway.lowering.json_exclusive import Unlike
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    AtLeast,
    AtMost,
    Atom,
    Every,
    Formula,
    Found,
    Leaf,
    Matching,
    Named,
    Required,
    Some,
    Truth,
    all_of,
    fold,
    members_of,
)
from guideway.lowering.json_keysets import KeyClass

_KEPT: Final = 16  # ways of one kind of object, most recently used first
_TRIED: Final = 6
_MOST_BITS: Final = 1 << 22  # of the cached rows of one way
_MOST_ANSWERS: Final = 1 << 10


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """Members that complete an object: names, classes of one member each, and atoms that hold.

    `mask` has a bit for each name, by its number; `rows` and `answers` are caches.
    """

    names: frozenset[str]
    mask: int
    classes: frozenset[int]
    atoms: frozenset[Atom]
    rows: dict[Formula, int] = field(default_factory=dict[Formula, int])
    answers: dict[Formula, int] = field(default_factory=dict[Formula, int])

    @property
    def keys(self) -> list[int]:
        """The numbers of the members."""
        return [
            *(key for key in range(self.mask.bit_length()) if self.mask >> key & 1),
            *self.classes,
        ]


@final
class Completions:
    """The known completions of objects of one kind."""

    def __init__(self, keys: Sequence[KeyClass], atoms: Iterable[Atom]) -> None:
        self._keys = keys
        self._names = {key.name: key for key in keys if key.name is not None}
        self._numbers = {name: 1 << key for key, name in enumerate(self._names)}
        self._ways: list[_Way] = []
        self._nothing = _Way(frozenset(), 0, frozenset(), frozenset())  # the extra member alone
        said = self._said_of_names(atoms)
        self._values: list[Formula] = [TRUE]  # by bit: formula of the extra member's value
        self._parts: list[frozenset[Formula]] = [frozenset()]
        self._bits: dict[str, range] = {}
        for name in self._names:
            begun = len(self._values)
            self._values += _worth_trying(said[name])
            self._bits[name] = range(begun, len(self._values))
        self._ranges = list(self._bits.values())
        self._where_named = list(map(self._where, self._ranges))
        self._living = 0  # bits of values known to exist
        self._parts = [frozenset(_parts(value)) for value in self._values]
        self._all = (1 << len(self._values)) - 1
        self._failing: dict[Atom, int] = {}

    def keep(self, cases: list[Case], keys: Iterable[int]) -> None:
        """Add a way: atoms that can all hold, with the members that they and `keys` require."""
        listed = frozenset(atom for case in cases for atom in case)
        names = {atom.name for atom in listed if isinstance(atom, Required)}
        classes = set[int]()
        for key in keys:
            name = self._keys[key].name
            if name is None:
                classes.add(key)
            else:
                names.add(name)
        mask = sum(map(self._numbers.__getitem__, names))
        made = _Way(frozenset(names), mask, frozenset(classes), listed)
        told = (made.mask, made.classes, listed)
        others = [way for way in self._ways if (way.mask, way.classes, way.atoms) != told]
        self._ways = [made, *others][:_KEPT]

    def suffice(self, said: Formula, free: int) -> bool:
        """Return True if a known way completes an object, with names among the bits `free`."""
        return self.way(said, free) is not None

    def way(self, said: Formula, free: int) -> _Way | None:
        """A known way that completes an object."""
        for way in self._ways[:_TRIED]:
            if not way.mask & ~free and self._answer(way, said) & 1:
                self._serve(way)
                return way
        return None

    def with_members(
        self, said: Formula, free: dict[int, int], lives: Callable[[Formula], bool | None]
    ) -> set[int]:
        """The names of which a member may come first, so that a known way completes the rest.

        `free` gives, for each possible name, the bits of it and of the names that may follow it. A
        call for each name was 60,000 of the 380,000 calls in all masks of tye's schema.
        """
        found, left = set[int](), free
        for way in (*self._ways[:_TRIED], self._nothing):
            if not left:
                break
            came = self._coming(way, self._answer(way, said), left, lives)
            if came:
                self._serve(way)
                found |= came
                left = {key: behind for key, behind in left.items() if key not in came}
        return found

    def _coming(
        self, way: _Way, answer: int, free: dict[int, int], lives: Callable[[Formula], bool | None]
    ) -> set[int]:
        """The names of which a member may come before the others of a way."""
        found = set[int]()
        for key, behind in free.items() if answer else ():
            if not way.mask & ~behind and (
                answer & 1 if way.mask >> key & 1 else self._has_value(answer, key, lives)
            ):
                found.add(key)
        return found

    def _has_value(self, answer: int, key: int, lives: Callable[[Formula], bool | None]) -> bool:
        """Return True if a name has a value with one of the bits set."""
        bits = answer & self._where_named[key]
        if bits & self._living:
            return True
        for bit in self._ranges[key] if bits else ():
            if bits >> bit & 1 and lives(self._values[bit]):
                self._living |= 1 << bit
                return True
        return False

    def _serve(self, way: _Way) -> None:
        if way is not self._nothing and self._ways[0] is not way:
            self._ways = [way, *(other for other in self._ways if other is not way)][:_KEPT]

    def _answer(self, way: _Way, said: Formula) -> int:
        """Row of a formula with the members of a way, and one extra member."""
        found = way.answers.get(said)
        if found is None:
            if len(way.rows) * len(self._values) > _MOST_BITS:
                way.rows.clear()
            if len(way.answers) > _MOST_ANSWERS:
                way.answers.clear()
            found = fold(said, lambda node, rows: self._row(node, rows, way), way.rows)
            way.answers[said] = found
        return found

    def _row(self, node: Formula, rows: dict[Formula, int], way: _Way) -> int:
        if isinstance(node, Leaf):
            return self._holding(node.atom, way)
        row = 0 if isinstance(node, Some) or node is FALSE else self._all
        if isinstance(node, Every):
            for part in node.parts:
                row &= rows[part]
        elif isinstance(node, Some):
            for part in node.parts:
                row |= rows[part]
        return row

    def _holding(self, atom: Atom, way: _Way) -> int:
        """Row of an atom; bit 0 answers where the extra member is one of the way."""
        match atom:
            case Named(name) if name in way.names:
                return self._all if atom in way.atoms else 0
            case Required(name):
                return self._all if name in way.names else self._where(self._bits[name])
            case Found():
                return self._finding(atom, way)
            case AtLeast() | AtMost() | Unlike():
                return self._beside(atom, way)
            case Named() | Matching() if atom in way.atoms or not self._concerns(atom, way):
                return self._all & ~self._fails(atom)
            case _:
                return 0

    def _beside(self, atom: AtLeast | AtMost | Unlike, way: _Way) -> int:
        """Row of an atom about the number of members or about whole objects."""
        count, more = len(way.names) + len(way.classes), self._all & ~1
        if isinstance(atom, AtLeast):
            return (count >= atom.count) | (more if count + 1 >= atom.count else 0)
        if isinstance(atom, AtMost):
            return (count <= atom.count) | (more if count < atom.count else 0)
        bits: list[int] = []
        if way.classes:  # whose keys are in none of the values
            return self._all
        for names in {frozenset(members_of(value)) for value in atom.values}:
            if names == way.names:  # objects with other names are unlike
                bits.append(0)
            elif names > way.names and len(names) == count + 1:
                bits += self._bits[min(names - way.names)]
        return self._all & ~self._where(bits)

    def _finding(self, atom: Found, way: _Way) -> int:
        """Row of a Found atom; the members of a way have any values."""
        about, asked = self._about(atom), frozenset(_parts(atom.value))
        if not asked and (not way.names.isdisjoint(about) or self._has_class(atom, way)):
            return self._all
        return self._where(b for name in about for b in self._bits[name] if asked <= self._parts[b])

    def _concerns(self, atom: Named | Matching, way: _Way) -> bool:
        return isinstance(atom, Matching) and (
            any(self._names[name].among(atom.keys) for name in way.names)
            or self._has_class(atom, way)
        )

    def _has_class(self, atom: Matching | Found, way: _Way) -> bool:
        return any(self._keys[key].among(atom.keys) for key in way.classes)

    def _fails(self, atom: Named | Matching) -> int:
        """Bits of members for which the atom requires more than their value formula."""
        found = self._failing.get(atom)
        if found is None:
            about, asked = self._about(atom), frozenset(_parts(atom.value))
            bits = [b for name in about for b in self._bits[name] if not asked <= self._parts[b]]
            found = self._failing[atom] = self._where(bits)
        return found

    def _about(self, atom: Named | Matching | Found) -> list[str]:
        if isinstance(atom, Named):
            return [atom.name]
        return [name for name, key in self._names.items() if key.among(atom.keys)]

    def _where(self, bits: Iterable[int]) -> int:
        return sum(1 << bit for bit in bits)

    def _said_of_names(self, atoms: Iterable[Atom]) -> defaultdict[str, dict[Formula, None]]:
        """The formulas about the values of each name."""
        found: defaultdict[str, dict[Formula, None]] = defaultdict(dict[Formula, None])
        for atom in atoms:
            if isinstance(atom, (Named, Matching, Found)):
                for name in self._about(atom):
                    found[name][atom.value] = None
        return found


def _worth_trying(said: Iterable[Formula]) -> list[Formula]:
    """Formulas to try for a value: none, each one, or all together.

    Where a formula and its opposite occur (`if`, constants), the others with one of these or with
    all opposites: with 60 `if`, each name took a search of 9 ms in each state.
    """
    found = [value for value in said if not isinstance(value, Truth)]
    together = [all_of(*found)] if len(found) > 1 else []
    denied = {value.denies: value for value in found if value.denies is not None}
    if together == [FALSE]:
        opposed = {*denied, *denied.values()}
        others = [value for value in found if value not in opposed]
        told = [value for value in found if value in opposed]
        together = [all_of(*others, *denied.values()), *(all_of(*others, one) for one in told)]
    return [*dict.fromkeys(one for one in (TRUE, *found, *together) if one is not FALSE)]


def _parts(value: Formula) -> tuple[Formula, ...]:
    """The conjuncts of a formula."""
    if value is TRUE:
        return ()
    return value.parts if isinstance(value, Every) else (value,)
