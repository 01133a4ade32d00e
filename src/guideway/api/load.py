"""`load`, `ngram` and `train_heads`: models from names, folders, files and objects, from texts; and
heads that draft (`speculate=folder`).
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal, cast

import torch

from guideway.api.model import Model, as_model, reader_of
from guideway.api.prompts import Prompt
from guideway.chat.messages import are_messages
from guideway.errors import LimitError, SourceError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.ensemble.views import read
from guideway.generation.heads import Heads
from guideway.models.load import load as load_backend
from guideway.models.ngram import NgramModel
from guideway.sources.sources import check_count, check_text

logger: Final = logging.getLogger(__name__)


def load(
    source: str | Path | Any,
    tokenizer: Any = None,
    *,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    quantize: Literal["int8", "int4"] | None = None,
    backend: Literal["transformers", "llama.cpp"] | None = None,
    name: str | None = None,
) -> Model:
    """Load a model, ready to generate.

    Example:
        >>> model = load("smollm2-135m")  # doctest: +SKIP
        >>> model.generate("How old is Ann?", int).value  # doctest: +SKIP
        34

    Args:
        source: "smollm2-135m" (built in), a folder, a `.gguf` file, a hub id, or a transformers
            model.
        tokenizer: the tokenizer, if `source` is a transformers model.
        device: the device of the model ("cpu", "cuda", …). Default: a GPU if there is one.
        dtype: the type of the weights: a torch.dtype, or a name ("bf16", "fp16", "float32", …;
            "auto" for the checkpoint's own). Default: float32 on a CPU, "auto" on a GPU.
        quantize: "int8" or "int4" packs the weights of linear layers; the rest keeps `dtype`. Needs
            the extra "quantize". Texts differ from those of the full weights.
        backend: "transformers", or "llama.cpp" for a `.gguf` file or the built-in model: weights
            stay as the file packs them (extra "llama-cpp"). Default: "llama.cpp" for a `.gguf` file
            if it is installed and neither `dtype` nor `quantize` is given, else "transformers".
        name: the name of the model in printed expressions. Default: derived from `source`.

    Raises:
        ModelError: the model is missing, unreadable or incomplete. The message lists the places
            that were searched, and explains how to provide the model by hand. Also if the model
            cannot be quantized, or torchao or llama-cpp-python is not installed.
    """
    began = perf_counter()
    loaded = load_backend(
        source, tokenizer, device=device, dtype=dtype, quantize=quantize, backend=backend
    )
    seconds = perf_counter() - began
    logger.info("loaded %s on %s in %.1f s", _name(source), loaded.device, seconds)
    return Model(loaded, loaded.tokenizer, name=name or _name(source))


def _name(source: object) -> str:
    """Return the last part of the name or path that a model was loaded from."""
    if not isinstance(source, str | Path):
        return type(source).__name__
    return str(source).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")


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
        tokenizer: a `Model`, a fast transformers tokenizer, a tokenizer.json, or a `Vocabulary`,
            which spells texts with the fewest tokens.
        order: length of the longest n-grams in tokens, 1 to 16. Ignored for a file.
        name: its name in printed expressions.

    Returns:
        A model, on the device of the model whose tokens it uses.

    Raises:
        SourceError: the texts are no list of texts.
        ModelError: there is no text, the file cannot be read, or the vocabulary has no end id.
        LimitError: there is no such order.

    Example:
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> letters = Vocabulary([*(bytes([b]) for b in range(256)), b"<end>"], eos_ids={256})
        >>> model = ngram(["ha ha ha", "ha ha ha ha"], letters)
        >>> model.generate("ha", max_new_tokens=9).text
        ' ha ha ha'
    """
    reader, device = reader_of(tokenizer), torch.device("cpu")
    if isinstance(tokenizer, Model):
        device = tokenizer.language_model.device
    if isinstance(texts, Path):
        made = NgramModel.open(texts, reader.vocabulary, device=device)
        return Model(made, reader.tokenizer, name=name)
    if not isinstance(order, int) or isinstance(order, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"order is {order!r}: it must be a whole number")
    tokens = _tokens(_checked(texts), reader)
    made = NgramModel.train(tokens, reader.vocabulary, order, device=device)
    return Model(made, reader.tokenizer, name=name)


def _checked(texts: Iterable[object]) -> Iterator[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"texts is {texts!r:.80}: it must be a list of texts, or a Path")
    for number, text in enumerate(texts):
        check_text(text, f"text {number}")
        yield cast("str", text)


def _tokens(texts: Iterator[str], reader: PromptReader) -> Iterator[Sequence[int]]:
    """Yield the tokens of each text by itself."""
    if reader.tokenizer is None:
        yield from (reader.spell(text.encode()) for text in texts)
        return
    while some := list(islice(texts, AT_ONCE)):
        # Not verbose: it would warn of texts longer than the model's context.
        yield from reader.tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]


def train_heads(
    model: Model, texts: Iterable[str | tuple[Prompt, str]], folder: str | Path, heads: int = 3
) -> Path:
    """Train blockwise heads of a model, and save them in a folder for `speculate=folder`.

    The weights of the model stay as they are. Give texts like those that the model will write, best
    its own answers to prompts of the same kind: a few thousand tokens take minutes on a CPU.

    Args:
        model: the model that the heads are for. Of an expression, it is the first model.
        texts: texts, or pairs of a prompt and the text that follows it; the heads learn the text.
        folder: where the heads are saved. It is made if it is missing.
        heads: the number of heads, 1 to 8. Head k guesses the k-th token after the next one.

    Returns:
        The folder.

    Raises:
        SourceError: the texts are no such list, or too short.
        LimitError: a text is longer than the context of the model.
        UnsupportedError: the model does not show its hidden states.
    """
    as_model(model, "model")
    check_count("heads", heads, 1, 8)
    ensemble, tokens = Ensemble(model.whole), list[tuple[tuple[int, ...], int]]()
    main, hidden = ensemble.contexts[0], ensemble.main.hidden()
    for number, given in enumerate(texts):
        prompt, text = given if isinstance(given, tuple) and len(given) == 2 else ("", given)
        if not (isinstance(text, str) and (isinstance(prompt, str) or are_messages(prompt))):  # pyright: ignore[reportUnnecessaryIsInstance]
            said = f"text {number} is {given!r:.80}: it must be a text, or a prompt and a text"
            raise SourceError(said)
        begun = read(prompt, main.views, main.reader)
        whole = (*begun.tokens, *main.reader.continuation(begun, text))
        if hidden.context is not None and len(whole) > hidden.context:
            said = f"text {number} has {len(whole)} tokens with its prompt, and the context of the "
            raise LimitError(f"{said}model is {hidden.context}", limit="context", given=len(whole))
        tokens.append((whole, len(begun.tokens)))
    if not any(len(whole) > begin + 1 for whole, begin in tokens):
        raise SourceError(
            "texts has no text of two tokens or more: heads learn from a list of them"
        )
    made = Path(folder).expanduser()
    Heads.train(hidden, tokens, main.adapter, heads).save(made)
    return made
