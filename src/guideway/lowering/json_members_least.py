"""The fewest and shortest members that an object still needs.

Only members that something asks for can shorten the way to an end: as long as a part of the formula
does not hold, one of the members has to come that an atom of that part asks for. So there is one
branch for each of those; most often there is one. Parts that no member connects are solved alone,
as their alternatives would multiply.

What this module does not know: spelling, values.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple, TypeAlias, final

from guideway.errors import LimitError
from guideway.lowering.fuel import paying, spend
from guideway.lowering.json_atoms import AtLeast, Matching, Named, Required
from guideway.lowering.json_formulas import Atom, Every, Formula, Leaf, Some, all_of, atoms, fold
from guideway.lowering.json_objects import Extras
from guideway.lowering.json_progress import Pairs
from guideway.syntax.frozen import by_value

MOST_LOOKED_AT = 1_000
_IN_ORDER = 100  # sets that are looked at in order of their length, if what is said is short,
_FEWEST = 8  # and if it is long,
_WORK = 20_000  # where a look takes as long as there are parts of it
_ALIKE = 32
_MOST_KNOWN = 1 << 16  # parts that an estimate remembers, which lives as long as a constraint
_NEXT_BEST = 32  # bytes that a member may be longer than the shortest of its key
Chosen = tuple[tuple[int, bytes], ...]
Word: TypeAlias = "Callable[[int, Formula, Extras], bytes | None]"
_decode = json.JSONDecoder().raw_decode


@final
@by_value
class Words:
    """What is known of the members of an object.

    Attributes:
        after: what a member of a key has to satisfy, and the rest after it.
        may_close: whether nothing more has to come.
        asks: whether an atom that does not hold at the end asks for members of a key.
        keys: the keys that may come, as numbers.
        single: whether a key is one name, so that it comes once.
        shortest: a length that no member of a key is below.
        listed: members in the order that comes first.
    """

    after: Callable[[Formula, int], Pairs]
    may_close: Callable[[Formula], bool]
    asks: Callable[[Atom, int], bool]
    keys: list[int]
    single: Callable[[int], bool]
    shortest: Callable[[int], int]
    listed: Callable[[Chosen], list[tuple[int, bytes]]]


def least_members(estimate: "Estimate", word: Word, said: Formula, extras: Extras) -> Chosen | None:
    """The members, () if none has to come, None if none suffice.

    Args:
        estimate: of how long they are.
        word: tells the shortest one of a key and a value, its key none of some; None if none is.
        said: what the object still has to satisfy.
        extras: keys of classes that came.
    """
    found: Chosen = ()
    for part in components(said):
        members = _search(estimate, word, part, extras)
        if members is None:
            return None
        found += members
    return found


def components(said: Formula) -> list[Formula]:
    """Parts with no member in common, each with all that holds for every member."""
    parts = _parts(said)
    everywhere = {part: None for part in parts if isinstance(part, Leaf) and _persists(part.atom)}
    others = [part for part in parts if part not in everywhere]
    above: dict[str, str] = {}  # another name with which parts connect one: ever higher, up to one

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
    steps: "Iterator[tuple[int, bytes, Formula]] | None" = field(default=None, compare=False)


def _search(estimate: "Estimate", word: Word, said: Formula, extras: Extras) -> Chosen | None:
    """Sets of members in order of their length, until one suffices.

    To find the shortest of many sets that overlap is hard. So after a while those come first whose
    rest seems to be the shortest: what is found is then short, if not the shortest. A step that is
    as good as any can be is taken before others are looked at. Of a few as short the least is
    taken: it stays so behind its first bytes, as does the number of tokens that spell it.

    Of many parts each alternative is tried alone: of a `oneOf` of sixty objects it took 1.3 s to
    read a member of all of them.

    One of thirty objects that require nothing, where 29 have to be denied, took minutes while what
    was left was counted in parts, of which `Some` is one; all steps at once took seconds.
    """
    words, parts = estimate.words, size(said)
    patience = max(_FEWEST, min(_IN_ORDER, _WORK // parts))
    options: tuple[Formula, ...] = (said,)
    if parts * len(words.keys) > _WORK:
        patience, options = 1, said.parts if isinstance(said, Some) else options
    queue = [_Try((estimate.undone(one), 0), (), 0, 0, one, extras, ()) for one in options]
    heapify(queue)
    seen = _Seen()
    serial, best, alike = 0, None, 0
    while queue:
        tried = heappop(queue)
        if best is not None and (tried.rank > best.rank or alike == _ALIKE):
            break
        alike += best is not None
        if words.may_close(tried.said):
            best = tried if best is None or tried.texts < best.texts else best
            continue
        if tried.steps is None:
            taken = frozenset(key for key, _ in tried.chosen if words.single(key))
            if not seen.add(tried.said, taken, tried.extras):
                continue
            if seen.count == patience:
                queue = [_promising(one, estimate) for one in queue]
                heapify(queue)
            tried = replace(tried, steps=_steps(estimate, word, tried))
        serial = _extend(queue, tried, serial, estimate, hurried=seen.count >= patience)
        spend(1)
        if best is None and serial > MOST_LOOKED_AT and paying():
            raise LimitError(
                f"the search for a valid object takes more than {MOST_LOOKED_AT} tries",
                limit="tries",
                given=MOST_LOOKED_AT,
            )
    return None if best is None else best.chosen


@final
class _Seen:
    """The states of a search.

    Where as much was left to be said before any more keys of classes came, these keys are of no
    use: whatever completes the object behind them did so before. With 200 bytes of schema such a
    search took keys for ever, as no state came twice.
    """

    def __init__(self) -> None:
        self.count = 0
        self._extras: dict[tuple[Formula, frozenset[int]], list[Extras]] = {}

    def add(self, said: Formula, taken: frozenset[int], extras: Extras) -> bool:
        """Whether a state may be of use, which counts then."""
        known = self._extras.setdefault((said, taken), [])
        if any(other <= extras for other in known):
            return False
        known.append(extras)
        self.count += 1
        return True


def _extend(
    queue: list[_Try], tried: _Try, serial: int, estimate: "Estimate", *, hurried: bool
) -> int:
    """Add the members with one more, and count them; in a hurry, some and where to go on."""
    words, left = estimate.words, estimate.undone(tried.said)
    for key, text, rest in tried.steps or ():
        serial += 1
        more = tried.extras if words.single(key) else tried.extras | {key_of(text)}
        bound = estimate.undone(rest)
        length = tried.length + len(text) + 1
        rank = (bound, length) if hurried else (0, length + bound)
        chosen = (*tried.chosen, (key, text))
        texts = tuple(text for _, text in words.listed(chosen))
        heappush(queue, _Try(rank, texts, serial, length, rest, more, chosen))
        least = words.shortest(key)
        if hurried and bound <= left - least and len(text) <= least + _NEXT_BEST:
            heappush(queue, _promising(tried, estimate))
            break
    return serial


def _promising(tried: _Try, estimate: "Estimate") -> _Try:
    """The same, in order of how long its rest seems to be."""
    return replace(tried, rank=(estimate.undone(tried.said), tried.length))


@final
class Estimate:
    """How much members that are still needed are long at least.

    Each part that does not hold yet needs a member; parts that need different ones need several,
    and one of some alternatives has to hold. Without looking into those, a `oneOf` of eight objects
    with names in common took seconds, and 140 tries where 17 suffice.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self._known: dict[Formula, _Need] = {}
        self._keys: dict[Formula, int] = {}

    def undone(self, said: Formula) -> int:
        """How long at least what is needed is where parts do not hold."""
        if len(self._known) > _MOST_KNOWN:
            self._known, self._keys = {}, {}
        return _together([self._of(part) for part in _parts(said)]).length

    def asked(self, said: Formula) -> int:
        """The keys that something asks for in the first part that does not hold, a bit for each."""
        blocking = next(part for part in _parts(said) if self._of(part) is not _NOTHING)
        return self._asked_by(blocking)

    def _asked_by(self, part: Formula) -> int:
        return fold(part, self._asking, self._keys)

    def _asking(self, part: Formula, made: dict[Formula, int]) -> int:
        words, found = self.words, 0
        if isinstance(part, Leaf):
            return sum(1 << key for key in words.keys if words.asks(part.atom, key))
        for one in part.parts:
            found |= made[one]
        return found

    def _of(self, part: Formula) -> "_Need":
        return self._known.get(part) or fold(part, self._need, self._known)

    def _need(self, part: Formula, made: "dict[Formula, _Need]") -> "_Need":
        """What is needed so that `part` holds, `_NOTHING` if it does."""
        if isinstance(part, Every):
            return _together([made[one] for one in part.parts])
        if isinstance(part, Some):
            return _either([made[one] for one in part.parts])
        if self.words.may_close(part):
            return _NOTHING
        if not isinstance(part, Leaf):
            return _Need(0, 0, 0)
        keys, shortest = self._asked_by(part), self.words.shortest
        count = part.atom.count if isinstance(part.atom, AtLeast) else 1
        least = min((shortest(key) for key in self.words.keys if keys >> key & 1), default=0)
        return _Need(keys.bit_count(), keys, count * least)


class _Need(NamedTuple):
    """Members that are needed: of how many keys, of which (a bit for each), how long at least."""

    among: int
    keys: int
    length: int


_NOTHING: Final = _Need(0, 0, 0)


def _together(needs: list[_Need]) -> _Need:
    """What is needed by several at once: those with no key in common count."""
    needs = [need for need in needs if need is not _NOTHING]
    if len(needs) <= 1:
        return needs[0] if needs else _NOTHING
    keys = length = 0
    for need in sorted(needs):
        if not keys & need.keys:
            keys |= need.keys
            length += need.length
    return _Need(keys.bit_count(), keys, length)


def _either(needs: list[_Need]) -> _Need:
    """What one of several needs at least."""
    keys, length = 0, needs[0].length
    for need in needs:
        if need is _NOTHING:
            return _NOTHING
        keys |= need.keys
        length = min(length, need.length)
    return _Need(keys.bit_count(), keys, length)


def _steps(estimate: Estimate, word: Word, tried: _Try) -> Iterator[tuple[int, bytes, Formula]]:
    """The members that the first part that does not hold asks for."""
    words = estimate.words
    taken = frozenset(key for key, _ in tried.chosen if words.single(key))
    for key, value, rest in candidates(words, tried.said, taken, estimate):
        text = word(key, value, tried.extras)
        if text is not None:
            yield key, text, rest


def candidates(
    words: Words, said: Formula, taken: frozenset[int], estimate: Estimate
) -> Iterator[tuple[int, Formula, Formula]]:
    """The keys, values and rests of members that the first part that does not hold asks for."""
    asked = estimate.asked(said)
    for key in words.keys:
        if key in taken or not asked >> key & 1:
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


def key_of(text: bytes) -> str:
    """The key of a member that is written out."""
    key: Any = _decode(text.decode())[0]
    return str(key)
