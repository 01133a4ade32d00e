"""How few tokens spell a text, and the error where there are not as many."""

from functools import lru_cache

from fairlead.errors import LimitError
from fairlead.vocabulary.spellings import Vocabulary


@lru_cache(4096)
def fewest_tokens(vocabulary: Vocabulary, text: bytes) -> int | None:
    """The least number of tokens whose spellings make up `text`, None if none do.

    Dynamic programming from the end: O(len(text) · longest token).

    >>> fewest_tokens(Vocabulary([b"a", b"ab", b"b"]), b"aab")
    2
    """
    best: list[int | None] = [None] * len(text) + [0]
    for at in range(len(text) - 1, -1, -1):
        rests = [best[at + length] for length in vocabulary.trie.prefixes(text, at)]
        best[at] = min((1 + rest for rest in rests if rest is not None), default=None)
    return best[0]


def too_few(left: int, needed: int) -> LimitError:
    """What is said where a text cannot be ended any more in the tokens that are left."""
    return LimitError(
        f"{needed} tokens are needed to end the text, {left} are left",
        limit="max_new_tokens",
        given=left,
        needed=needed,
    )
