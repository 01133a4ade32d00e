"""The fewest and shortest members that complete an object."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Any, Final, TypeAlias

from guideway.errors import LimitError
from guideway.json_schema.cases import Case, first_case
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
    leaf,
    members_of,
)
from guideway.json_schema.key_classes import KeyClass
from guideway.json_schema.objects import Extras, asks
from guideway.language.fuel import paying, spend
from guideway.language.values import by_value

_KEPT: Final = 16  # ways of one kind of object, most recently used first
_TRIED: Final = 6
_MOST_BITS: Final = 1 << 22  # of the cached rows of one way
_MOST_ANSWERS: Final = 1 << 10


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


class Completions:
    """The known completions of objects of one kind."""

    def __init__(self, keys: Sequence[KeyClass], atoms: Iterable[Atom]) -> None:
        self._keys = keys
        self._names = {key.name: key for key in keys if key.name is not None}
        self._numbers = {name: 1 << key for key, name in enumerate(self._names)}
        self._ways: list[_Way] = []
        self._nothing = _Way(frozenset(), 0, frozenset(), frozenset())  # the extra member alone
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
            case Named(name) if name in way.names:
                return self._all if atom in way.atoms else 0
            case Required(name):
                return self._all if name in way.names else self._where(self._bits[name])
            case Found():
                return self._finding(atom, way)
            case AtLeast() | AtMost() | Unlike():
                return self._count_row(atom, way)
            case Named() | Matching() if atom in way.atoms or not self._concerns(atom, way):
                return self._all & ~self._fails(atom)
            case _:
                return 0

    def _count_row(self, atom: AtLeast | AtMost | Unlike, way: _Way) -> int:
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
        about, asked = self._names_of(atom), frozenset(conjuncts(atom.value))
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


MOST_LOOKED_AT = 1_000
_IN_ORDER = 100  # sets visited in order of length
_MOST_KNOWN = 1 << 16  # formulas cached by an estimate, which lives as long as a constraint
Chosen = tuple[tuple[int, bytes], ...]
Word: TypeAlias = "Callable[[int, Formula, Extras], bytes | None]"
Needed = list[tuple[int, Formula]]  # members by key and the formula of the value
Afford: TypeAlias = Callable[[int], bool]
_decode = json.JSONDecoder().raw_decode


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
        self.names = {str(keys[key].name): key for key in free}
        classes = [key for key, part in enumerate(keys) if part.name is None]
        self.keys = sorted([*free, *classes], key=self.shortest)

    def asks(self, atom: Atom, key: int) -> bool:
        """Return True if an atom asks for members of a key."""
        return asks(atom, self._keys[key])

    def single(self, key: int) -> bool:
        """Return True if a key is one name."""
        return self._keys[key].name is not None

    def shortest(self, key: int) -> int:
        """A lower bound of the length of a member and its comma."""
        return len(self._keys[key].name or "") + len('"":0,')

    def in_order(self, members: Chosen) -> list[tuple[int, bytes]]:
        """Members in the first possible order."""
        return sorted(members) if self._ordered else sorted(members, key=itemgetter(1))


def least_members(
    estimate: "Estimate", word: Word, known: Chosen, formula: Formula, extras: Extras, pay: Afford
) -> Chosen:
    """The shortest members that satisfy `formula`; () if none are needed.

    The shortest set is hard to find. Where `pay` refuses the work, the members `known` are
    taken: they suffice, and may be longer.
    """
    found: Chosen = ()
    for part in components(formula):
        longest = sum(len(text) + 1 for _, text in known)
        shorter = _search(estimate, word, part, extras, longest, pay)
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
    """A set of members, by the least length of the whole and by its texts."""

    bound: int
    texts: tuple[bytes, ...]
    serial: int
    length: int = field(compare=False)
    formula: Formula = field(compare=False)
    extras: Extras = field(compare=False)
    chosen: Chosen = field(compare=False)


def _search(
    estimate: "Estimate", word: Word, formula: Formula, extras: Extras, longest: int, pay: Afford
) -> Chosen | None:
    """Search sets of members in order of length (A*), up to a length; None if it takes too long."""
    words, serials, seen = estimate.words, count(1), set[object]()
    queue, work = [_Try(0, (), 0, 0, formula, extras, ())], size(formula) * len(words.keys)
    while queue:
        tried = heappop(queue)
        if words.may_close(tried.formula):
            return tried.chosen
        taken = frozenset(key for key, _ in tried.chosen if words.single(key))
        state = tried.formula, taken, tried.extras
        if state in seen:
            continue
        seen.add(state)
        if len(seen) > _IN_ORDER or not pay(work):
            break
        for key, value, rest in candidates(words, tried.formula, taken):
            text = word(key, value, tried.extras)
            length = tried.length + len(text or b"") + 1
            bound = length + estimate.undone(rest)
            if text is not None and bound <= longest:
                more = tried.extras if words.single(key) else tried.extras | {key_of(text)}
                chosen = (*tried.chosen, (key, text))
                texts = tuple(text for _, text in words.in_order(chosen))
                heappush(queue, _Try(bound, texts, next(serials), length, rest, more, chosen))
        spend(1)
    return None


class Estimate:
    """Lower bound of the length of the members that a formula still needs."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self._known: dict[Formula, int] = {}

    def undone(self, formula: Formula) -> int:
        if len(self._known) > _MOST_KNOWN:
            self._known = {}
        return fold(formula, self._need, self._known)

    def _need(self, part: Formula, made: dict[Formula, int]) -> int:
        words = self.words
        if words.may_close(part):
            return 0
        if not isinstance(part, Leaf):
            join = min if isinstance(part, Some) else max
            return join((made[one] for one in part.parts), default=0)
        times = part.atom.count if isinstance(part.atom, AtLeast) else 1
        asked = (words.shortest(key) for key in words.keys if words.asks(part.atom, key))
        return times * min(asked, default=0)


def candidates(
    words: Words, formula: Formula, taken: frozenset[int]
) -> Iterator[tuple[int, Formula, Formula]]:
    """Keys, values and rests of members that the first part that does not hold asks for."""
    asking = atoms(next(part for part in conjuncts(formula) if not words.may_close(part)))
    for key in words.keys:
        if key in taken or not any(words.asks(atom, key) for atom in asking):
            continue
        for rest, value in words.after(formula, key).items():
            if not _asks_as_much(rest, formula):
                yield key, value, rest


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


@by_value
class Access:
    """Access to the members of an object.

    `formula` gives the formula of a key's value, from atoms; `lives` tells if a member with a value
    exists (None: not known yet); `another` gives the extra keys with one more of a class, or None;
    `found` receives the cases that suffice together with the additional keys.
    """

    words: Words
    formula: Callable[[Case, int], Formula]
    lives: Callable[[int, Formula], bool | None]
    another: "Callable[[int, Extras], Extras | None]"
    found: "Callable[[list[Case], set[int]], None]"


def can_end(ways: Access, formula: Formula, extras: Extras, members: "Needed") -> bool | None:
    """Return True if some members complete the object; None if a value is not known yet.

    Adds the members that the first cases need which can hold.
    """
    cases = list[Case]()

    def accept(case: Case) -> bool | None:
        more = Needed()
        found = _accepted(ways, case, extras, more)
        if found:
            cases.append(case)
            members.extend(more)
        return found

    for part in components(formula):
        if not ways.words.may_close(part):
            found = first_case(part, lambda case: _needed(ways, case), accept)
            if not found:
                return found
    keys = {key for key, _ in members}
    others = (key for key in keys if not ways.words.single(key))
    endless = all(ways.another(key, extras) == extras for key in others)
    ways.found(cases, keys if endless else set())
    return True


def _needed(ways: Access, case: Case) -> bool | None:
    """Check the required members: values exist, and there are not too many."""
    required = sum(isinstance(atom, Required) for atom in case)
    for atom in case:
        if isinstance(atom, AtMost) and atom.count < required:
            return False
        if isinstance(atom, Required):
            key = ways.words.names.get(atom.name)
            found = key is not None and ways.lives(key, ways.formula(case, key))
            if not found:
                return found
    return True


def _accepted(ways: Access, case: Case, extras: Extras, members: Needed) -> bool | None:
    """Check that atoms can all hold; adds the members needed."""
    found = _needed(ways, case)
    if not found:
        return found
    if any(isinstance(atom, (Found, Unlike)) for atom in case):
        return _lives_search(ways, all_of(*map(leaf, case)), extras, members)
    names = (atom.name for atom in case if isinstance(atom, Required))
    taken = dict.fromkeys(map(ways.words.names.__getitem__, names))
    members += ((key, ways.formula(case, key)) for key in taken)
    low = max((atom.count for atom in case if isinstance(atom, AtLeast)), default=0)
    high = min((atom.count for atom in case if isinstance(atom, AtMost)), default=low)
    if low > high:
        return False
    return _fill(ways, case, low, extras, members)


def _fill(ways: Access, case: Case, low: int, extras: Extras, members: Needed) -> bool | None:
    """Add members until there are `low`."""
    taken = {key for key, _ in members}
    for key in ways.words.keys:
        if len(members) >= low:
            break
        value = ways.formula(case, key)
        found = key not in taken and ways.lives(key, value)
        if found is None:
            return None
        if found and ways.words.single(key):
            members.append((key, value))
        elif found:
            more: Extras | None = extras
            while len(members) < low and (more := ways.another(key, extras)) is not None:
                members += [(key, value)] * (low - len(members) if more == extras else 1)
                extras = more
    return len(members) >= low


def _lives_search(ways: Access, formula: Formula, extras: Extras, members: Needed) -> bool | None:
    words = ways.words
    estimate = Estimate(words)
    stack: list[tuple[Formula, Extras, tuple[tuple[int, Formula], ...]]] = [(formula, extras, ())]
    seen: set[object] = set()
    while stack:
        left, before, chosen = stack.pop()
        used: Extras | None = before
        if chosen:  # the last one is not yet known to exist
            key, value = chosen[-1]
            lives = ways.lives(key, value)
            if lives is None:
                return None
            used = used if words.single(key) else ways.another(key, before)
            if not lives or used is None:
                continue
        if words.may_close(left):
            members += chosen
            return True
        taken = frozenset(key for key, _ in chosen if words.single(key))
        state = (left, used, taken)
        if state in seen:
            continue
        seen.add(state)
        ahead = [
            (rest, used, (*chosen, (key, value)))
            for key, value, rest in candidates(words, left, taken)
        ]
        stack += sorted(ahead, key=lambda one: estimate.undone(one[0]), reverse=True)
        spend(1)
        if len(seen) > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"the search for a valid object takes more than {MOST_LOOKED_AT} tries",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
    return False
