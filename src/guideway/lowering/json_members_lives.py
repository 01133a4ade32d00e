"""Whether an object can still be completed: one way to do so is enough.

The formula about the rest is taken apart choice by choice, until atoms are left that all have to
hold; most often the first choices already can::

    any of: ("a" and no "b"), ("b" and no "a")       "a" is required, "b" must not come
    then: the value of "a" has a text

Where one of several members may do what is asked, or members are counted that may be the same, the
atoms are read member by member instead: a search that goes on with the member that leaves the least
undone.

What this module does not know: spelling, values.
"""

from collections.abc import Callable
from typing import final

from guideway.errors import LimitError
from guideway.lowering.fuel import paying, spend
from guideway.lowering.json_atoms import AtLeast, AtMost, Found, Required
from guideway.lowering.json_cases import Case
from guideway.lowering.json_choices import first_case
from guideway.lowering.json_formulas import Formula, all_of, leaf
from guideway.lowering.json_given import Unlike
from guideway.lowering.json_members_least import (
    MOST_LOOKED_AT,
    Estimate,
    Words,
    candidates,
    components,
)
from guideway.lowering.json_objects import Extras
from guideway.syntax.frozen import by_value


@final
@by_value
class Ways:
    """What is known of the members of an object.

    Attributes:
        words: how formulas go on, and which keys there are.
        said: what atoms that all hold say of the value of a key.
        names: the numbers of the names that may come.
        lives: whether a member of a key has a text with a value; None where that has to be asked
            first.
        another: the extra keys with one more of a class, None if there is none.
        found: told the cases that suffice together, with more names and classes that come for it,
            by their numbers; of the classes of which there is always another key.
    """

    words: Words
    said: Callable[[Case, int], Formula]
    names: dict[str, int]
    lives: Callable[[int, Formula], bool | None]
    another: "Callable[[int, Extras], Extras | None]"
    found: "Callable[[list[Case], set[int]], None]"


def can_end(ways: Ways, said: Formula, extras: Extras) -> bool | None:
    """Whether some members suffice; None where a value has to be asked about first."""
    cases, keys = list[Case](), set[int]()

    def accept(case: Case) -> bool | None:
        more = set[int]()
        found = _accepted(ways, case, extras, more)
        if found:
            cases.append(case)
            keys.update(more)
        return found

    for part in components(said):
        if not ways.words.may_close(part):
            found = first_case(part, lambda case: _needed(ways, case), accept)
            if not found:
                return found
    ways.found(cases, keys)
    return True


def _needed(ways: Ways, case: Case) -> bool | None:
    """Whether there are values for the members that atoms require, and not too many of those."""
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


def _accepted(ways: Ways, case: Case, extras: Extras, more: set[int]) -> bool | None:
    """Whether atoms can all hold; the keys that have to come for it are added, where known."""
    found = _needed(ways, case)
    if not found:
        return found
    if any(isinstance(atom, (Found, Unlike)) for atom in case):
        return _search(ways, all_of(*map(leaf, case)), extras, more)
    taken = frozenset(ways.names[atom.name] for atom in case if isinstance(atom, Required))
    low = max((atom.count for atom in case if isinstance(atom, AtLeast)), default=0)
    high = min((atom.count for atom in case if isinstance(atom, AtMost)), default=low)
    if low > high:
        return False
    return _fill(ways, case, low - len(taken), taken, extras, more)


def _fill(
    ways: Ways,
    case: Case,
    missing: int,
    taken: frozenset[int],
    extras: Extras,
    more: set[int],
) -> bool | None:
    """Whether so many members more can come."""
    for key in ways.words.keys:
        if missing <= 0:
            break
        found = key not in taken and ways.lives(key, ways.said(case, key))
        if found is None:
            return None
        if found and ways.words.single(key):
            missing -= 1
            more.add(key)
        elif found:
            missing, extras = _more(ways, key, missing, extras)
    return missing <= 0


def _more(ways: Ways, key: int, missing: int, extras: Extras) -> tuple[int, Extras]:
    """How many are missing with as many members of a class as there are."""
    while missing > 0:
        more = ways.another(key, extras)
        if more is None:
            break
        missing, extras = (0 if more == extras else missing - 1), more
    return missing, extras


@final
@by_value
class _Try:
    """Some members, the last of which has a value that nobody has asked about.

    Attributes:
        said: what is left to be said.
        extras: the keys of classes that came.
        taken: the names that came,
        others: and the classes before the last member; None where keys of one may run out.
        key: of the last member,
        value: and what is said of its value.
    """

    said: Formula
    extras: Extras
    taken: frozenset[int]
    others: frozenset[int] | None
    key: int | None
    value: Formula


def _search(ways: Ways, said: Formula, extras: Extras, more: set[int]) -> bool | None:
    words = ways.words
    estimate = Estimate(words)
    stack = [_Try(said, extras, frozenset(), frozenset(), None, said)]
    seen: set[object] = set()
    while stack:
        tried = stack.pop()
        used: Extras | None = tried.extras
        others = tried.others
        if tried.key is not None:
            lives = ways.lives(tried.key, tried.value)
            if lives is None:
                return None
            if not words.single(tried.key):
                used = ways.another(tried.key, tried.extras)
                others = others | {tried.key} if others is not None and used == extras else None
            if not lives or used is None:
                continue
        if words.may_close(tried.said):
            more |= tried.taken | others if others is not None else frozenset()
            return True
        state = (tried.said, used, tried.taken)
        if state in seen:
            continue
        seen.add(state)
        ahead = [
            _Try(
                rest,
                used,
                tried.taken | {key} if words.single(key) else tried.taken,
                others,
                key,
                value,
            )
            for key, value, rest in candidates(words, tried.said, tried.taken, estimate)
        ]
        stack += sorted(ahead, key=lambda one: estimate.undone(one.said), reverse=True)
        spend(1)
        if len(seen) > MOST_LOOKED_AT and paying():
            raise _too_many()
    return False


def _too_many() -> LimitError:
    return LimitError(
        f"the search for a valid object takes more than {MOST_LOOKED_AT} tries",
        limit="tries",
        given=MOST_LOOKED_AT,
    )
