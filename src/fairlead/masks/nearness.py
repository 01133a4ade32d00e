"""How many bytes suffice to bring a text to its end: a bound, from what is translated anyway.

The shortest rest is told by the plain engine, which goes all the way that led to a state: half a
millisecond for each token where a schema is new. Far from the end of a budget a bound suffices:

    what a configuration reads       the shortest text of its lexical state, a literal's rest
    and the nodes on its stack       the same of each, once for each node
    counted items                    as many as are needed, each the shortest
    within an object                 all required members that are missing, and the end

Where that takes more than a look (patterns with a length, captures, Lark's automata), nothing is
said. What is only needed later is entered for it, a few nodes at a time.

What this module does not know: budgets, tokens.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar, final

import numpy as np

from fairlead.lowering.fuel import while_there_is_room
from fairlead.masks.arena import Arena
from fairlead.masks.kernels import layout as at
from fairlead.masks.kernels.layout import ACCEPTS, DEAD_END
from fairlead.masks.network import Network

_DEEPEST: Final = 32  # nodes within each other: five calls each
_ENTERED: Final = 4  # nodes that one look enters
_NAMES: Final = 8  # names that are looked at where one has to come
_MET: Final = 256  # lexical states on the way to the nearest end
_UNLIKE: Final = 4  # characters with which a key differs from all that came
_ROUGHLY: Final = 2  # times what objects take by a formula, of which others find less short ones
_OTHER: Final = -1  # instead of the rank of a name: a key that is none
_FRAMES: Final = frozenset((at.OPENED, at.BEHIND, at.MEMBER, at.MEMBERS, at.KEY))
_NAMED_SO: Final = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}

_Way = TypeVar("_Way")


@final
class Nearness:
    """What is known of one network.

    Not thread safe; whoever runs the network locks.

    Attributes:
        network: that one.
    """

    def __init__(self, network: Network) -> None:
        self.network, self._arena, self._lexicon = network, network.arena, network.lexicon
        self._nodes: dict[int, int] = {}
        self._stacks: dict[int, int] = {0: 0}
        self._states: dict[int, int] = {}
        self._left = 0

    def at_most(self, macro: int) -> int | None:
        """So many bytes suffice for an end; None: that is not known."""
        self._left = _ENTERED
        with while_there_is_room:
            return self._macro(macro, 0)
        return None

    def _macro(self, macro: int, depth: int) -> int | None:
        if self._arena.macro(macro)[0]:
            return 0
        return self._least(
            self._arena.configurations(macro),
            lambda one: _sum(self._node(one[0], depth), self._stack(one[1], depth)),
        )

    def _least(self, ways: "Iterable[_Way]", measure: Callable[[_Way], int | None]) -> int | None:
        """The least of some ways, any of which may be gone; of those that are known, if any is.

        Else others are entered until one gets known: with all of them a look took .1 s where each
        of many names leads on to more of `oneOf`.
        """
        left, self._left, ways = self._left, 0, list(ways)
        found = min((n for n in map(measure, ways) if n is not None), default=None)
        self._left = left
        if found is None and left:
            found = next((n for n in map(measure, ways) if n is not None), None)
        return found

    def _stack(self, stack: int, depth: int) -> int | None:
        """All that is on a stack."""
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
        found = self._nodes.get(node)
        if found is None and depth < _DEEPEST:
            found = self._look(node, depth + 1)
            if found is not None:
                self._nodes[node] = found
        return found

    def _look(self, node: int, depth: int) -> int | None:
        kind, a, b, c, *_ = record = self._arena.record(node)
        match kind:
            case at.NIL:
                found: int | None = 0
            case at.LITERAL:
                found = _sum(b, self._node(c, depth))
            case at.LEXEME:
                found = self._lexeme(a)
            case at.COUNTED:
                found = self._counted(record)
            case at.SEQUENCE:
                found = _sum(self._node(a, depth), self._node(b, depth))
            case at.CHOICE:
                options = self._arena.options(a, b)
                found = self._least(options, lambda one: self._node(one, depth))
            case at.FORKED:
                found = self._least(self._forked(node), lambda stack: self._stack(stack, depth))
            case at.EXPR:
                found = self._expression(node, depth)
            case at.NAMED:
                rest = self._expression(node, depth)
                found = None if rest is None else _ROUGHLY * rest
            case _:
                found = self._within(record, depth) if kind in _FRAMES else None
        return found

    def _forked(self, node: int) -> Iterator[int]:
        """The stacks that are alternatives."""
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
        self._left -= 1
        return self._macro(self.network.run(at.ENTER, node), depth)

    def _lexeme(self, state: int) -> int | None:
        """The shortest text of a lexical state, and of those on the way there."""
        lexicon, before, met, place = self._lexicon, {state: state}, [state], 0
        while place < len(met) <= _MET and lexicon.expand(met[place], briefly=True):
            one = met[place]
            if lexicon.flags[one] & ACCEPTS or one in self._states:
                return self._learn(state, one, before)
            place += 1
            for target in np.unique(lexicon.rows[one]).tolist():
                if target != DEAD_END and target not in before:
                    before[target] = one
                    met.append(target)
        return None

    def _learn(self, state: int, end: int, before: dict[int, int]) -> int:
        length = self._states.setdefault(end, 0)
        while end != state:
            end, length = before[end], length + 1
            self._states[end] = length
        return length

    def _counted(self, record: list[int]) -> int | None:
        """The item that is being read, and those that are needed behind it."""
        _, state, needed, _, between, _ = record
        self._lexicon.expand(between)
        targets = np.unique(self._lexicon.rows[between]).tolist()
        item = self._least([one for one in targets if one != DEAD_END], self._lexeme)
        return _sum(self._lexeme(state), _sum(needed, item and item * needed))

    # Objects

    def _within(self, record: list[int], depth: int) -> int | None:
        """The rest of an object, or of a list of names."""
        kind, frame = record[:2]
        thing, position, _, missing, bits, others = self._arena.row(at.FRAME, frame, 6)
        fields = self._arena.row(at.OBJECT, thing, 16)
        if fields[at.O_OF_CLASS]:
            return None
        names = _Names(self._arena, fields, position, bits)
        if kind == at.KEY:
            return self._key(record, names, others, depth)
        if kind in (at.OPENED, at.BEHIND) or (missing and not fields[at.O_BARE]):
            return self._required(names, _OTHER, depth)
        keys = names.some(0, names.count)
        if others and _is_any(fields):
            keys.append(_OTHER)

        def member(rank: int) -> int | None:
            if rank == _OTHER:
                return self._other(names, len('""') + _UNLIKE, depth)
            return self._member(names, rank, 0, depth)

        return _sum(self._least(keys, member), self._required(names, _OTHER, depth))

    def _key(self, record: list[int], names: "_Names", others: int, depth: int) -> int | None:
        _, _, trie, _, state, escape = record
        if escape:
            return None
        _, low, high, read, *_ = self._arena.row(at.KEYS, trie, 6) if trie >= 0 else [0] * 6
        keys = names.some(low, high)
        if others and _is_any(names.fields):
            keys.append(_OTHER)

        def rest(rank: int) -> int | None:
            if rank == _OTHER:
                member = _sum(self._lexeme(state), self._other(names, _UNLIKE, depth))
            else:
                member = self._member(names, rank, read + len('"'), depth)
            return _sum(member, self._required(names, rank, depth))

        return self._least(keys, rest)

    def _required(self, names: "_Names", but: int, depth: int) -> int | None:
        """All required members that are missing but one, and the end."""
        if names.fields[at.O_BARE]:
            return 0
        total = self._node(names.fields[at.O_CLOSING], depth)
        for rank in names.missing():
            if rank != but:
                comma = self._node(names.fields[at.O_COMMA], depth)
                total = _sum(total, _sum(comma, self._member(names, rank, 0, depth)))
        return total

    def _member(self, names: "_Names", rank: int, read: int, depth: int) -> int | None:
        """A name, some bytes of which have been read, and its value."""
        value = self._node(names.value(rank), depth)
        if not names.fields[at.O_BARE]:
            value = _sum(value, self._node(names.fields[at.O_COLON], depth))
        return _sum(len('""') + names.length(rank) - min(read, 1 + names.length(rank)), value)

    def _other(self, names: "_Names", key: int, depth: int) -> int | None:
        """A key that is no name, so long, and its value."""
        value = self._node(names.fields[at.O_OTHER], depth)
        return _sum(key, _sum(value, self._node(names.fields[at.O_COLON], depth)))


@final
class _Names:
    """The names of an object, and which may come."""

    def __init__(self, arena: Arena, fields: list[int], position: int, bits: int) -> None:
        self._arena, self.fields, self._position = arena, fields, position
        self.count = fields[at.O_NAMES]
        words = (arena.row(at.BIT, bits + word, 1)[0] for word in range(fields[at.O_WORDS]))
        self._may = sum(int(bits) << 64 * word for word, bits in enumerate(words))

    def some(self, low: int, high: int) -> list[int]:
        """A few of the names between two ranks that may come."""
        found = list[int]()
        for rank in range(low, high):
            if self._may >> rank & 1:
                found.append(rank)
                if len(found) == _NAMES:
                    break
        return found

    def missing(self) -> list[int]:
        """The names that have to come."""
        ranks = range(self.count)
        if self.fields[at.O_ORDERED]:
            left = [rank for rank in ranks if self._name(rank)[at.N_INDEX] >= self._position]
        else:
            left = [rank for rank in ranks if self._may >> rank & 1]
        return [rank for rank in left if self._name(rank)[at.N_REQUIRED]]

    def value(self, rank: int) -> int:
        """The node of what a name has."""
        return self._name(rank)[at.N_VALUE]

    def length(self, rank: int) -> int:
        """How many bytes spell a name at most, where each character is spelled as shortly."""
        start, length, *_ = self._name(rank)
        plain = _NAMED_SO.issuperset(self._arena.pooled(start, length))
        return length if plain else len("\\u0000") * length

    def _name(self, rank: int) -> list[int]:
        return self._arena.row(at.NAME, self.fields[at.O_NAME] + rank, 6)


def _is_any(fields: list[int]) -> bool:
    """Whether a key that is no name may be any other: of a class they are few, or longer.

    So are different strings, behind which there is no colon. Frames are made only where all of
    ASCII is spelled (`objects.can_spell`), so there are letters enough.
    """
    return not fields[at.O_CLASSES] and fields[at.O_COLON] != at.NIL


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
