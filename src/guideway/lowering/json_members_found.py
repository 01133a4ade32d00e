"""Ways to complete an object that have been found, tried on what is asked next.

States of one object differ by a member or two, and what completes one mostly completes the next:
some members, and the atoms that hold with them. To see whether a formula holds then is one pass
over it, where the search for a way is many::

    "kind" is missing; one of eight schemas         found: "kind" and "port" of the third
    the same behind "env", which all of them allow  those two complete it still

One of eight schemas with 18 names, 130 states: 1.6 s without this, .4 s with it.

What one member more does to a way is told for all names at once: a formula is a row of bits, one
for each name and each thing that is said of its value, and one where nothing more comes. A part
that formulas share has one row, so the next state takes the rows of what has changed::

    Named(a, F)       0 where "a" comes with a value of which F is not said, 1 elsewhere
    Required(a)       1 where "a" comes, if it is not in the way anyhow
    Found(keys, F)    1 where one of the keys comes with a value of which F is said

What cannot be seen so is left to the search. What this module does not know: spelling, values.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from guideway.lowering.json_atoms import AtLeast, AtMost, Found, Matching, Named, Required
from guideway.lowering.json_cases import Case
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Every,
    Formula,
    Leaf,
    Some,
    Truth,
    all_of,
    fold,
)
from guideway.lowering.json_given import Unlike
from guideway.lowering.json_keysets import KeyClass
from guideway.lowering.json_values import members_of

_KEPT: Final = 16  # ways of one kind of object; those that served last are tried first
_TRIED: Final = 6
_MOST_BITS: Final = 1 << 22  # of the rows that are kept for one way
_MOST_ANSWERS: Final = 1 << 10


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """Members that complete an object: their names, what holds with values that exist, and rows.

    `mask` has a bit for each of the names, by its number; of each class there is one member.
    """

    names: frozenset[str]
    mask: int
    classes: frozenset[int]
    atoms: frozenset[Atom]
    rows: dict[Formula, int] = field(default_factory=dict[Formula, int])
    answers: dict[Formula, int] = field(default_factory=dict[Formula, int])


@final
class Completions:
    """The ways that have been found for objects of one kind.

    Args:
        keys: the names that atoms mention, then the classes of other keys.
        atoms: what may be said of objects of that kind, counts apart.
    """

    def __init__(self, keys: Sequence[KeyClass], atoms: Iterable[Atom]) -> None:
        self._keys = keys
        self._names = {key.name: key for key in keys if key.name is not None}
        self._numbers = {name: 1 << key for key, name in enumerate(self._names)}
        self._ways: list[_Way] = []
        self._nothing = _Way(frozenset(), 0, frozenset(), frozenset())  # the member alone does
        said = self._said_of_names(atoms)
        self._values: list[Formula] = [TRUE]  # of each bit: that of the member more
        self._parts: list[frozenset[Formula]] = [frozenset()]
        self._bits: dict[str, range] = {}
        for name in self._names:
            begun = len(self._values)
            self._values += _worth_trying(said[name])
            self._bits[name] = range(begun, len(self._values))
        self._ranges = list(self._bits.values())
        self._where_named = list(map(self._where, self._ranges))
        self._living = 0  # the bits of values that exist, as far as that was asked
        self._parts = [frozenset(_parts(value)) for value in self._values]
        self._all = (1 << len(self._values)) - 1
        self._failing: dict[Atom, int] = {}

    def keep(self, cases: list[Case], keys: Iterable[int]) -> None:
        """Remember atoms that can all hold, with the members that they require, and no others.

        Args:
            cases: the atoms.
            keys: the numbers of more names that come, and of classes of which one comes; whichever
                keys came, there is one.
        """
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
        """Whether one of them completes an object of which this is left to be said.

        Args:
            said: what the members that come have to satisfy.
            free: a bit for each name that may come.
        """
        for way in self._ways[:_TRIED]:
            if not way.mask & ~free and self._answer(way, said) & 1:
                self._serve(way)
                return True
        return False

    def with_members(
        self, said: Formula, free: dict[int, int], lives: Callable[[Formula], bool | None]
    ) -> set[int]:
        """The names of which a member may come first, as one of them completes the rest behind it.

        All at once: one by one took 60,000 of the 380,000 calls in all masks of tye's schema.

        Args:
            said: as above, of that member too.
            free: the numbers of names that may come, each with a bit for it and for each name that
                may come after it.
            lives: whether there is a member of such a name with a value.
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
        """Those of the names of which a member may come before the others of a way."""
        found = set[int]()
        for key, behind in free.items() if answer else ():
            if not way.mask & ~behind and (
                answer & 1 if way.mask >> key & 1 else self._has_value(answer, key, lives)
            ):
                found.add(key)
        return found

    def _has_value(self, answer: int, key: int, lives: Callable[[Formula], bool | None]) -> bool:
        """Whether a name has a value with one of the bits that are set."""
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
        """Where the formula holds with the members of a way, and one more."""
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
        """Where an atom holds; where the member more is one of the way, the first bit tells."""
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
        """The same of an atom about all members, or about those that there are."""
        count, more = len(way.names) + len(way.classes), self._all & ~1
        if isinstance(atom, AtLeast):
            return (count >= atom.count) | (more if count + 1 >= atom.count else 0)
        if isinstance(atom, AtMost):
            return (count <= atom.count) | (more if count < atom.count else 0)
        bits: list[int] = []
        if way.classes:  # whose keys are in none of the values
            return self._all
        for names in {frozenset(members_of(value)) for value in atom.values}:
            if names == way.names:  # what has other names is unlike
                bits.append(0)
            elif names > way.names and len(names) == count + 1:
                bits += self._bits[min(names - way.names)]
        return self._all & ~self._where(bits)

    def _finding(self, atom: Found, way: _Way) -> int:
        """The same of an atom that wants some member: those of a way have any values."""
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
        """Where a member comes of whose value an atom says what is not said of it."""
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
        """What is said of the values of each name."""
        found: defaultdict[str, dict[Formula, None]] = defaultdict(dict[Formula, None])
        for atom in atoms:
            if isinstance(atom, (Named, Matching, Found)):
                for name in self._about(atom):
                    found[name][atom.value] = None
        return found


def _worth_trying(said: Iterable[Formula]) -> list[Formula]:
    """What a value may be asked to satisfy: nothing, one thing that is said of it, or all.

    Where a thing and its opposite are said, of `if` and constants: the others with one of those, or
    with all opposites. Of 60 `if`, each name took a search of 9 ms in each state.
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
    """What all has to hold for a value; nothing for any."""
    if value is TRUE:
        return ()
    return value.parts if isinstance(value, Every) else (value,)
