"""Whether an object can still be completed: one way to do so is enough.

A search that goes on with the member that leaves the least undone, and comes back to the others
only where that leads nowhere. Values are asked about when they are needed, one by one.

What this module does not know: spelling, values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from fairlead.errors import LimitError
from fairlead.lowering.fuel import paying, spend
from fairlead.lowering.json_formulas import Formula
from fairlead.lowering.json_members_least import (
    MOST_LOOKED_AT,
    Estimate,
    Words,
    candidates,
    components,
)
from fairlead.lowering.json_objects import Extras


@final
@dataclass(frozen=True, slots=True)
class Ways:
    """What is known of the members of an object.

    Attributes:
        words: how formulas go on, and which keys there are.
        lives: whether a value has a text; None where that has to be asked first.
        another: the extra keys with one more of a class, None if there is none.
    """

    words: Words
    lives: Callable[[Formula], bool | None]
    another: "Callable[[int, Extras], Extras | None]"


def can_end(ways: Ways, said: Formula, extras: Extras) -> bool | None:
    """Whether some members suffice; None where a value has to be asked about first."""
    for part in components(said):
        found = _search(ways, part, extras)
        if not found:
            return found
    return True


@final
@dataclass(frozen=True, slots=True)
class _Try:
    """Some members, the last of which has a value that nobody has asked about."""

    said: Formula
    extras: Extras
    taken: frozenset[int]
    key: int | None
    value: Formula


def _search(ways: Ways, said: Formula, extras: Extras) -> bool | None:
    words = ways.words
    estimate = Estimate(words)
    stack = [_Try(said, extras, frozenset(), None, said)]
    seen: set[object] = set()
    while stack:
        tried = stack.pop()
        more: Extras | None = tried.extras
        if tried.key is not None:
            lives = ways.lives(tried.value)
            if lives is None:
                return None
            if not words.single(tried.key):
                more = ways.another(tried.key, tried.extras)
            if not lives or more is None:
                continue
        if words.may_close(tried.said):
            return True
        state = (tried.said, more, tried.taken)
        if state in seen:
            continue
        seen.add(state)
        ahead = [
            _Try(rest, more, tried.taken | {key} if words.single(key) else tried.taken, key, value)
            for key, value, rest in candidates(words, tried.said, tried.taken)
        ]
        stack += sorted(ahead, key=lambda one: estimate.undone(one.said), reverse=True)
        spend(1)
        if len(seen) > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"what an object needs takes more than {MOST_LOOKED_AT} tries to find",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
    return False
