"""Members that complete an object: known ones, any that do, and the shortest."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from guideway.errors import LimitError
from guideway.json_schema.cases import demands_in, demands_of
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formula_derivative import Pairs
from guideway.json_schema.formulas import (
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
    atoms,
    conjuncts,
    fold,
    members_of,
)
from guideway.json_schema.key_classes import KeyClass, by_name, formula_of
from guideway.json_schema.objects import Extras, asks
from guideway.language.fuel import paying, spend


class Member(NamedTuple):
    """A member of an object: its key, the formula of its value, and its text, if that is known."""

    key: int
    value: Formula
    text: bytes = b""


Chosen: TypeAlias = tuple[Member, ...]
_Move: TypeAlias = tuple[Member | None, Formula]
"""A member without its text, if any, and the formula after it."""

_KEPT: Final = 16  # ways of one kind of object, most recently used first
_TRIED: Final = 6
_MOST_BITS: Final = 1 << 22  # of the cached rows of one way
_MOST_ANSWERS: Final = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """Members that complete an object.

    `mask` has a bit for each name, by its number; `told` has what each value satisfies; `rows` and
    `answers` are caches.
    """

    members: Chosen
    names: frozenset[str]
    mask: int
    told: tuple[tuple[KeyClass, frozenset[Formula]], ...]
    rows: dict[Formula, int] = field(default_factory=dict[Formula, int])
    answers: dict[Formula, int] = field(default_factory=dict[Formula, int])


class Completions:
    """The known completions of objects of one kind."""

    def __init__(self, keys: Sequence[KeyClass], atoms: Iterable[Atom]) -> None:
        self._keys = keys
        self._names = {key.name: key for key in keys if key.name is not None}
        self._numbers = {name: 1 << key for key, name in enumerate(self._names)}
        self._ways: list[_Way] = []
        self._nothing = self._way(())  # the extra member alone
        formula = self._formulas_by_name(atoms)
        self._values: list[Formula] = [TRUE]  # by bit: formula of the extra member's value
        self._parts: list[frozenset[Formula]] = [frozenset()]
        self._bits: dict[str, range] = {}
        for name in self._names:
            begun = len(self._values)
            self._values += _worth_trying(formula[name])
            self._bits[name] = range(begun, len(self._values))
        self._ranges = list(self._bits.values())
        self._where_named = list(map(self._where, self._ranges))
        self._living = 0  # bits of values known to exist
        self._parts = [frozenset(conjuncts(value)) for value in self._values]
        self._all = (1 << len(self._values)) - 1
        self._failing: dict[Atom, int] = {}

    def keep(self, members: Chosen) -> None:
        """Add a way."""
        others = [way for way in self._ways if way.members != members]
        self._ways = [self._way(members), *others][:_KEPT]

    def _way(self, members: Chosen) -> _Way:
        told = tuple((self._keys[one.key], frozenset(conjuncts(one.value))) for one in members)
        names = frozenset(key.name for key, _ in told if key.name is not None)
        return _Way(members, names, sum(map(self._numbers.__getitem__, names)), told)

    def suffice(self, formula: Formula, free: int) -> bool:
        """Return True if a known way completes an object, with names among the bits `free`."""
        return self.way(formula, free) is not None

    def way(self, formula: Formula, free: int) -> _Way | None:
        """A known way that completes an object."""
        for way in self._ways[:_TRIED]:
            if not way.mask & ~free and self._answer(way, formula) & 1:
                self._move_to_front(way)
                return way
        return None

    def with_members(
        self, formula: Formula, free: dict[int, int], lives: Callable[[Formula], bool | None]
    ) -> set[int]:
        """The names of which a member may come first, so that a known way completes the rest.

        `free` gives, for each possible name, the bits of it and of the names that may follow it. A
        call for each name was 60,000 of the 380,000 calls in all masks of tye's schema.
        """
        found, left = set[int](), free
        for way in (*self._ways[:_TRIED], self._nothing):
            if not left:
                break
            came = self._coming(way, self._answer(way, formula), left, lives)
            if came:
                self._move_to_front(way)
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

    def _move_to_front(self, way: _Way) -> None:
        if way is not self._nothing and self._ways[0] is not way:
            self._ways = [way, *(other for other in self._ways if other is not way)][:_KEPT]

    def _answer(self, way: _Way, formula: Formula) -> int:
        """Row of a formula with the members of a way, and one extra member."""
        found = way.answers.get(formula)
        if found is None:
            if len(way.rows) * len(self._values) > _MOST_BITS:
                way.rows.clear()
            if len(way.answers) > _MOST_ANSWERS:
                way.answers.clear()
            found = fold(formula, lambda node, rows: self._row(node, rows, way), way.rows)
            way.answers[formula] = found
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
            case Required(name):
                return self._all if name in way.names else self._where(self._bits[name])
            case Found():
                return self._finding(atom, way)
            case AtLeast() | AtMost() | Unlike():
                return self._count_row(atom, way)
            case Named() | Matching():
                asked = frozenset(conjuncts(atom.value))
                if not all(asked <= told for told in self._told(atom, way)):
                    return 0
                named = isinstance(atom, Named) and atom.name in way.names
                return self._all if named else self._all & ~self._fails(atom)
            case _:
                return 0

    def _told(self, atom: Named | Matching | Found, way: _Way) -> list[frozenset[Formula]]:
        """The formulas that hold of each value that an atom is about."""
        if isinstance(atom, Named):
            return [told for key, told in way.told if key.name == atom.name]
        return [told for key, told in way.told if key.among(atom.keys)]

    def _count_row(self, atom: AtLeast | AtMost | Unlike, way: _Way) -> int:
        """Row of an atom about the number of members or about whole objects."""
        count, more = len(way.members), self._all & ~1
        if isinstance(atom, AtLeast):
            return (count >= atom.count) | (more if count + 1 >= atom.count else 0)
        if isinstance(atom, AtMost):
            return (count <= atom.count) | (more if count < atom.count else 0)
        bits: list[int] = []
        if count > len(way.names):  # members whose keys are in none of the values
            return self._all
        for names in {frozenset(members_of(value)) for value in atom.values}:
            if names == way.names:  # objects with other names are unlike
                bits.append(0)
            elif names > way.names and len(names) == count + 1:
                bits += self._bits[min(names - way.names)]
        return self._all & ~self._where(bits)

    def _finding(self, atom: Found, way: _Way) -> int:
        """Row of a Found atom."""
        about, asked = self._names_of(atom), frozenset(conjuncts(atom.value))
        if any(asked <= told for told in self._told(atom, way)):
            return self._all
        return self._where(b for name in about for b in self._bits[name] if asked <= self._parts[b])

    def _fails(self, atom: Named | Matching) -> int:
        """Bits of members for which the atom requires more than their value formula."""
        found = self._failing.get(atom)
        if found is None:
            about, asked = self._names_of(atom), frozenset(conjuncts(atom.value))
            bits = [b for name in about for b in self._bits[name] if not asked <= self._parts[b]]
            found = self._failing[atom] = self._where(bits)
        return found

    def _names_of(self, atom: Named | Matching | Found) -> list[str]:
        if isinstance(atom, Named):
            return [atom.name]
        return [name for name, key in self._names.items() if key.among(atom.keys)]

    def _where(self, bits: Iterable[int]) -> int:
        return sum(1 << bit for bit in bits)

    def _formulas_by_name(self, atoms: Iterable[Atom]) -> defaultdict[str, dict[Formula, None]]:
        """The formulas about the values of each name."""
        found: defaultdict[str, dict[Formula, None]] = defaultdict(dict[Formula, None])
        for atom in atoms:
            if isinstance(atom, (Named, Matching, Found)):
                for name in self._names_of(atom):
                    found[name][atom.value] = None
        return found


def _worth_trying(formula: Iterable[Formula]) -> list[Formula]:
    """Formulas to try for a value: none, each one, or all together.

    Where a formula and its opposite occur (`if`, constants), the others with one of these or with
    all opposites: with 60 `if`, each name took a search of 9 ms in each state.
    """
    found = [value for value in formula if not isinstance(value, Truth)]
    together = [all_of(*found)] if len(found) > 1 else []
    denied = {value.denies: value for value in found if value.denies is not None}
    if together == [FALSE]:
        opposed = {*denied, *denied.values()}
        others = [value for value in found if value not in opposed]
        told = [value for value in found if value in opposed]
        together = [all_of(*others, *denied.values()), *(all_of(*others, one) for one in told)]
    return [*dict.fromkeys(one for one in (TRUE, *found, *together) if one is not FALSE)]


MOST_LOOKED_AT = 10_000
_IN_ORDER = 500  # sets visited in order of length
_MOST_KNOWN = 1 << 16  # formulas cached by `undone`, which live as long as a constraint
Write: TypeAlias = "Callable[[int, Formula, Extras], tuple[bytes, Extras] | None]"
"""The text of a member, and the extra keys used with it; None if there is none."""
Afford: TypeAlias = Callable[[int], bool]
_decode = json.JSONDecoder().raw_decode


class Unsettled(Exception):  # noqa: N818  it says that an answer has to wait, and is no error
    """It is not known yet whether a member exists."""


class Words:
    """The members of free names and of all classes, the shortest keys first.

    In another order each object of a `oneOf` of sixty took 1.3 s. `after` gives pairs of rest and
    value for a key; `may_close` tells whether a formula holds at the end.
    """

    def __init__(
        self,
        keys: Sequence[KeyClass],
        free: list[int],
        after: Callable[[Formula, int], Pairs],
        may_close: Callable[[Formula], bool],
        *,
        ordered: bool,
    ) -> None:
        self._keys, self.after, self.may_close, self._ordered = keys, after, may_close, ordered
        classes = [key for key, part in enumerate(keys) if part.name is None]
        self.keys = sorted([*free, *classes], key=self._shortest)
        self._undone: dict[Formula, int] = {}

    def asks(self, atom: Atom, key: int) -> bool:
        """Return True if an atom asks for members of a key."""
        return asks(atom, self._keys[key])

    def single(self, key: int) -> bool:
        """Return True if a key is one name."""
        return self._keys[key].name is not None

    def fill(
        self, leaves: Sequence[Leaf], taken: frozenset[int], extras: Extras, write: Write
    ) -> Chosen | None:
        """The required members, and others up to the least number; None if there are too few."""
        listed = [part.atom for part in leaves]
        names = {str(self._keys[key].name): key for key in self.keys if self.single(key)}
        about, members = by_name(listed), list[Member]()
        low = max((atom.count for atom in listed if isinstance(atom, AtLeast)), default=0)

        def take(key: int) -> bool:
            nonlocal extras
            value = formula_of(about[self._keys[key].name], self._keys[key])
            found = write(key, value, extras)
            if found is None:
                return False
            endless = found[1] == extras and not self.single(key)
            members.extend([Member(key, value, found[0])] * (low - len(members) if endless else 1))
            extras = found[1]
            return True

        needed = [names.get(atom.name) for atom in listed if isinstance(atom, Required)]
        if not all(key is not None and take(key) for key in needed):
            return None
        for key in self.keys:
            while key not in needed and key not in taken and len(members) < low and take(key):
                if self.single(key):
                    break
        high = min((a.count for a in listed if isinstance(a, AtMost)), default=len(members))
        return tuple(members) if low <= len(members) <= high else None

    def in_order(self, members: Chosen) -> list[bytes]:
        """The texts of members in the first possible order."""
        return [
            one.text for one in sorted(members, key=attrgetter("key" if self._ordered else "text"))
        ]

    def undone(self, formula: Formula) -> int:
        """A lower bound of the length of the members that a formula still needs."""
        if len(self._undone) > _MOST_KNOWN:
            self._undone.clear()
        return fold(formula, self._need, self._undone)

    def _need(self, part: Formula, made: dict[Formula, int]) -> int:
        if self.may_close(part):
            return 0
        if not isinstance(part, Leaf):
            join = min if isinstance(part, Some) else max
            return join((made[one] for one in part.parts), default=0)
        times = part.atom.count if isinstance(part.atom, AtLeast) else 1
        asked = (self._shortest(key) for key in self.keys if self.asks(part.atom, key))
        return times * min(asked, default=0)

    def _shortest(self, key: int) -> int:
        """A lower bound of the length of a member and its comma."""
        return len(self._keys[key].name or "") + len('"":0,')


def first_members(words: Words, formula: Formula, extras: Extras, write: Write) -> Chosen | None:
    """Some members that satisfy `formula`, not always the fewest; None if there are none.

    Raises:
        Unsettled: by `write`.
        LimitError: while compiling, if the search takes too long.
    """

    def goes_on(tries: int) -> bool:
        if tries > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"the search for a valid object takes more than {MOST_LOOKED_AT} tries",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
        return True

    found: Chosen = ()
    for part in components(formula):
        more = _Search(words, write).find(part, extras, goes_on)
        if more is None:
            return None
        found += more
    return found


def least_members(
    words: Words, formula: Formula, extras: Extras, write: Write, known: Chosen, pay: Afford
) -> Chosen:
    """The shortest members that satisfy `formula`; () if none are needed.

    The shortest set is hard to find. Where `pay` refuses the work, the members `known` are
    taken: they suffice, and may be longer.
    """
    longest, found = sum(len(one.text) + 1 for one in known), Chosen()
    for part in components(formula):
        work = 2 * size(part)
        shorter = _Search(words, write, longest).find(
            part, extras, lambda n, w=work: n <= _IN_ORDER and pay(w)
        )
        if shorter is None:
            return known
        found += shorter
    return found


def components(formula: Formula) -> list[Formula]:
    """Split a conjunction into parts without common members; each keeps all persistent atoms."""
    parts = conjuncts(formula)
    everywhere = {part: None for part in parts if isinstance(part, Leaf) and _persists(part.atom)}
    others = [part for part in parts if part not in everywhere]
    above: dict[str, str] = {}  # union-find over names

    def highest(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = name = above[above[name]]
        return name

    about = [_names(part) for part in others]
    for names in about:
        if names is None:
            return [formula]
        for name in names:
            above[highest(name)] = highest(next(iter(names)))
    groups = defaultdict[str | None, list[Formula]](list)
    for part, names in zip(others, about, strict=True):
        groups[highest(next(iter(names))) if names else None].append(part)
    return [all_of(*everywhere, *members) for members in groups.values()]


def _persists(atom: Atom) -> bool:
    """Return True if an atom only constrains every member."""
    return isinstance(atom, (Named, Matching))


def _names(part: Formula) -> set[str] | None:
    """The names in a part; None if it concerns other keys too."""
    found: set[str] = set()
    for atom in atoms(part):
        if not isinstance(atom, (Named, Required)):
            return None
        found.add(atom.name)
    return found


@dataclass(frozen=True, slots=True, order=True)
class _Try:
    """A set of members, by the least length of the whole and by its texts.

    Attributes:
        formula: what is left after the members.
        asked: the next member, whose text is not known yet.
        moves: the members or options that are still to be tried.
    """

    bound: int
    texts: tuple[bytes, ...]
    serial: int
    length: int = field(compare=False)
    formula: Formula = field(compare=False)
    extras: Extras = field(compare=False)
    chosen: Chosen = field(compare=False)
    asked: Member | None = field(compare=False, default=None)
    moves: "Iterator[_Move] | None" = field(compare=False, default=None)


class _Search:
    """The search for members that satisfy a formula.

    With `longest`, a bound of their length, the shortest members are found (A*). Without it, the
    search is depth-first, for any members, which have no texts.
    """

    def __init__(self, words: Words, write: Write, longest: int | None = None) -> None:
        self._words, self._write, self._longest = words, write, longest
        self._serials, self._seen, self._queue = count(0, -1), set[object](), list[_Try]()
        # Atoms about several members. `fill` satisfies AtLeast, but not by the shortest members.
        self._about_several = (Found, Unlike) if longest is None else (Found, Unlike, AtLeast)

    def find(
        self, formula: Formula, extras: Extras, goes_on: Callable[[int], bool]
    ) -> Chosen | None:
        """The members, None if there are none.

        `goes_on` is called with the number of sets of members so far; False ends the search.
        """
        self._put(_Try(0, (), 0, 0, formula, extras, ()))
        while self._queue:
            tried = heappop(self._queue)
            if tried.asked is not None:
                self._add(tried, tried.asked)
            elif tried.moves is not None:
                self._move(tried, tried.moves)
            elif self._words.may_close(tried.formula):
                return tried.chosen
            elif not self._open(tried, goes_on):
                return None
        return None

    def _put(self, tried: _Try) -> None:
        fits = self._longest is None or tried.bound <= self._longest
        if fits and tried.formula is not FALSE:
            heappush(self._queue, tried)

    def _bound(self, length: int, rest: Formula) -> int:
        return 0 if self._longest is None else length + self._words.undone(rest)

    def _add(self, tried: _Try, member: Member) -> None:
        """Write the member that was asked, and go on if there is one."""
        found = self._write(member.key, member.value, tried.extras)
        if found is not None:
            text, extras = found
            self._extend(tried, (member._replace(text=text),), tried.formula, extras)

    def _extend(self, tried: _Try, more: Chosen, rest: Formula, extras: Extras) -> None:
        chosen = (*tried.chosen, *more)
        written = any(one.text for one in more)
        texts = tuple(self._words.in_order(chosen)) if written else tried.texts
        length = tried.length + sum(len(one.text) + 1 for one in more if one.text)
        bound, serial = self._bound(length, rest), next(self._serials)
        self._put(_Try(bound, texts, serial, length, rest, extras, chosen))

    def _move(self, tried: _Try, moves: "Iterator[_Move]") -> None:
        """Take the next move; the others wait."""
        for member, rest in moves:
            heappush(self._queue, tried)
            bound, serial = self._bound(tried.length, rest), next(self._serials)
            done = tried.length, rest, tried.extras, tried.chosen
            self._put(_Try(bound, tried.texts, serial, *done, member))
            return

    def _open(self, tried: _Try, goes_on: Callable[[int], bool]) -> bool:
        """Find the members of a formula at once, or its moves."""
        words = self._words
        taken = frozenset(one.key for one in tried.chosen if words.single(one.key))
        state = tried.formula, taken, tried.extras
        if state in self._seen:
            return True
        self._seen.add(state)
        spend(1)
        leaves, choices = _split(tried.formula)
        if choices or any(isinstance(part.atom, self._about_several) for part in leaves):
            moves = (
                self._options(leaves, choices, tried.extras)
                if choices
                else _members(words, leaves, taken)
            )
            heappush(self._queue, replace(tried, moves=moves))
        elif (found := words.fill(leaves, taken, tried.extras, self._write)) is not None:
            self._extend(tried, found, TRUE, tried.extras)
        return goes_on(len(self._seen))

    def _options(
        self, leaves: Sequence[Leaf], choices: Sequence[Some], extras: Extras
    ) -> Iterator[_Move]:
        """The options of the smallest choice that do not contradict the atoms."""
        spend(sum(len(choice.parts) for choice in choices))
        told = demands_of(part.atom for part in leaves)
        named = [part for part in leaves if not isinstance(part.atom, AtLeast)]
        words = self._words
        if told.contradicts(told) or words.fill(named, frozenset(), extras, self._write) is None:
            return
        left = [
            (choice, [one for one in choice.parts if not told.contradicts(demands_in(one))])
            for choice in choices
        ]
        smallest, options = min(left, key=lambda one: len(one[1]))
        others = [choice for choice in choices if choice is not smallest]

        def weight(option: Formula) -> tuple[int, int]:
            more = demands_in(option).required - told.required
            return len(more), words.undone(option)

        for option in sorted(options, key=weight):
            yield None, all_of(option, *leaves, *others)


def _split(formula: Formula) -> tuple[list[Leaf], list[Some]]:
    """The atoms of a conjunction, and the choices that these atoms leave open."""
    leaves = [part for part in conjuncts(formula) if isinstance(part, Leaf)]
    known = frozenset[Formula](leaves)
    choices = [part for part in conjuncts(formula) if isinstance(part, Some)]
    return leaves, [
        one for one in choices if not any(known.issuperset(conjuncts(o)) for o in one.parts)
    ]


def _members(words: Words, leaves: Sequence[Leaf], taken: frozenset[int]) -> Iterator[_Move]:
    """The members that an unfinished atom asks for."""
    formula = all_of(*leaves)
    asking = [part.atom for part in leaves if not words.may_close(part)]
    atom = min(asking, key=lambda one: isinstance(one, AtLeast) - isinstance(one, Required))
    for key in words.keys:
        if key not in taken and words.asks(atom, key):
            for rest, value in words.after(formula, key).items():
                if not _asks_as_much(rest, formula):
                    yield Member(key, value), rest


def _asks_as_much(rest: Formula, formula: Formula) -> bool:
    """Return True if a member was useless: whatever suffices after it suffices without it.

    Only atoms about its own value, or alternatives, went away.
    """
    left = frozenset(conjuncts(rest))
    gone = [part for part in conjuncts(formula) if part not in left and not _is_named(part)]
    return all(
        isinstance(part, Some)
        and any(other in part.parts or _are_some_of(other, part) for other in left)
        for part in gone
    )


def _are_some_of(other: Formula, part: Some) -> bool:
    return isinstance(other, Some) and set(other.parts) <= set(part.parts)


def _is_named(part: Formula) -> bool:
    return isinstance(part, Leaf) and isinstance(part.atom, Named)


def size(formula: Formula) -> int:
    """Count the distinct parts of a formula and the references to them."""
    found, todo = set[Formula](), [formula]
    total = 1
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            total += len(node.parts)
            todo += node.parts
    return total


def key_of(text: bytes) -> str:
    """The key of a written member."""
    key: Any = _decode(text.decode())[0]
    return str(key)
