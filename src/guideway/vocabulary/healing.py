r"""Token healing: the end of a prompt is taken back, so that a token may go on across its end.

A prompt that ends inside what the model would write as one token leads it astray: "http:" is cut
into "http" and ":", and behind ":" the usual "://" can no longer come. So the last tokens are taken
back, and the first new ones spell the same bytes and may go on behind them::

    The URL is http:    The| URL| is| http|:     ":" is taken back: "://" begins with it
    a retur             a| ret|ur                both of the last are: " return" begins with them
    in the end.         in| the| end|.           nothing, where no token begins with "."

What is taken back begins with the first token from which on some other token reads to the prompt's
end and beyond. In its place come, at each of the tokens taken back, that token again, or one that
reads from there to the end of the prompt, and on. So each text that could follow the prompt still
can, and the model reads the prompt as its tokenizer cut it, up to the token that goes on across.
(Any way to cut it anew would do for the bytes. But then " he" stands for " hel", because it is so
probable by itself, and nothing good can follow.)

Tokens that are no text (`<s>`, the marks of a chat template) are never taken back.

What this module does not know: models, constraints.
"""

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import cast

from guideway.errors import SourceError, brief
from guideway.vocabulary.spellings import Vocabulary


def heal(tokens: Sequence[int], vocabulary: Vocabulary) -> tuple[tuple[int, ...], bytes]:
    """Return the prompt's tokens without the last ones, and the bytes of those.

    The last tokens are removed where a longer token could continue across the prompt's end.
    `Model.generate(..., heal=True)` does this for text prompts. In a loop of your own, the model
    reads the remaining tokens and the constraint starts with the bytes: `constraint.start(lead)`.

    Example:
        >>> vocabulary = Vocabulary([b"http", b":", b"://", b"s", b"a"])
        >>> heal([0, 1], vocabulary), heal([0, 4], vocabulary)
        (((0,), b':'), ((0, 4), b''))

    Args:
        tokens: the tokens of a prompt.
        vocabulary: what they spell.

    Raises:
        SourceError: an id that the vocabulary does not have, or what is no id or no vocabulary.
    """
    ids = _checked(tokens, vocabulary)
    end, taken = b"", b""
    kept = len(ids)
    for place in range(kept - 1, -1, -1):
        spelling = _spelling(ids[place], vocabulary)
        if spelling is None or len(end) >= vocabulary.longest:
            break
        end = spelling + end
        if _goes_on(end, vocabulary):
            kept, taken = place, end
    return ids[:kept], taken


def _checked(tokens: object, vocabulary: object) -> tuple[int, ...]:
    if not isinstance(vocabulary, Vocabulary):
        raise SourceError(
            f"tokens are healed for a guideway.Vocabulary, not for {type(vocabulary).__name__}"
        )
    try:
        return tuple(map(index, cast("Sequence[int]", tokens)))
    except TypeError:
        raise SourceError(f"tokens are ids, not {brief(tokens)}") from None


@lru_cache(256)
def across(vocabulary: Vocabulary, taken: tuple[int, ...]) -> tuple[int, ...]:
    """What may come in the place of tokens that were taken back: the first one, or one across all.

    Example:
        >>> across(Vocabulary([b"a", b"ab", b"b", b"abc", b"c"]), (0, 2))
        (0, 1, 3)
    """
    data = b"".join(_spelling(token, vocabulary) or b"" for token in taken)
    node = _node(data, vocabulary)
    longer: list[int] = vocabulary.trie.subtree_tokens(node).tolist() if node >= 0 else []
    return tuple(sorted({taken[0], *longer}))


def _spelling(token: int, vocabulary: Vocabulary) -> bytes | None:
    if not 0 <= token < vocabulary.width:
        raise SourceError(f"{brief(token)} is no token of {vocabulary!r}")
    return vocabulary.tokens[token] if token < len(vocabulary.tokens) else None


def _goes_on(data: bytes, vocabulary: Vocabulary) -> bool:
    """Whether a token begins with `data` and has more."""
    trie, node = vocabulary.trie, _node(data, vocabulary)
    return node >= 0 and bool(trie.first_child[node] < trie.first_child[node + 1])


def _node(data: bytes, vocabulary: Vocabulary) -> int:
    """The node of the beginning of tokens that is `data`, -1 if no token begins so."""
    trie, node = vocabulary.trie, 0
    for byte in data:
        node = trie.child(node, byte)
        if node < 0:
            break
    return node
