"""Drafts: guesses of the next tokens, which the model verifies in the forward that is due anyway.

A draft never changes a text. After the forward, each token is drawn as without a draft, with the
same noise; as long as the drawn token is the drafted one, the next one can be drawn too. So the
output is that without drafts, and a draft that is right saves a forward.
"""

from collections.abc import Iterator
from collections.abc import Sequence as Listed
from functools import lru_cache
from itertools import islice
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import Row
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.errors import GuidewayError
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.row.cursor import end_row, text_row
from guideway.generation.row.sequence import Sequence
from guideway.models.protocol import NO_DRAFT, Draft, Origin
from guideway.vocabulary.vocabulary import Vocabulary

LONGEST: Final = 8  # tokens compared before a place that is looked up
BREAK: Final = -1  # between texts that are looked up
FORCED: Final = 128  # bytes of a forced string that are drafted at once
CANDIDATES: Final = 64  # latest places where the last token was read before


@runtime_checkable  # the tests check annotations
class Drafter(Protocol):
    """Proposes tokens."""

    @property
    def seconds(self) -> float:
        """Seconds for each drafted token, accepted or not."""
        ...

    def draft(self, rows: Listed[Sequence], most: int) -> list[Draft]:
        """At most `most` tokens for each row."""
        ...


class Lookup:
    """Strings that the constraint forces, and tokens after an earlier copy of the last tokens.

    The places are the prompt, the text, and earlier texts of the same model (LLMA, Yang et al.
    2023, arXiv 2304.04487; prompt lookup decoding, Saxena 2023). Under a constraint, only allowed
    tokens are drafted.
    """

    seconds = 0.0  # nothing beside a forward

    def __init__(self, reader: PromptReader, *, looks: bool = True, kept: int = 1 << 15) -> None:
        """A drafter for the tokens of `reader`.

        Args:
            reader: spells forced strings.
            looks: False drafts forced strings only.
            kept: tokens of earlier texts to keep.
        """
        self._reader, self._looks, self._kept = reader, looks, kept
        self._earlier: NDArray[np.int64] = np.zeros(0, np.int64)
        self._spelled = lru_cache(4096)(self._spell)

    def draft(self, rows: Listed[Sequence], most: int) -> list[Draft]:
        return [self._attempt(row, min(most, row.most - len(row.tokens) - 1)) for row in rows]

    def _attempt(self, row: Sequence, most: int) -> Draft:
        try:
            return self._draft(row, most)
        except GuidewayError:  # the step meets it again, if the text goes that way
            return NO_DRAFT

    def learn(self, text: Listed[int]) -> None:
        """Keep a text for later ones."""
        if self._looks:
            ids = np.concatenate([self._earlier, [BREAK], np.array(text, np.int64)])
            self._earlier = ids[-self._kept :]

    def _draft(self, row: Sequence, most: int) -> Draft:
        tokens, origins = list[int](), list[Origin]()
        walk = Walk(row.position, row.vocabulary)
        before = self._earlier
        if self._looks:
            text = np.array(row.tokens, np.int64)
            before = np.concatenate([before, [BREAK], _array(row.request.prompt), text])
        held = row.position is not None
        while len(tokens) < most:
            found = [*islice(self._forced(walk), most - len(tokens))]
            if not found and self._looks:
                whole = np.concatenate([before, np.array(tokens, np.int64)])
                found = [*islice(_lookup(whole, walk, held=held), most - len(tokens))]
            if not found:
                break
            tokens += [token for token, _ in found]
            origins += [origin for _, origin in found]
        walk.allowed()  # the mask of the step, if all are right
        return Draft(tuple(tokens), tuple(origins))

    def _forced(self, walk: "Walk") -> Iterator[tuple[int, Origin]]:
        spelled = self._spelled(walk.forced())
        for place, token in enumerate(spelled, 1):
            if not walk.take(token):
                return
            yield token, ("forced", place == len(spelled))

    def _spell(self, data: bytes) -> tuple[int, ...]:
        return self._reader.spelled(data) if data else ()


@lru_cache(256)
def _array(prompt: tuple[int, ...]) -> NDArray[np.int64]:
    return np.array(prompt, np.int64)


class Walk:
    """A state of a constraint that follows drafted tokens; free text allows any."""

    def __init__(
        self, position: tuple[CompiledConstraint, DecodeState] | None, vocabulary: Vocabulary
    ) -> None:
        self._position, self._vocabulary = position, vocabulary

    def forced(self) -> bytes:
        """The bytes that come next in every text."""
        if self._position is None:
            return b""
        constraint, state = self._position
        return constraint.forced_bytes(state, FORCED)

    def allowed(self) -> Row:
        """The tokens that may come next, without ends."""
        if self._position is None:
            return text_row(self._vocabulary)
        constraint, state = self._position
        return constraint.mask(state) & ~end_row(self._vocabulary)

    def take(self, token: int) -> bool:
        """Follow a token; False if it is not allowed."""
        if not self.allowed()[token >> 5] >> np.uint32(token & 31) & 1:
            return False
        if self._position is not None:
            constraint, state = self._position
            self._position = constraint, constraint.advance(state, token)
        return True


def _lookup(tokens: NDArray[np.int64], walk: Walk, *, held: bool) -> Iterator[tuple[int, Origin]]:
    """The allowed tokens after the earlier place that shares the longest ending with `tokens`."""
    places = np.flatnonzero(tokens[:-1] == tokens[-1])[-CANDIDATES:]
    following = tokens[places + 1]
    row = walk.allowed()
    fine = (following >= 0) & (row[following >> 5] >> (following & 31).astype(np.uint32) & 1 != 0)
    places = places[fine]
    if not len(places):
        return
    lengths = np.ones(len(places), np.int64)
    same = np.ones(len(places), np.bool_)
    for back in range(1, min(LONGEST, len(tokens) - 1)):
        same &= (places >= back) & (tokens[places - back] == tokens[-1 - back])
        same &= tokens[-1 - back] != BREAK
        lengths += same
    best = int(np.flatnonzero(lengths == lengths.max())[-1])
    name = "held" if held else "free"
    for more, token in enumerate(tokens[places[best] + 1 :].tolist()):
        if token == BREAK or not walk.take(token):
            return
        yield token, (name, min(int(lengths[best]) + more, LONGEST))
