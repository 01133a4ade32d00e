"""Memory layout of a new arena: its arrays, their first sizes and contents."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
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
    seen.OUTLOOKS: Table(
        seen.OUTLOOK_ROOM,
        64,
        ((seen.OUTLOOK, np.int64, 1), (seen.OUTLOOK_AT, np.int32, 4)),
        ((seen.OUTLOOK_HASH, np.int32, 2),),
    ),
    # Large, since a walk over the vocabulary restarts each time that it grows.
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
    def empty(cls, gallery: Described) -> "Plan":
        context = np.zeros(at.CONTEXT_SIZE, np.int64)
        gallery.describe(context)
        for count in (at.STACKS, at.MACROS, at.TEXTS, at.EXTRAS, at.PAIRS, at.JUDGEMENTS):
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
