"""The arena: all arrays of one constraint's automaton, which Python and the kernels share."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels import macro_states as searches
from guideway.automaton.kernels.macro_states import MOST_PUT_OFF, PUT_OFF
from guideway.automaton.token_tries import Row, address, unpack, untouched


@final
@dataclass(frozen=True, slots=True)
class Table:
    """Arrays that grow together: slot, element type, elements for each unit of room."""

    room: int
    first: int
    arrays: tuple[tuple[int, Any, int], ...]
    hashes: tuple[tuple[int, Any, int], ...] = ()


TABLES: Final[dict[int, Table]] = {
    at.NODES: Table(
        at.NODE_ROOM,
        256,
        ((at.NODE, np.int32, 6), (at.TARGET, np.int32, 1), (at.SETTLED, np.int32, 1)),
        ((at.NODE_HASH, np.int32, 2),),
    ),
    at.STACKS: Table(
        at.STACK_ROOM, 512, ((at.STACK, np.int64, 1),), ((at.STACK_HASH, np.int32, 2),)
    ),
    at.MACROS: Table(
        at.MACRO_ROOM,
        512,
        ((at.MACRO, np.int32, 4), (at.FIRST, np.uint64, 4)),
        ((at.MACRO_HASH, np.int32, 2),),
    ),
    at.CONFIGS: Table(at.CONFIG_ROOM, 1024, ((at.CONFIG, np.int64, 1),)),
    at.STEPS: Table(
        at.STEP_ROOM, 512, (), ((at.STEP_KEY, np.int64, 2), (at.STEP_VALUE, np.int32, 2))
    ),
    at.FRAMES: Table(
        at.FRAME_ROOM, 64, ((at.FRAME, np.int32, 6),), ((at.FRAME_HASH, np.int32, 2),)
    ),
    at.BITS: Table(at.BIT_ROOM, 64, ((at.BIT, np.uint64, 1),)),
    at.TEXTS: Table(at.TEXT_ROOM, 256, ((at.TEXT, np.int64, 1),), ((at.TEXT_HASH, np.int32, 2),)),
    at.EXTRAS: Table(
        at.EXTRA_ROOM, 64, ((at.EXTRA, np.int64, 1),), ((at.EXTRA_HASH, np.int32, 2),)
    ),
    at.PAIRS: Table(
        at.PAIR_ROOM,
        64,
        ((at.PAIR, np.int64, 1), (at.LENGTH, np.int32, at.L_ROW)),
        ((at.PAIR_HASH, np.int32, 2),),
    ),
    at.JUDGEMENTS: Table(
        at.JUDGED_ROOM,
        128,
        ((at.JUDGED, np.int64, 1), (at.VERDICT, np.int32, 4)),
        ((at.JUDGED_HASH, np.int32, 2),),
    ),
    at.OUTLOOKS: Table(
        at.OUTLOOK_ROOM,
        64,
        ((at.OUTLOOK, np.int64, 1), (at.OUTLOOK_AT, np.int32, 4)),
        ((at.OUTLOOK_HASH, np.int32, 2),),
    ),
    # Large, since a walk over the vocabulary restarts each time that it grows.
    at.SEEN_LISTED: Table(at.SEEN_LIST_ROOM, 16384, ((at.SEEN_LIST, np.int32, 1),)),
    at.LEAVINGS: Table(at.LEAVING_ROOM, 64, ((at.LEFT_BY, np.int64, 3), (at.LEFT_AT, np.int64, 1))),
    at.VISITED: Table(
        at.WORK_ROOM,
        64,
        (
            (at.SCRATCH, np.int64, 2),
            (at.FOUND_IS, np.uint8, 1),
            (at.ASKED, np.int32, 1),
            (at.ASIDE, np.int64, 1),
            (at.ASIDE_IS, np.uint8, 1),
            (at.ENTERED, np.int64, 1),
            (at.SEEN, np.int64, 4),
        ),
    ),
    at.REACHED: Table(
        at.REACH_ROOM, 64, ((at.REACH_ITEM, np.int64, 2), (at.REACH_SEEN, np.int64, 6))
    ),
}
_PYTHON: Final = (  # arrays that only Python writes; first sizes suffice for most schemas
    (at.EDGE, np.int32, 512),
    (at.POOL, np.uint8, 768),
    (at.OBJECT, np.int32, 16 * 24),
    (at.NAME, np.int32, 6 * 64),
    (at.KEYS, np.int32, 6 * 512),
    (at.LALR, np.int32, 16),
    (at.LALR_WORK, np.int32, 16),
)
_LINE: Final = 64  # bytes; no two arrays share a cache line


class Described(Protocol):
    words: int
    deepest: int

    def describe(self, context: NDArray[np.int64]) -> None: ...


@final
class Plan:
    """Offsets and contents of the arrays of a new arena, and its context."""

    def __init__(
        self,
        context: NDArray[np.int64],
        sizes: Mapping[int, tuple[Any, int]],
        contents: Mapping[int, NDArray[Any]],
        used: Mapping[int, int],
    ) -> None:
        """Lay out arrays; `used` counts the elements in use of those that only Python writes."""
        self.context, self.used = context, dict(used)
        self.parts: dict[int, tuple[int, Any, int]] = {}
        self.size = 0
        held = sorted(contents, key=lambda slot: contents[slot].nbytes)
        for slot in (*held, *(slot for slot in sizes if slot not in contents)):
            kind, count = sizes[slot]
            self.parts[slot] = self.size, kind, count
            self.size += -(-count * np.dtype(kind).itemsize // _LINE) * _LINE
        self.slots = np.array([*self.parts])
        self.offsets = np.array([offset for offset, _, _ in self.parts.values()])
        image = np.zeros(self.size, np.uint8)
        for slot, array in contents.items():
            begin = self.parts[slot][0]
            image[begin : begin + array.nbytes] = array.view(np.uint8)
        self.image = image.tobytes().rstrip(b"\0")

    def block(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Memory of a new arena, and a context with its addresses."""
        memory, context = untouched(self.size, np.uint8), self.context.copy()
        memory[: len(self.image)] = np.frombuffer(self.image, np.uint8)
        context[self.slots] = self.offsets + address(memory)
        return memory, context

    def told(self, context: NDArray[np.int64]) -> "Plan":
        made = copy(self)
        made.context = context
        return made

    @classmethod
    def empty(cls, mask_cache: Described) -> "Plan":
        context = np.zeros(at.CONTEXT_SIZE, np.int64)
        mask_cache.describe(context)
        for count in (at.STACKS, at.MACROS, at.TEXTS, at.EXTRAS, at.PAIRS, at.JUDGEMENTS):
            context[count] = 1
        context[at.OUTLOOKS] = 1
        sizes: dict[int, tuple[Any, int]] = {}
        for table in TABLES.values():
            context[table.room] = table.first
            for slot, kind, each in (*table.arrays, *table.hashes):
                sizes[slot] = kind, table.first * each
        deepest = mask_cache.deepest + 2
        sizes[at.WALK] = sizes[at.BEGUN] = np.int32, deepest
        sizes[at.BOUND_WALK] = np.int32, deepest * 3
        sizes[at.KEY_WALK] = np.int32, deepest * 5
        sizes[at.UNSURE] = np.uint32, mask_cache.words
        sizes[at.LEADS] = sizes[at.SEARCH_LEADS] = np.uint64, 4
        sizes[PUT_OFF] = np.int32, MOST_PUT_OFF
        sizes.update({slot: (kind, size) for slot, kind, size in _PYTHON})
        return cls(context, sizes, {}, dict.fromkeys((slot for slot, _, _ in _PYTHON), 0))


@final
class Arena:
    """The arrays, and the context that holds their addresses for kernels."""

    def __init__(self, plan: Plan) -> None:
        from guideway.automaton.kernels.entry import node_of

        self._node_of, self._parts = node_of, plan.parts
        self._memory, self.context = plan.block()
        self._arrays: dict[int, NDArray[Any]] = {}
        self._used = plan.used.copy()
        self.nbytes = plan.size

    def plan(self) -> Plan:
        """Plan of arenas that start with this one's contents and have as much room."""
        for slot, used in self._used.items():
            self.reserve(slot, used)
            self._used[slot] = used
        arrays = {slot: self._array(slot) for slot in self._parts}
        contents = {slot: array for slot, array in arrays.items() if array.any()}
        sizes = {slot: (array.dtype, len(array)) for slot, array in arrays.items()}
        for table in TABLES.values():
            room = int(self.context[table.room])
            for slot, kind, each in table.arrays:
                if slot in contents:
                    contents[slot] = contents[slot][: room * each]
                sizes[slot] = kind, room * each
        return Plan(self.context.copy(), sizes, contents, self._used)

    def _array(self, slot: int) -> NDArray[Any]:
        found = self._arrays.get(slot)
        if found is None:
            offset, kind, count = self._parts[slot]
            size = count * np.dtype(kind).itemsize
            found = self._arrays[slot] = self._memory[offset : offset + size].view(kind)
        return found

    def grow(self, count: int) -> None:
        """Multiply the room of the table counted by `count` by four."""
        from guideway.automaton.kernels import entry

        table = TABLES[count]
        old = {slot: self._array(slot) for slot, _, _ in table.hashes}
        room = int(self.context[table.room]) * 4
        self.context[table.room] = room
        for slot, kind, each in table.arrays:
            before = self._array(slot)
            grown = np.zeros(room * each, kind)
            grown[: len(before)] = before
            self._place(slot, grown)
        for slot, kind, each in table.hashes:
            self._place(slot, np.zeros(room * each, kind))
        if count == at.STEPS:
            self.context[at.STEPS] = 0
            entry.rehash_steps(self.context, old[at.STEP_KEY], old[at.STEP_VALUE])
        elif count == at.NODES:
            entry.rehash_nodes(self.context)
        elif count == at.MACROS:
            entry.rehash_macros(self.context)
        elif count == at.FRAMES:
            entry.rehash_frames(self.context)
        elif table.hashes:
            slots = table.arrays[0][0], table.hashes[0][0]
            entry.rehash_pairs(self.context, *slots, count, table.room)

    def make(self, kind: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0) -> int:
        made = self._node_of(self.context, kind, a, b, c, d, e)
        return made if made >= 0 else self._built(self._node_of, kind, a, b, c, d, e)

    def first_frame(self, thing: int) -> int:
        from guideway.automaton.kernels.entry import first_frame

        return self._built(first_frame, thing)

    def _built(self, kernel: Callable[..., int], *fields: int) -> int:
        """Run a kernel that makes something, growing arrays until there is room."""
        while True:
            made = kernel(self.context, *fields)
            if made >= 0:
                return made
            self.grow(int(self.context[at.WANT]))

    def choice(self, nodes: Sequence[int]) -> int:
        start = self.put(at.EDGE, np.array(nodes, np.int32))
        return self.make(at.CHOICE, start, len(nodes))

    def pool(self, text: bytes) -> int:
        """Store a literal; return its position."""
        return self.put(at.POOL, np.frombuffer(text, np.uint8))

    def pooled(self, start: int, length: int) -> bytes:
        return self._array(at.POOL)[start : start + length].tobytes()

    def record(self, node: int) -> list[int]:
        return self._array(at.NODE)[node * 6 : node * 6 + 6].tolist()

    def row(self, slot: int, number: int, fields: int) -> list[int]:
        return self._array(slot)[number * fields : (number + 1) * fields].tolist()

    def left(self, thing: int, trie: int) -> tuple[int, int]:
        """Fewest and most bytes left of the words below a node of their trie."""
        _, low, high, read, *_ = self.row(at.KEYS, trie, 6)
        first = self.row(at.OBJECT, thing, 16)[at.O_NAME]
        lengths = self._array(at.NAME)[(first + low) * 6 + at.N_LENGTH : (first + high) * 6 : 6]
        return int(lengths.min()) - read, int(lengths.max()) - read

    def target(self, node: int) -> int:
        return int(self._array(at.TARGET)[node]) - 1

    def set_target(self, node: int, target: int) -> None:
        """Set the target of an EXPR, RESUME or NAMED node, or of a BOUNDED one that may be DEAD."""
        self._array(at.TARGET)[node] = target + 1

    def set_settled(self, node: int, settled: bool) -> None:
        """Store whether a node can be read without leaving a guard on the stack."""
        self._array(at.SETTLED)[node] = 1 if settled else 2

    def judged(self, node: int, stack: int) -> int:
        """Index of a place, a pair of a node and a stack."""
        from guideway.automaton.kernels.entry import judgement_of

        return self._built(judgement_of, node, stack)

    def place(self, place: int) -> tuple[int, int]:
        return divmod(int(self._array(at.JUDGED)[place]), 1 << 32)

    def pop(self, stack: int) -> tuple[int, int]:
        """Top node of a stack and the stack below it."""
        return divmod(int(self._array(at.STACK)[stack]), 1 << 32)

    def put_off(self) -> list[int]:
        """Take the list of places that walks have postponed."""
        count = int(self.context[searches.PUT_OFF_COUNT])
        self.context[searches.PUT_OFF_COUNT] = 0
        return self._array(searches.PUT_OFF)[:count].tolist()

    def verdict(self, place: int) -> int:
        return int(self._array(at.VERDICT)[place * 4])

    def set_verdict(self, place: int, verdict: int) -> None:
        self._array(at.VERDICT)[place * 4] = verdict

    def macro(self, macro: int) -> tuple[bool, bool]:
        """Whether a macro state accepts, and whether it is unsure."""
        accepts, unsure = self._array(at.MACRO)[macro * 4 + 2 : macro * 4 + 4].tolist()
        return bool(accepts), bool(unsure)

    def stacks(self, macro: int) -> list[int]:
        first, count = self._array(at.MACRO)[macro * 4 : macro * 4 + 2].tolist()
        return (self._array(at.CONFIG)[first : first + count] & 0xFFFFFFFF).tolist()

    def configurations(self, macro: int) -> list[tuple[int, int]]:
        """Nodes of a macro state, each with the stack below it."""
        first, count = self._array(at.MACRO)[macro * 4 : macro * 4 + 2].tolist()
        return [
            divmod(one, 1 << 32) for one in self._array(at.CONFIG)[first : first + count].tolist()
        ]

    def options(self, start: int, count: int) -> list[int]:
        return self._array(at.EDGE)[start : start + count].tolist()

    def unsure(self, row: Row) -> list[int]:
        """Tokens that the last mask could not decide, without those of `row`."""
        return unpack(self._array(at.UNSURE) & ~row).tolist()

    def leads(self) -> NDArray[np.uint64]:
        """First bytes of the configurations of the last closure, as a bit set."""
        return self._array(at.LEADS)

    def text(self, text: int) -> bytes:
        found = bytearray()
        pairs = self._array(at.TEXT)
        while text:
            pair = int(pairs[text])
            found.append(pair & 0xFF)
            text = pair >> 32
        return bytes(reversed(found))

    def read_text(self, text: bytes) -> int:
        from guideway.automaton.kernels.entry import text_of

        made = 0
        for byte in text:
            made = self._built(text_of, made, byte)
        return made

    def put(self, slot: int, values: NDArray[Any]) -> int:
        """Append to an array that only Python writes; return the position of the values."""
        begin = self.reserve(slot, len(values))
        self.write(slot, begin, values)
        return begin

    def reserve(self, slot: int, size: int) -> int:
        """Reserve room at the end of an array that only Python writes; return its position."""
        begin = self._used[slot]
        self._used[slot] = begin + size
        found = self._arrays.get(slot)
        room = self._parts[slot][2] if found is None else len(found)
        if begin + size > room:
            array = self._array(slot)
            grown = np.zeros(max(2 * room, begin + size), array.dtype)
            grown[:begin] = array[:begin]
            self._place(slot, grown)
        return begin

    def write(self, slot: int, begin: int, values: NDArray[Any]) -> None:
        self._array(slot)[begin : begin + len(values)] = values

    def exits(self, place: int) -> NDArray[np.int32]:
        listed, begin = self._array(at.SEEN_LIST), place + at.X_NODES
        return listed[begin : begin + int(listed[place + at.X_COUNT])]

    def set_root(self, place: int, root: int) -> None:
        self._array(at.SEEN_LIST)[place + at.X_ROOT] = root

    def set_scanner(self, table: int, state: int, start: int, count: int) -> None:
        tables = self._array(at.LALR)
        place = int(tables[table + at.T_SCANNER]) + 2 * state
        tables[place], tables[place + 1] = start, count

    def _place(self, slot: int, array: NDArray[Any]) -> None:
        self.nbytes += array.nbytes
        self._arrays[slot] = array
        self.context[slot] = address(array)
