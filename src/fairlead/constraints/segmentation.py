"""How few tokens spell a text."""

from functools import lru_cache

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
