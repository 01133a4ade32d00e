"""Which arrays an arena has, how large they are at first, and the memory that they are in.

What this module does not know: what is in them.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from guideway.masks.forest import address
from guideway.masks.kernels import bound_layout as bound
from guideway.masks.kernels import entry_layout as entry
from guideway.masks.kernels import layout as at
from guideway.masks.kernels import lexer_layout as seen
from guideway.masks.kernels.searches import MOST_PUT_OFF, PUT_OFF
from guideway.masks.space import untouched


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
        (
            (at.MACRO, np.int32, 4),
            (at.FIRST, np.uint64, 4),
        ),
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
        ((at.PAIR, np.int64, 1), (at.LENGTH, np.int32, bound.L_ROW)),
        ((at.PAIR_HASH, np.int32, 2),),
    ),
    at.JUDGEMENTS: Table(
        at.JUDGED_ROOM,
        128,
        ((at.JUDGED, np.int64, 1), (at.VERDICT, np.int32, 4)),
        ((at.JUDGED_HASH, np.int32, 2),),
    ),
    at.SCANS: Table(
        at.SCAN_ROOM,
        64,
        ((at.SCANNED, np.int64, 1), (at.SCANNED_AT, np.int32, 4)),
        ((at.SCANNED_HASH, np.int32, 2),),
    ),
    at.SCAN_LISTED: Table(at.SCAN_LIST_ROOM, 256, ((at.SCAN_LIST, np.int64, 1),)),
    seen.OUTLOOKS: Table(
        seen.OUTLOOK_ROOM,
        64,
        ((seen.OUTLOOK, np.int64, 1), (seen.OUTLOOK_AT, np.int32, 4)),
        ((seen.OUTLOOK_HASH, np.int32, 2),),
    ),
    # Each time that there is no room a walk through the vocabulary begins anew.
    seen.SEEN_LISTED: Table(seen.SEEN_LIST_ROOM, 16384, ((seen.SEEN_LIST, np.int32, 1),)),
    seen.LEAVINGS: Table(
        seen.LEAVING_ROOM, 64, ((seen.LEFT_BY, np.int64, 3), (seen.LEFT_AT, np.int64, 1))
    ),
    at.VISITED: Table(
        at.WORK_ROOM,
        64,
        (
            (at.SCRATCH, np.int64, 2),
            (at.FOUND_IS, np.uint8, 1),
            (at.ASKED, np.int32, 1),
            (at.ASIDE, np.int64, 1),
            (at.ASIDE_IS, np.uint8, 1),
            (entry.ENTERED, np.int64, 1),
            (at.SEEN, np.int64, 4),
        ),
    ),
    at.REACHED: Table(
        at.REACH_ROOM, 64, ((at.REACH_ITEM, np.int64, 2), (at.REACH_SEEN, np.int64, 6))
    ),
}
_PYTHON: Final = (  # what Python alone writes, with the elements at first: for most schemas
    (at.EDGE, np.int32, 512),
    (at.POOL, np.uint8, 768),
    (at.OBJECT, np.int32, 16 * 24),
    (at.NAME, np.int32, 6 * 64),
    (at.KEYS, np.int32, 6 * 512),
    (at.LALR, np.int32, 16),
    (at.LALR_WORK, np.int32, 16),
)
_LISTS: Final = {  # what is only ever added to, and the bytes for each of what counts them
    slot: (count, np.dtype(kind).itemsize * each)
    for count in (at.NODES, at.STACKS, at.MACROS, at.CONFIGS, at.TEXTS, at.PAIRS, seen.SEEN_LISTED)
    for slot, kind, each in TABLES[count].arrays
}
_TOUCHED: Final = {  # what is as it was where its count is
    at.UNSURE: at.UNSURE_COUNT,
    at.EXTRA: at.EXTRAS,
    at.EXTRA_HASH: at.EXTRAS,
    at.TEXT_HASH: at.TEXTS,
    at.PAIR_HASH: at.PAIRS,
    at.SCAN_LIST: at.SCAN_LISTED,
    at.REACH_SEEN: at.REACH_GENERATION,
    **dict.fromkeys((at.JUDGED, at.VERDICT, at.JUDGED_HASH), at.JUDGEMENTS),
    **dict.fromkeys((at.SCANNED, at.SCANNED_AT, at.SCANNED_HASH), at.SCANS),
    **dict.fromkeys((seen.OUTLOOK, seen.OUTLOOK_AT, seen.OUTLOOK_HASH), seen.OUTLOOKS),
}
_WRITTEN: Final = (  # what is written before it is read
    *(at.WALK, at.BEGUN, at.BOUND_WALK, at.KEY_WALK),
    *(at.SCRATCH, at.FOUND_IS, at.ASKED, at.ASIDE, at.ASIDE_IS, entry.ENTERED, at.REACH_ITEM),
)
_BLOCKS: Final = 16
_MOST_KEPT: Final = 16  # as a new constraint mostly comes when an old one goes
AHEAD: Final = 4  # times the room of what is nowhere written yet: it takes no memory until it is
_LINE: Final = 64  # bytes; no two arrays share a cache line


class Described(Protocol):
    """What an arena is made for: a gallery, as far as it matters here."""

    words: int
    deepest: int

    def describe(self, context: NDArray[np.int64]) -> None:
        """Write the sizes and addresses of what is shared to a context."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The memory of one arena, and a context that says where its arrays are.

    It is copied to as `bytes`: numpy lets other threads run meanwhile, and then waits for them.
    """

    memory: NDArray[np.uint8]
    context: NDArray[np.int64]
    bytes: memoryview


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
        lists = [slot for slot in _LISTS if slot not in contents]
        touched = [slot for slot in _TOUCHED if slot not in contents]
        written = [slot for slot in _WRITTEN if slot not in contents]
        told = {*contents, *_LISTS, *_TOUCHED, *_WRITTEN}
        others = [slot for slot in sizes if slot not in told]
        for slot in (*held, *others, *touched, *written, *lists):
            kind, count = sizes[slot]
            self.parts[slot] = self.size, kind, count
            self.size += -(-count * np.dtype(kind).itemsize // _LINE) * _LINE
        ends = [self.parts[slot][0] for slot in (*touched, *written, *lists)] + [self.size]
        self._always, self._parted = ends[0], [*pairwise(ends[: len(touched) + 1])]
        self._by = np.array([_TOUCHED[slot] for slot in touched], np.int64)
        self._as_ever = context[self._by]
        self._begins = [self.parts[slot][0] for slot in lists]
        self._counts = np.array([_LISTS[slot][0] for slot in lists], np.int64)
        self._each = np.array([_LISTS[slot][1] for slot in lists], np.int64)
        self.slots = np.array([*self.parts])
        self.offsets = np.array([offset for offset, _, _ in self.parts.values()])
        image = np.zeros(self.size, np.uint8)
        for slot, array in contents.items():
            begin = self.parts[slot][0]
            image[begin : begin + array.nbytes] = array.view(np.uint8)
        self.image = image.tobytes().rstrip(b"\0")
        self._zeros = bytes(self.size)
        self._start_empty()

    def _start_empty(self) -> None:
        """Have no blocks."""
        self._fresh: list[Block] = []
        self._used: list[Block] = []

    def block(self) -> "Block":
        """The memory of a new arena, and the context that has its addresses."""
        try:  # as another thread may take the last one
            found = self._used.pop()
        except IndexError:
            found = self._new_block()
        found.bytes[: len(self.image)] = self.image
        return found

    def _new_block(self) -> "Block":
        try:
            return self._fresh.pop()
        except IndexError:
            for memory in untouched((_BLOCKS, self.size), np.uint8):
                context = self.context.copy()
                context[self.slots] = self.offsets + address(memory)
                self._fresh.append(Block(memory, context, memoryview(memory)))
            return self._fresh.pop()

    def take_back(self, block: "Block", context: NDArray[np.int64], most: int = _MOST_KEPT) -> None:
        """Keep a block, if there are few: when Python ends, names of modules go before arenas.

        What was written there is cleared: of lists as far as they were used, others where they
        were, and what is written before it is read not at all. 388 KB are then 50.
        """
        if len(self._used) < most:
            zeros = memoryview(self._zeros)
            block.bytes[len(self.image) : self._always] = zeros[len(self.image) : self._always]
            changed: list[bool] = (context[self._by] != self._as_ever).tolist()
            for (begin, end), written in zip(self._parted, changed, strict=True):
                if written:
                    block.bytes[begin:end] = zeros[begin:end]
            used = (context[self._counts] * self._each).tolist()  # at most all that is behind it
            for begin, size in zip(self._begins, used, strict=True):
                end = min(begin + size, self.size)
                block.bytes[begin:end] = zeros[begin:end]
            self._used.append(block)

    def told(self, context: NDArray[np.int64]) -> "Plan":
        """The same plan with another context, and blocks of its own."""
        made = copy(self)
        made.context = context
        made._start_empty()
        return made

    @classmethod
    def empty(cls, gallery: Described) -> "Plan":
        """That of an arena with nothing in it."""
        context = np.zeros(at.CONTEXT_SIZE, np.int64)
        gallery.describe(context)
        for count in (at.STACKS, at.MACROS, at.TEXTS, at.EXTRAS, at.PAIRS, at.JUDGEMENTS, at.SCANS):
            context[count] = 1
        context[seen.OUTLOOKS] = 1
        sizes: dict[int, tuple[Any, int]] = {}
        for table in TABLES.values():
            context[table.room] = table.first
            for slot, kind, each in (*table.arrays, *table.hashes):
                sizes[slot] = kind, table.first * each
        deepest = gallery.deepest + 2
        sizes[at.WALK] = sizes[at.BEGUN] = np.int32, deepest
        sizes[at.BOUND_WALK] = np.int32, deepest * 3
        sizes[at.KEY_WALK] = np.int32, deepest * 5
        sizes[at.UNSURE] = np.uint32, gallery.words
        sizes[at.LEADS] = sizes[at.SEARCH_LEADS] = np.uint64, 4
        sizes[PUT_OFF] = np.int32, MOST_PUT_OFF
        sizes.update({slot: (kind, size) for slot, kind, size in _PYTHON})
        return cls(context, sizes, {}, dict.fromkeys((slot for slot, _, _ in _PYTHON), 0))
