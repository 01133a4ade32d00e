"""The arena: all arrays of one constraint's automaton, which Python and the kernels share."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.jit.records import dtype, field_of
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import Context, Exit, Lalr, Name, Object
from guideway.automaton.token_tries import Row, address, unpack


def _hashed(name: str, more: str = "") -> dict[str, int]:
    each = {f"{name}.rows": 1, f"{name}.hashes": 2}
    return {**each, more: 1} if more else each


# Growing tables: the first room, and the arrays with the items of each for each unit of room.
GROWING: Final[dict[int, tuple[int, dict[str, int]]]] = {
    at.NODES: (512, _hashed("nodes")),
    at.STACKS: (512, _hashed("stacks")),
    at.MACROS: (512, _hashed("macros")),
    at.CONFIGS: (1024, {"configs.rows": 1}),
    at.STEPS: (512, {"steps.rows": 2}),
    at.FRAMES: (64, _hashed("frames")),
    at.BITS: (64, {"bits.rows": 1}),
    at.TEXTS: (256, _hashed("texts")),
    at.EXTRAS: (64, _hashed("extras")),
    at.PAIRS: (64, _hashed("pairs", "lengths")),
    at.PLACES: (128, _hashed("places", "verdicts")),
    at.MASK_PLACES: (64, _hashed("mask_places", "lexer_masks")),
    # Large, since a walk over the vocabulary restarts each time that it grows.
    at.LISTING: (16384, {"listing.rows": 1}),
    at.LEAVINGS: (64, {"leavings.rows": 1, "leavings.groups": 1}),
    at.WORK: (
        64,
        {
            "work.configs": 2,
            "work.verdicts": 1,
            "work.asked": 1,
            "work.aside": 1,
            "work.aside_verdicts": 1,
            "work.entered": 1,
            "work.visits": 2,
        },
    ),
    at.ITEMS: (64, {"items.rows": 1, "items.visits": 2}),
}
_PAIRS: Final = (at.STACKS, at.TEXTS, at.EXTRAS, at.PAIRS, at.PLACES, at.MASK_PLACES)
# Arrays that only Python writes; the first sizes suffice for most schemas.
_WRITTEN: Final = {
    "edges": 512,
    "pool": 768,
    "objects": 24,
    "names": 64,
    "key_nodes": 512,
    "lalr": 16,
    "lalr_work": 16,
}
_LINE: Final = 64  # bytes; no two arrays share a cache line


@cache
def _type(path: str) -> "np.dtype[Any]":
    return dtype(field_of(Context, path)[1])


@cache
def _slot(path: str) -> int:
    """Index of the address of an array in a context of int64."""
    return field_of(Context, path)[0] // 8


class Described(Protocol):
    words: int
    deepest: int

    def describe(self, context: Context) -> None: ...


class Begun(NamedTuple):
    """The first content of an arena: all arrays but `listing`, the context, and items in use."""

    memory: NDArray[np.uint8]
    context: Context
    used: dict[str, int]


class Plan:
    """Offsets of the arrays of a new arena, and the content of an empty one."""

    def __init__(self, mask_cache: Described) -> None:
        self.context, sizes = Context(), dict(_WRITTEN)
        mask_cache.describe(self.context)
        for number, (first, arrays) in GROWING.items():
            table: Any = getattr(self.context, at.TABLES[number])
            table.room, table.used = first, number in (*_PAIRS, at.MACROS)
            sizes.update({path: first * each for path, each in arrays.items()})
        deepest = mask_cache.deepest + 2
        sizes.update(dict.fromkeys(("walk", "begun", "bound_walk", "key_walk"), deepest))
        sizes["unsure"] = mask_cache.words
        sizes["listing.rows"] = sizes.pop("listing.rows")  # the last, as it needs no zeros
        self.parts: dict[str, tuple[int, int]] = {}
        self.size = 0
        for path, count in sizes.items():
            self.parts[path] = self.size, count
            self.size += -(-count * _type(path).itemsize // _LINE) * _LINE
        self._slots = np.array([_slot(path) for path in self.parts])
        self._offsets = np.array([offset for offset, _ in self.parts.values()])
        empty = np.zeros(self.parts["listing.rows"][0], np.uint8)
        self.begun = Begun(empty, self.context, dict.fromkeys(_WRITTEN, 0))

    def block(self, begun: Begun) -> tuple[NDArray[np.uint8], Context]:
        """Memory of a new arena, and a context with its addresses.

        On the heap, whose pages are used again: a map of its own took 130 instead of 15 µs.
        """
        memory, context = np.empty(self.size + _LINE, np.uint8), copied(begun.context)
        memory = memory[-address(memory) % _LINE :]
        memory[: len(begun.memory)] = begun.memory
        context.as_array(np.int64)[self._slots] = self._offsets + address(memory)
        return memory, context


def copied(context: Context) -> Context:
    return Context.from_buffer_copy(context)


class Arena:
    """The arrays, and the context that holds their addresses for kernels."""

    def __init__(self, plan: Plan, begun: Begun | None = None) -> None:
        from guideway.automaton.kernels.entry import node_of

        self._node_of, self._plan, self._parts = node_of, plan, plan.parts
        begun = begun or plan.begun
        self._memory, self.context = plan.block(begun)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._numbers: dict[str, NDArray[np.int32]] = {}  # the same memory
        self._used = begun.used.copy()
        self.nbytes = plan.size

    def begun(self) -> Begun | None:
        """A copy of its content for other arenas to begin with; None if an array has grown."""
        if self.nbytes > self._plan.size:
            return None
        memory = self._memory[: len(self._plan.begun.memory)].copy()
        return Begun(memory, copied(self.context), self._used.copy())

    def _array(self, path: str) -> NDArray[Any]:
        found = self._arrays.get(path)
        if found is None:
            offset, count = self._parts[path]
            kind = _type(path)
            memory = self._memory[offset : offset + count * kind.itemsize]
            found = self._arrays[path] = memory.view(kind)
        return found

    def grow(self, number: int) -> None:
        """Multiply the room of a table of `at.TABLES` by four."""
        from guideway.automaton.kernels import entry

        context, arrays = self.context, GROWING[number][1]
        table: Any = getattr(context, at.TABLES[number])
        table.room *= 4
        steps = self._array("steps.rows")
        for path, each in arrays.items():
            grown = np.zeros(table.room * each, _type(path))
            if not path.endswith("hashes") and number != at.STEPS:
                before = self._array(path)
                grown[: len(before)] = before
            self._place(path, grown)
        if number == at.STEPS:
            table.used = 0
            entry.rehash_steps(context, steps)
        elif number == at.NODES:
            entry.rehash_nodes(context)
        elif number == at.MACROS:
            entry.rehash_macros(context)
        elif number == at.FRAMES:
            entry.rehash_frames(context)
        elif number in _PAIRS:
            entry.rehash_pairs(table)

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
            self.grow(self.context.want)

    def choice(self, nodes: Sequence[int]) -> int:
        start = self.put("edges", np.array(nodes, np.int32))
        return self.make(at.CHOICE, start, len(nodes))

    def pool(self, text: bytes) -> int:
        """Store a literal; return its position."""
        return self.put("pool", np.frombuffer(text, np.uint8))

    def pooled(self, start: int, length: int) -> bytes:
        return self._array("pool")[start : start + length].tobytes()

    def record(self, node: int) -> list[int]:
        return self.row("nodes.rows", node)[:6]

    def row(self, path: str, number: int) -> list[int]:
        """The fields of a record of int32."""
        size, numbers = _type(path).itemsize // 4, self._numbers.get(path)
        if numbers is None:
            numbers = self._numbers[path] = self._array(path).view(np.int32)
        return numbers[number * size : (number + 1) * size].tolist()

    def number(self, path: str, index: int) -> int:
        """An item of an array of numbers."""
        return int(self._array(path)[index])

    def name(self, number: int) -> Name:
        return Name.from_array(self._array("names"), number)

    def object(self, thing: int) -> Object:
        return Object.from_array(self._array("objects"), thing)

    def left(self, thing: int, trie: int) -> tuple[int, int]:
        """Fewest and most bytes left of the words below a node of their trie."""
        _, low, high, read, *_ = self.row("key_nodes", trie)
        first = self.object(thing).first_name
        lengths = self._array("names")["length"][first + low : first + high]
        return int(lengths.min()) - read, int(lengths.max()) - read

    def target(self, node: int) -> int:
        return int(self._array("nodes.rows")["target"][node]) - 1

    def set_target(self, node: int, target: int) -> None:
        """Set the target of an EXPR, RESUME or NAMED node, or of a BOUNDED one that may be DEAD."""
        self._array("nodes.rows")["target"][node] = target + 1

    def pop(self, stack: int) -> tuple[int, int]:
        """Top node of a stack and the stack below it."""
        return divmod(self.number("stacks.rows", stack), 1 << 32)

    def macro(self, macro: int) -> tuple[bool, bool]:
        """Return whether a macro state accepts, and whether it is unsure."""
        _, _, accepts, unsure, *_ = self.row("macros.rows", macro)
        return bool(accepts), bool(unsure)

    def configurations(self, macro: int) -> list[tuple[int, int]]:
        """Nodes of a macro state, each with the stack below it."""
        first, count, *_ = self.row("macros.rows", macro)
        configs = self._array("configs.rows")[first : first + count].tolist()
        return [divmod(config, 1 << 32) for config in configs]

    def options(self, start: int, count: int) -> list[int]:
        return self._array("edges")[start : start + count].tolist()

    def unsure(self, row: Row) -> list[int]:
        """Tokens that the last mask could not decide, without those of `row`."""
        return unpack(self._array("unsure") & ~row).tolist()

    def leads(self) -> NDArray[np.uint64]:
        """First bytes of the configurations of the last closure, as a bit set."""
        return np.frombuffer(cast("Any", self.context.leads), np.uint64)

    def text(self, text: int) -> bytes:
        found = bytearray()
        pairs = self._array("texts.rows")
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

    def put(self, path: str, values: NDArray[Any]) -> int:
        """Append to an array that only Python writes; return the position of the values."""
        begin = self.reserve(path, len(values))
        self.write(path, begin, values)
        return begin

    def reserve(self, path: str, size: int) -> int:
        """Reserve room at the end of an array that only Python writes; return its position."""
        begin = self._used[path]
        self._used[path] = begin + size
        found = self._arrays.get(path)
        room = self._parts[path][1] if found is None else len(found)
        if begin + size > room:
            array = self._array(path)
            grown = np.zeros(max(2 * room, begin + size), array.dtype)
            grown[:begin] = array[:begin]
            self._place(path, grown)
        return begin

    def write(self, path: str, begin: int, values: NDArray[Any]) -> None:
        self._array(path)[begin : begin + len(values)] = values

    def exits(self, place: int) -> NDArray[np.int32]:
        listing, begin = self._array("listing.rows"), place + at.EXIT_SIZE
        return listing[begin : begin + self._exit(place).count]

    def set_root(self, place: int, root: int) -> None:
        self._exit(place).root = root

    def _exit(self, place: int) -> Exit:
        return Exit.from_array(self._array("listing.rows"), place)

    def set_scanner(self, table: int, state: int, start: int, count: int) -> None:
        tables = self._array("lalr")
        place = Lalr.from_array(tables, table).scanner + at.SCANNER_SIZE * state
        tables[place : place + at.SCANNER_SIZE] = start, count

    def _place(self, path: str, array: NDArray[Any]) -> None:
        self.nbytes += array.nbytes
        self._arrays[path] = array
        self._numbers.pop(path, None)
        self.context.as_array(np.int64)[_slot(path)] = address(array)
