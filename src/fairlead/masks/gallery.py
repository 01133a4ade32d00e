"""Pictures: what the lexical states of a vocabulary's strings allow, whatever follows them.

The picture of a lexical state has the tokens whose bytes it can all read, as a row, or as a list
where they are few. A token that leaves the state on the way, because the language may end there, is
at or below one of its exits: nodes of the trie whose parent is where it ends. Exits are sorted by
their first byte, so that a walk looks only at those that what follows can begin with.

For counted items there is a row for each number of items that may still be begun.

Made once for a state and a vocabulary, and never moved.
"""

import threading
from collections.abc import Callable
from typing import Final, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fairlead.masks.bits import pack, unpack, words
from fairlead.masks.kernels import layout as at
from fairlead.masks.kernels.layout import (
    BASE,
    BEGUN,
    CONTEXT_SIZE,
    CURSOR,
    LEX,
    LEX_FLAG,
    NEED_LEX,
    NO_PICTURE,
    TRIE_AT,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_NODES,
    TRIE_TOKEN,
    WALK,
    WANT,
)
from fairlead.masks.lexicon import MOST_STATES, Lexicon
from fairlead.masks.memory import Held, track_shared
from fairlead.vocabulary.spellings import Vocabulary

MOST_PICTURES: Final = 1 << 16
MOST_ROWS: Final = 4096
MOST_EXITS: Final = 8192  # of one state; where there are more, walking all tokens is no slower
_ALL_EXITS: Final = 1 << 21
_ALL_LISTED: Final = 1 << 23
_FEW: Final = 2048  # tokens that are listed; setting so many bits takes as long as a row of llama3


@final
class Gallery:
    """The pictures of one vocabulary over one lexicon."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.words = words(vocabulary.width)
        self.tokens, self.token_at = _joined(vocabulary)
        self.trie = vocabulary.flat_trie
        self.deepest = int(self.trie.depth.max(initial=0))
        self.ends = pack(sorted(vocabulary.eos_ids), vocabulary.width)
        self.picture_at = np.zeros(MOST_STATES, np.int32)
        self.count_at = np.zeros(MOST_STATES, np.int32)
        self.base = np.zeros((MOST_ROWS, self.words), np.uint32)
        self.pictures = np.zeros((MOST_PICTURES, 6), np.int32)
        self.exits = np.zeros((_ALL_EXITS, 2), np.int32)
        self.runs = np.zeros((_ALL_EXITS, 2), np.int32)
        self.listed = np.zeros(_ALL_LISTED, np.int32)
        self._used_pictures, self._used_rows = 1, 0
        self._used_exits = self._used_runs = self._used_listed = 0
        self._row = np.zeros(self.words, np.uint32)
        self._found = np.zeros((MOST_EXITS, 2), np.int32)
        self._lock = threading.Lock()
        self._walk = np.zeros(self.deepest + 2, np.int32)
        self._context = np.zeros(CONTEXT_SIZE, np.int64)
        self.describe(self._context)
        self._context[WALK] = address(self._walk)
        self._begun = np.zeros(self.deepest + 2, np.int32)
        self._context[BEGUN] = address(self._begun)

    @property
    def nbytes(self) -> int:
        """The memory of what is used of the pictures."""
        exits = 8 * (self._used_exits + self._used_runs)
        return 4 * (self._used_rows * self.words + self._used_listed) + exits

    def describe(self, context: "NDArray[np.int64]") -> None:
        """Write the sizes and addresses of what is shared to a context."""
        context[at.ROW_WORDS], context[TRIE_NODES] = self.words, len(self.trie.byte)
        for slot, array in (
            (LEX, self.lexicon.rows),
            (LEX_FLAG, self.lexicon.flags),
            (at.LEX_FIRST, self.lexicon.first),
            (at.TOKEN, self.tokens),
            (at.TOKEN_AT, self.token_at),
            (TRIE_BYTE, self.trie.byte),
            (TRIE_DEPTH, self.trie.depth),
            (TRIE_END, self.trie.end),
            (TRIE_AT, self.trie.token_offsets),
            (TRIE_TOKEN, self.trie.token_ids),
            (at.TRIE_ROOT, self.trie.root),
            (at.PICTURE_AT, self.picture_at),
            (at.COUNT_AT, self.count_at),
            (BASE, self.base),
            (at.PICTURE, self.pictures),
            (at.EXIT, self.exits),
            (at.RUN, self.runs),
            (at.LISTED, self.listed),
            (at.ENDS, self.ends),
        ):
            context[slot] = address(array)

    def make(self, state: int) -> None:
        """Make the picture of a lexical state."""
        from fairlead.masks.kernels.entry import base_row

        with self._lock:
            if self.picture_at[state]:
                return
            self._context[CURSOR] = 0
            self._row[:] = 0
            found, row = self._found.reshape(-1), self._row
            count = self._served(lambda c: base_row(c, state, row, found, MOST_EXITS))
            tokens = unpack(row)
            room = self._has_room(count, 0 if len(tokens) <= _FEW else 1, len(tokens))
            if not room:
                self.picture_at[state] = NO_PICTURE
                return
            fields = np.array([-1, 0, 0, 0, 0, 0], np.int32)
            if len(tokens) <= _FEW:
                first = self._used_listed
                self._used_listed = first + len(tokens)
                self.listed[first : self._used_listed] = tokens
                fields[at.P_LISTED : at.P_LISTED + 2] = first, self._used_listed
            else:
                fields[at.P_BASE] = self._used_rows
                self.base[self._used_rows] = row
                self._used_rows += 1
            self.picture_at[state] = self._hang(fields, count)

    def make_counted(self, state: int) -> None:
        """Make the picture of a state between counted items, with a row for each number of them."""
        from fairlead.masks.kernels.entry import count_rows

        with self._lock:
            if self.count_at[state]:
                return
            self._context[CURSOR] = 0
            items = np.full(len(self.token_at) - 1, -1, np.int32)
            found = self._found.reshape(-1)
            count = self._served(lambda c: count_rows(c, state, items, found, MOST_EXITS, -1, 0))
            most = int(items.max(initial=0))
            if not self._has_room(count, most + 1, 0):
                self.count_at[state] = NO_PICTURE
                return
            first = self._used_rows
            self._used_rows += most + 1
            count_rows(self._context, state, items, found, 0, first, most)
            self.count_at[state] = self._hang(np.array([first, most, 0, 0, 0, 0], np.int32), count)

    def _served(self, kernel: "Callable[[NDArray[np.int64]], int]") -> int:
        while True:
            code = kernel(self._context)
            if code != NEED_LEX:
                return code
            self.lexicon.expand(int(self._context[WANT]))

    def _has_room(self, exits: int, rows: int, tokens: int) -> bool:
        return (
            exits <= MOST_EXITS
            and self._used_pictures < MOST_PICTURES
            and self._used_exits + exits <= _ALL_EXITS
            and self._used_runs + 257 <= _ALL_EXITS
            and self._used_rows + rows <= MOST_ROWS
            and self._used_listed + tokens <= _ALL_LISTED
        )

    def _hang(self, fields: "NDArray[np.int32]", count: int) -> int:
        """Add exits, sorted by their first byte, and the picture; gives its number."""
        found = self._found[:count]
        leads = self.trie.byte[found[:, 0]]
        order = np.argsort(leads, kind="stable")
        first = self._used_exits
        self._used_exits = first + count
        self.exits[first : self._used_exits] = found[order]
        values, ends = np.unique(leads[order], return_index=True)
        begin, runs = self._used_runs, len(values) + 1
        self._used_runs = begin + runs
        table = self.runs[begin : begin + runs]
        table[1:, 0] = values
        table[:, 1] = first + np.append(ends, count)
        fields[at.P_RUN : at.P_RUN + 2] = begin, begin + runs
        number = self._used_pictures
        self._used_pictures = number + 1
        self.pictures[number] = fields
        return number


def address(array: "NDArray[np.generic]") -> int:
    """Where an array's data is."""
    return array.__array_interface__["data"][0]


def _joined(vocabulary: Vocabulary) -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    """All spellings behind one another, and where each begins."""
    tokens = [token or b"" for token in vocabulary.tokens]
    begins = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum([len(token) for token in tokens], out=begins[1:])
    return np.frombuffer(b"".join(tokens) or b"\0", np.uint8), begins


@final
class _Shared:
    """The galleries that new constraints get, as the memory accounts see them."""

    def held(self) -> Held:
        """What the pictures take."""
        with _lock:
            return Held(state_bytes=sum(one.nbytes for one in _galleries.values()))

    def forget(self) -> None:
        """Leave the galleries to those who use them."""
        with _lock:
            _galleries.clear()


_galleries: "WeakKeyDictionary[Vocabulary, Gallery]" = WeakKeyDictionary()
_lock = threading.Lock()
track_shared(_Shared())


def shared_gallery(vocabulary: Vocabulary, lexicon: Lexicon) -> Gallery:
    """The pictures of a vocabulary; anew where the lexicon is a new one."""
    with _lock:
        found = _galleries.get(vocabulary)
        if found is None or found.lexicon is not lexicon:
            found = _galleries[vocabulary] = Gallery(vocabulary, lexicon)
        return found
