"""Checks before generation: token limits, context length, vocabulary of the constraint."""

from guideway.constraint.longest_path import longest_path
from guideway.errors import LimitError, ModelError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.row.request import Request


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
