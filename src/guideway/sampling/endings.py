"""Tokens that complete a token sequence or a text, given what precedes them.

A sequence is completed by its last token if the others precede it, in prompt or text (transformers'
`sequence_bias`). A text is completed by any tokens that spell it, in the generated text alone:

- `within` (bad words): the token after which the generated text contains the text;
- at the end (biases): the token after which the generated text ends with it.

Example: the text "foo" with the tokens "f", "o", "oo", "food". Always: "food" within. After an "f":
"oo". After "fo": "o", and within all tokens that begin with "o".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, final

import numpy as np

from guideway.errors import LimitError
from guideway.sampling.trail import Ids
from guideway.vocabulary.spellings import Vocabulary

Key: TypeAlias = tuple[int, ...] | str
Group: TypeAlias = tuple[Ids, float]  # tokens, and the value that they have

NONE: Final[Ids] = np.zeros(0, np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Endings:
    """Completing tokens with a value each.

    Attributes:
        always: tokens that complete something in any context.
        after_ids: tokens by the ids before them.
        after_text: tokens by the last bytes before them.
        widths: lengths of the keys of `after_ids`.
        reach: length of the longest key of `after_text`, in bytes.
    """

    always: tuple[Group, ...]
    after_ids: dict[tuple[int, ...], list[Group]]
    after_text: dict[bytes, list[Group]]
    widths: tuple[int, ...]
    reach: int

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[Key, float]], vocabulary: Vocabulary, *, within: bool, what: str
    ) -> "Endings":
        """The endings of sequences and texts; `within`: the token may continue after the text."""
        always = list[Group]()
        after_ids: dict[tuple[int, ...], list[Group]] = {}
        after_text: dict[bytes, list[Group]] = {}
        for key, value in pairs:
            if isinstance(key, str):
                data = key.encode()
                always.append((_holders(vocabulary, data, within=within), value))
                for size in range(1, len(data)):
                    tokens = _finishers(vocabulary, data[size:], within=within)
                    if len(tokens):
                        after_text.setdefault(data[:size], []).append((tokens, value))
                continue
            _check_ids(key, vocabulary, what)
            group = np.array(key[-1:], np.int64), value
            if len(key) == 1:
                always.append(group)
            else:
                after_ids.setdefault(key[:-1], []).append(group)
        widths = tuple(dict.fromkeys(map(len, after_ids)))
        return cls(
            tuple(always), after_ids, after_text, widths, max(map(len, after_text), default=0)
        )

    def completed(self, ids: Ids, tail: bytes) -> Iterator[Group]:
        """Completing tokens here, without `always`; `tail` has the last `reach` bytes."""
        for width in self.widths:
            if width <= len(ids):
                yield from self.after_ids.get(tuple(ids[-width:].tolist()), ())
        for size in range(1, min(self.reach, len(tail)) + 1):
            yield from self.after_text.get(tail[-size:], ())


NOTHING: Final = Endings((), {}, {}, (), 0)


@lru_cache(1024)
def _holders(vocabulary: Vocabulary, data: bytes, *, within: bool) -> Ids:
    """The tokens whose spelling holds `data`, or ends with it."""
    if within:
        found = re.compile(re.escape(data)).search
        spelled = enumerate(vocabulary.tokens)
        return _ids(token for token, spelling in spelled if spelling and found(spelling))
    spelled = enumerate(vocabulary.tokens)
    return _ids(token for token, spelling in spelled if spelling and spelling.endswith(data))


def _finishers(vocabulary: Vocabulary, data: bytes, *, within: bool) -> Ids:
    """The tokens whose spelling begins with `data`, or is `data`."""
    trie = vocabulary.trie
    if not within:
        return trie.ids(data).astype(np.int64)
    node = 0
    for byte in data:
        node = trie.child(node, byte)
        if node < 0:
            return NONE
    return trie.subtree_tokens(node).astype(np.int64)


def _ids(tokens: Iterator[int]) -> Ids:
    return np.fromiter(tokens, np.int64)


def _check_ids(key: tuple[int, ...], vocabulary: Vocabulary, what: str) -> None:
    if max(key) >= vocabulary.width:
        raise LimitError(
            f"{what} has the token {max(key)}: it must be below {vocabulary.width}, the number of "
            "logits",
            limit=what,
            given=max(key),
        )
