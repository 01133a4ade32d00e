"""Upper bounds on the bytes that suffice to reach an end, wherever the next token leads.

Far from the end of a budget all tokens fit, without a check of each. `nearness` bounds the bytes
after a node; this module takes the maximum over positions within it. Cycles pass literals such as
"[". A discount for each makes cycles free; it is added again for as many as a token can pass.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final, NamedTuple, final
from weakref import WeakKeyDictionary

import numpy as np

from guideway.lowering.fuel import attempt
from guideway.masks.framed import UNLIKE, FrameNames
from guideway.masks.gallery import Gallery
from guideway.masks.kernels import layout as at
from guideway.masks.known import Known
from guideway.masks.nearness import Nearness

_EACH: Final = 256  # nodes explored in one call; the next continues
_MOST: Final = 1 << 13  # nodes in all
_FUEL: Final = 20_000  # parts of automata in one call, 20 to 40 ms
_ASKED: Final = 64  # calls without an answer before giving up
_NAMES: Final = 1 << 10  # names of an object
_ROUNDS: Final = 32  # rounds to a fixpoint before a node counts as growing
_OFF: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128)  # discounts of a literal in bytes
_ESCAPED: Final = len("\\ud83d\\ude00")  # a character of the current key
_FRAMES: Final = frozenset((at.OPENED, at.BEHIND, at.MEMBER, at.MEMBERS, at.KEY))
_READ: Final = frozenset((at.LITERAL, at.LEXEME, at.COUNTED, at.BOUNDED, at.WORDS))


class _Part(NamedTuple):
    """A position within `node`, `more` bytes before the end; `passed`: after the literal."""

    node: int
    more: float
    passed: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """Results for the initial nodes of a seed: fields of `Headroom`, and `least` of `Nearness`."""

    parts: Mapping[int, list[_Part]]
    most: Mapping[int, float]
    frames: Mapping[int, int]
    keys: Mapping[int, float]
    off: int
    around: AbstractSet[int]
    least: Mapping[int, int]


_starts: "WeakKeyDictionary[Known, _Start]" = WeakKeyDictionary()
_counts: "WeakKeyDictionary[Gallery, dict[frozenset[int], int]]" = WeakKeyDictionary()


@final
class Headroom:
    """Bounds for one network. Not thread safe: the caller locks."""

    def __init__(self, near: Nearness) -> None:
        self._near, self._network, self._arena = near, near.network, near.network.arena
        self._parts = dict[int, list[_Part]]()
        self._most: dict[int, float] = {at.NIL: 0}
        self._frames, self._keys = dict[int, int](), dict[int, float]()
        self._todo: list[int] = []
        self._new: list[int] = []
        self._off, self._around, self._left = 0, set[int](), _ASKED
        begun = self._network.begun
        start = _starts.get(begun)
        if start is None:
            start = _starts[begun] = self._started(begun)
        self._begin(start)

    def _started(self, begun: Known) -> _Start:
        self._todo += begun.told
        self._explore(_MOST)
        known, parts = self._near.known, self._parts
        least = {node: known[node] for node in parts if node in known}
        return _Start(parts, self._most, self._frames, self._keys, self._off, self._around, least)

    def _begin(self, start: _Start) -> None:
        self._parts, self._most, self._frames = {**start.parts}, {**start.most}, {**start.frames}
        self._keys = {**start.keys}
        self._off, self._around = start.off, {*start.around}
        self._near.known.update(start.least)

    def enough(self, macro: int) -> int | None:
        """Number of bytes that suffice to reach an end after any token; None if not known (yet).

        Each call explores a few nodes on limited fuel, as entering one may need a search.
        """
        if self._left == 0:
            return None
        parts = [
            part
            for node, stack in self._arena.configurations(macro)
            for part in self._stack(stack, node)
        ]
        self._todo += [part.node for part in parts if part.node not in self._most]
        if self._arena.macro(macro)[1] or not attempt(partial(self._explore, _EACH), _FUEL):
            self._left -= 1
            return None
        found = max((self._most.get(part.node, inf) + part.more for part in parts), default=0)
        return None if found == inf else int(found) + self._off * self._passed()

    def within(self, macro: int) -> list[tuple[int, int]]:
        """The current lexical states, each with the bytes that suffice while it is not left."""
        found = list[tuple[int, int]]()
        if self._todo:  # it may hold names of the current object
            return found
        for node, stack in self._arena.configurations(macro):
            kind, a, _, _, inside, _ = self._arena.record(node)
            if kind == at.LEXEME:
                most, inside = self._farthest(a), a
            elif kind == at.KEY:
                most = self._within_key(a)
            else:
                continue
            most += _known(self._near.stack(stack))
            if most < inf:
                found.append((inside, int(most)))
        return found

    def _within_key(self, frame: int) -> float:
        names = FrameNames(self._arena, frame)
        return self._keys.get(names.thing, inf) + _known(self._near.missing(names))

    def _passed(self) -> int:
        """Most literals of cycles that one token can pass, counted by their last bytes."""
        if not self._off:
            return 0
        gallery, literals = self._network.gallery, map(self._arena.record, self._around)
        last = frozenset(self._arena.pooled(a + length - 1, 1)[0] for _, a, length, *_ in literals)
        known = _counts.setdefault(gallery, {})
        if last not in known:
            is_last = np.zeros(256, np.int64)
            is_last[[*last]] = 1
            before = np.append(0, is_last[gallery.tokens].cumsum())
            known[last] = int(np.diff(before[gallery.token_at]).max())
        return known[last]

    def _explore(self, left: int) -> bool:
        """Explore all reachable nodes; return False if `left` of them do not suffice."""
        while self._todo:
            node = self._todo[-1]
            if node in self._parts or node == at.NIL:
                self._todo.pop()
                continue
            if len(self._parts) >= _MOST:
                self._most.update(dict.fromkeys(self._new, inf))
                self._todo, self._new = list[int](), list[int]()
                self._keys.clear()  # some may lack names
                break
            if left == 0:
                return False
            left -= 1
            self._parts[node] = parts = [*self._look(node)]  # without fuel it stays in _todo
            self._new.append(node)
            self._todo[-1:] = [part.node for part in parts]
        while growing := self._settle():
            around = {node for node in growing if any(p.passed for p in self._parts[node])}
            more = _OFF[_OFF.index(self._off) + (around <= self._around) :]
            if not more:
                self._most.update(dict.fromkeys(self._new, inf))
                break
            self._around |= around
            self._off, self._new = more[0] or _OFF[1], [*self._parts]
        self._new = list[int]()
        return True

    def _settle(self) -> list[int]:
        """Update the bounds of new nodes to a fixpoint; return those that still grow."""
        most, off, around, new = self._most, self._off, self._around, self._new[::-1]
        most.update(dict.fromkeys(new, 0))
        growing = new
        for _ in range(_ROUNDS):
            growing = list[int]()
            for node in new:
                each = off if node in around else 0
                ways = (most[part] + more - each * read for part, more, read in self._parts[node])
                found = max(ways, default=0)
                if found > most[node]:
                    most[node] = found
                    growing.append(node)
            if not growing:
                break
        return growing

    def _stack(self, stack: int, top: int | None = None) -> Iterator[_Part]:
        if top is not None:
            yield _Part(top, _known(self._near.stack(stack)))
        while stack:
            node, stack = self._arena.pop(stack)
            yield _Part(node, _known(self._near.stack(stack)))

    def _look(self, node: int) -> Iterator[_Part]:
        """Positions within a node; negative numbers are objects and members (`_place`)."""
        if node < 0:
            thing, member = divmod(-1 - node, 2 * _NAMES)
            return self._member(thing, member - 1) if member else self._object(thing)
        record = self._arena.record(node)
        if record[0] in _FRAMES:
            return self._frame(record[1])
        return self._read(record) if record[0] in _READ else self._held(node, record)

    def _held(self, node: int, record: list[int]) -> Iterator[_Part]:
        """Positions within a node that contains nodes; infinite for unknown kinds."""
        kind, a, b, *_ = record
        match kind:
            case at.DEAD:
                return
            case at.EXPR:
                yield _Part(self._target(node), 0)
            case at.SEQUENCE:
                yield _Part(a, self._least(b))
                yield _Part(b, 0)
            case at.CHOICE:
                yield from (_Part(option, 0) for option in self._arena.options(a, b))
            case at.FORKED:
                for stack in self._near.forked(node):
                    yield from self._stack(stack)
            case _:
                yield _Part(at.NIL, inf)

    def _read(self, record: list[int]) -> Iterator[_Part]:
        """Positions within a node that reads bytes."""
        kind, a, length, following, between, _ = record
        match kind:
            case at.LITERAL:
                yield _Part(at.NIL, length + self._least(following))
                yield _Part(following, 0, 1)
            case at.LEXEME:
                yield _Part(at.NIL, self._farthest(a))
            case at.WORDS:
                yield _Part(at.NIL, self._arena.left(a, length)[1])
            case at.BOUNDED:
                yield _Part(at.NIL, _known(self._near.farthest_bounded(record)))
            case _:
                items = _known(self._near.items(record))
                yield _Part(at.NIL, max(self._farthest(a), self._farthest(between)) + items)

    def _target(self, node: int) -> int:
        if self._arena.target(node) < 0:
            self._network.run(at.ENTER, node)
        return self._arena.target(node)

    def _is_dead(self, node: int) -> bool:
        while self._arena.record(node)[0] == at.EXPR:
            node = self._target(node)
        return node == at.DEAD

    def _least(self, node: int) -> float:
        return _known(self._near.node(node))

    def _farthest(self, state: int) -> float:
        return _known(self._near.farthest(state))

    def _frame(self, frame: int) -> Iterator[_Part]:
        names = FrameNames(self._arena, frame)
        self._frames.setdefault(names.thing, frame)
        yield _Part(_place(names.thing), _known(self._near.missing(names)))

    def _object(self, thing: int) -> Iterator[_Part]:
        """Positions within an object; members exclude what `missing` already counts."""
        names = FrameNames(self._arena, self._frames[thing])
        fields, bare = names.fields, names.fields[at.O_BARE]
        if fields[at.O_CLASSES] or fields[at.O_OF_CLASS] or names.count > _NAMES:
            yield _Part(at.NIL, inf)
            return
        self._keys.setdefault(thing, 0)
        for rank in range(names.count):
            yield _Part(_place(thing, rank), 0)
        if not bare:
            yield _Part(fields[at.O_CLOSING], 0)
        if not self._is_dead(fields[at.O_OTHER]):
            yield from self._within_member(names, fields[at.O_OTHER], self._other_key(names), 0)

    def _member(self, thing: int, rank: int) -> Iterator[_Part]:
        names = FrameNames(self._arena, self._frames[thing])
        value, required = names.value(rank), names.is_required(rank)
        if not self._is_dead(value):
            counted = (required and self._near.member(names, rank)) or 0
            key = len('""') + names.length(rank) + _ESCAPED + self._valued(names, value)
            yield from self._within_member(names, value, key, counted)

    def _within_member(
        self, names: FrameNames, value: int, key: float, counted: int
    ) -> Iterator[_Part]:
        """Positions within a member: in its key of at most `key` bytes, in its value, before it."""
        yield _Part(at.NIL, key - counted)
        yield _Part(value, -counted)
        self._keys[names.thing] = max(self._keys[names.thing], key - counted)
        if not names.fields[at.O_BARE]:
            yield _Part(names.fields[at.O_COLON], self._least(value) - counted)
            yield _Part(names.fields[at.O_COMMA], key - counted)

    def _valued(self, names: FrameNames, value: int) -> float:
        colon = 0 if names.fields[at.O_BARE] else self._least(names.fields[at.O_COLON])
        return colon + self._least(value)

    def _other_key(self, names: FrameNames) -> float:
        """Most bytes of a key that is no name, and its value."""
        fields = names.fields
        if fields[at.O_COLON] == at.NIL:  # a distinct string, of few or of long ones
            return inf
        return (
            self._farthest(fields[at.O_QUOTED]) + UNLIKE + self._valued(names, fields[at.O_OTHER])
        )


def _place(thing: int, rank: int = -1) -> int:
    """Negative number of an object or of one of its members."""
    return -1 - (2 * _NAMES * thing + rank + 1)


def _known(found: int | None) -> float:
    return inf if found is None else found
