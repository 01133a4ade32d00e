"""Effects of tokens on the states of a table; equal ones are one class.

A string of bytes is a function from states to states: f(ab) = f(b) after f(a). Vocabularies have
few distinct functions, so the trie is walked by level and each function is kept once.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.errors import LimitError
from guideway.vocabulary.trie import Trie

STAYS: Final = 1


@final
@dataclass(frozen=True, slots=True, eq=False)
class TokenFunctions:
    """Tokens as functions on states.

    `function`: int32[tokens with a spelling], in the order of the trie's `token_ids`; 0 leads
    nowhere. `after`: int32[functions, states]; 0 is no state.
    """

    function: NDArray[np.int32]
    after: NDArray[np.int32]


def token_functions(following: NDArray[np.int32], trie: Trie, most_bytes: int) -> TokenFunctions:
    """The functions of the tokens in `trie` over a byte table, int32[states, 256]."""
    functions = _Functions(following, most_bytes)
    found = np.zeros(len(trie), np.int32)
    found[0] = STAYS
    for low, high in pairwise(trie.level_offsets[1:].tolist()):
        above = found[trie.parent[low:high]]
        alive = np.flatnonzero(above)
        if not alive.size:
            break
        found[low + alive] = functions.extended(above[alive], trie.byte[low + alive])
    held = np.diff(trie.token_offsets)
    return TokenFunctions(np.repeat(found, held), functions.after())


@final
class _Functions:
    def __init__(self, following: NDArray[np.int32], most_bytes: int) -> None:
        # Bytes that lead to the same state everywhere share a class.
        columns, self._byte_class = np.unique(following, axis=1, return_inverse=True)
        self._columns = np.ascontiguousarray(columns.T)
        self._most = most_bytes // (4 * len(following))
        self._most_bytes = most_bytes
        stays = np.arange(len(following), dtype=np.int32)
        self._rows = [np.zeros_like(stays), stays]
        self._numbers = {row.tobytes(): number for number, row in enumerate(self._rows)}
        self._extended: dict[int, int] = {}  # function * 256 + byte class → function

    def extended(self, function: NDArray[np.int32], byte: NDArray[np.uint8]) -> NDArray[np.int32]:
        """The functions with one more byte each."""
        pairs = function.astype(np.int64) << 8 | self._byte_class[byte]
        distinct, place = np.unique(pairs, return_inverse=True)
        known = self._extended
        for pair in distinct.tolist():
            if pair not in known:
                known[pair] = self._number(self._columns[pair & 255][self._rows[pair >> 8]])
        return np.array([known[pair] for pair in distinct.tolist()], np.int32)[place]

    def after(self) -> NDArray[np.int32]:
        return np.stack(self._rows)

    def _number(self, row: NDArray[np.int32]) -> int:
        number = self._numbers.setdefault(row.tobytes(), len(self._rows))
        if number == len(self._rows):
            self._rows.append(row)
            if number > self._most:
                raise LimitError(
                    f"the tables take more than {self._most_bytes} bytes: simplify the source, or "
                    "pass a larger guideway.Budget(table_bytes=...)",
                    limit="table_bytes",
                    given=self._most_bytes,
                )
        return number
