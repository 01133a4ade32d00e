r"""Byte-pair encoding as a relation of neighbours: tokens that are unchanged side by side.

BPE repeatedly merges the pair of neighbours of the lowest rank, the leftmost first. Tokens t₁ … tₙ
are the result for their text exactly if each is the result for its own, and no neighbours tᵢ tᵢ₊₁
merge across the cut when encoded together: up to the first merge across a cut both sides merge as
if alone, in an order given by ranks. (Berglund and van der Merwe 2023, "Formalizing BPE
tokenization", prove it for dictionaries from training.)

The merge trees tell if two tokens merge::

    t = "ab·c"      right edge of t:  "abc" from 5 on, "c" from 0 to 5     (c is merged at rank 5)
    u = "d·e"       left edge of u:   "de"  from 3 on, "d" from 0 to 3

A merge of rank r across the cut happens if both symbols exist at the same time and neither is
merged inside before r. Times are ranks. In a few tokens ("odd": 107 of llama3's, with several
merges for one token; runs of blanks of gemma3's) a new symbol is merged at a lower rank; they are
merged step by step, and their times are the greatest rank so far.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.int64]
Edge: TypeAlias = tuple[int, int, int, int]  # symbol, born, until, merged inside at which rank

NEVER: Final = 1 << 40  # the rank of pairs that are not merged
MOST_ROWS: Final = 4096  # of `clashes`, a few KB each


class Merges:
    """The merges of a tokenizer; `whole`: bool[tokens], BPE makes the token of its own text.

    >>> letters = {0: (0,), 1: (1,), 2: (0, 1), 3: (1, 1)}  # a, b, ab, bb
    >>> merges = Merges(4, [(0, 1, 2), (1, 1, 3)], letters)
    >>> merges.joins(2, 1), merges.joins(1, 1), merges.clashes(1).tolist()
    (True, False, [1, 3])
    """

    def __init__(
        self,
        size: int,
        merges: Sequence[tuple[int, int, int]],
        symbols: Mapping[int, tuple[int, ...]],
    ) -> None:
        """Build the merge trees from merges (left, right, result), best rank first.

        `symbols` are the initial symbols of each token; ids are below `size`.
        """
        self._size, self._symbols = size, symbols
        self._ranks = dict[int, tuple[int, int]]()
        for rank, (left, right, made) in enumerate(merges):
            self._ranks.setdefault(left * size + right, (rank, made))
        self._left, self._right = [-1] * size, [-1] * size
        self._birth = [NEVER] * size
        self._odd = dict[int, tuple[list[Edge], list[Edge]]]()
        self._clashes = OrderedDict[int, Ids]()
        self.whole: NDArray[np.bool_] = np.zeros(size, np.bool_)
        for token, parts in symbols.items():
            if len(parts) == 1 and parts[0] == token:
                self.whole[token], self._birth[token] = True, -1
        self._grow(merges)
        self._index(merges)

    def joins(self, before: int, after: int) -> bool:
        """Return True if two whole tokens are unchanged side by side."""
        return not self._crosses(before, after)

    def clashes(self, before: int) -> Ids:
        """Tokens, ascending, that are changed after `before`."""
        found = self._clashes.get(before)
        if found is None:
            found = self._clashes[before] = self._clashing(before)
            if len(self._clashes) > MOST_ROWS:
                self._clashes.popitem(last=False)
        self._clashes.move_to_end(before)
        return found

    def cut(self, symbols: Sequence[int]) -> tuple[int, ...]:
        """Run BPE on symbols, by its definition."""
        return self._run(symbols)[-1][1]

    def _run(self, symbols: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
        """The symbols after each merge, with its rank; the first rank is −1."""
        row = tuple(symbols)
        steps = [(-1, row)]
        while True:
            known = [
                (*found, at)
                for at, pair in enumerate(pairwise(row))
                if (found := self._ranks.get(pair[0] * self._size + pair[1])) is not None
            ]
            if not known:
                return steps
            rank, made, at = min(known, key=lambda way: (way[0], way[2]))
            row = (*row[:at], made, *row[at + 2 :])
            steps.append((rank, row))

    def _grow(self, merges: Sequence[tuple[int, int, int]]) -> None:
        """Trees, of the shortest tokens first: the merge that made each from its two halves."""
        known, whole, birth = self._symbols, self.whole, self._birth
        order = sorted(range(len(merges)), key=lambda rank: len(known.get(merges[rank][2], ())))
        for _, ranks in groupby(order, key=lambda rank: len(known.get(merges[rank][2], ()))):
            doubtful: list[int] = []
            for rank in ranks:
                left, right, made = merges[rank]
                if whole[made] or not (whole[left] and whole[right]) or made not in known:
                    continue
                oddly = left in self._odd or right in self._odd
                if oddly or rank < birth[left] or rank < birth[right]:
                    doubtful.append(rank)
                elif not self._crosses(left, right, apart=True):
                    whole[made] = True
                    self._left[made], self._right[made], birth[made] = left, right, rank
            for rank in doubtful:  # most of these tokens are made by another merge
                if not whole[merges[rank][2]]:
                    self._grow_oddly(merges[rank][2], rank)

    def _grow_oddly(self, token: int, rank: int) -> None:
        steps = self._run(self._symbols[token])
        if steps[-1][1] != (token,):
            return
        self.whole[token], self._birth[token] = True, rank
        levels = [*accumulate((step[0] for step in steps), max), NEVER]
        limits = [step[0] for step in steps[1:]] + [NEVER]
        times = [*zip(levels, levels[1:], limits, strict=False)]
        self._odd[token] = (
            [(row[0], *time) for (_, row), time in zip(steps, times, strict=True)],
            [(row[-1], *time) for (_, row), time in zip(steps, times, strict=True)],
        )

    def _edge(self, token: int, side: int) -> list[Edge]:
        """The symbols on the left (0) or right (1) edge of a token."""
        if token in self._odd:
            return self._odd[token][side]
        found, end, inner = list[Edge](), NEVER, (self._left, self._right)[side]
        while token >= 0:
            born = self._birth[token]
            found.append((token, born, end, end))
            end, token = born, inner[token]
        return found

    def _crosses(self, before: int, after: int, *, apart: bool = False) -> bool:
        """Return True if a merge crosses the cut; `apart` ignores that of the two tokens."""
        left = self._edge(after, 0)
        for a, born_a, until_a, limit_a in self._edge(before, 1):
            row = a * self._size
            for b, born_b, until_b, limit_b in left:
                found = self._ranks.get(row + b)
                if found is None or born_a > until_b or born_b >= until_a:
                    continue
                # Equal ranks merge from the left: inside `before`, across, inside `after`.
                themselves = apart and a == before and b == after
                if found[0] < limit_a and found[0] <= limit_b and not themselves:
                    return True
        return False

    def _index(self, merges: Sequence[tuple[int, int, int]]) -> None:
        """Tables for `clashes`: partners of a symbol, and tokens with a symbol at the left.

        `_edges` are sorted by symbol and by the time of its merge there.
        """
        pairs = np.array(merges, np.int64).reshape(-1, 3)
        order = np.argsort(pairs[:, 0], kind="stable")
        self._partners, self._partner_ranks = pairs[order, 1], order
        self._partner_offsets = np.searchsorted(pairs[order, 0], np.arange(self._size + 1))
        self._births = np.array(self._birth, np.int64)
        left = np.array(self._left, np.int64)
        tokens = np.flatnonzero(self.whole)
        tokens = tokens[~np.isin(tokens, np.array([*self._odd], np.int64))]
        symbols, ends = tokens, np.full(len(tokens), NEVER)
        keys: list[Ids] = []
        owners: list[Ids] = []
        while tokens.size:
            keys.append(symbols * (NEVER + 1) + ends)
            owners.append(tokens)
            ends, symbols = self._births[symbols], left[symbols]
            kept = symbols >= 0
            tokens, symbols, ends = tokens[kept], symbols[kept], ends[kept]
        key = np.concatenate([*keys, np.zeros(0, np.int64)])
        by_key = np.argsort(key, kind="stable")
        self._edges = key[by_key]
        self._owners = np.concatenate([*owners, np.zeros(0, np.int64)])[by_key]

    def _clashing(self, before: int) -> Ids:
        found = [np.array([t for t in self._odd if not self.joins(before, t)], np.int64)]
        for a, born, until, limit in self._edge(before, 1):
            low, high = self._partner_offsets[a : a + 2].tolist()
            partners, ranks = self._partners[low:high], self._partner_ranks[low:high]
            near = (ranks < limit) & (self._births[partners] < until)
            partners, ranks = partners[near], ranks[near]
            wide = NEVER + 1
            starts = self._edge_places(partners * wide + np.maximum(ranks, born))
            stops = self._edge_places((partners + 1) * wide)
            found.append(self._owners[_ranges(starts, stops)])
        return np.unique(np.concatenate(found))

    def _edge_places(self, keys: Ids) -> Ids:
        return np.array(np.searchsorted(self._edges, keys), np.int64)


def _ranges(starts: Ids, stops: Ids) -> Ids:
    """All places from each start to below its stop."""
    lengths = np.maximum(stops - starts, 0)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
