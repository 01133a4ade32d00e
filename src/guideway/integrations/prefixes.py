"""States of texts, looked up by their tokens, for loops that keep no state.

A loop that reorders rows, rolls them back or drafts ahead asks with all tokens of a row. Recent
states are cached; others are recomputed from the first token.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import Row, unpack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.errors import TokenRejected

MOST: Final = 1 << 14  # remembered texts, some hundred bytes each


@final
@dataclass(frozen=True, slots=True)
class Outside:
    """A text outside the language: the index of the token that left it, and the reason."""

    place: int
    error: TokenRejected


Standing: TypeAlias = DecodeState | Outside


@final
class Prefixes:
    """States of one constraint by their tokens, thread-safe. `start` is that of the empty text.

    >>> import guideway as gw
    >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
    >>> prefixes = Prefixes(gw.compile(gw.Regex("ab?"), vocabulary))
    >>> prefixes.row(prefixes.after(np.array([0]))).tolist()
    [6]
    >>> prefixes.after(np.array([0, 0])).place
    1
    """

    def __init__(
        self, constraint: CompiledConstraint, joint: bytes = b"", *, most: int = MOST
    ) -> None:
        """Cache at most `most` states; `joint` are bytes that tokens spell before the text."""
        self.constraint = constraint
        self.start = constraint.start(joint)
        self._known: OrderedDict[bytes, Standing] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()

    def after(self, tokens: NDArray[np.int64]) -> Standing:
        """The state after these tokens. Tokens after an end id change nothing."""
        if not len(tokens):
            return self.start
        key = _key(tokens)
        with self._lock:
            found = self._known.get(key)
            before = self._known.get(_key(tokens[:-1])) if found is None else None
        if found is not None:
            return found
        if before is None:  # the first token, or one whose text was forgotten
            before = self._read(tokens[:-1])
        made = self._following(before, int(tokens[-1]), len(tokens) - 1)
        with self._lock:
            self._known[key] = made
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return made

    def row(self, state: DecodeState, left: int | None = None) -> Row:
        """Mask of the next tokens, with at most `left` tokens to come."""
        if left is None:
            return self.constraint.mask(state)
        return self.constraint.mask_within(state, left)

    def count(
        self, enough: int, left: int | None = None, offered: Collection[int] | None = None
    ) -> int:
        """Count the token sequences of texts, each end id separately, up to `enough`.

        Each prefix can be completed, so it counts as one. `left` is the token budget; `offered` are
        the end ids that may come, None for all.
        """
        ends, ended, begun = self.constraint.vocabulary.eos_ids, 0, [self.start]
        while begun and ended + len(begun) < enough and left != 0:
            longer = list[DecodeState]()
            for state in begun:
                for token in unpack(self.row(state, left)).tolist():
                    ended += token in ends and (offered is None or token in offered)
                    if token not in ends and len(longer) < enough:
                        longer.append(self.constraint.advance(state, token))
            begun, left = longer, None if left is None else left - 1
        return min(enough, ended + len(begun))

    def _read(self, tokens: NDArray[np.int64]) -> Standing:
        standing: Standing = self.start
        for place, token in enumerate(tokens.tolist()):
            standing = self._following(standing, token, place)
        return standing

    def _following(self, standing: Standing, token: int, place: int) -> Standing:
        if isinstance(standing, Outside) or standing.ended:
            return standing
        try:
            return self.constraint.advance(standing, token)
        except TokenRejected as error:
            return Outside(place, error.with_traceback(None))  # which would keep what it saw


def _key(tokens: NDArray[np.int64]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(tokens).tobytes(), digest_size=16).digest()
