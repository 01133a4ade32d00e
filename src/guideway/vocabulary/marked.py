"""A vocabulary in which special tokens have a spelling: that of `lowering.special`.

Made for constraints that name special tokens; all of them have their mark there, so that one such
vocabulary serves all constraints. An id that spells a text may be named too ("<tool_call>" of
Qwen): then it is no text there. End ids have none, they end a text wherever it may end. Tokens with
bytes that are in no text have no spelling there, or they could spell a mark.
"""

from functools import lru_cache
from typing import Final

from guideway.lowering.special import FIRST_MARK, MARKS, mark
from guideway.vocabulary.spellings import Vocabulary

_ODD: Final = bytes(range(FIRST_MARK, 0x100))


@lru_cache(maxsize=16)
def names_of(vocabulary: Vocabulary) -> dict[int, str]:
    """The name of each special token that is no end id; of several names the least.

    >>> names_of(Vocabulary([b"a", None, b"<eos>"], {2}, special={"<b>": 1}))
    {1: '<b>'}
    """
    named: dict[int, str] = {}
    for name, token in sorted(vocabulary.special.items()):
        if token not in vocabulary.eos_ids:
            named.setdefault(token, name)
    return named


@lru_cache(maxsize=16)
def marked(vocabulary: Vocabulary, others: frozenset[tuple[int, str]] = frozenset()) -> Vocabulary:
    """The vocabulary with marks for its special tokens and for `others`, ids with their names.

    >>> marked(Vocabulary([b"a", None], special={"<b>": 1})).tokens[1] == mark("<b>")
    True
    """
    names = {**names_of(vocabulary), **dict(others)}
    padding = [None] * (max(names, default=0) + 1 - len(vocabulary.tokens))
    plain = [
        token if token and len(token.translate(None, _ODD)) == len(token) else None
        for token in (*vocabulary.tokens, *padding)
    ]
    tokens = [mark(names[i]) if i in names else token for i, token in enumerate(plain)]
    made = Vocabulary(
        tokens,
        vocabulary.eos_ids,
        width=vocabulary.width,
        lead=vocabulary.lead,
        loss=vocabulary.loss,
    )
    text = Vocabulary([None if i in names else token for i, token in enumerate(plain)])
    # A mark is one token, whose bytes need none of their own.
    vars(made).update(spellable=text.spellable | MARKS, closed=text.closed)
    return made
