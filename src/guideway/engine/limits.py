"""Checks before generation: token limits, context length, vocabulary of the constraint."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.constraints.compiled import CompiledConstraint, DecodeState
from guideway.engine.ensemble import Ensemble
from guideway.engine.request import Request
from guideway.errors import LimitError, ModelError
from guideway.masks.forest import unpack
from guideway.vocabulary.spellings import Vocabulary

FUEL: Final = 4096  # tokens tried when looking for a long text; a few milliseconds


def checked(request: Request, ensemble: Ensemble) -> int:
    """The token budget of a request: `max_new_tokens`, or less if the context is full.

    Raises LimitError if no text of the constraint fits, or ModelError for another vocabulary.
    """
    most = _room(request, ensemble)
    constraint = request.constraint
    if constraint is None:
        return most
    if constraint.vocabulary != ensemble.vocabulary:
        raise ModelError(
            "the constraint was compiled for another vocabulary than the model's: "
            f"{constraint.vocabulary!r}, not {ensemble.vocabulary!r}"
        )
    start = constraint.start(request.joint)
    needed = constraint.distance(start)
    if needed > most:
        raise LimitError(
            f"the shortest text of the constraint needs {needed} tokens, and max_new_tokens allows "
            f"{most}",
            limit="max_new_tokens",
            given=most,
            needed=needed,
        )
    least = request.sampling.min_new_tokens
    longest = longest_path(constraint, start, least) if least else None
    if longest is not None and longest < least:
        raise LimitError(
            f"the longest text of the constraint has {longest} tokens, and min_new_tokens "
            f"requires {least}",
            limit="min_new_tokens",
            given=least,
            needed=longest,
        )
    return most


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
    """The ids that end no text, by the length of what they show there."""
    shown = [(len(vocabulary.shown(token)), token) for token in range(vocabulary.width)]
    ids = [token for _, token in sorted(shown) if token not in vocabulary.eos_ids]
    return np.array(ids, np.int64)


def _room(request: Request, ensemble: Ensemble) -> int:
    most = request.sampling.max_new_tokens
    for reading, prompt in zip(ensemble.contexts, request.prompts, strict=True):
        limit = reading.model.context
        if limit is None:
            continue
        room = limit - len(prompt)
        if room < 1:
            raise LimitError(
                f"the prompt takes {len(prompt)} tokens, and the model's context is {limit}",
                limit="context",
                given=limit,
                needed=len(prompt) + 1,
            )
        most = min(most, room)
    return most
