"""The one place that talks to the `tokenizers` library: a tokenizer as typed, plain data.

Both readers go through here, the one of `tokenizer.json` files and the one of tokenizers that
transformers has loaded, since the second hold the same object as the first.

The library is imported where a file is opened, never with this module. This file knows what a
tokenizer says of itself; what that means for bytes is `decoding`'s affair.
"""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self, final

from guideway.errors import LimitError, ModelError, UnsupportedError
from guideway.syntax.mistakes import has, vocabulary_of

Config = Mapping[str, Any]

# The largest vocabularies in use have 262,000 ids. A file that names an id of ten digits would
# otherwise make us fill the memory with gaps.
MOST_IDS: Final = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is matched literally, before the model sees the text.

    Attributes:
        content: what is matched.
        special: whether it controls the model, and so is no text.
        strips: whether it swallows white space beside it.
        piece: whether the model's own vocabulary has it too, so that other text may be cut into it.
    """

    content: str
    special: bool
    strips: bool
    piece: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Backend:
    """A tokenizer: its pieces, its configuration, and how it encodes and decodes.

    Attributes:
        pieces: for each id its piece as the file spells it, None where the numbering has a gap.
        ids: the id of each piece and each added token.
        added: the added tokens by id.
        unknown: the id that stands for what cannot be encoded, if there is one.
        byte_fallback: whether the model spells what it does not know as "<0xE2>" pieces.
        normalizer: configuration of the normaliser, None if there is none; so for the other two.
        tokenizer: the library's object that encodes and decodes; None if the library is missing.
    """

    pieces: Sequence[str | None]
    ids: Mapping[str, int]
    added: Mapping[int, AddedToken]
    unknown: int | None
    byte_fallback: bool
    normalizer: Config | None
    pre_tokenizer: Config | None
    decoder: Config | None
    tokenizer: Any

    @classmethod
    def load(cls, text: bytes, name: str) -> Self:
        """The tokenizer that `text`, the content of a tokenizer.json file, describes.

        Raises:
            ModelError: the text describes no tokenizer; `name` says where it is from.
        """
        from tokenizers import Tokenizer

        try:
            with no_panic(name):
                tokenizer = Tokenizer.from_buffer(text)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001  the library raises nothing narrower
            raise ModelError(f"{name} is not a valid tokenizer.json: {error}") from None
        return cls.of(tokenizer)

    @classmethod
    def of(cls, tokenizer: Any) -> Self:
        """The data of a `tokenizers.Tokenizer`, which is only read.

        Raises:
            LimitError: an id is absurdly large.
            UnsupportedError: a part of it is a program of the user's, not a configuration.
        """
        model = tokenizer.model
        ids: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        added = {
            number: AddedToken(
                content=token.content,
                special=token.special,
                strips=token.lstrip or token.rstrip,
                piece=model.token_to_id(token.content) is not None,
            )
            for number, token in tokenizer.get_added_tokens_decoder().items()
        }
        pieces: list[str | None] = [None] * checked_count([*ids.values(), *added])
        for piece, number in ids.items():
            pieces[number] = piece
        byte_fallback, unknown = _model_settings(model, pieces)
        for number, token in added.items():
            pieces[number] = token.content
        return cls(
            pieces=pieces,
            ids=ids,
            added=added,
            unknown=unknown,
            byte_fallback=byte_fallback,
            normalizer=_config(tokenizer.normalizer, "normalizer"),
            pre_tokenizer=_config(tokenizer.pre_tokenizer, "pre_tokenizer"),
            decoder=_config(tokenizer.decoder, "decoder"),
            tokenizer=tokenizer,
        )

    def normalise(self, text: str) -> str:
        """What the tokenizer makes of `text` before it cuts it."""
        if self.normalizer is None:
            return text
        return self.tokenizer.normalizer.normalize_str(text)

    def encode(self, text: str) -> list[int] | None:
        """The ids of `text` alone, None if it cannot be encoded or was truncated."""
        try:
            encoding = self.tokenizer.encode(text, add_special_tokens=False)
        except Exception:  # noqa: BLE001  what Unigram raises without an unknown token
            return None
        if encoding.overflowing:
            return None
        return [i for i, real in zip(encoding.ids, encoding.attention_mask, strict=True) if real]

    def decode(self, ids: Sequence[int]) -> str:
        """The text that the tokenizer itself makes of `ids`."""
        return self.tokenizer.decode(ids, skip_special_tokens=False)


def checked_count(ids: Iterable[int]) -> int:
    """The number of ids from 0 to the largest of `ids`.

    Raises:
        LimitError: the largest id is absurdly large.
    """
    count = 1 + max(ids, default=-1)
    if count > MOST_IDS:
        raise LimitError(
            f"the tokenizer has the id {count - 1}; ids up to {MOST_IDS - 1} are supported",
            limit="token ids",
            given=count,
            needed=MOST_IDS,
        )
    return count


@contextmanager
def no_panic(name: str) -> Generator[None]:
    """Turn panics of the library, which is written in Rust, into a `ModelError`.

    A panic is not an `Exception`, and only its name tells its class.

    Raises:
        ModelError: the library panicked; the message names `name`.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the tokenizers library crashes on {name}: {error}") from None


def fast_backend(tokenizer: Any) -> Any:
    """The `tokenizers.Tokenizer` inside a transformers tokenizer.

    Raises:
        ModelError: there is none: it is a slow tokenizer, or none at all.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            f"{type(tokenizer).__name__} is not a fast transformers tokenizer, and only those "
            f"can be read{_instead(tokenizer)}"
        )
    return backend


def _instead(given: object) -> str:
    slow = has(given, "convert_ids_to_tokens")
    return "; convert it to a tokenizer.json" if slow else vocabulary_of(given)


def steps(config: Config | None, key: str) -> list[Config]:
    """A configuration as the list of its steps, nested sequences (`key`: their parts) laid flat.

    Example:
        >>> inner = {"type": "Sequence", "decoders": [{"type": "Fuse"}]}
        >>> steps({"type": "Sequence", "decoders": [inner, {"type": "ByteLevel"}]}, "decoders")
        [{'type': 'Fuse'}, {'type': 'ByteLevel'}]
    """
    flat: list[Config] = []
    rest = [] if config is None else [config]
    while rest:
        step = rest.pop()
        if step["type"] == "Sequence":
            rest.extend(reversed(step[key]))
        else:
            flat.append(step)
    return flat


def _config(component: Any, part: str) -> Config | None:
    if component is None:
        return None
    try:
        # Components say what they are only through what pickle would store: their JSON.
        state = component.__getstate__()
    except Exception:  # noqa: BLE001  the library raises nothing narrower
        raise UnsupportedError(
            f"the {part} of the tokenizer is custom code, and guideway needs a built-in one; pass "
            "the bytes of the tokens as guideway.Vocabulary(tokens, eos_ids)",
            feature=f"custom {part}",
        ) from None
    return json.loads(state)


def _model_settings(model: Any, pieces: list[str | None]) -> tuple[bool, int | None]:
    """Byte fallback and unknown id; fills in pieces that stand twice in a Unigram list."""
    if type(model).__name__ == "Unigram":
        state = json.loads(model.__getstate__())
        for number, (piece, _) in enumerate(state["vocab"]):
            pieces[number] = piece
        return bool(state.get("byte_fallback")), state["unk_id"]
    unknown = getattr(model, "unk_token", None)
    number = None if unknown is None else model.token_to_id(unknown)
    return bool(getattr(model, "byte_fallback", False)), number
