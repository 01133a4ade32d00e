"""Checks before generation: token limits, context length, vocabulary of the constraint."""

import sys

from guideway.constraint.longest_path import longest_path
from guideway.errors import LimitError, ModelError
from guideway.generation.ensemble.ensemble import Ensemble, Prompts
from guideway.generation.row.request import Request


def checked(request: Request, ensemble: Ensemble) -> int:
    """The token budget of a request: `max_new_tokens`, or less if the context is full.

    Raises LimitError if no text of the constraint fits, or ModelError for another vocabulary.
    """
    most = min(request.sampling.max_new_tokens, room(ensemble, request.prompts))
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


def room(ensemble: Ensemble, prompts: Prompts, needed: int = 1) -> int:
    """The tokens that may follow prompts in every context; a LimitError if `needed` do not fit."""
    most = sys.maxsize
    for reading, prompt in zip(ensemble.contexts, prompts, strict=True):
        if (limit := reading.model.context) is not None:
            most = min(most, limit - len(prompt))
            if most < needed:
                whole = len(prompt) + needed
                said = f"the prompt and the longest continuation have {whole} tokens"
                if needed == 1:
                    said = f"the prompt takes {len(prompt)} tokens"
                raise LimitError(
                    f"{said}, and the model's context is {limit}",
                    limit="context",
                    given=limit,
                    needed=whole,
                )
    return most
