"""Masks of lexer states: the tokens that each state reads whole, and the tries of those that leave.

A `TokenMaskCache` belongs to one vocabulary and one lexer DFA, and all constraints over both share
it. A `MaskStore` stores equal rows once.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.arena import Arena, Plan, copied
from guideway.automaton.jit.records import dtype
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import Context, CountedExit, ExitTrie, StateMask
from guideway.automaton.lexer_dfa import MOST_STATES, LexerDfa
from guideway.automaton.token_tries import (
    MOST_FIRST,
    Held,
    Row,
    TokenTries,
    address,
    pack,
    share,
    total,
    track_shared,
    untouched,
    words,
)
from guideway.errors import LimitError
from guideway.vocabulary.vocabulary import Vocabulary

MOST_BYTES: Final = 64 << 20
_MOST_ROWS: Final = 1 << 14  # limit for small vocabularies


class MaskStore:
    def __init__(self, words: int) -> None:
        self._words = words
        room = 1 << min(MOST_BYTES // (4 * words), _MOST_ROWS).bit_length() - 1
        self._table = untouched(2 * room, np.int32)
        self._codes = untouched(room, np.int64)
        self._addresses = untouched(room, np.int64)
        self.rows: list[Row] = [np.zeros(0, np.uint32)]
        self._room, self.full = room, False
        self._addressed = {
            "stored": address(self._table),
            "stored_codes": address(self._codes),
            "stored_rows": address(self._addresses),
        }
        self._lock = threading.Lock()
        _mask_stores.add(self)

    def held(self) -> Held:
        count = len(self.rows) - 1
        return Held(rows=count, row_bytes=4 * self._words * count)

    def describe(self, context: Context) -> None:
        context.stored_room = self._room
        context.point(**self._addressed)

    def put(self, row: Row, code: int) -> int:
        """Store a copy of a row under its hash; return its number, 0 if there is no room."""
        with self._lock:
            number, last = len(self.rows), 2 * self._room - 1
            if number == self._room:
                self.full = True
                return 0
            made = sealed(row)
            self.rows.append(made)
            self._addresses[number], self._codes[number] = address(made), code
            place = code & last
            while self._table[place]:
                place = (place + 1) & last
            self._table[place] = number  # last, as kernels of other threads look for it
            return number


def sealed(row: Row) -> Row:
    """A copy that cannot be made writeable, as others read it."""
    own = row.copy()
    own.flags.writeable = False
    return own.view()


_mask_stores: "WeakSet[MaskStore]" = WeakSet()
# A new mask cache has a new mask store, so there is nothing to forget.
track_shared(lambda: total([mask_store.held() for mask_store in [*_mask_stores]]), lambda: None)


# Requests that mask caches serve.
DRAWN: Final = (at.NEED_STATE_MASK, at.NEED_EXITS, at.NEED_COUNT_MASK, at.NEED_TRIE)
MOST_STATE_MASKS: Final = 1 << 18
MOST_NOTED: Final = MOST_STATE_MASKS  # their table is twice as large
MOST_ROWS: Final = 4096
SMALL: Final = 128  # subtrees of so few nodes are walked each time
_ALL_LISTED: Final = 1 << 24
_ALL_TRIES: Final = 1 << 16
_ALL_COUNTED: Final = 1 << 16
_MOST_EXITS: Final = MOST_FIRST  # nodes where tokens leave one state
_FEW: Final = 2048  # tokens in ranges; setting so many bits takes as long as a row of Llama 3
_TOKENS: Final = 1 << 20


class TokenMaskCache:
    """The state masks of one vocabulary and one lexer DFA; mask caches may share a token tries.

    Attributes:
        spent: whether new texts should begin in another mask cache: this one had no room for a
            state mask, or has a successor. Masks without state masks take seconds.
    """

    def __init__(
        self, vocabulary: Vocabulary, dfa: LexerDfa, token_tries: TokenTries | None = None
    ) -> None:
        self.dfa, self.spent = dfa, False
        self.words = words(vocabulary.width)
        joined, self.token_at = vocabulary.joined
        self.tokens = np.frombuffer(joined or b"\0", np.uint8)
        self.token_tries = (
            TokenTries(vocabulary.trie, self.words) if token_tries is None else token_tries
        )
        self.deepest = self.token_tries.deepest
        self.ends = pack(sorted(vocabulary.eos_ids), vocabulary.width)
        self.state_mask_at = untouched(MOST_STATES, np.int32)
        self.count_at = untouched(MOST_STATES, np.int32)
        self.keys = untouched(2 * MOST_NOTED, np.int64)
        self.values = untouched(2 * MOST_NOTED, np.int32)
        self.base = untouched((MOST_ROWS, self.words), np.uint32)
        self.state_masks = untouched(MOST_STATE_MASKS, dtype(StateMask))
        self.counted_exits = untouched(_ALL_COUNTED, dtype(CountedExit))
        self._loop = untouched((MOST_STATES, 2), np.uint64)
        self._loops = untouched(MOST_STATES, np.uint8)
        self.exit_tries = untouched(_ALL_TRIES, dtype(ExitTrie))
        self.listed = untouched(_ALL_LISTED, np.int32)
        self._used: dict[str, int] = dict.fromkeys(("base", "listed", "counted_exits", "keys"), 0)
        self._used |= {"state_masks": 1, "exit_tries": 1}
        self._states: dict[int, tuple[int, int]] = {}  # trie node and state of each mask
        self._found = untouched(max(_TOKENS, vocabulary.width), np.int32)
        self._left = untouched(_MOST_EXITS, np.int32)
        self._lock = threading.Lock()
        self._mask_store = MaskStore(self.words)
        self._walk = np.zeros(2 * (self.deepest + 2), np.int32)
        self._begun = np.zeros(self.deepest + 4, np.int32)
        self.plan = Plan(self)
        self.begun: Any = None  # arena and `Known` of new automata (`pushdown_automaton`)
        self._context = copied(self.plan.context)
        share(self._context, walk=self._walk, begun=self._begun)
        self._context.point(regexes=dfa.records.address)
        if token_tries is None:
            self.token_tries.survey(self._context)

    @property
    def nbytes(self) -> int:
        own = 4 * (self._used["base"] * self.words + self._used["listed"])
        return own + self.token_tries.nbytes

    @property
    def crowded(self) -> bool:
        """Return True if a quarter of the room of some table is used."""
        full = any(4 * used > len(getattr(self, table)) for table, used in self._used.items())
        return full or self.token_tries.crowded

    def staying(self, state: int) -> Row | None:
        """The row of tokens that a lexical state reads without leaving it, if it has one."""
        base = self.state_masks[self.state_mask_at[state]]["base"]
        return self.base[base] if self.state_mask_at[state] > 0 and base >= 0 else None

    def mask_store(self) -> MaskStore:
        if self._mask_store.full:
            self._mask_store = MaskStore(self.words)
        return self._mask_store

    def describe(self, context: Context) -> None:
        context.row_words, context.state_mask_room = self.words, len(self.keys) // 2
        context.small = SMALL
        self.token_tries.describe(context)
        share(
            context,
            transitions=self.dfa.rows,
            lexer_flags=self.dfa.flags,
            lexer_leads=self.dfa.first,
            token_bytes=self.tokens,
            token_at=self.token_at,
            state_mask_at=self.state_mask_at,
            state_mask_keys=self.keys,
            state_mask_values=self.values,
            count_mask_at=self.count_at,
            base_rows=self.base,
            state_masks=self.state_masks,
            count_masks=self.state_masks,
            counted_exits=self.counted_exits,
            exit_tries=self.exit_tries,
            listed=self.listed,
            end_row=self.ends,
            loops=self._loop,
            loop_flags=self._loops,
        )

    @contextmanager
    def lent(self, context: Context) -> Generator[None]:
        """Context in which a kernel makes lexical states itself."""
        with self._lock, self.dfa.lock:
            context.point(regexes=self.dfa.records.address)
            try:
                yield
            finally:
                context.point(regexes=0)

    def serve(self, code: int, wanted: int, arena: Arena) -> None:
        if code == at.NEED_STATE_MASK:
            self.make(wanted, arena.leads(), arena.context.want_below)
        elif code == at.NEED_EXITS:
            self.make_exits(wanted, arena.leads())
        elif code == at.NEED_COUNT_MASK:
            self.make_counted(wanted)
        else:
            arena.set_root(wanted, self._planted(arena.exits(wanted)))

    def make(self, state: int, leads: "NDArray[np.uint64]", below: int = 0) -> None:
        """Make the state mask of a state below a trie node, with exits for `leads`."""
        from guideway.automaton.kernels.entry import remember_state_mask

        with self._lock:
            if below == 0 and self.state_mask_at[state]:
                return
            made = self._state_mask(below, state, leads)
            if below == 0:
                self.state_mask_at[state] = made
            else:
                self._room("keys", 4)  # at least half of them stay free
                remember_state_mask(self._context, below, state, made)

    def make_exits(self, state_mask: int, leads: "NDArray[np.uint64]") -> None:
        """Make the trie of those exits of a state mask that begin with one of these bytes."""
        with self._lock:
            left = self._walk_subtree(*self._states[state_mask], leads)
            self._add_exits(state_mask, leads, left)

    def _add_exits(self, state_mask: int, leads: "NDArray[np.uint64]", left: int) -> None:
        """Add the trie of the exits in `_left`."""
        if left > len(self._left):
            raise self._full()
        root, number = self._planted(self._left[:left]), self._room("exit_tries")
        mask = self.state_masks[state_mask]
        self.exit_tries[number] = leads, root, mask["exits"]
        mask["exits"] = number

    def make_counted(self, state: int) -> None:
        """Make the state mask of a state between counted items: a row for each number of items."""
        from guideway.automaton.kernels.entry import count_rows, stack_rows

        with self._lock:
            if self.count_at[state]:
                return
            self._context.cursor = 0
            items = np.full(len(self.token_at) - 1, -1, np.int32)
            found = self._left
            count = self._run(lambda c: count_rows(c, state, items, found))
            if count * 2 > len(found):
                raise self._full()
            roots = self._counted_roots(found[: count * 2].reshape(-1, 2).copy())
            most = int(items.max(initial=0))
            first = self._room("base", most + 1)
            stack_rows(self._context, items, first, most)
            self.count_at[state] = self._hang([first, most, *roots])

    def _counted_roots(self, left: "NDArray[np.int32]") -> list[int]:
        """Root for exits of any count, and the range of `counted_exits` with one for each count."""
        counts = sorted({*left[:, 1].tolist()})
        first = self._room("counted_exits", len(counts))
        for number, items in enumerate(counts, first):
            root = self._planted(left[left[:, 1] == items, 0].copy())
            self.counted_exits[number] = items, root
        return [self._planted(left[:, 0].copy()), first, first + len(counts)]

    def _planted(self, firsts: "NDArray[np.int32]") -> int:
        root = self.token_tries.plant(self._context, firsts)
        if root is None:
            raise self._full()
        return root

    def _state_mask(self, below: int, state: int, leads: "NDArray[np.uint64]") -> int:
        """Make a state mask; return its number."""
        from guideway.automaton.kernels.entry import draw_state_mask

        left = self._walk_subtree(below, state, leads)
        ended, _, leaves = self._begun[:3].tolist()
        ranges = self._found[: 2 * ended + 2]
        if len(ranges) < 2 * ended + 2:
            raise self._full()
        first, last, row = 0, 0, -1
        if below != 0 or int((ranges[1::2] - ranges[::2]).sum()) <= _FEW:
            first = self._append_listed(ranges)
            last = first + len(ranges)
        else:
            row = self._room("base")
            draw_state_mask(self._context, ranges, self.base[row])
        made = self._hang([row, first, last, leaves, 0])
        self._states[made] = below, state
        if leaves:
            self._add_exits(made, leads, left)
        return made

    def _append_listed(self, numbers: "NDArray[np.int32]") -> int:
        first = self._room("listed", len(numbers))
        self.listed[first : first + len(numbers)] = numbers
        return first

    def _walk_subtree(self, below: int, state: int, leads: "NDArray[np.uint64]") -> int:
        """Walk a subtree: ranges of tokens in `_found`; return the number of exits in `_left`."""
        from guideway.automaton.kernels.entry import state_mask

        self._context.cursor = 0
        self._begun[:3] = 0
        found, left = self._found, self._left
        self._run(lambda c: state_mask(c, below, state, found, left, leads))
        return int(self._begun[1])

    def _run(self, kernel: "Callable[[Context], int]") -> int:
        while True:
            with self.dfa.lock:
                code = kernel(self._context)
            if code != at.NEED_LEX:
                return code
            self.dfa.expand(self._context.want)

    def _room(self, table: str, count: int = 1) -> int:
        """Index of new items of a table."""
        first = self._used[table]
        if first + count > len(getattr(self, table)):
            raise self._full()
        self._used[table] = first + count
        return first

    def _full(self) -> LimitError:
        """The error without room; callers go on with a new mask cache."""
        self.spent = True
        most = len(self.state_masks)
        return LimitError(
            "no room for more masks of lexical states", limit="masks of lexical states",
            given=most + 1, needed=most,
        )  # fmt: skip

    def _hang(self, fields: list[int]) -> int:
        number = self._room("state_masks")
        self.state_masks[number] = tuple(fields)
        return number


_mask_caches: "WeakKeyDictionary[Vocabulary, TokenMaskCache]" = WeakKeyDictionary()
_lock = threading.Lock()


def _held() -> Held:
    with _lock:
        return Held(state_bytes=sum(one.nbytes for one in _mask_caches.values()))


track_shared(_held, _mask_caches.clear)


def shared_mask_cache(vocabulary: Vocabulary, dfa: LexerDfa) -> TokenMaskCache:
    """The mask cache of a vocabulary; a new one, if it can with the same token tries, where needed.

    A new lexer DFA needs one, and constraints that come when the last one is crowded.
    """
    with _lock:
        found = _mask_caches.get(vocabulary)
        if found is None or found.dfa is not dfa or found.spent or found.crowded:
            token_tries = None if found is None or found.token_tries.crowded else found.token_tries
            if found is not None:
                found.spent = True
            found = _mask_caches[vocabulary] = TokenMaskCache(vocabulary, dfa, token_tries)
        return found
