"""The bytes of every token of a tokenizer, or of a tokenizer.json file.

- A piece of the model's own vocabulary is text, as its decoder spells it.
- An added token marked `special` is not: it controls the model, and decoding omits it.
- Other added tokens are text, whatever their names ("<tool_call>", "<unused5>"): their literal text
  is encoded to this id, so it would otherwise be forbidden.
- The unknown token is not text.

Tables of large files are cached on disk by content.

Without the `tokenizers` library, a tokenizer.json file is read as JSON. The result is the same as
the library's own view of the file (`Backend.load`), but cannot encode or decode. The rules that the
file leaves open are the library's:

- a model without a type is BPE if it has merges, else WordPiece if it has a prefix for
  continuations, else Unigram if its vocabulary is a list, else WordLevel;
- an added token keeps the id that the model gives its text, else it gets the next free one: the id
  written beside it does not count;
- a Metaspace step without a scheme prepends always.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from guideway.errors import ModelError
from guideway.extras import installed
from guideway.vocabulary.backend import AddedToken, Backend, Config, checked_count, no_panic
from guideway.vocabulary.cache import WORTH_BYTES, Record, cached
from guideway.vocabulary.decoding import Decoding, read_decoding
from guideway.vocabulary.self_check import check
from guideway.vocabulary.trie import check_longest

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


@dataclass(frozen=True, slots=True, eq=False)
class TokenTable:
    """Facts about tokens.

    Attributes:
        tokens: bytes of each id, None for no text.
        special: names of ids that are no text.
        added: names of added tokens, special or not.
        ids: id of each piece and added token, as written.
        lead: bytes removed at the beginning of a text.
        loss: why decoding loses information, or "".
    """

    tokens: tuple[bytes | None, ...]
    special: Mapping[str, int]
    added: Mapping[str, int]
    ids: Mapping[str, int]
    lead: bytes
    loss: str


def read_table(backend: Backend) -> TokenTable:
    """The tokens of `backend`, tested on a few hundred texts if it can encode."""
    with no_panic("the tokenizer"):
        return _read(backend)


def _read(backend: Backend) -> TokenTable:
    decoding = read_decoding(backend)
    special = {token.content: i for i, token in backend.added.items() if token.special}
    if backend.unknown is not None:
        special[backend.pieces[backend.unknown] or "<unknown>"] = backend.unknown
    silent = set(special.values())
    tokens = tuple(
        None if piece is None or i in silent else _spell(backend, decoding, i, piece)
        for i, piece in enumerate(backend.pieces)
    )
    check_longest(max((len(token) for token in tokens if token), default=0))  # trials take long
    if backend.tokenizer is not None:
        check(backend, decoding, tokens)
    return TokenTable(
        tokens=tokens,
        special=special,
        added={token.content: i for i, token in backend.added.items()},
        ids=backend.ids,
        lead=decoding.lead,
        loss=decoding.loss,
    )


def open_table(source: str | bytes | Path) -> tuple[TokenTable, Path | None]:
    """Tokens of a tokenizer.json (path, folder or content), and its folder."""
    if isinstance(source, bytes):
        return _table(source, "the text given"), None
    path = Path(source)
    try:
        if path.is_dir():
            path /= "tokenizer.json"
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"the tokenizer {path} cannot be read: {error.strerror}") from None
    except ValueError:  # the name has half of a surrogate pair, or a NUL
        raise ModelError(
            f"the tokenizer {str(path)!r} cannot be read: a file name cannot have these characters"
        ) from None
    return _table(content, str(path)), path.parent


def _table(content: bytes, name: str) -> TokenTable:
    if len(content) < WORTH_BYTES:
        return _read_content(content, name)
    return _from_record(cached("table", (content,), lambda: _record(_read_content(content, name))))


def _read_content(content: bytes, name: str) -> TokenTable:
    if installed("tokenizers"):
        return read_table(Backend.load(content, name))
    with broken_file(name):
        return read_table(read_file(content))


def _record(table: TokenTable) -> Record:
    facts = {
        "special": dict(table.special),
        "added": dict(table.added),
        # The library names them in another order each time.
        "ids": dict(sorted(table.ids.items())),
        "lead": table.lead.hex(),
        "loss": table.loss,
    }
    spelled = [token or b"" for token in table.tokens]
    ends = np.cumsum(np.fromiter(map(len, spelled), np.int64, len(spelled)))
    return Record(facts, {"tokens": np.frombuffer(b"".join(spelled), np.uint8), "ends": ends})


def _from_record(record: Record) -> TokenTable:
    facts, arrays = record.facts, record.arrays
    data, ends = arrays["tokens"].tobytes(), arrays["ends"].tolist()
    tokens = tuple(data[i:j] or None for i, j in zip([0, *ends], ends, strict=False))
    return TokenTable(
        tokens=tokens,
        special=facts["special"],
        added=facts["added"],
        ids=facts["ids"],
        lead=bytes.fromhex(facts["lead"]),
        loss=facts["loss"],
    )


def _spell(backend: Backend, decoding: Decoding, token: int, piece: str) -> bytes:
    added = backend.added.get(token)
    if added is None or added.piece:
        return decoding.spell(piece)
    return decoding.spell_added(piece)
