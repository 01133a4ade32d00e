"""Positions of a text that carry a mark, for generation and detection.

Not marked are positions with too few tokens before them (forced tokens do not count), forced
positions, where all allowed tokens begin with the same byte, and repeated contexts of SynthID and
Gumbel (`Scheme.once`).
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import Row, unpack
from guideway.vocabulary.vocabulary import Vocabulary


def windows(tokens: Sequence[int], context: int) -> NDArray[np.int64]:
    """Context of each position from `context` on, and of the position after the last."""
    ids = np.asarray(tokens, np.int64)
    if len(ids) < context:
        return np.zeros((0, context), np.int64)
    if not context:
        return np.zeros((len(ids) + 1, 0), np.int64)
    return np.lib.stride_tricks.sliding_window_view(ids, context)


def repeats(tokens: Sequence[int], context: int) -> bool:
    """Return True if the last tokens, as a context, came before.

    >>> repeats([1, 2, 1, 2], 2), repeats([1, 2, 1], 2), repeats([1], 2)
    (True, False, False)
    """
    seen = windows(tokens, context)
    return len(seen) > 1 and bool((seen[:-1] == seen[-1]).all(1).any())


def forced(row: Row, vocabulary: Vocabulary) -> bool:
    """Return True if all allowed tokens begin with the same byte, or there are none.

    >>> vocabulary = Vocabulary([b"a", b"ab", b"b"])
    >>> from guideway.automaton.token_tries import pack
    >>> forced(pack([0, 1], 3), vocabulary), forced(pack([0, 2], 3), vocabulary)
    (True, False)
    """
    first = _first_bytes(vocabulary)[unpack(row)]
    return not len(first) or bool((first == first[0]).all())


def place(row: Row) -> int:
    """Hash of a set of tokens as an int64, whatever the width of its row."""
    used = np.flatnonzero(row)
    words = row[: used[-1] + 1] if len(used) else row[:0]
    digest = hashlib.blake2b(words.astype("<u4").tobytes(), digest_size=8, person=b"place").digest()
    return int.from_bytes(digest, "little", signed=True)


@lru_cache(8)
def _first_bytes(vocabulary: Vocabulary) -> NDArray[np.int16]:
    """The first byte of each token, −1 for those that spell nothing."""
    first = np.full(vocabulary.width, -1, np.int16)
    spelled = [token[0] if token else -1 for token in vocabulary.tokens]
    first[: len(spelled)] = spelled
    return first
