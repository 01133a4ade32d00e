"""The state of a text, looked up by its tokens: for loops that keep no state.

A loop that reorders rows, rolls them back, drafts ahead or mixes calls asks for a row by the tokens
it has so far. Only these tokens decide the answer, so it is right for any such loop. The states of
recent texts are remembered, which makes it quick; a forgotten one is found again by reading the
tokens from the first one.

This module does not know where a text begins in a row, prompts, logits or other libraries.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.constraints.compiled import CompiledConstraint, DecodeState
from guideway.errors import TokenRejected
from guideway.masks.bits import Row, unpack

MOST: Final = 1 << 14  # remembered texts, some hundred bytes each


@final
@dataclass(frozen=True, slots=True)
class Outside:
    """A text that left the language.

    Attributes:
        place: the place of the token that left it, from 0.
        error: the reason.
    """

    place: int
    error: TokenRejected


Standing: TypeAlias = DecodeState | Outside


@final
class Prefixes:
    """The states of one constraint, by the tokens that lead to them. Safe to share among threads.

    Attributes:
        constraint: the language of the texts.
        start: the state of the empty text.

    Example:
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
        """Know the empty text only.

        Args:
            constraint: the language of the texts.
            joint: bytes that the tokens spell before the text itself.
            most: the number of texts that are remembered.
        """
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
        """The tokens that may come next, with `left` tokens to come at most.

        Raises:
            LimitError: `left` tokens do not suffice to end the text.
        """
        if left is None:
            return self.constraint.mask(state)
        return self.constraint.mask_within(state, left)

    def count(
        self, enough: int, left: int | None = None, offered: Collection[int] | None = None
    ) -> int:
        """Count the token sequences that make a text, each end id apart: at most `enough`.

        Each beginning can be ended, so it is one sequence at least. Mostly the first tokens are
        enough.

        Args:
            enough: where to stop counting.
            left: the number of tokens that a sequence may have.
            offered: the end ids that may come, if not all of the vocabulary's.
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
