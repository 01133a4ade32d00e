"""The bytes of every token of a tokenizer.

Which ids are text:

- a piece of the model's own vocabulary is, as its decoder spells it;
- an added token marked `special` is not: it controls the model, and decoding leaves it out;
- an added token not so marked is. Its literal text is encoded to this id and the id decodes to that
  text, so without it the usual tokens of a text would be forbidden. That holds for runs of line
  breaks as for "<tool_call>" and "<unused5>": what a name looks like decides nothing, or "</s>"
  could not stand in a page of HTML;
- the unknown token is not: nothing tells what it stands for.

What end ids are is `end_ids`' affair.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from fairlead.errors import ModelError
from fairlead.vocabulary.backend import Backend
from fairlead.vocabulary.decoding import Decoding, read_decoding
from fairlead.vocabulary.self_check import check


@final
@dataclass(frozen=True, slots=True, eq=False)
class TokenTable:
    """What a tokenizer says about its tokens.

    Attributes:
        tokens: for each id its bytes, None if it is no text.
        special: names of ids that are no text.
        added: names of added tokens, special or not.
        ids: the id of each piece and added token, as the tokenizer writes them.
        lead: what decoding removes at the beginning of a text.
        loss: why a text cannot be told from its tokens, "" if it can.
    """

    tokens: tuple[bytes | None, ...]
    special: Mapping[str, int]
    added: Mapping[str, int]
    ids: Mapping[str, int]
    lead: bytes
    loss: str


def read_table(backend: Backend) -> TokenTable:
    """The tokens of `backend`, tried on a few hundred texts.

    Raises:
        UnsupportedError: its decoder does not work token by token.
        ModelError: what it does is not what it says.
    """
    decoding = read_decoding(backend)
    special = {token.content: i for i, token in backend.added.items() if token.special}
    if backend.unknown is not None:
        special[backend.pieces[backend.unknown] or "<unknown>"] = backend.unknown
    silent = set(special.values())
    tokens = tuple(
        None if piece is None or i in silent else _spell(backend, decoding, i, piece)
        for i, piece in enumerate(backend.pieces)
    )
    check(backend, decoding, tokens)
    return TokenTable(
        tokens=tokens,
        special=special,
        added={token.content: i for i, token in backend.added.items()},
        ids=backend.ids,
        lead=decoding.lead,
        loss=decoding.loss,
    )


def open_backend(source: str | bytes | Path) -> tuple[Backend, Path | None]:
    """The tokenizer of a tokenizer.json: its path or its folder's, or its content as bytes.

    Returns:
        The tokenizer, and the folder it lies in.

    Raises:
        ModelError: there is no such file, or it is no tokenizer.
    """
    if isinstance(source, bytes):
        return Backend.load(source, "the text given"), None
    path = Path(source)
    if path.is_dir():
        path /= "tokenizer.json"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"the tokenizer {path} cannot be read: {error.strerror}") from None
    return Backend.load(content, str(path)), path.parent


def _spell(backend: Backend, decoding: Decoding, token: int, piece: str) -> bytes:
    added = backend.added.get(token)
    if added is None or added.piece:
        return decoding.spell(piece)
    return decoding.spell_added(piece)
