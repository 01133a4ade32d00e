"""The arrays of one constraint's automaton: small at first, grown when a kernel says so.

Numbers stay what they are when an array grows; only the hash tables are filled anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from fairlead.masks.bits import Row, unpack
from fairlead.masks.forest import address
from fairlead.masks.kernels import layout as at
from fairlead.masks.space import untouched


@final
@dataclass(frozen=True, slots=True)
class _Table:
    """Arrays that grow together: slot, element type, elements for each unit of room."""

    room: int
    first: int
    arrays: tuple[tuple[int, Any, int], ...]
    hashes: tuple[tuple[int, Any, int], ...] = ()


_TABLES: Final[dict[int, _Table]] = {
    at.NODES: _Table(
        at.NODE_ROOM,
        256,
        ((at.NODE, np.int32, 6), (at.TARGET, np.int32, 1), (at.SETTLED, np.int32, 1)),
        ((at.NODE_HASH, np.int32, 2),),
    ),
    at.STACKS: _Table(
        at.STACK_ROOM, 512, ((at.STACK, np.int64, 1),), ((at.STACK_HASH, np.int32, 2),)
    ),
    at.MACROS: _Table(
        at.MACRO_ROOM,
        512,
        (
            (at.MACRO, np.int32, 4),
            (at.FIRST, np.uint64, 4),
            (at.MACRO_LOOP, np.uint64, 4),
            (at.MACRO_ELSE, np.uint8, 1),
        ),
        ((at.MACRO_HASH, np.int32, 2),),
    ),
    at.CONFIGS: _Table(at.CONFIG_ROOM, 1024, ((at.CONFIG, np.int64, 1),)),
    at.STEPS: _Table(
        at.STEP_ROOM, 512, (), ((at.STEP_KEY, np.int64, 2), (at.STEP_VALUE, np.int32, 2))
    ),
    at.FRAMES: _Table(
        at.FRAME_ROOM, 64, ((at.FRAME, np.int32, 6),), ((at.FRAME_HASH, np.int32, 2),)
    ),
    at.BITS: _Table(at.BIT_ROOM, 64, ((at.BIT, np.uint64, 1),)),
    at.TEXTS: _Table(at.TEXT_ROOM, 256, ((at.TEXT, np.int64, 1),), ((at.TEXT_HASH, np.int32, 2),)),
    at.EXTRAS: _Table(
        at.EXTRA_ROOM, 64, ((at.EXTRA, np.int64, 1),), ((at.EXTRA_HASH, np.int32, 2),)
    ),
    at.PAIRS: _Table(
        at.PAIR_ROOM,
        64,
        ((at.PAIR, np.int64, 1), (at.LENGTH, np.int32, 8)),
        ((at.PAIR_HASH, np.int32, 2),),
    ),
    at.JUDGEMENTS: _Table(
        at.JUDGED_ROOM,
        16,
        ((at.JUDGED, np.int64, 1), (at.VERDICT, np.int32, 4)),
        ((at.JUDGED_HASH, np.int32, 2),),
    ),
    at.SCANS: _Table(
        at.SCAN_ROOM,
        16,
        ((at.SCANNED, np.int64, 1), (at.SCANNED_AT, np.int32, 4)),
        ((at.SCANNED_HASH, np.int32, 2),),
    ),
    at.SCAN_LISTED: _Table(at.SCAN_LIST_ROOM, 16, ((at.SCAN_LIST, np.int64, 1),)),
    at.VISITED: _Table(
        at.WORK_ROOM,
        64,
        (
            (at.SCRATCH, np.int64, 2),
            (at.FOUND_IS, np.uint8, 1),
            (at.ASKED, np.int32, 1),
            (at.ASIDE, np.int64, 1),
            (at.ASIDE_IS, np.uint8, 1),
            (at.SEEN, np.int64, 4),
        ),
    ),
    at.REACHED: _Table(
        at.REACH_ROOM, 64, ((at.REACH_ITEM, np.int64, 2), (at.REACH_SEEN, np.int64, 6))
    ),
}
_PYTHON: Final = (  # what Python alone writes, with the elements at first
    (at.EDGE, np.int32, 64),
    (at.POOL, np.uint8, 256),
    (at.OBJECT, np.int32, 16 * 4),
    (at.NAME, np.int32, 6 * 16),
    (at.KEYS, np.int32, 6 * 256),
    (at.LALR, np.int32, 16),
    (at.LALR_WORK, np.int32, 16),
)
_ZEROS: Final = (0, 0, 0, 0, 0)
_BLOCKS: Final = 16
_MOST_KEPT: Final = 16  # as a new constraint mostly comes when an old one goes
_AHEAD: Final = 4  # times the room of what is nowhere written yet: it takes no memory until it is
_LINE: Final = 64  # bytes; no two arrays share a cache line


class Described(Protocol):
    """What an arena is made for: a gallery, as far as it matters here."""

    words: int
    deepest: int

    def describe(self, context: NDArray[np.int64]) -> None:
        """Write the sizes and addresses of what is shared to a context."""
        ...


@final
class Plan:
    """Where the arrays of a new arena are in its one block, what they hold, and the context for it.

    Blocks are given out again when the arenas that had them are gone: their pages, of which a small
    schema touches two dozen, took a fifth to a third of the time to its first mask.
    """

    def __init__(
        self,
        context: NDArray[np.int64],
        sizes: Mapping[int, tuple[Any, int]],
        contents: Mapping[int, NDArray[Any]],
        used: Mapping[int, int],
    ) -> None:
        """Put arrays one behind the other, those with contents first.

        Args:
            context: of the arena, but for the addresses of these arrays.
            sizes: the type and number of the elements of each array.
            contents: what is in them; nothing but zeros in others.
            used: how much is used of those that Python alone writes.
        """
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
        self.image = image[: int(image.nonzero()[0].max(initial=-1)) + 1].copy()
        self._fresh: list[NDArray[np.uint8]] = []
        self._used: list[NDArray[np.uint8]] = []

    def block(self) -> NDArray[np.uint8]:
        """The memory of a new arena."""
        held = len(self.image)
        try:  # as another thread may take the last one
            block = self._used.pop()
            block[held:] = 0
        except IndexError:
            block = self._new_block()
        block[:held] = self.image
        return block

    def _new_block(self) -> NDArray[np.uint8]:
        try:
            return self._fresh.pop()
        except IndexError:
            block, *others = untouched((_BLOCKS, self.size), np.uint8)
            self._fresh.extend(others)
            return block

    def take_back(self, block: NDArray[np.uint8], most: int = _MOST_KEPT) -> None:
        """Keep a block, if there are few: when Python ends, names of modules go before arenas."""
        if len(self._used) < most:
            self._used.append(block)

    @classmethod
    def empty(cls, gallery: Described) -> "Plan":
        """That of an arena with nothing in it."""
        context = np.zeros(at.CONTEXT_SIZE, np.int64)
        gallery.describe(context)
        for count in (at.STACKS, at.MACROS, at.TEXTS, at.EXTRAS, at.PAIRS, at.JUDGEMENTS, at.SCANS):
            context[count] = 1
        sizes: dict[int, tuple[Any, int]] = {}
        for table in _TABLES.values():
            context[table.room] = table.first
            for slot, kind, each in (*table.arrays, *table.hashes):
                sizes[slot] = kind, table.first * each
        deepest = gallery.deepest + 2
        sizes[at.WALK] = sizes[at.BEGUN] = np.int32, deepest
        sizes[at.BOUND_WALK] = np.int32, deepest * 3
        sizes[at.KEY_WALK] = np.int32, deepest * 4
        sizes[at.KEY_LEADS] = np.uint64, deepest * 4
        sizes[at.UNSURE] = np.uint32, gallery.words
        sizes[at.LEADS] = sizes[at.SEARCH_LEADS] = np.uint64, 4
        sizes.update({slot: (kind, size) for slot, kind, size in _PYTHON})
        return cls(context, sizes, {}, dict.fromkeys((slot for slot, _, _ in _PYTHON), 0))


@final
class Arena:
    """The arrays, and the context that tells the kernels where they are."""

    def __init__(self, plan: Plan) -> None:
        from fairlead.masks.kernels.entry import build

        self._build, self._plan, self._parts = build, plan, plan.parts
        self._block = plan.block()
        self.context = plan.context.copy()
        self.context[plan.slots] = plan.offsets + address(self._block)
        self._arrays: dict[int, NDArray[Any]] = {}
        self._used = plan.used.copy()
        self.nbytes = plan.size  # how much memory it takes

    def __del__(self) -> None:
        """Give the block back: nobody has an address in it any more."""
        self._plan.take_back(self._block)

    def plan(self) -> Plan:
        """That of arenas that begin with what this one holds, and have as much room as that."""
        for slot, used in self._used.items():
            self.reserve(slot, used)
            self._used[slot] = used
        arrays = {slot: self._array(slot) for slot in self._parts}
        contents = {slot: array for slot, array in arrays.items() if array.any()}
        sizes = {slot: (array.dtype, len(array)) for slot, array in arrays.items()}
        for table in _TABLES.values():
            room = int(self.context[table.room])
            for slot, kind, each in table.arrays:
                if slot in contents:
                    contents[slot] = contents[slot][: room * each]
                sizes[slot] = kind, room * each * (1 if slot in contents else _AHEAD)
        return Plan(self.context.copy(), sizes, contents, self._used)

    def _array(self, slot: int) -> NDArray[Any]:
        found = self._arrays.get(slot)
        if found is None:
            offset, kind, count = self._parts[slot]
            size = count * np.dtype(kind).itemsize
            found = self._arrays[slot] = self._block[offset : offset + size].view(kind)
        return found

    def grow(self, count: int) -> None:
        """Make room for four times as many of what `count` counts."""
        from fairlead.masks.kernels.entry import rehash_steps

        table = _TABLES[count]
        old = {slot: self._array(slot) for slot, _, _ in table.hashes}
        room = int(self.context[table.room]) * 4
        self.context[table.room] = room
        for slot, kind, each in table.arrays:
            before = self._array(slot)
            if len(before) < room * each:
                grown = np.zeros(room * each, kind)
                grown[: len(before)] = before
                self._place(slot, grown)
        for slot, kind, each in table.hashes:
            self._place(slot, np.zeros(room * each, kind))
        if count == at.STEPS:
            self.context[at.STEPS] = 0
            rehash_steps(self.context, old[at.STEP_KEY], old[at.STEP_VALUE])
        elif table.hashes:
            self._build(self.context, at.REHASH, 0, count, 0, 0, 0, 0)

    def make(self, kind: int, *fields: int) -> int:
        """The node of this kind with these fields, five at most."""
        return self._built(at.MAKE_NODE, kind, *fields, *_ZEROS[len(fields) :])

    def first_frame(self, thing: int) -> int:
        """The frame of an empty object."""
        return self._built(at.FIRST_FRAME, 0, thing, *_ZEROS[1:])

    def _built(self, what: int, kind: int, *fields: int) -> int:
        """What `kernels.entry.build` makes, when there is room for it."""
        while True:
            made = self._build(self.context, what, kind, *fields)
            if made >= 0:
                return made
            self.grow(int(self.context[at.WANT]))

    def choice(self, nodes: Sequence[int]) -> int:
        """The node of a choice."""
        start = self.put(at.EDGE, np.array(nodes, np.int32))
        return self.make(at.CHOICE, start, len(nodes))

    def pool(self, text: bytes) -> int:
        """Where a literal now is."""
        return self.put(at.POOL, np.frombuffer(text, np.uint8))

    def pooled(self, start: int, length: int) -> bytes:
        """A literal."""
        return self._array(at.POOL)[start : start + length].tobytes()

    def record(self, node: int) -> list[int]:
        """The kind and all fields of a node."""
        return self._array(at.NODE)[node * 6 : node * 6 + 6].tolist()

    def set_target(self, node: int, target: int) -> None:
        """Say what an EXPR, RESUME or NAMED node is, or a BOUNDED one that may be DEAD."""
        self._array(at.TARGET)[node] = target + 1

    def set_settled(self, node: int, settled: bool) -> None:
        """Say whether a node can be read without leaving a guard behind."""
        self._array(at.SETTLED)[node] = 1 if settled else 2

    def place(self, place: int) -> tuple[int, int]:
        """The node of a place and its stack."""
        return divmod(int(self._array(at.JUDGED)[place]), 1 << 32)

    def pop(self, stack: int) -> tuple[int, int]:
        """The node on a stack and what it is on."""
        return divmod(int(self._array(at.STACK)[stack]), 1 << 32)

    def verdict(self, place: int) -> int:
        """The verdict of a place."""
        return int(self._array(at.VERDICT)[place * 4])

    def set_verdict(self, place: int, verdict: int) -> None:
        """Say what the verdict of a place is."""
        self._array(at.VERDICT)[place * 4] = verdict

    def macro(self, macro: int) -> tuple[bool, bool]:
        """Whether a text may end at a macro state, and whether it is unsure."""
        accepts, unsure = self._array(at.MACRO)[macro * 4 + 2 : macro * 4 + 4].tolist()
        return bool(accepts), bool(unsure)

    def stacks(self, macro: int) -> list[int]:
        """The stacks of the configurations of a macro state."""
        first, count = self._array(at.MACRO)[macro * 4 : macro * 4 + 2].tolist()
        return (self._array(at.CONFIG)[first : first + count] & 0xFFFFFFFF).tolist()

    def unsure(self, row: Row) -> list[int]:
        """The tokens that the last mask could not decide, but for those that it has anyway."""
        return unpack(self._array(at.UNSURE) & ~row).tolist()

    def leads(self) -> NDArray[np.uint64]:
        """The bytes that the last closure's configurations begin with."""
        return self._array(at.LEADS)

    def text(self, text: int) -> bytes:
        """The bytes of a text."""
        found = bytearray()
        pairs = self._array(at.TEXT)
        while text:
            pair = int(pairs[text])
            found.append(pair & 0xFF)
            text = pair >> 32
        return bytes(reversed(found))

    def read_text(self, text: bytes) -> int:
        """The number of a text."""
        made = 0
        for byte in text:
            made = self._built(at.MAKE_TEXT, 0, made, byte, *_ZEROS[2:])
        return made

    def put(self, slot: int, values: NDArray[Any]) -> int:
        """Append to an array that Python alone writes; where the values now begin."""
        begin = self.reserve(slot, len(values))
        self.write(slot, begin, values)
        return begin

    def reserve(self, slot: int, size: int) -> int:
        """Room behind what is used of such an array; where it begins."""
        begin = self._used[slot]
        self._used[slot] = begin + size
        array = self._array(slot)
        if begin + size > len(array):
            grown = np.zeros(max(2 * len(array), begin + size), array.dtype)
            grown[:begin] = array[:begin]
            self._place(slot, grown)
        return begin

    def write(self, slot: int, begin: int, values: NDArray[Any]) -> None:
        """Write to what was reserved in such an array."""
        self._array(slot)[begin : begin + len(values)] = values

    def set_scanner(self, table: int, state: int, start: int, count: int) -> None:
        """Say what may be taken in a state of a table."""
        tables = self._array(at.LALR)
        place = int(tables[table + at.T_SCANNER]) + 2 * state
        tables[place], tables[place + 1] = start, count

    def _place(self, slot: int, array: NDArray[Any]) -> None:
        self.nbytes += array.nbytes
        self._arrays[slot] = array
        self.context[slot] = address(array)
