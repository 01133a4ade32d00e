"""Completion cost: bytes that suffice to reach an end. Bounds, not exact distances.

`CostToEnd` bounds the bytes from a configuration, `CostAfterToken` those after any next token.
`CompletionCost` gives both for a constraint. A bound may be too high, never too low; it is infinite
where it is not known.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final, NamedTuple, TypeVar
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
from guideway.automaton.token_tries import unpack
from guideway.language.fuel import attempt, while_there_is_room

_DEEPEST: Final = 32  # nested nodes; each takes five Python frames
_ENTERED: Final = 4  # nodes that one call of `at_most` enters,
_BRIEFLY: Final = 2_000  # parts made in one call of `at_most`, 2 to 4 ms
_SOUGHT: Final = 64  # or one for `cost_after_token`, which enters all in the end
_ROUGHLY: Final = 2  # factor for NAMED nodes, as the plain engine may find longer completions
_OTHER: Final = -1  # a key that is no name, in place of a rank
_NEVER: Final = (-1, 0, 0)
_READ: Final = frozenset((at.LITERAL, at.LEXEME, at.COUNTED, at.BOUNDED, at.WORDS))
_FRAMES: Final = frozenset((at.AFTER_BRACE, at.AFTER_VALUE, at.MEMBER, at.MEMBERS, at.KEY))

_Way = TypeVar("_Way")


class CostToEnd:
    """Bounds for one automaton; `known` has those of nodes. Not thread safe: the caller locks."""

    def __init__(self, pda: PushdownAutomaton) -> None:
        self.pda, self._arena, self._dfa = pda, pda.arena, pda.dfa
        self._spans = shared_spans(pda.dfa)
        self.known: dict[int, float] = {}
        self._stacks: dict[int, float] = {0: 0}
        self._left = self._entered = 0
        self._unknown: dict[int, tuple[int, int, int]] = {}

    def begin(self, entered: int) -> None:
        """Allow the next bounds to enter so many nodes."""
        self._left, self._entered, self._unknown = entered, 0, {}

    def macro(self, macro: int, depth: int = 0) -> float:
        if self._arena.macro(macro)[0]:
            return 0
        return self._least(
            self._arena.configurations(macro),
            lambda one: self.node(one[0], depth) + self.stack(one[1], depth),
        )

    def stack(self, stack: int, depth: int = 0) -> float:
        """Bytes that suffice for all nodes of a stack."""
        way = list[tuple[int, int]]()
        while stack not in self._stacks:
            node, below = self._arena.pop(stack)
            way.append((stack, node))
            stack = below
        total = self._stacks[stack]
        for above, node in reversed(way):
            total += self.node(node, depth)
            if total == inf:
                break
            self._stacks[above] = total
        return total

    def node(self, node: int, depth: int = 0) -> float:
        found = self.known.get(node, inf)
        if found == inf and depth < _DEEPEST and not self._is_unknown(node, depth):
            entered = self._entered
            found = self._look(node, depth + 1)
            if found < inf:
                self.known[node] = found
            elif self._entered == entered:
                self._unknown[node] = entered, depth, self._left
        return found

    def farthest(self, state: int) -> float:
        """Greatest distance from an end within a lexical state."""
        return _or_infinite(self._spans.farthest(self._dfa, state))

    def farthest_bounded(self, record: list[int]) -> float:
        """Greatest distance from an end within a BOUNDED node."""
        return _or_infinite(self._spans.farthest_bounded(self._dfa, record))

    def _least(self, ways: Iterable[_Way], measure: Callable[[_Way], float]) -> float:
        """Least known bound of some alternatives; if none is known, enter nodes until one is.

        Entering all took 0.1 s where each of many names leads to more of `oneOf`.
        """
        left, self._left, ways = self._left, 0, list(ways)
        found = min(map(measure, ways), default=inf)
        self._left = left
        if found == inf and left:
            found = next((bound for bound in map(measure, ways) if bound < inf), inf)
        return found

    def _is_unknown(self, node: int, depth: int) -> bool:
        """Return True if this call tried as much; avoids 2^n steps on doubled references."""
        entered, least, left = self._unknown.get(node, _NEVER)
        return entered == self._entered and least <= depth and self._left <= left

    def _look(self, node: int, depth: int) -> float:
        kind, a, b, c, *_ = record = self._arena.record(node)
        match kind:
            case at.NIL:
                found: float = 0
            case at.LITERAL:
                found = b + self.node(c, depth)
            case at.WORDS:
                found = self._arena.left(a, b)[0]
            case at.LEXEME | at.COUNTED | at.BOUNDED:
                found = self._lexical(record)
            case at.SEQUENCE:
                found = self.node(a, depth) + self.node(b, depth)
            case at.CHOICE:
                options = self._arena.options(a, b)
                found = self._least(options, lambda one: self.node(one, depth))
            case at.FORKED:
                found = self._least(self.forked(node), lambda stack: self.stack(stack, depth))
            case at.EXPR:
                found = self._expression(node, depth)
            case at.NAMED:
                found = _ROUGHLY * self._expression(node, depth)
            case _:
                found = self._rest_of_object(record, depth) if kind in _FRAMES else inf
        return found

    def forked(self, node: int) -> Iterator[int]:
        kind, stack, following, *_ = self._arena.record(node)
        while kind == at.FORKED:
            yield stack
            kind, stack, following, *_ = self._arena.record(following)

    def _expression(self, node: int, depth: int) -> float:
        target = self._arena.target(node)
        if target >= 0:
            return self.node(target, depth)
        if self._left == 0:
            return inf
        self._left, self._entered = self._left - 1, self._entered + 1
        return self.macro(self.pda.run(at.ENTER, node), depth)

    def _lexeme(self, state: int) -> float:
        return _or_infinite(self._spans.least(self._dfa, state))

    def _lexical(self, record: list[int]) -> float:
        if record[0] == at.BOUNDED:
            return _or_infinite(self._spans.least_bounded(self._dfa, record))
        return self._lexeme(record[1]) + (self.items(record) if record[0] == at.COUNTED else 0)

    def items(self, record: list[int]) -> float:
        """Bytes of the counted items needed after the current one."""
        _, _, needed, _, between, _ = record
        if not needed:
            return 0
        self._dfa.expand(between)
        targets = np.unique(self._dfa.rows[between]).tolist()
        item = self._least([one for one in targets if one != DEAD_END], self._lexeme)
        return needed + item * needed

    def _rest_of_object(self, record: list[int], depth: int) -> float:
        """Rest of an object, or of a list of names."""
        kind, frame = record[:2]
        names = FrameNames(self._arena, frame)
        if names.object.is_class:
            return inf
        if kind == at.KEY:
            return self._key(record, names, depth)
        if kind in (at.AFTER_BRACE, at.AFTER_VALUE):
            return self.missing(names, depth)
        if names.missing and not names.object.bare:  # after a comma or the brace
            return self.missing(names, depth, read=1)
        keys = names.some(0, names.count) + [_OTHER] * names.any_others()

        def member(rank: int) -> float:
            if rank == _OTHER:
                return self._unnamed(names, len('""') + UNLIKE, depth)
            return self.member(names, rank, depth)

        return self._least(keys, member) + self.missing(names, depth)

    def _key(self, record: list[int], names: FrameNames, depth: int) -> float:
        _, _, trie, text, state, escape = record
        known = trie >= 0 and not escape  # else the character may be one of few names
        _, low, high, read, *_ = self._arena.row("key_nodes", trie) if known else [0] * 6
        keys = names.some(low, high) + [_OTHER] * names.any_others()
        is_name = low < high and names.ends(low, read)  # names are in order
        may_end = text >= 0 and not (escape or is_name or names.came(text))

        def rest(rank: int) -> float:
            if rank == _OTHER:
                member = self._lexeme(state) + self._unnamed(names, 0 if may_end else UNLIKE, depth)
            else:
                member = self.member(names, rank, depth, read=read + len('"'))
            return member + self.missing(names, depth, but=rank)

        return self._least(keys, rest)

    def missing(
        self, names: FrameNames, depth: int = 0, *, but: int = _OTHER, read: int = 0
    ) -> float:
        """Missing required members except `but`, and the end; `read` commas are already read."""
        if names.object.bare or names.counted:
            return inf if names.counted else 0
        missing = [rank for rank in names.required() if rank != but]
        total = self.node(names.object.closing, depth)
        total += sum(self.member(names, rank, depth) for rank in missing)
        return total + sum(self.node(names.object.comma, depth) for _ in missing[read:])

    def member(self, names: FrameNames, rank: int, depth: int = 0, *, read: int = 0) -> float:
        """A name, without its first `read` bytes, and its value."""
        key = len('""') + names.length(rank) - min(read, 1 + names.length(rank))
        colon = 0 if names.object.bare else self.node(names.object.colon, depth)
        return key + self.node(names.value(rank), depth) + colon

    def _unnamed(self, names: FrameNames, key: int, depth: int) -> float:
        """A key of `key` bytes that is no name, and its value."""
        return key + self.node(names.object.other, depth) + self.node(names.object.colon, depth)


def _bounded(ask: Callable[[], float], parts: int) -> float:
    """A bound; infinite if it takes more than so many parts of automata, or space."""
    found = list[float]()

    def asked() -> bool:
        with while_there_is_room:
            found.append(ask())
        return True

    attempt(asked, parts)
    return found[0] if found else inf


def _or_infinite(found: int | None) -> float:
    return inf if found is None else found


def _finite(bound: float) -> int | None:
    return None if bound == inf else int(bound)


_EACH: Final = 256  # nodes explored in one call; the next continues
_MOST: Final = 1 << 13  # nodes in all
_FUEL: Final = 20_000  # parts of automata in one call, 20 to 40 ms
_ASKED: Final = 64  # calls without an answer before giving up
_NAMES: Final = 1 << 10  # names of an object
_ROUNDS: Final = 32  # rounds to a fixpoint before a node counts as growing
_OFF: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128)  # discounts of a literal in bytes
_ESCAPED: Final = len("\\ud83d\\ude00")  # a character of the current key


class _Part(NamedTuple):
    """A position within `node`, `more` bytes before the end; `passed`: after the literal."""

    node: int
    more: float
    passed: int = 0


_counts: "WeakKeyDictionary[TokenMaskCache, dict[frozenset[int], int]]" = WeakKeyDictionary()


class CostAfterToken:
    """Bounds for one automaton. Not thread safe: the caller locks."""

    def __init__(self, near: CostToEnd) -> None:
        self._near, self._pda, self._arena = near, near.pda, near.pda.arena
        self._parts = dict[int, list[_Part]]()
        self._most: dict[int, float] = {at.NIL: 0}
        self._frames = dict[int, int]()
        self._todo: list[int] = []
        self._new: list[int] = []
        self._off, self._around, self._left = 0, set[int](), _ASKED

    def enough(self, macro: int) -> float:
        """Number of bytes that suffice to reach an end after any token; infinite if not known yet.

        Each call explores a few nodes on limited fuel, as entering one may need a search.
        """
        if self._left == 0:
            return inf
        found = _bounded(lambda: self._enough(macro), _FUEL)
        self._left -= found == inf
        return found if found == inf else found + self._off * self._literals_passed()

    def _enough(self, macro: int) -> float:
        self._near.begin(_SOUGHT)
        parts = [
            part
            for node, stack in self._arena.configurations(macro)
            for part in (_Part(node, self._near.stack(stack)), *self._stack(stack))
        ]
        self._todo += [part.node for part in parts if part.node not in self._most]
        if self._arena.macro(macro)[1] or not self._explore(_EACH):
            return inf
        return max((self._most.get(part.node, inf) + part.more for part in parts), default=0)

    def _literals_passed(self) -> int:
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
                break
            if left == 0:
                return False
            left -= 1
            self._near.begin(_SOUGHT)
            self._parts[node] = parts = [*self._look(node)]  # without fuel it stays in _todo
            self._new.append(node)
            self._todo[-1:] = [part.node for part in parts]
        while growing := self._fixpoint():
            around = {node for node in growing if any(p.passed for p in self._parts[node])}
            more = _OFF[_OFF.index(self._off) + (around <= self._around) :]
            if not more:
                self._most.update(dict.fromkeys(self._new, inf))
                break
            self._around |= around
            self._off, self._new = more[0] or _OFF[1], [*self._parts]
        self._new = list[int]()
        return True

    def _fixpoint(self) -> list[int]:
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

    def _stack(self, stack: int) -> Iterator[_Part]:
        while stack:
            node, stack = self._arena.pop(stack)
            yield _Part(node, self._near.stack(stack))

    def _look(self, node: int) -> Iterator[_Part]:
        """Positions within a node; negative numbers are objects and members, see `_place`."""
        if node < 0:
            thing, member = divmod(-1 - node, 2 * _NAMES)
            return self._member(thing, member - 1) if member else self._object(thing)
        record = self._arena.record(node)
        return self._read(record) if record[0] in _READ else self._inner_parts(node, record)

    def _inner_parts(self, node: int, record: list[int]) -> Iterator[_Part]:
        """Positions within a node that contains nodes; infinite for unknown kinds."""
        kind, a, b, *_ = record
        match kind:
            case at.DEAD:
                return
            case at.EXPR:
                yield _Part(self._target(node), 0)
            case at.SEQUENCE:
                yield _Part(a, self._near.node(b))
                yield _Part(b, 0)
            case at.CHOICE:
                yield from (_Part(option, 0) for option in self._arena.options(a, b))
            case at.FORKED:
                for stack in self._near.forked(node):
                    yield from self._stack(stack)
            case _ if kind in _FRAMES:
                names = FrameNames(self._arena, a)
                self._frames.setdefault(names.thing, a)
                yield _Part(_place(names.thing), self._near.missing(names))
            case _:
                yield _Part(at.NIL, inf)

    def _read(self, record: list[int]) -> Iterator[_Part]:
        """Positions within a node that reads bytes."""
        near, (kind, a, length, following, between, _) = self._near, record
        match kind:
            case at.LITERAL:
                yield _Part(at.NIL, length + near.node(following))
                yield _Part(following, 0, 1)
            case at.LEXEME:
                yield _Part(at.NIL, near.farthest(a))
            case at.WORDS:
                yield _Part(at.NIL, self._arena.left(a, length)[1])
            case at.BOUNDED:
                yield _Part(at.NIL, near.farthest_bounded(record))
            case _:
                most = max(near.farthest(a), near.farthest(between))
                yield _Part(at.NIL, most + near.items(record))

    def _target(self, node: int) -> int:
        if self._arena.target(node) < 0:
            self._pda.run(at.ENTER, node)
        return self._arena.target(node)

    def _is_dead(self, node: int) -> bool:
        while self._arena.record(node)[0] == at.EXPR:
            node = self._target(node)
        return node == at.DEAD

    def _object(self, thing: int) -> Iterator[_Part]:
        """Positions within an object; members exclude what `missing` already counts."""
        names = FrameNames(self._arena, self._frames[thing])
        one = names.object
        if one.class_count or one.is_class or names.count > _NAMES:
            yield _Part(at.NIL, inf)
            return
        yield from (_Part(_place(thing, rank), 0) for rank in range(names.count))
        if not one.bare:
            yield _Part(one.closing, 0)
        if not self._is_dead(one.other):
            # A distinct string, without a colon, is of few or of long ones.
            key = inf if one.colon == at.NIL else self._near.farthest(one.quoted) + UNLIKE
            yield from self._within_member(names, one.other, key, 0)

    def _member(self, thing: int, rank: int) -> Iterator[_Part]:
        names = FrameNames(self._arena, self._frames[thing])
        value = names.value(rank)
        if not self._is_dead(value):
            counted = self._near.member(names, rank) if names.is_required(rank) else 0
            key = len('""') + names.length(rank) + _ESCAPED
            yield from self._within_member(names, value, key, 0 if counted == inf else counted)

    def _within_member(
        self, names: FrameNames, value: int, key: float, counted: float
    ) -> Iterator[_Part]:
        """Positions within a member: in its key of at most `key` bytes, in its value, before it."""
        one, least = names.object, self._near.node(value)
        key += least + (0 if one.bare else self._near.node(one.colon)) - counted
        yield _Part(at.NIL, key)
        yield _Part(value, -counted)
        if not one.bare:
            yield _Part(one.colon, least - counted)
            yield _Part(one.comma, key)


def _place(thing: int, rank: int = -1) -> int:
    """Negative number of an object or of one of its members."""
    return -1 - (2 * _NAMES * thing + rank + 1)


_STATES: Final = 4096  # distinct states after the tokens of a mask
_MANY: Final = 1 << 12  # tokens that may each create a state
_REMEMBERED: Final = frozenset((at.MEMBER, at.MEMBERS, at.KEY, at.CAPTURE))


class Group(NamedTuple):
    """Tokens that lead to the same state; `most` bytes suffice after them, None if not known."""

    tokens: NDArray[np.int32]
    most: int | None


class CompletionCost:
    """Distance bounds for one constraint; thread safe."""

    def __init__(self, states: States) -> None:
        self._states = states

    def at_most(self, state: State) -> int | None:
        """Number of bytes that suffice to reach an end; None if not known soon."""
        with self._states.lock:
            pda = None if state.ended else state.reader()
            return None if pda is None else self._at_most(pda, state.macro)

    def enough(self, state: State) -> int | None:
        """Number of bytes that suffice to reach an end after any token; None if not known soon."""
        beside = self._states.beside
        with self._states.lock:
            pda = None if state.ended else state.reader()
            if pda is None or pda is not self._states.pda:
                return None
            if CostAfterToken not in beside:
                beside[CostAfterToken] = CostAfterToken(self._cost_to_end(pda))
            return _finite(beside[CostAfterToken].enough(state.macro))

    def groups(self, state: State, ends: list[int]) -> list[Group] | None:
        """The tokens of a mask by the state after them; None where kernels cannot tell."""
        tokens = np.setdiff1d(unpack(self._states.mask(state)), ends, assume_unique=True)
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
                order = np.argsort(codes, kind="stable")
                begins = np.flatnonzero(np.diff(codes[order])) + 1
                parts = [part for part in np.split(order, begins) if part.size]
                if (codes & 1).any() or len(parts) > _STATES:
                    return None
                return [
                    Group(tokens[p].astype(np.int32), self._at_most(pda, int(codes[p[0]]) >> 2))
                    for p in parts
                ]
        return None

    def _at_most(self, pda: PushdownAutomaton, macro: int) -> int | None:
        if pda is not self._states.pda:
            return None
        near = self._cost_to_end(pda)
        near.begin(_ENTERED)
        return _finite(_bounded(lambda: near.macro(macro), _BRIEFLY))

    def _cost_to_end(self, pda: PushdownAutomaton) -> CostToEnd:
        beside = self._states.beside
        if CostToEnd not in beside:
            beside[CostToEnd] = CostToEnd(pda)
        return beside[CostToEnd]


def _leads_to_few(pda: PushdownAutomaton, macro: int) -> bool:
    """Return True if many tokens lead to few states, as no text has to be remembered."""
    nodes = [node for node, _ in pda.arena.configurations(macro)]
    return not any(pda.arena.record(node)[0] in _REMEMBERED for node in nodes)
