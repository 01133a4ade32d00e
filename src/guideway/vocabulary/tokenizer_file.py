"""A tokenizer.json file read as JSON, for installations without the `tokenizers` library.

The result is the same as the library's own view of the file (`Backend.load`), but cannot encode or
decode. The rules that the file leaves open are the library's:

- a model without a type is BPE if it has merges, else WordPiece if it has a prefix for
  continuations, else Unigram if its vocabulary is a list, else WordLevel;
- an added token keeps the id that the model gives its text, else it gets the next free one: the id
  written beside it does not count;
- a Metaspace step without a scheme prepends always.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from guideway.errors import ModelError
from guideway.vocabulary.backend import AddedToken, Backend, Config, checked_count

_BROKEN: Final = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


@contextmanager
def broken_file(name: str) -> Generator[None]:
    """Turn the errors of a malformed file into a `ModelError` with `name`."""
    try:
        yield
    except _BROKEN as error:
        raise ModelError(f"{name} is not a valid tokenizer.json: {error!r}") from None


def read_file(text: bytes) -> Backend:
    """The tokenizer in `text`, which cannot encode or decode; errors are for `broken_file`."""
    document: Config = json.loads(text)
    model: Config = document["model"]
    kind = model.get("type") or _kind(model)
    vocabulary = _vocabulary(kind, model)
    tokens: Sequence[Config] = document.get("added_tokens") or ()
    numbers = _added_ids(tokens, vocabulary, len(model["vocab"]))
    ids = {**vocabulary, **numbers}
    pieces: list[str | None] = [None] * checked_count(ids.values())
    for piece, number in ids.items():
        pieces[number] = piece
    if kind == "Unigram":  # its list may repeat a piece
        pieces[: len(model["vocab"])] = [piece for piece, _ in model["vocab"]]
    added: dict[int, AddedToken] = {}
    for token in tokens:
        if token["content"]:
            number = numbers[token["content"]]
            pieces[number] = token["content"]
            added[number] = AddedToken(
                content=token["content"],
                special=token["special"],
                strips=token["lstrip"] or token["rstrip"],
                piece=token["content"] in vocabulary,
            )
    unknown = model.get("unk_id") if kind == "Unigram" else _unknown(model, vocabulary)
    return Backend(
        pieces=pieces,
        ids=ids,
        added=added,
        unknown=unknown,
        byte_fallback=bool(model.get("byte_fallback")),
        normalizer=document.get("normalizer"),
        pre_tokenizer=_filled(document.get("pre_tokenizer")),
        decoder=_filled(document.get("decoder")),
        tokenizer=None,
    )


def _kind(model: Config) -> str:
    if "merges" in model:
        return "BPE"
    if "continuing_subword_prefix" in model:
        return "WordPiece"
    return "Unigram" if isinstance(model["vocab"], list) else "WordLevel"


def _vocabulary(kind: str, model: Config) -> Mapping[str, int]:
    if kind == "Unigram":
        return {piece: number for number, (piece, _) in enumerate(model["vocab"])}
    if kind not in {"BPE", "WordPiece", "WordLevel"}:
        raise ValueError(f"its model has the unknown type {kind}")
    found: Mapping[str, int] = dict(model["vocab"])
    if any(type(number) is not int or number < 0 for number in found.values()):
        raise ValueError("an id in its vocabulary is not a whole number")
    return found


def _unknown(model: Config, vocabulary: Mapping[str, int]) -> int | None:
    name = model.get("unk_token")
    return None if name is None else vocabulary.get(name)


def _added_ids(
    tokens: Sequence[Config], vocabulary: Mapping[str, int], size: int
) -> dict[str, int]:
    """The id of each added token. `size` is the number of entries of the model's vocabulary."""
    numbers: dict[str, int] = {}
    last = -1
    for token in tokens:
        content = token["content"]
        if content and content not in numbers:
            numbers[content] = vocabulary.get(content, max(size, last + 1))
            last = max(last, numbers[content])
    return numbers


def _filled(config: Config | None) -> Config | None:
    """A configuration with the values that older files leave out."""
    if config is None:
        return None
    parts = {
        key: [_filled(step) for step in value]
        for key, value in config.items()
        if key in {"decoders", "pretokenizers"}
    }
    if config["type"] == "Metaspace":
        return {"prepend_scheme": "always", **config}
    return {**config, **parts}
