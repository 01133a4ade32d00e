"""Completion cost: bytes that suffice to reach an end. Bounds, not exact distances.

`CostToEnd` bounds the bytes from a configuration, `CostAfterToken` those after any next token.
`CompletionCost` gives both for a constraint. A bound may be too high, never too low.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final, NamedTuple, TypeAlias, TypeVar, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import DEAD_END
from guideway.automaton.lexer_dfa import shared_spans
from guideway.automaton.object_tables import UNLIKE, FrameNames
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.states import State, States
from guideway.automaton.token_mask_cache import TokenMaskCache
from guideway.automaton.token_tries import Row
from guideway.language.fuel import attempt, while_there_is_room

_DEEPEST: Final = 32  # nested nodes; each takes five Python frames
_ENTERED: Final = 4  # nodes that one call of `at_most` enters,
_BRIEFLY: Final = 2_000  # parts made in one call of `at_most`, 2 to 4 ms
_SOUGHT: Final = 64  # or one for `cost_after_token`, which enters all in the end
_ROUGHLY: Final = 2  # factor for NAMED nodes, as the plain engine may find longer completions
_OTHER: Final = -1  # a key that is no name, in place of a rank
_NEVER: Final = (-1, 0, 0)
_FRAMES: Final = frozenset((at.AFTER_BRACE, at.AFTER_VALUE, at.MEMBER, at.MEMBERS, at.KEY))

_Way = TypeVar("_Way")
Answer = TypeVar("Answer")


@final
class CostToEnd:
    """Bounds for one automaton; `known` has those of nodes. Not thread safe: the caller locks."""

    def __init__(self, pda: PushdownAutomaton) -> None:
        self.pda, self._arena, self._dfa = pda, pda.arena, pda.dfa
        self._spans = shared_spans(pda.dfa)
        self.known: dict[int, int] = {}
        self._stacks: dict[int, int] = {0: 0}
        self._left = self._entered = 0
        self._unknown: dict[int, tuple[int, int, int]] = {}

    def at_most(self, macro: int) -> int | None:
        """Number of bytes that suffice to reach an end; None if not known."""
        self._begin(_ENTERED)
        return _soon(lambda: self._macro(macro, 0), _BRIEFLY)

    def node(self, node: int) -> int | None:
        """Number of bytes that suffice for a node; None if not known."""
        self._begin(_SOUGHT)
        return self._node(node, 0)

    def stack(self, stack: int) -> int | None:
        """The same for all nodes of a stack."""
        self._begin(_SOUGHT)
        return self._stack(stack, 0)

    def member(self, names: FrameNames, rank: int) -> int | None:
        """The same for a comma and the member after it."""
        self._begin(_SOUGHT)
        comma = self._node(names.object.comma, 0)
        return _sum(comma, self._member(names, rank, 0, 0))

    def missing(self, names: FrameNames) -> int | None:
        """The same for the missing members and the end of an object."""
        self._begin(_SOUGHT)
        return self._required(names, _OTHER, 0)

    def farthest(self, state: int) -> int | None:
        """Greatest distance from an end within a lexical state."""
        return self._spans.farthest(self._dfa, state)

    def farthest_bounded(self, record: list[int]) -> int | None:
        """Greatest distance from an end within a BOUNDED node."""
        return self._spans.farthest_bounded(self._dfa, record)

    def _begin(self, left: int) -> None:
        self._left, self._entered, self._unknown = left, 0, {}

    def _macro(self, macro: int, depth: int) -> int | None:
        if self._arena.macro(macro)[0]:
            return 0
        return self._least(
            self._arena.configurations(macro),
            lambda one: _sum(self._node(one[0], depth), self._stack(one[1], depth)),
        )

    def _least(self, ways: "Iterable[_Way]", measure: Callable[[_Way], int | None]) -> int | None:
        """Least known bound of some alternatives; if none is known, enter nodes until one is.

        Entering all took 0.1 s where each of many names leads to more of `oneOf`.
        """
        left, self._left, ways = self._left, 0, list(ways)
        found = min((n for n in map(measure, ways) if n is not None), default=None)
        self._left = left
        if found is None and left:
            found = next((n for n in map(measure, ways) if n is not None), None)
        return found

    def _stack(self, stack: int, depth: int) -> int | None:
        way = list[tuple[int, int]]()
        while stack not in self._stacks:
            node, below = self._arena.pop(stack)
            way.append((stack, node))
            stack = below
        total = self._stacks[stack]
        for above, node in reversed(way):
            found = self._node(node, depth)
            if found is None:
                return None
            total = self._stacks[above] = total + found
        return total

    def _node(self, node: int, depth: int) -> int | None:
        found = self.known.get(node)
        if found is None and depth < _DEEPEST and not self._is_unknown(node, depth):
            entered = self._entered
            found = self._look(node, depth + 1)
            if found is not None:
                self.known[node] = found
            elif self._entered == entered:
                self._unknown[node] = entered, depth, self._left
        return found

    def _is_unknown(self, node: int, depth: int) -> bool:
        """Return True if this call tried as much; avoids 2^n steps on doubled references."""
        entered, least, left = self._unknown.get(node, _NEVER)
        return entered == self._entered and least <= depth and self._left <= left

    def _look(self, node: int, depth: int) -> int | None:
        kind, a, b, c, *_ = record = self._arena.record(node)
        match kind:
            case at.NIL:
                found: int | None = 0
            case at.LITERAL:
                found = _sum(b, self._node(c, depth))
            case at.WORDS:
                found = self._arena.left(a, b)[0]
            case at.LEXEME | at.COUNTED | at.BOUNDED:
                found = self._lexical(record)
            case at.SEQUENCE:
                found = _sum(self._node(a, depth), self._node(b, depth))
            case at.CHOICE:
                options = self._arena.options(a, b)
                found = self._least(options, lambda one: self._node(one, depth))
            case at.FORKED:
                found = self._least(self.forked(node), lambda stack: self._stack(stack, depth))
            case at.EXPR:
                found = self._expression(node, depth)
            case at.NAMED:
                rest = self._expression(node, depth)
                found = None if rest is None else _ROUGHLY * rest
            case _:
                found = self._within(record, depth) if kind in _FRAMES else None
        return found

    def forked(self, node: int) -> Iterator[int]:
        kind, stack, following, *_ = self._arena.record(node)
        while kind == at.FORKED:
            yield stack
            kind, stack, following, *_ = self._arena.record(following)

    def _expression(self, node: int, depth: int) -> int | None:
        target = self._arena.target(node)
        if target >= 0:
            return self._node(target, depth)
        if self._left == 0:
            return None
        self._left, self._entered = self._left - 1, self._entered + 1
        return self._macro(self.pda.run(at.ENTER, node), depth)

    def _lexeme(self, state: int) -> int | None:
        return self._spans.least(self._dfa, state)

    def _lexical(self, record: list[int]) -> int | None:
        if record[0] == at.BOUNDED:
            return self._spans.least_bounded(self._dfa, record)
        if record[0] == at.LEXEME:
            return self._lexeme(record[1])
        return _sum(self._lexeme(record[1]), self.items(record))

    def items(self, record: list[int]) -> int | None:
        """Bytes of the counted items needed after the current one."""
        _, _, needed, _, between, _ = record
        if not needed:
            return 0
        self._dfa.expand(between)
        targets = np.unique(self._dfa.rows[between]).tolist()
        item = self._least([one for one in targets if one != DEAD_END], self._lexeme)
        return _sum(needed, item and item * needed)

    def _within(self, record: list[int], depth: int) -> int | None:
        """Rest of an object, or of a list of names."""
        kind, frame = record[:2]
        names = FrameNames(self._arena, frame)
        if names.object.is_class:
            return None
        if kind == at.KEY:
            return self._key(record, names, depth)
        if kind in (at.AFTER_BRACE, at.AFTER_VALUE):
            return self._required(names, _OTHER, depth)
        if names.missing and not names.object.bare:  # after a comma or the brace
            return self._required(names, _OTHER, depth, read=1)
        keys = names.some(0, names.count)
        if names.any_others():
            keys.append(_OTHER)

        def member(rank: int) -> int | None:
            if rank == _OTHER:
                return self._other(names, len('""') + UNLIKE, depth)
            return self._member(names, rank, 0, depth)

        return _sum(self._least(keys, member), self._required(names, _OTHER, depth))

    def _key(self, record: list[int], names: FrameNames, depth: int) -> int | None:
        _, _, trie, text, state, escape = record
        known = trie >= 0 and not escape  # else the character may be one of few names
        _, low, high, read, *_ = self._arena.row("key_nodes", trie) if known else [0] * 6
        keys = names.some(low, high)
        if names.any_others():
            keys.append(_OTHER)

        is_name = low < high and names.ends(low, read)  # names are in order
        may_end = text >= 0 and not (escape or is_name or names.came(text))

        def rest(rank: int) -> int | None:
            if rank == _OTHER:
                more = 0 if may_end else UNLIKE
                member = _sum(self._lexeme(state), self._other(names, more, depth))
            else:
                member = self._member(names, rank, read + len('"'), depth)
            return _sum(member, self._required(names, rank, depth))

        return self._least(keys, rest)

    def _required(self, names: FrameNames, but: int, depth: int, read: int = 0) -> int | None:
        """Missing required members except `but`, and the end; `read` commas are already read."""
        if names.object.bare or names.counted:
            return None if names.counted else 0
        total = self._node(names.object.closing, depth)
        missing = [rank for rank in names.required() if rank != but]
        for rank in missing:
            total = _sum(total, self._member(names, rank, 0, depth))
        for _ in missing[read:]:
            total = _sum(total, self._node(names.object.comma, depth))
        return total

    def _member(self, names: FrameNames, rank: int, read: int, depth: int) -> int | None:
        """A name, without its first `read` bytes, and its value."""
        value = self._node(names.value(rank), depth)
        if not names.object.bare:
            value = _sum(value, self._node(names.object.colon, depth))
        return _sum(len('""') + names.length(rank) - min(read, 1 + names.length(rank)), value)

    def _other(self, names: FrameNames, key: int, depth: int) -> int | None:
        """A key of `key` bytes that is no name, and its value."""
        value = self._node(names.object.other, depth)
        return _sum(key, _sum(value, self._node(names.object.colon, depth)))


def _soon(ask: Callable[[], Answer | None], parts: int) -> Answer | None:
    """An answer; None if it takes more than so many parts of automata, or space."""
    found = list[Answer | None]()

    def asked() -> bool:
        with while_there_is_room:
            found.append(ask())
        return True

    attempt(asked, parts)
    return found[0] if found else None


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


_EACH: Final = 256  # nodes explored in one call; the next continues
_MOST: Final = 1 << 13  # nodes in all
_FUEL: Final = 20_000  # parts of automata in one call, 20 to 40 ms
_ASKED: Final = 64  # calls without an answer before giving up
_NAMES: Final = 1 << 10  # names of an object
_ROUNDS: Final = 32  # rounds to a fixpoint before a node counts as growing
_OFF: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128)  # discounts of a literal in bytes
_ESCAPED: Final = len("\\ud83d\\ude00")  # a character of the current key
_HEADROOM_FRAMES: Final = frozenset((at.AFTER_BRACE, at.AFTER_VALUE, at.MEMBER, at.MEMBERS, at.KEY))
_READ: Final = frozenset((at.LITERAL, at.LEXEME, at.COUNTED, at.BOUNDED, at.WORDS))


class _Part(NamedTuple):
    """A position within `node`, `more` bytes before the end; `passed`: after the literal."""

    node: int
    more: float
    passed: int = 0


_counts: "WeakKeyDictionary[TokenMaskCache, dict[frozenset[int], int]]" = WeakKeyDictionary()


@final
class CostAfterToken:
    """Bounds for one automaton. Not thread safe: the caller locks."""

    def __init__(self, near: CostToEnd) -> None:
        self._near, self._pda, self._arena = near, near.pda, near.pda.arena
        self._parts = dict[int, list[_Part]]()
        self._most: dict[int, float] = {at.NIL: 0}
        self._frames, self._keys = dict[int, int](), dict[int, float]()
        self._todo: list[int] = []
        self._new: list[int] = []
        self._off, self._around, self._left = 0, set[int](), _ASKED

    def enough(self, macro: int) -> int | None:
        """Number of bytes that suffice to reach an end after any token; None if not known (yet).

        Each call explores a few nodes on limited fuel, as entering one may need a search.
        """
        if self._left == 0:
            return None
        found = _soon(lambda: self._enough(macro), _FUEL)
        self._left -= found is None
        return None if found is None or found == inf else int(found) + self._off * self._passed()

    def _enough(self, macro: int) -> float | None:
        parts = [
            part
            for node, stack in self._arena.configurations(macro)
            for part in self._stack(stack, node)
        ]
        self._todo += [part.node for part in parts if part.node not in self._most]
        if self._arena.macro(macro)[1] or not self._explore(_EACH):
            return None
        return max((self._most.get(part.node, inf) + part.more for part in parts), default=0)

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
        mask_cache, literals = self._pda.mask_cache, map(self._arena.record, self._around)
        last = frozenset(self._arena.pooled(a + length - 1, 1)[0] for _, a, length, *_ in literals)
        known = _counts.setdefault(mask_cache, {})
        if last not in known:
            is_last = np.zeros(256, np.int64)
            is_last[[*last]] = 1
            before = np.append(0, is_last[mask_cache.tokens].cumsum())
            known[last] = int(np.diff(before[mask_cache.token_at]).max())
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
        if record[0] in _HEADROOM_FRAMES:
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
            self._pda.run(at.ENTER, node)
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
        one, bare = names.object, names.object.bare
        if one.class_count or one.is_class or names.count > _NAMES:
            yield _Part(at.NIL, inf)
            return
        self._keys.setdefault(thing, 0)
        for rank in range(names.count):
            yield _Part(_place(thing, rank), 0)
        if not bare:
            yield _Part(one.closing, 0)
        if not self._is_dead(one.other):
            yield from self._within_member(names, one.other, self._other_key(names), 0)

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
        if not names.object.bare:
            yield _Part(names.object.colon, self._least(value) - counted)
            yield _Part(names.object.comma, key - counted)

    def _valued(self, names: FrameNames, value: int) -> float:
        colon = 0 if names.object.bare else self._least(names.object.colon)
        return colon + self._least(value)

    def _other_key(self, names: FrameNames) -> float:
        """Most bytes of a key that is no name, and its value."""
        one = names.object
        if one.colon == at.NIL:  # a distinct string, of few or of long ones
            return inf
        return self._farthest(one.quoted) + UNLIKE + self._valued(names, one.other)


def _place(thing: int, rank: int = -1) -> int:
    """Negative number of an object or of one of its members."""
    return -1 - (2 * _NAMES * thing + rank + 1)


def _known(found: int | None) -> float:
    return inf if found is None else found


MOST: Final = 4096  # distinct states
_MANY: Final = 1 << 12  # tokens that may each create a state
_REMEMBERED: Final = frozenset((at.MEMBER, at.MEMBERS, at.KEY, at.CAPTURE))

Apart: TypeAlias = tuple[NDArray[np.uint32], dict[int, int | None]]


@final
class CompletionCost:
    """Distance bounds for one constraint; thread safe."""

    def __init__(self, states: States) -> None:
        self._states = states

    def at_most(self, state: State) -> int | None:
        """Number of bytes that suffice to reach an end; None if not known soon."""
        with self._states.lock:
            pda = self._pda(state)
            return None if pda is None else self._cost_to_end(pda).at_most(state.macro)

    def enough(self, state: State) -> int | None:
        """Number of bytes that suffice to reach an end after any token; None if not known soon."""
        with self._states.lock:
            pda = self._pda(state)
            return None if pda is None else self._cost_after_token(pda).enough(state.macro)

    def staying(self, state: State) -> list[tuple[Row, int]]:
        """Rows of tokens that stay in a current lexical state, with the bytes that then suffice."""
        with self._states.lock, while_there_is_room:
            pda = self._pda(state)
            if pda is not None:
                cost_after_token = self._cost_after_token(pda)
                found = _soon(lambda: cost_after_token.within(state.macro), _FUEL) or []
                rows = [(pda.mask_cache.staying(inside), most) for inside, most in found]
                return [(row, most) for row, most in rows if row is not None]
        return []

    def apart(self, state: State, tokens: "NDArray[np.int64]") -> "Apart | None":
        """Codes of READ (`kernels.entry`) for tokens of a mask, and by code the bytes that suffice.

        Return None where kernels cannot tell.
        """
        codes = np.zeros(len(tokens), np.uint32)
        with self._states.lock:
            pda = state.reader()
            if pda is None or pda.marks.any:
                return None
            if len(tokens) > _MANY and not _leads_to_few(pda, state.macro):
                return None
            each = np.ascontiguousarray(tokens, np.uint32)
            with while_there_is_room:
                pda.run(at.READ_EACH, state.macro, len(each), each, codes)
                return None if (codes & 1).any() else (codes, self._bytes_by_code(pda, codes))
        return None

    def _bytes_by_code(
        self, pda: PushdownAutomaton, codes: "NDArray[np.uint32]"
    ) -> dict[int, int | None]:
        met = np.unique(codes).tolist()
        if len(met) > MOST or pda is not self._states.pda:
            return dict.fromkeys(met)
        near = self._cost_to_end(pda)
        return {code: near.at_most(code >> 2) for code in met}

    def _pda(self, state: State) -> PushdownAutomaton | None:
        pda = None if state.ended else state.reader()
        return pda if pda is self._states.pda else None

    def _cost_to_end(self, pda: PushdownAutomaton) -> CostToEnd:
        found = self._states.beside.get(CostToEnd)
        if found is None:
            found = self._states.beside[CostToEnd] = CostToEnd(pda)
        return found

    def _cost_after_token(self, pda: PushdownAutomaton) -> CostAfterToken:
        found = self._states.beside.get(CostAfterToken)
        if found is None:
            found = self._states.beside[CostAfterToken] = CostAfterToken(self._cost_to_end(pda))
        return found


def _leads_to_few(pda: PushdownAutomaton, macro: int) -> bool:
    """Return True if many tokens lead to few states, as no text has to be remembered."""
    nodes = [node for node, _ in pda.arena.configurations(macro)]
    return not any(pda.arena.record(node)[0] in _REMEMBERED for node in nodes)
