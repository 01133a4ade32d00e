"""Check that an object can be completed: one way is enough.

The formula is split choice by choice into atoms that all have to hold; mostly the first choices
can. If several members may satisfy an atom, or members are counted that may coincide, a search
reads them member by member, best estimate first.
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
    """Access to the members of an object.

    `said` gives what atoms say of the value of a key; `lives`, if a member with a value exists
    (None: not known yet); `another`, the extra keys with one more of a class, or None; `found`
    receives the cases that suffice together with the additional keys.
    """

    words: Words
    said: Callable[[Case, int], Formula]
    names: dict[str, int]
    lives: Callable[[int, Formula], bool | None]
    another: "Callable[[int, Extras], Extras | None]"
    found: "Callable[[list[Case], set[int]], None]"


def can_end(ways: Ways, said: Formula, extras: Extras) -> bool | None:
    """Return True if some members complete the object; None if a value is not known yet."""
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


def _accepted(ways: Ways, case: Case, extras: Extras, more: set[int]) -> bool | None:
    """Check that atoms can all hold; adds the keys needed to `more`, where known."""
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
    """Check that `missing` more members can come."""
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
    """The number still missing after as many members of a class as exist."""
    while missing > 0:
        more = ways.another(key, extras)
        if more is None:
            break
        missing, extras = (0 if more == extras else missing - 1), more
    return missing, extras


@final
@by_value
class _Try:
    """Some members, the last (`key`, `value`) not yet checked to exist.

    `others` are the classes used before it; None if keys of one may run out.
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
