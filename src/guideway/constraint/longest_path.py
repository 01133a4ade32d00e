"""The most tokens that can follow a state."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.vocabulary.vocabulary import Vocabulary

FUEL: Final = 4096  # tokens tried when looking for a long text; a few milliseconds


def longest_path(
    constraint: CompiledConstraint, state: DecodeState, enough: int, *, fuel: int = FUEL
) -> int | None:
    """The number of tokens that can follow `state` before the text must end, at most `enough`.

    A depth-first search, tokens of few bytes first; a repeated state means that there is no limit.
    Returns None after `fuel` tokens.
    """
    known: dict[DecodeState, int] = {}
    path: list[DecodeState] = [state]
    trail = [_following(constraint, state)]
    best = [0]
    while trail:
        after = next(trail[-1], None)
        fuel -= 1
        if fuel < 0:
            return None
        if after is not None and after not in known:
            if after in path or len(path) >= enough:
                return enough
            path.append(after)
            trail.append(_following(constraint, after))
            best.append(0)
            continue
        if after is not None:
            best[-1] = max(best[-1], known[after] + 1)
            continue
        done, length = path.pop(), best.pop()
        known[done] = length
        trail.pop()
        if best:
            best[-1] = max(best[-1], length + 1)
    return known[state]


def _following(constraint: CompiledConstraint, state: DecodeState) -> Iterator[DecodeState]:
    """The states after each token that is no end id, short tokens first."""
    order = _short_first(constraint.vocabulary)
    allowed = np.zeros(constraint.vocabulary.width, np.bool_)
    allowed[unpack(constraint.mask(state))] = True
    for token in order[allowed[order]]:
        yield constraint.advance(state, int(token))


@lru_cache(16)
def _short_first(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """The ids that end no text, shortest spelling first."""
    shown = [(len(vocabulary.shown(token)), token) for token in range(vocabulary.width)]
    ids = [token for _, token in sorted(shown) if token not in vocabulary.eos_ids]
    return np.array(ids, np.int64)
