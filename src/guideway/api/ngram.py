"""`ngram`: from texts to an n-gram model that generates, and combines, like any other."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import torch

from guideway.api.model import Model
from guideway.errors import SourceError
from guideway.generation.ensemble.prompt import PromptReader
from guideway.models.ngram import NgramModel
from guideway.sources.sources import check_text
from guideway.vocabulary.vocabulary import Vocabulary

AT_ONCE: Final = 1024  # texts for one call of the tokenizer


def ngram(
    texts: Iterable[str] | Path, tokenizer: Any, order: int = 3, *, name: str = "ngram"
) -> Model:
    """Train an n-gram model from texts, in seconds.

    Use it as an expert or anti-expert beside a model with the same tokens. Sequences that are
    frequent in the texts are probable; no text that can be spelled is impossible. Estimates are
    interpolated modified Kneser–Ney (Chen and Goodman 1999).

    Args:
        texts: the texts, or the path of a file that `save` of its `language_model` wrote.
        tokenizer: a `Model`, a fast transformers tokenizer, or a `Vocabulary`, which spells texts
            with the fewest tokens.
        order: length of the longest n-grams in tokens, 1 to 16. Ignored for a file.
        name: its name in printed expressions.

    Returns:
        A model, on the device of the model whose tokens it uses.

    Raises:
        SourceError: the texts are no list of texts.
        ModelError: there is no text, the file cannot be read, or the vocabulary has no end id.
        LimitError: there is no such order.

    Example:
        >>> letters = Vocabulary([*(bytes([b]) for b in range(256)), b"<end>"], eos_ids={256})
        >>> model = ngram(["ha ha ha", "ha ha ha ha"], letters)
        >>> model.generate("ha", max_new_tokens=9).text
        ' ha ha ha'
    """
    vocabulary, read, device = _tokenizer_and_device(tokenizer)
    if isinstance(texts, Path):
        return Model(NgramModel.open(texts, vocabulary, device=device), read, name=name)
    if not isinstance(order, int) or isinstance(order, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"order is {order!r}: it must be a whole number")
    tokens = _tokens(_checked(texts), vocabulary, read)
    return Model(NgramModel.train(tokens, vocabulary, order, device=device), read, name=name)


def _tokenizer_and_device(tokenizer: Any) -> tuple[Vocabulary, Any, torch.device]:
    """Return the vocabulary, the transformers tokenizer or None, and the device."""
    if isinstance(tokenizer, Model):
        model = tokenizer.language_model
        return model.vocabulary, tokenizer.tokenizer, model.device
    if isinstance(tokenizer, Vocabulary):
        return tokenizer, None, torch.device("cpu")
    return Vocabulary.from_transformers(tokenizer), tokenizer, torch.device("cpu")


def _checked(texts: Iterable[object]) -> Iterator[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"texts is {texts!r:.80}: it must be a list of texts, or a Path")
    for number, text in enumerate(texts):
        check_text(text, f"text {number}")
        yield cast("str", text)


def _tokens(
    texts: Iterator[str], vocabulary: Vocabulary, tokenizer: Any
) -> Iterator[Sequence[int]]:
    """Yield the tokens of each text by itself."""
    if tokenizer is None:
        spell = PromptReader(vocabulary).spell
        yield from (spell(text.encode()) for text in texts)
        return
    while some := list(islice(texts, AT_ONCE)):
        # Not verbose: it would warn of texts longer than the model's context.
        yield from tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]
