"""Pictures of bounded patterns, for all constraints over one gallery.

A picture is made of what `kernels.bounded_pictures` say: for each token the fewest characters that
a text has with it. The tokens that need few are a row, the others are listed by what they need, so
that a mask is the row and as much of the list as there is room for. The first picture of a state is
one for bounds that are far, where only long tokens are listed: that costs no more than one mask
made by walking, and most bounds are never neared.
"""

import threading
from collections.abc import Callable
from typing import Final, final
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from guideway.masks.bits import packed
from guideway.masks.gallery import Gallery, address
from guideway.masks.kernels import bound_layout as of
from guideway.masks.kernels import layout as at
from guideway.masks.lengths import Lengths
from guideway.masks.lexicon import MOST_STATES, Lexicon
from guideway.masks.memory import Held, track_shared
from guideway.masks.space import untouched

MOST_ROWS: Final = 2048
MOST_EXITS: Final = 1 << 16  # of one picture
_MOST_LISTED: Final = 1 << 22
_LISTED: Final = 2048  # tokens of a picture that are listed, or a few more that need as many
_ENDED: Final = np.uint32(1 << 31)
_ENOUGH: Final = 8  # masks made by walking, .35 ms each, before one of 3 ms is worth its making
_LONG: Final = 20  # characters; 417 tokens of llama3 have more
_SEARCHED: Final = 32  # pairs that a search goes on from, before options of states are told apart
_REST: Final = 8  # a bound is far if there is room for so many behind any other token
_ANY: Final = 1 << 30

Numbers = NDArray[np.uint32]


@final
class Bounds:
    """The pictures of one gallery, and what is known of lengths."""

    def __init__(self, gallery: Gallery) -> None:
        self._words, self._width = gallery.words, len(gallery.token_at) - 1
        self._lexicon = gallery.lexicon
        self._gallery: Gallery = proxy(gallery)  # who keeps these; they are kept as long as it
        self._lengths: dict[int, Lengths] = {}
        self._at = untouched(MOST_STATES, np.int32)
        self._pictures = untouched((MOST_ROWS, 12), np.int32)
        self._base = untouched((MOST_ROWS, gallery.words), np.uint32)
        self._base[0] = gallery.every  # no picture has this number
        self._listed = untouched((_MOST_LISTED, 2), np.int32)
        self._used_pictures, self._used_listed = 1, 0
        self._long = _long_tokens(gallery)
        self._room = self._words + of.LISTED_AT + 2 * len(self._long)  # of a far picture
        self._exits = np.empty(2 * MOST_EXITS, np.uint32)  # while one picture is made
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """The memory of what is used; no picture has the number 0."""
        return 4 * (self._used_pictures - 1) * self._words + 8 * self._used_listed

    def describe(self, context: "NDArray[np.int64]") -> None:
        """Write the addresses of what is shared to a context."""
        for slot, array in (
            (at.BOUND_AT, self._at),
            (at.BOUND, self._pictures),
            (at.BOUND_BASE, self._base),
            (at.BOUND_LISTED, self._listed),
        ):
            context[slot] = address(array)
        context[at.BOUND_ENOUGH], context[of.BOUND_ROOM] = _ENOUGH, _LONG + _REST
        context[of.BOUND_LONG], context[of.BOUND_LONGS] = address(self._long), len(self._long)
        context[of.BOUND_CHARS], context[of.BOUND_SEARCH] = _LONG, _SEARCHED

    def alive(self, state: int, inside: int, between: int, low: int, high: int) -> bool:
        """Whether a bounded pattern has a text: see `lengths`."""
        with self._lock:
            lengths = self._lengths.get(between)
            if lengths is None:
                lengths = self._lengths[between] = Lengths(self._lexicon, between)
            return lengths.alive(state, inside, low, high)

    def make(
        self,
        state: int,
        between: int,
        context: "NDArray[np.int64]",
        measure: "Callable[[Numbers, Numbers], int]",
        serve: "Callable[[int, int], None]",
    ) -> None:
        """Make the picture of a lexical state between two characters.

        Args:
            state: of the pattern.
            between: of its characters.
            context: of the constraint that needs it, which says whether its bound is far.
            measure: runs `kernels.bounded_pictures.measure`.
            serve: makes what that needs.
        """
        with self._lock:
            far, known = bool(context[of.BOUND_FAR]), int(self._at[state])
            if known < 0 or (known and (far or not self._pictures[known, of.B_FAR])):
                return
            context[at.MEASURED], context[at.STEADY] = 0, 1
            row = np.zeros(self._room if far else self._width, np.uint32)
            exits = self._exits
            found = -1
            while found < 0:
                with self._gallery.lent(context):
                    found = measure(row, exits)
                if found < 0:
                    serve(found, int(context[at.WANT]))
            fields, number = None, self._used_pictures
            if self._used_listed + self._width <= _MOST_LISTED and number < MOST_ROWS:
                make = self._made_far if far else self._made
                fields = make(number, row, exits, found, context)
            if fields is None:
                self._at[state] = at.NO_PICTURE
                return
            self._used_pictures = number + 1
            self._pictures[number] = [between, number, *fields]
            self._pictures[number, at.B_STEADY] = context[at.STEADY]
            self._at[state] = number

    def _made(
        self, number: int, row: Numbers, exits: Numbers, found: int, _: "NDArray[np.int64]"
    ) -> "list[int] | None":
        """The fields of a picture that knows what each token needs; None if there is no room."""
        if found > MOST_EXITS:
            return None
        roots = self._gallery.exits.roots(exits[: 2 * found].view(np.int32).reshape(-1, 2))
        return None if roots is None else [*self._drawn(number, row), *roots, 0]

    def _made_far(
        self, number: int, row: Numbers, exits: Numbers, found: int, context: "NDArray[np.int64]"
    ) -> "list[int] | None":
        """The fields of a picture for bounds that are far; None if there is no room."""
        ended = int(context[of.BOUND_ENDED])
        if found + ended > MOST_EXITS:
            return None
        listed, behind = row[self._words :].view(np.int32), exits.view(np.int32)
        count, fewest = int(listed[0]), int(listed[of.FEWEST_AT])
        root = self._gallery.exits.root(behind[:found], fewest - 1)
        if root is None:
            return None
        self._base[number] = row[: self._words]
        return [
            *(int(context[of.BOUND_MOST]), 0),
            *self._list_pairs(listed[of.LISTED_AT : of.LISTED_AT + 2 * count]),
            *self._list_pairs(behind[len(behind) - 2 * ended :]),
            *(*root, fewest or _ANY),
        ]

    def _drawn(self, number: int, row: Numbers) -> "list[int]":
        """The fields of a picture without exits, its row and lists being written."""
        needs = row[(row > 0) & (row < _ENDED)]  # one more than that
        rank = len(needs) - 1 - _LISTED
        least = int(np.partition(needs, rank)[rank]) if rank >= 0 else 1
        longer = np.flatnonzero((row > least) & (row < _ENDED))
        longer = longer[np.argsort(row[longer], kind="stable")]
        self._base[number] = packed((row > 0) & (row <= least))
        ends = np.flatnonzero(row >= _ENDED)
        counts = (row[ends] & ~_ENDED) - 1
        return [
            *(least - 1, 0),
            *self._list(row[longer] - 1, longer),
            *self._list(counts, ends),
        ]

    def _list(self, characters: "NDArray[np.generic]", what: "NDArray[np.generic]") -> list[int]:
        first = self._used_listed
        self._used_listed = first + len(what)
        self._listed[first : self._used_listed, 0] = characters
        self._listed[first : self._used_listed, 1] = what
        return [first, self._used_listed]

    def _list_pairs(self, pairs: "NDArray[np.int32]") -> list[int]:
        first = self._used_listed
        self._used_listed = first + len(pairs) // 2
        self._listed[first : self._used_listed] = pairs.reshape(-1, 2)
        return [first, self._used_listed]


def _long_tokens(gallery: Gallery) -> "NDArray[np.int64]":
    """Rows of BOUND_LONG, the shortest first: so they are mostly listed in the order of need."""
    long = gallery.forest.long(_LONG)
    sizes = np.diff(gallery.token_at)[long]
    long, sizes = long[order := np.argsort(sizes, kind="stable")], sizes[order]
    rows = np.zeros((len(long), 4), np.int64)
    if not len(long):
        return rows
    firsts = np.cumsum(sizes) - sizes
    places = np.repeat(gallery.token_at[long] - firsts, sizes) + np.arange(int(sizes.sum()))
    spelled = gallery.tokens[places]
    bits = np.int64(1) << (spelled & 63).astype(np.int64)
    bits[firsts] = 0
    rows[:, 0] = long
    for word in range(3):
        there = np.minimum(spelled >> 6, 2) == word
        rows[:, word + 1] = np.bitwise_or.reduceat(np.where(there, bits, 0), firsts)
    return rows


@final
class _Shared:
    """The pictures that new constraints get, as the memory accounts see them."""

    def held(self) -> Held:
        """What the pictures take."""
        with _lock:
            return Held(state_bytes=sum(one.nbytes for one in _bounds.values()))

    def forget(self) -> None:
        """Leave the pictures to those who use them."""
        with _lock:
            _bounds.clear()


_bounds: "WeakKeyDictionary[Gallery, Bounds]" = WeakKeyDictionary()
_lock = threading.Lock()
track_shared(_Shared())


def shared_bounds(gallery: Gallery) -> Bounds:
    """The pictures of bounded patterns of a gallery."""
    with _lock:
        found = _bounds.get(gallery)
        if found is None:
            found = _bounds[gallery] = Bounds(gallery)
        return found


def expand(lexicon: Lexicon, state: int, context: "NDArray[np.int64]") -> None:
    """Make the row of a lexical state that a network's context wants.

    Where the row of an option takes long while searches are SPLITTING, it may have no text where
    others have: to see that of three groups of nine patterns that meet took minutes. Then states
    are looked at whole for good.
    """
    splitting = bool(context[of.SPLITTING])
    if not lexicon.expand(state, briefly=splitting):
        context[of.SPLITTING], context[of.BOUND_SEARCH] = 0, _ANY
