"""Upper bounds on the bytes that suffice to reach an end, as a sum over the stack.

The plain engine's exact minimum takes 0.5 ms for each token of a new schema. Captures and Lark
automata have no bound. Nodes only needed later are entered for it, a few at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar, final

import numpy as np

from guideway.lowering.fuel import while_there_is_room
from guideway.masks.framed import UNLIKE, FrameNames
from guideway.masks.kernels import layout as at
from guideway.masks.kernels.layout import DEAD_END
from guideway.masks.network import Network
from guideway.masks.spans import shared_spans

_DEEPEST: Final = 32  # nested nodes; each takes five Python frames
_ENTERED: Final = 4  # nodes that one call of `at_most` enters,
_SOUGHT: Final = 64  # or one for `headroom`, which enters all in the end
_ROUGHLY: Final = 2  # factor for NAMED nodes, as the plain engine may find longer completions
_OTHER: Final = -1  # a key that is no name, in place of a rank
_NEVER: Final = (-1, 0, 0)
_FRAMES: Final = frozenset((at.OPENED, at.BEHIND, at.MEMBER, at.MEMBERS, at.KEY))

_Way = TypeVar("_Way")


@final
class Nearness:
    """Bounds for one network; `known` has those of nodes. Not thread safe: the caller locks."""

    def __init__(self, network: Network) -> None:
        self.network, self._arena, self._lexicon = network, network.arena, network.lexicon
        self._spans = shared_spans(network.lexicon)
        self.known: dict[int, int] = {}
        self._stacks: dict[int, int] = {0: 0}
        self._left = self._entered = 0
        self._unknown: dict[int, tuple[int, int, int]] = {}

    def at_most(self, macro: int) -> int | None:
        """Number of bytes that suffice to reach an end; None if not known."""
        self._begin(_ENTERED)
        with while_there_is_room:
            return self._macro(macro, 0)
        return None

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
        comma = self._node(names.fields[at.O_COMMA], 0)
        return _sum(comma, self._member(names, rank, 0, 0))

    def missing(self, names: FrameNames) -> int | None:
        """The same for the missing members and the end of an object."""
        self._begin(_SOUGHT)
        return self._required(names, _OTHER, 0)

    def farthest(self, state: int) -> int | None:
        """Greatest distance from an end within a lexical state."""
        return self._spans.farthest(self._lexicon, state)

    def farthest_bounded(self, record: list[int]) -> int | None:
        """Greatest distance from an end within a BOUNDED node."""
        return self._spans.farthest_bounded(self._lexicon, record)

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
        return self._macro(self.network.run(at.ENTER, node), depth)

    def _lexeme(self, state: int) -> int | None:
        return self._spans.least(self._lexicon, state)

    def _lexical(self, record: list[int]) -> int | None:
        if record[0] == at.BOUNDED:
            return self._spans.least_bounded(self._lexicon, record)
        if record[0] == at.LEXEME:
            return self._lexeme(record[1])
        return _sum(self._lexeme(record[1]), self.items(record))

    def items(self, record: list[int]) -> int | None:
        """Bytes of the counted items needed after the current one."""
        _, _, needed, _, between, _ = record
        if not needed:
            return 0
        self._lexicon.expand(between)
        targets = np.unique(self._lexicon.rows[between]).tolist()
        item = self._least([one for one in targets if one != DEAD_END], self._lexeme)
        return _sum(needed, item and item * needed)

    def _within(self, record: list[int], depth: int) -> int | None:
        """Rest of an object, or of a list of names."""
        kind, frame = record[:2]
        names = FrameNames(self._arena, frame)
        if names.fields[at.O_OF_CLASS]:
            return None
        if kind == at.KEY:
            return self._key(record, names, depth)
        if kind in (at.OPENED, at.BEHIND):
            return self._required(names, _OTHER, depth)
        if names.missing and not names.fields[at.O_BARE]:  # after a comma or the brace
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
        _, low, high, read, *_ = self._arena.row(at.KEYS, trie, 6) if known else [0] * 6
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
        if names.fields[at.O_BARE] or names.counted:
            return None if names.counted else 0
        total = self._node(names.fields[at.O_CLOSING], depth)
        missing = [rank for rank in names.required() if rank != but]
        for rank in missing:
            total = _sum(total, self._member(names, rank, 0, depth))
        for _ in missing[read:]:
            total = _sum(total, self._node(names.fields[at.O_COMMA], depth))
        return total

    def _member(self, names: FrameNames, rank: int, read: int, depth: int) -> int | None:
        """A name, without its first `read` bytes, and its value."""
        value = self._node(names.value(rank), depth)
        if not names.fields[at.O_BARE]:
            value = _sum(value, self._node(names.fields[at.O_COLON], depth))
        return _sum(len('""') + names.length(rank) - min(read, 1 + names.length(rank)), value)

    def _other(self, names: FrameNames, key: int, depth: int) -> int | None:
        """A key of `key` bytes that is no name, and its value."""
        value = self._node(names.fields[at.O_OTHER], depth)
        return _sum(key, _sum(value, self._node(names.fields[at.O_COLON], depth)))


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
