"""Vocabularies in which special tokens have a spelling, that of `language.special_tokens`.

For constraints that name special tokens; all are marked, so one vocabulary serves all constraints.
A named id with a spelling ("<tool_call>" of Qwen) is no text there. End ids stay unmarked. Tokens
with bytes that occur in no text lose their spelling, because they could spell a mark.
"""

from functools import lru_cache
from typing import Final

from guideway.language.special_tokens import FIRST_MARK, MARKS, mark
from guideway.vocabulary.vocabulary import Vocabulary

_ODD: Final = bytes(range(FIRST_MARK, 0x100))


@lru_cache(maxsize=16)
def names_of(vocabulary: Vocabulary) -> dict[int, str]:
    """Names of special tokens other than end ids; the least of several."""
    named: dict[int, str] = {}
    for name, token in sorted(vocabulary.special.items()):
        if token not in vocabulary.eos_ids:
            named.setdefault(token, name)
    return named


@lru_cache(maxsize=16)
def marked(vocabulary: Vocabulary, others: frozenset[tuple[int, str]] = frozenset()) -> Vocabulary:
    """The vocabulary with marks for its special tokens and for `others`, ids with names."""
    names = {**names_of(vocabulary), **dict(others)}
    padding = [None] * (max(names, default=0) + 1 - len(vocabulary.tokens))
    plain = [
        token if token and len(token.translate(None, _ODD)) == len(token) else None
        for token in (*vocabulary.tokens, *padding)
    ]
    tokens = [mark(names[i]) if i in names else token for i, token in enumerate(plain)]
    made = vocabulary.replaced(tokens=tokens, special={})
    text = Vocabulary([None if i in names else token for i, token in enumerate(plain)])
    # A mark is one token, whose bytes need none of their own.
    vars(made).update(spellable=text.spellable | MARKS, closed=text.closed)
    return made
