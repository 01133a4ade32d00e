r"""Token healing: generate the last tokens of a prompt again, so that a token can cross its end.

A prompt may end within a token that the model usually writes. "http:" has the tokens "http" and
":", and the usual "://" cannot follow ":". So healing removes the last tokens from the prompt, and
the first generated tokens spell the same bytes and may continue after them::

    The URL is http:    The| URL| is| http|:     removes ":", because "://" begins with it
    a retur             a| ret|ur                removes two, because " return" begins with them
    in the end.         in| the| end|.           removes none, if no token begins with "."

The first removed token is the first place from which another token reads to the prompt's end and
beyond. At each removed token the model may generate that token again, or a token that reads from
there across the prompt's end. So every text that could follow the prompt still can, and the model
reads the prompt in its tokenizer's own tokens up to the crossing token. (Other tokens of the same
bytes are not allowed: " he" would replace " hel", because it is so probable by itself.)

Special tokens (`<s>`, the marks of a chat template) are never removed. This module does not know
models or constraints.
"""

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import cast

from guideway.errors import SourceError, brief
from guideway.vocabulary.vocabulary import Vocabulary


def heal(tokens: Sequence[int], vocabulary: Vocabulary) -> tuple[tuple[int, ...], bytes]:
    """Return the prompt's tokens without the last ones, and the bytes of the removed tokens.

    The last tokens are removed if a longer token could continue across the prompt's end.
    `Model.generate(..., heal=True)` does this for text prompts. In a loop of your own, the model
    reads the remaining tokens and the constraint starts with the bytes: `constraint.start(lead)`.

    Example:
        >>> vocabulary = Vocabulary([b"http", b":", b"://", b"s", b"a"])
        >>> heal([0, 1], vocabulary), heal([0, 4], vocabulary)
        (((0,), b':'), ((0, 4), b''))

    Args:
        tokens: the tokens of a prompt.
        vocabulary: the vocabulary of the tokens.

    Raises:
        SourceError: a token is not an id of the vocabulary, or `vocabulary` has another type.
    """
    ids = _checked(tokens, vocabulary)
    end, taken = b"", b""
    kept = len(ids)
    for place in range(kept - 1, -1, -1):
        spelling = _spelling(ids[place], vocabulary)
        if not spelling or len(end) >= vocabulary.longest:
            break
        end = spelling + end
        if len(vocabulary.beginning(end)) > len(vocabulary.ids(end)):  # a token is longer
            kept, taken = place, end
    return ids[:kept], taken


def _checked(tokens: object, vocabulary: object) -> tuple[int, ...]:
    if not isinstance(vocabulary, Vocabulary):
        raise SourceError(
            f"vocabulary must be a guideway.Vocabulary, not {type(vocabulary).__name__}"
        )
    try:
        return tuple(map(index, cast("Sequence[int]", tokens)))
    except TypeError:
        raise SourceError(f"tokens must be a list of ids, not {brief(tokens)}") from None


@lru_cache(256)
def across(vocabulary: Vocabulary, taken: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tokens that may replace removed ones: the first of them, or one across all.

    Example:
        >>> across(Vocabulary([b"a", b"ab", b"b", b"abc", b"c"]), (0, 2))
        (0, 1, 3)
    """
    data = b"".join(_spelling(token, vocabulary) for token in taken)
    return tuple(sorted({taken[0], *vocabulary.beginning(data).tolist()}))


def _spelling(token: int, vocabulary: Vocabulary) -> bytes:
    if not 0 <= token < vocabulary.width:
        raise SourceError(f"{brief(token)} is not a token of {vocabulary!r}")
    return vocabulary.spelling(token)
