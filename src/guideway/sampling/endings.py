"""Which tokens complete a sequence of tokens, or a text, after what is there already.

Biases and bad words are given as token ids, as sequences of them, or as texts. A sequence is
completed by its last token where the others stand before it, in prompt or text (transformers'
`sequence_bias`). A text is completed by whatever tokens spell it: what counts is the bytes, of the
generated text alone. Two ways to complete a text:

- `within` (bad words): the token after which the text is there, somewhere;
- at the end (biases): the token after which what was generated ends with it.

Worked example: the text "foo" with the tokens "f", "o", "oo", "food". Always: "food" within. After
an "f": "oo". After "fo": "o" — and within, all tokens that begin with "o".

What this module does not know: logits, what happens to the tokens.
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
    """Tokens with a value each, some always, some after others.

    Attributes:
        always: those that complete something whatever is before them.
        after_ids: by the tokens before them.
        after_text: by the last bytes of the text before them.
        widths: the lengths of the keys of `after_ids`.
        reach: the length of the longest key of `after_text`, in bytes.
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
        """The endings of these sequences and texts.

        Args:
            pairs: what is to be completed, with the value of the tokens that do so.
            vocabulary: which tokens there are.
            within: whether a text may be followed by more in the same token.
            what: the setting, for messages.

        Raises:
            LimitError: an id is beyond the vocabulary.
        """
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
        """The tokens that complete something here, those that always do left out.

        Args:
            ids: all tokens so far.
            tail: the last bytes of the generated text, `reach` of them where there are so many.
        """
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
