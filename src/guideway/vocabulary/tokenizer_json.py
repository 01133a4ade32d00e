"""The bytes of every token of a tokenizer.

- A piece of the model's own vocabulary is text, as its decoder spells it.
- An added token marked `special` is not: it controls the model, and decoding omits it.
- Other added tokens are text, whatever their names ("<tool_call>", "<unused5>"): their literal text
  is encoded to this id, so it would otherwise be forbidden.
- The unknown token is not text.

Tables of large files are cached on disk by content.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from guideway.errors import ModelError
from guideway.extras import installed
from guideway.vocabulary.array_file import Record
from guideway.vocabulary.backend import Backend, no_panic
from guideway.vocabulary.cache import WORTH_BYTES, kept
from guideway.vocabulary.decoding import Decoding, read_decoding
from guideway.vocabulary.flat_trie import check_longest
from guideway.vocabulary.self_check import check
from guideway.vocabulary.tokenizer_file import broken_file, read_file


@final
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
    return _from_record(kept("table", (content,), lambda: _as_record(_read_content(content, name))))


def _read_content(content: bytes, name: str) -> TokenTable:
    if installed("tokenizers"):
        return read_table(Backend.load(content, name))
    with broken_file(name):
        return read_table(read_file(content))


def _as_record(table: TokenTable) -> Record:
    facts = {
        "special": dict(table.special),
        "added": dict(table.added),
        "lead": table.lead.hex(),
        "loss": table.loss,
    }
    spelled = [token or b"" for token in table.tokens]
    # The library names them in another order each time.
    pieces = sorted(table.ids, key=lambda piece: (table.ids[piece], piece))
    arrays = {
        "tokens": np.frombuffer(b"".join(spelled), np.uint8),
        "token_ends": _ends(spelled),
        "pieces": np.frombuffer("".join(pieces).encode(), np.uint8),
        "piece_ends": _ends(pieces),  # in characters
        "piece_ids": np.fromiter((table.ids[piece] for piece in pieces), np.int32, len(pieces)),
    }
    return Record(facts, arrays)


def _ends(parts: Sequence[str | bytes]) -> NDArray[np.int64]:
    return np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))


def _from_record(record: Record) -> TokenTable:
    facts, arrays = record.facts, record.arrays
    data, ends = arrays["tokens"].tobytes(), arrays["token_ends"].tolist()
    tokens = tuple(data[i:j] or None for i, j in zip([0, *ends], ends, strict=False))
    text, ends = arrays["pieces"].tobytes().decode(), arrays["piece_ends"].tolist()
    pieces = (text[i:j] for i, j in zip([0, *ends], ends, strict=False))
    return TokenTable(
        tokens=tokens,
        special=facts["special"],
        added=facts["added"],
        ids=dict(zip(pieces, arrays["piece_ids"].tolist(), strict=True)),
        lead=bytes.fromhex(facts["lead"]),
        loss=facts["loss"],
    )


def _spell(backend: Backend, decoding: Decoding, token: int, piece: str) -> bytes:
    added = backend.added.get(token)
    if added is None or added.piece:
        return decoding.spell(piece)
    return decoding.spell_added(piece)
