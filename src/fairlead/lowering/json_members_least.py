"""The fewest and shortest members that an object still needs.

Only members that something asks for can shorten the way to an end: as long as a part of the formula
does not hold, one of the members has to come that an atom of that part asks for. So there is one
branch for each of those; most often there is one. Parts that no member connects are solved alone,
as their alternatives would multiply.

What this module does not know: spelling, values.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, final

from fairlead.errors import LimitError
from fairlead.lowering.fuel import spend
from fairlead.lowering.json_atoms import Matching, Named, Required
from fairlead.lowering.json_formulas import Atom, Every, Formula, Leaf, all_of, atoms
from fairlead.lowering.json_objects import Extras
from fairlead.lowering.json_progress import Pairs

MOST_LOOKED_AT = 20_000
_Chosen = tuple[tuple[int, bytes], ...]
_decode = json.JSONDecoder().raw_decode


@final
@dataclass(frozen=True, slots=True)
class Words:
    """What is known of the members of an object.

    Attributes:
        word: the shortest member of a key and a value, its key none of some; None if there is none.
        after: what a member of a key has to satisfy, and the rest after it.
        may_close: whether nothing more has to come.
        asks: whether an atom that does not hold at the end asks for members of a key.
        keys: the keys that may come, as numbers.
        single: whether a key is one name, so that it comes once.
    """

    word: Callable[[int, Formula, Extras], bytes | None]
    after: Callable[[Formula, int], Pairs]
    may_close: Callable[[Formula], bool]
    asks: Callable[[Atom, int], bool]
    keys: list[int]
    single: Callable[[int], bool]


def least_members(words: Words, said: Formula, extras: Extras) -> _Chosen | None:
    """The members, () if none has to come, None if none suffice."""
    found: _Chosen = ()
    for part in _components(said):
        members = _search(words, part, extras)
        if members is None:
            return None
        found += members
    return found


def _components(said: Formula) -> list[Formula]:
    """Parts with no member in common, each with all that holds for every member."""
    parts = said.parts if isinstance(said, Every) else (said,)
    everywhere = [part for part in parts if isinstance(part, Leaf) and _persists(part.atom)]
    others = [part for part in parts if part not in set(everywhere)]
    groups: list[tuple[set[str], list[Formula]]] = []
    for part in others:
        names = _names(part)
        if names is None:
            return [said]
        joined = [group for group in groups if not group[0].isdisjoint(names)]
        groups = [group for group in groups if group[0].isdisjoint(names)]
        members = [member for group in joined for member in group[1]]
        groups.append((names.union(*(group[0] for group in joined)), [*members, part]))
    return [all_of(*everywhere, *members) for _, members in groups]


def _persists(atom: Atom) -> bool:
    """Whether an atom only says what every member has to satisfy."""
    return isinstance(atom, Named | Matching)


def _names(part: Formula) -> set[str] | None:
    """The names that a part is about; None if it is about others too."""
    found: set[str] = set()
    for atom in atoms(part):
        if not isinstance(atom, Named | Required):
            return None
        found.add(atom.name)
    return found


def _search(words: Words, said: Formula, extras: Extras) -> _Chosen | None:
    """Sets of members in order of their length, until one suffices."""
    serial = 0
    queue: list[tuple[int, list[bytes], int, Formula, Extras, _Chosen]] = []
    queue.append((0, [], serial, said, extras, ()))
    seen: set[object] = set()
    while queue:
        length, texts, _, said, extras, chosen = heappop(queue)
        if words.may_close(said):
            return chosen
        state = (said, extras, frozenset(key for key, _ in chosen if words.single(key)))
        if state in seen:
            continue
        seen.add(state)
        for key, text, rest in _steps(words, said, extras, chosen):
            serial += 1
            more = extras if words.single(key) else extras | {_key_of(text)}
            entry = (*chosen, (key, text))
            total = length + len(text) + 1
            heappush(queue, (total, sorted([*texts, text]), serial, rest, more, entry))
        spend(1)
        if serial > MOST_LOOKED_AT:
            raise LimitError(
                f"what an object needs takes more than {MOST_LOOKED_AT} tries to find",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
    return None


def _steps(
    words: Words, said: Formula, extras: Extras, chosen: _Chosen
) -> Iterator[tuple[int, bytes, Formula]]:
    """The members that the first part that does not hold asks for."""
    parts = said.parts if isinstance(said, Every) else (said,)
    blocking = next(part for part in parts if not words.may_close(part))
    asking = atoms(blocking)
    taken = {key for key, _ in chosen if words.single(key)}
    for key in words.keys:
        if key in taken or not any(words.asks(atom, key) for atom in asking):
            continue
        for rest, value in words.after(said, key).items():
            text = words.word(key, value, extras) if rest is not said else None
            if text is not None:
                yield key, text, rest


def _key_of(text: bytes) -> str:
    key: Any = _decode(text.decode())[0]
    return str(key)
