"""The fewest and shortest members that an object still needs.

Only members that something asks for can shorten the way to an end: as long as a part of the formula
does not hold, one of the members has to come that an atom of that part asks for. So there is one
branch for each of those; most often there is one. Parts that no member connects are solved alone,
as their alternatives would multiply.

What this module does not know: spelling, values.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Any, Final, final

from fairlead.errors import LimitError
from fairlead.lowering.fuel import paying, spend
from fairlead.lowering.json_atoms import AtLeast, Matching, Named, Required
from fairlead.lowering.json_formulas import Atom, Every, Formula, Leaf, Some, all_of, atoms, fold
from fairlead.lowering.json_objects import Extras
from fairlead.lowering.json_progress import Pairs
from fairlead.syntax.frozen import by_value

MOST_LOOKED_AT = 1_000
_IN_ORDER = 100  # sets that are looked at in order of their length, if what is said is short,
_FEWEST = 8  # and if it is long,
_WORK = 20_000  # where a look takes as long as there are parts of it
_ALIKE = 32
Chosen = tuple[tuple[int, bytes], ...]
_decode = json.JSONDecoder().raw_decode


@final
@by_value
class Words:
    """What is known of the members of an object.

    Attributes:
        word: the shortest member of a key and a value, its key none of some; None if there is none.
        after: what a member of a key has to satisfy, and the rest after it.
        may_close: whether nothing more has to come.
        asks: whether an atom that does not hold at the end asks for members of a key.
        keys: the keys that may come, as numbers.
        single: whether a key is one name, so that it comes once.
        shortest: a length that no member of a key is below.
        listed: members in the order that comes first.
    """

    word: Callable[[int, Formula, Extras], bytes | None]
    after: Callable[[Formula, int], Pairs]
    may_close: Callable[[Formula], bool]
    asks: Callable[[Atom, int], bool]
    keys: list[int]
    single: Callable[[int], bool]
    shortest: Callable[[int], int]
    listed: Callable[[Chosen], list[tuple[int, bytes]]]


def least_members(words: Words, said: Formula, extras: Extras) -> Chosen | None:
    """The members, () if none has to come, None if none suffice."""
    found: Chosen = ()
    for part in components(said):
        members = _search(words, part, extras)
        if members is None:
            return None
        found += members
    return found


def components(said: Formula) -> list[Formula]:
    """Parts with no member in common, each with all that holds for every member."""
    parts = _parts(said)
    everywhere = {part: None for part in parts if isinstance(part, Leaf) and _persists(part.atom)}
    others = [part for part in parts if part not in everywhere]
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
    return isinstance(atom, (Named, Matching))


def _names(part: Formula) -> set[str] | None:
    """The names that a part is about; None if it is about others too."""
    found: set[str] = set()
    for atom in atoms(part):
        if not isinstance(atom, (Named, Required)):
            return None
        found.add(atom.name)
    return found


@final
@dataclass(frozen=True, slots=True, order=True)
class _Try:
    """Some members: how promising they are, how long, which, and what they leave to be said."""

    rank: tuple[int, int]
    texts: tuple[bytes, ...]
    serial: int
    length: int = field(compare=False)
    said: Formula = field(compare=False)
    extras: Extras = field(compare=False)
    chosen: Chosen = field(compare=False)


def _search(words: Words, said: Formula, extras: Extras) -> Chosen | None:
    """Sets of members in order of their length, until one suffices.

    To find the shortest of many sets that overlap is hard. So after a while those come first that
    leave the least undone: what is found is then short, if not the shortest. Of a few as short the
    least is taken: it stays so behind its first bytes, as does the number of tokens that spell it.
    """
    estimate, patience = Estimate(words), max(_FEWEST, min(_IN_ORDER, _WORK // size(said)))
    queue: list[_Try] = [_Try((0, 0), (), 0, 0, said, extras, ())]
    seen: set[object] = set()
    serial, best, alike = 0, None, 0
    while queue:
        tried = heappop(queue)
        if best is not None and (tried.rank > best.rank or alike == _ALIKE):
            break
        alike += best is not None
        if words.may_close(tried.said):
            best = tried if best is None or tried.texts < best.texts else best
            continue
        taken = frozenset(key for key, _ in tried.chosen if words.single(key))
        state = (tried.said, tried.extras, taken)
        if state in seen:
            continue
        seen.add(state)
        if len(seen) == patience:
            queue = [replace(one, rank=(estimate.undone(one.said)[0], one.length)) for one in queue]
            heapify(queue)
        for key, text, rest in _steps(words, tried, estimate):
            serial += 1
            more = tried.extras if words.single(key) else tried.extras | {_key_of(text)}
            undone, bound = estimate.undone(rest)
            length = tried.length + len(text) + 1
            rank = (undone, length) if len(seen) >= patience else (0, length + bound)
            chosen = (*tried.chosen, (key, text))
            texts = tuple(text for _, text in words.listed(chosen))
            heappush(queue, _Try(rank, texts, serial, length, rest, more, chosen))
        spend(1)
        if best is None and serial > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"what an object needs takes more than {MOST_LOOKED_AT} tries to find",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
    return None if best is None else best.chosen


@final
class Estimate:
    """How much members that are still needed are long at least.

    Each part that does not hold yet needs a member; parts that need different ones need several,
    and one of some alternatives has to hold. Without looking into those, a `oneOf` of eight objects
    with names in common took seconds, and 140 tries where 17 suffice.
    """

    def __init__(self, words: Words) -> None:
        self._words = words
        self._known: dict[Formula, _Need] = {}
        self._asked: dict[Atom, frozenset[int]] = {}

    def undone(self, said: Formula) -> tuple[int, int]:
        """How many parts do not hold, and how long what they need is at least."""
        open_ = [need for part in _parts(said) if (need := self._of(part)) is not _NOTHING]
        return len(open_), _together(open_).length

    def asked(self, said: Formula) -> frozenset[int]:
        """The keys that something asks for in the first part that does not hold."""
        blocking = next(part for part in _parts(said) if self._of(part) is not _NOTHING)
        return frozenset[int]().union(*(self._asking(atom) for atom in atoms(blocking)))

    def _asking(self, atom: Atom) -> frozenset[int]:
        found = self._asked.get(atom)
        if found is None:
            words = self._words
            found = frozenset(key for key in words.keys if words.asks(atom, key))
            self._asked[atom] = found
        return found

    def _of(self, part: Formula) -> "_Need":
        return self._known.get(part) or fold(part, self._need, self._known)

    def _need(self, part: Formula, made: "dict[Formula, _Need]") -> "_Need":
        """What is needed so that `part` holds, `_NOTHING` if it does."""
        if isinstance(part, Every):
            return _together([made[one] for one in part.parts])
        if isinstance(part, Some):
            return _either([made[one] for one in part.parts])
        if self._words.may_close(part):
            return _NOTHING
        if not isinstance(part, Leaf):
            return _Need(frozenset(), 0)
        keys = self._asking(part.atom)
        count = part.atom.count if isinstance(part.atom, AtLeast) else 1
        return _Need(keys, count * min(map(self._words.shortest, keys), default=0))


@final
@by_value
class _Need:
    """Members of some keys that are needed, and how long they are at least."""

    keys: frozenset[int]
    length: int


_NOTHING: Final = _Need(frozenset(), 0)


def _together(needs: list[_Need]) -> _Need:
    """What is needed by several at once: those with no key in common count."""
    needs = [need for need in needs if need is not _NOTHING]
    if not needs:
        return _NOTHING
    keys, length = set[int](), 0
    for need in sorted(needs, key=lambda need: len(need.keys)):
        if keys.isdisjoint(need.keys):
            keys |= need.keys
            length += need.length
    return _Need(frozenset(keys), length)


def _either(needs: list[_Need]) -> _Need:
    """What one of several needs at least."""
    if any(need is _NOTHING for need in needs):
        return _NOTHING
    keys = frozenset[int]().union(*(need.keys for need in needs))
    return _Need(keys, min(need.length for need in needs))


def _steps(words: Words, tried: _Try, estimate: Estimate) -> Iterator[tuple[int, bytes, Formula]]:
    """The members that the first part that does not hold asks for."""
    taken = frozenset(key for key, _ in tried.chosen if words.single(key))
    for key, value, rest in candidates(words, tried.said, taken, estimate):
        text = words.word(key, value, tried.extras)
        if text is not None:
            yield key, text, rest


def candidates(
    words: Words, said: Formula, taken: frozenset[int], estimate: Estimate
) -> Iterator[tuple[int, Formula, Formula]]:
    """The keys, values and rests of members that the first part that does not hold asks for."""
    asked = estimate.asked(said)
    for key in words.keys:
        if key in taken or key not in asked:
            continue
        for rest, value in words.after(said, key).items():
            if not _asks_as_much(rest, said):
                yield key, value, rest


def _asks_as_much(rest: Formula, said: Formula) -> bool:
    """Whether a member left no less to be done: what suffices after it suffices without it.

    What was said of the member's own value is done with it; alternatives may only have gone.
    """
    left = frozenset(_parts(rest))
    gone = [part for part in _parts(said) if part not in left and not _is_named(part)]
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
    """How many parts a formula has, and parts of them."""
    found, todo = set[Formula](), [said]
    count = 1
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            count += len(node.parts)
            todo += node.parts
    return count


def _parts(said: Formula) -> tuple[Formula, ...]:
    return said.parts if isinstance(said, Every) else (said,)


def _key_of(text: bytes) -> str:
    key: Any = _decode(text.decode())[0]
    return str(key)
