"""The fewest and shortest members that complete an object."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias, final

from guideway.errors import LimitError
from guideway.json_schema.cases import Case, first_case
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formula_derivative import Pairs
from guideway.json_schema.formulas import (
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
    all_of,
    atoms,
    fold,
    leaf,
)
from guideway.json_schema.key_classes import KeyClass, Keysets, Unnamed, said_by_cases
from guideway.json_schema.objects import Extras
from guideway.language.fuel import paying, spend
from guideway.language.nodes import Expr
from guideway.language.values import by_value


def _conjuncts(said: Formula) -> tuple[Formula, ...]:
    return said.parts if isinstance(said, Every) else (said,)


MOST_LOOKED_AT = 1_000
_IN_ORDER = 100  # sets visited in order of length
Chosen = tuple[tuple[int, bytes], ...]
Word: TypeAlias = "Callable[[int, Formula, Extras], bytes | None]"
Needed = list[tuple[int, Formula]]  # members by key and the formula of the value
_decode = json.JSONDecoder().raw_decode


@final
@by_value
class MemberAccess:
    """Access to the members of an object for a search.

    Attributes:
        after: pairs of rest and value for a member of a key.
        may_close: returns True if no member is needed.
        asks: returns True if an atom asks for members of a key.
        keys: the keys in the order in which to try them.
        shortest: lower bound of the length of a key's members.
        single: returns True if a key is one name.
        said: what atoms say of the value of a key.
        names: the keys by name.
        lives: returns True if a member with a value exists; None: not known yet.
        another: the extra keys with one more of a class; None if there is none.
        afford: pays for work to shorten what was found.
    """

    after: Callable[[Formula, int], Pairs]
    may_close: Callable[[Formula], bool]
    asks: Callable[[Atom, int], bool]
    keys: list[int]
    shortest: Callable[[int], int]
    single: Callable[[int], bool]
    said: Callable[[Case, int], Formula]
    names: dict[str, int]
    lives: Callable[[int, Formula], bool | None]
    another: "Callable[[int, Extras], Extras | None]"
    afford: Callable[[int], bool]


def shortest_members(
    ways: MemberAccess, word: Word, said: Formula, extras: Extras, known: Chosen
) -> Chosen:
    """The shortest members that satisfy `said`; () if none are needed.

    The shortest set is hard to find. Where the work is too much, the members `known` are taken:
    they suffice, and may be longer.
    """
    found: Chosen = ()
    for part in components(said):
        shorter = _shortest(ways, word, part, extras, sum(len(text) + 1 for _, text in known))
        if shorter is None:
            return known
        found += shorter
    return found


@final
@dataclass(frozen=True, slots=True, order=True)
class _Attempt:
    """A set of members, by the least length of the whole and by its texts."""

    bound: int
    texts: tuple[bytes, ...]
    serial: int
    length: int = field(compare=False)
    said: Formula = field(compare=False)
    extras: Extras = field(compare=False)
    chosen: Chosen = field(compare=False)


def _shortest(
    ways: MemberAccess, word: Word, said: Formula, extras: Extras, longest: int
) -> Chosen | None:
    """Search sets of members in order of length (A*), up to a length; None if it takes too long."""
    undone, serials, seen = _undone(ways), count(1), set[object]()
    queue, work = [_Attempt(0, (), 0, 0, said, extras, ())], size(said) * len(ways.keys)
    while queue:
        tried = heappop(queue)
        if ways.may_close(tried.said):
            return tried.chosen
        taken = frozenset(key for key, _ in tried.chosen if ways.single(key))
        state = tried.said, taken, tried.extras
        if state in seen:
            continue
        seen.add(state)
        if len(seen) > _IN_ORDER or not ways.afford(work):
            break
        for key, value, rest in _candidates(ways, tried.said, taken):
            text = word(key, value, tried.extras)
            length = tried.length + len(text or b"") + 1
            bound = length + undone(rest)
            if text is not None and bound <= longest:
                more = tried.extras if ways.single(key) else tried.extras | {key_of(text)}
                chosen = (*tried.chosen, (key, text))
                texts = tuple(sorted(text for _, text in chosen))
                heappush(queue, _Attempt(bound, texts, next(serials), length, rest, more, chosen))
        spend(1)
    return None


def _undone(ways: MemberAccess) -> Callable[[Formula], int]:
    """Lower bound of the length of the members that a formula still needs."""
    known: dict[Formula, int] = {}

    def need(part: Formula, made: dict[Formula, int]) -> int:
        if ways.may_close(part):
            return 0
        if not isinstance(part, Leaf):
            join = min if isinstance(part, Some) else max
            return join((made[one] for one in part.parts), default=0)
        times = part.atom.count if isinstance(part.atom, AtLeast) else 1
        asked = (ways.shortest(key) for key in ways.keys if ways.asks(part.atom, key))
        return times * min(asked, default=0)

    return lambda said: fold(said, need, known)


def components(said: Formula) -> list[Formula]:
    """Split a conjunction into parts without common members; each keeps all persistent atoms."""
    parts = _conjuncts(said)
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
            return [said]
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


def _asks_as_much(rest: Formula, said: Formula) -> bool:
    """Return True if a member was useless: whatever suffices after it suffices without it.

    Only atoms about its own value, or alternatives, went away.
    """
    left = frozenset(_conjuncts(rest))
    gone = [part for part in _conjuncts(said) if part not in left and not _is_named(part)]
    return all(
        isinstance(part, Some)
        and any(other in part.parts or _are_some_of(other, part) for other in left)
        for part in gone
    )


def _are_some_of(other: Formula, part: Some) -> bool:
    return isinstance(other, Some) and set(other.parts) <= set(part.parts)


def _is_named(part: Formula) -> bool:
    return isinstance(part, Leaf) and isinstance(part.atom, Named)


def size(said: Formula) -> int:
    """Count the distinct parts of a formula and the references to them."""
    found, todo = set[Formula](), [said]
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


def can_end(ways: MemberAccess, said: Formula, extras: Extras, members: "Needed") -> bool | None:
    """Return True if some members complete the object; None if a value is not known yet.

    Adds the members that the first cases need which can hold.
    """
    for part in components(said):
        if not ways.may_close(part):
            found = first_case(
                part,
                lambda case: _needed(ways, case),
                lambda case: _accepted(ways, case, extras, members),
            )
            if not found:
                return found
    return True


def _needed(ways: MemberAccess, case: Case) -> bool | None:
    """Check the required members: values exist, and there are not too many."""
    required = sum(isinstance(atom, Required) for atom in case)
    for atom in case:
        if isinstance(atom, AtMost) and atom.count < required:
            return False
        if isinstance(atom, Required):
            key = ways.names.get(atom.name)
            found = key is not None and ways.lives(key, ways.said(case, key))
            if not found:
                return found
    return True


def _accepted(ways: MemberAccess, case: Case, extras: Extras, members: Needed) -> bool | None:
    """Check that atoms can all hold; adds the members needed."""
    found = _needed(ways, case)
    if not found:
        return found
    if any(isinstance(atom, (Found, Unlike)) for atom in case):
        return _searched(ways, all_of(*map(leaf, case)), extras, members)
    taken = dict.fromkeys(ways.names[atom.name] for atom in case if isinstance(atom, Required))
    low = max((atom.count for atom in case if isinstance(atom, AtLeast)), default=0)
    high = min((atom.count for atom in case if isinstance(atom, AtMost)), default=low)
    if low > high:
        return False
    chosen = [(key, ways.said(case, key)) for key in taken]
    found = _fill(ways, case, low, extras, chosen)
    members += chosen if found else ()
    return found


def _fill(ways: MemberAccess, case: Case, low: int, extras: Extras, members: Needed) -> bool | None:
    """Add members until there are `low`."""
    taken = {key for key, _ in members}
    for key in ways.keys:
        if len(members) >= low:
            break
        value = ways.said(case, key)
        found = key not in taken and ways.lives(key, value)
        if found is None:
            return None
        if found and ways.single(key):
            members.append((key, value))
        elif found:
            more: Extras | None = extras
            while len(members) < low and (more := ways.another(key, extras)) is not None:
                members += [(key, value)] * (low - len(members) if more == extras else 1)
                extras = more
    return len(members) >= low


@final
@by_value
class _Try:
    """Some members, the last not yet checked to exist."""

    said: Formula
    extras: Extras
    members: tuple[tuple[int, Formula], ...]


def _searched(ways: MemberAccess, said: Formula, extras: Extras, members: Needed) -> bool | None:
    """Search members one by one, by derivatives."""
    stack = [_Try(said, extras, ())]
    seen: set[object] = set()
    while stack:
        tried = stack.pop()
        used: Extras | None = tried.extras
        if tried.members:
            key, value = tried.members[-1]
            lives = ways.lives(key, value)
            if lives is None:
                return None
            used = used if ways.single(key) else ways.another(key, used)
            if not lives or used is None:
                continue
        if ways.may_close(tried.said):
            members += tried.members
            return True
        taken = frozenset(key for key, _ in tried.members if ways.single(key))
        state = (tried.said, used, taken)
        if state in seen:
            continue
        seen.add(state)
        ahead = [
            _Try(rest, used, (*tried.members, (key, value)))
            for key, value, rest in _candidates(ways, tried.said, taken)
        ]
        ahead.sort(key=lambda one: _unmet(ways, one.said))
        stack += reversed(ahead)
        spend(1)
        if len(seen) > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"the search for a valid object takes more than {MOST_LOOKED_AT} tries",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
    return False


def _unmet(ways: MemberAccess, said: Formula) -> int:
    return sum(not ways.may_close(part) for part in _conjuncts(said))


def _candidates(
    ways: MemberAccess, said: Formula, taken: frozenset[int]
) -> Iterator[tuple[int, Formula, Formula]]:
    """Keys, values and rests of members that the first part that does not hold asks for."""
    asking = atoms(next(part for part in _conjuncts(said) if not ways.may_close(part)))
    for key in ways.keys:
        if key in taken or not any(ways.asks(atom, key) for atom in asking):
            continue
        for rest, value in ways.after(said, key).items():
            if not _asks_as_much(rest, said):
                yield key, value, rest


@final
@dataclass(frozen=True, slots=True)
class IndependentMembers:
    """Independent members: names with values and presence, then classes of other keys."""

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    required: tuple[bool, ...]
    classes: tuple[tuple[Unnamed, Expr], ...]


def independent_members(
    said: Formula,
    keys: Sequence[KeyClass],
    keysets: Keysets,
    value: Callable[[Formula], Expr],
) -> IndependentMembers | None:
    """The independent members of an object with this formula, else None."""
    case = _atoms_of(said)
    if case is None:
        return None
    names = [key for key in keys if key.name is not None]
    classes = keys[len(names) :]
    about, required = said_by_cases(keys), {a.name for a in case if isinstance(a, Required)}
    return IndependentMembers(
        tuple(str(key.name) for key in names),
        tuple(value(about(case, number)) for number in range(len(names))),
        tuple(key.name in required for key in names),
        tuple(
            (keysets.unnamed(part, classes), value(about(case, number)))
            for number, part in enumerate(classes, len(names))
        ),
    )


def _atoms_of(said: Formula) -> tuple[Atom, ...] | None:
    """The atoms of a conjunction, if each concerns members of one kind, else None."""
    found = list[Atom]()
    for part in said.parts if isinstance(said, Every) else (said,):
        if not (isinstance(part, Leaf) and isinstance(part.atom, (Named, Required, Matching))):
            return None
        found.append(part.atom)
    return tuple(found)
