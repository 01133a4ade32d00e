"""Cutters of tokenizers, cached: reading the merges takes 1 to 7 seconds."""

import sys
from threading import Lock
from typing import Final

from guideway.errors import ModelError, SourceError
from guideway.vocabulary.backend import Backend, fast_backend
from guideway.vocabulary.cutter import Cutter
from guideway.vocabulary.spellings import Vocabulary
from guideway.vocabulary.tokenizer_json import read_table

_MOST: Final = 4

_made: list[tuple[object, Vocabulary, Cutter]] = []  # held, so that ids are not reused
_lock: Final = Lock()


def cutter_of(tokenizer: object, vocabulary: Vocabulary) -> Cutter:
    """Cutter of a fast tokenizer of transformers, or a `tokenizers.Tokenizer`."""
    if isinstance(tokenizer, bool):
        raise SourceError(
            f"canonical is {tokenizer}: guideway.compile needs the tokenizer of the vocabulary, or "
            "None"
        )
    library = sys.modules.get("tokenizers")  # if it is not loaded, nothing is of its classes
    own = library is not None and isinstance(tokenizer, library.Tokenizer)
    inner = tokenizer if own else fast_backend(tokenizer)
    with _lock:
        for known, own, cutter in _made:
            if known is inner and own == vocabulary:
                return cutter
        cutter = _cutter(Backend.of(inner), vocabulary)
        _made.append((inner, vocabulary, cutter))
        del _made[:-_MOST]
    return cutter


def _cutter(backend: Backend, vocabulary: Vocabulary) -> Cutter:
    spelled = read_table(backend).tokens
    for token, (own, other) in enumerate(zip(spelled, vocabulary.tokens, strict=False)):
        if own is not None and other is not None and own != other:
            raise ModelError(
                f"the tokenizer does not belong to the vocabulary: token {token} is {own!r} in the "
                f"tokenizer, and {other!r} in the vocabulary"
            )
    return Cutter.of(backend, vocabulary.tokens)
