"""Tokenizers of the `tokenizers` library as plain data, for files and for transformers' objects.

The library is imported only when a tokenizer is opened. `decoding` interprets the configuration.
"""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

from guideway.errors import LimitError, ModelError, UnsupportedError
from guideway.sources.mistakes import has, vocabulary_of

Config = Mapping[str, Any]

# The largest vocabularies in use have 262,000 ids. A file that names an id of ten digits would
# otherwise make us fill the memory with gaps.
MOST_IDS: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is matched literally before the model sees the text.

    Attributes:
        special: it controls the model and is no text.
        strips: it removes white space beside it.
        piece: the model's own vocabulary has it too, so other text may contain it.
    """

    content: str
    special: bool
    strips: bool
    piece: bool


@dataclass(frozen=True, slots=True, eq=False)
class Backend:
    """A tokenizer: its pieces and configuration, and how it encodes and decodes.

    Attributes:
        pieces: piece of each id as written in the file, None for gaps.
        ids: id of each piece and added token.
        added: added tokens by id.
        unknown: id of text that cannot be encoded, or None.
        byte_fallback: unknown characters become "<0xE2>" pieces.
        normalizer: configuration of the normaliser or None; likewise the other two.
        tokenizer: the library's object; None without the library.
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
        """The tokenizer in the content of a tokenizer.json file; `name` is for messages."""
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
        """The data of a `tokenizers.Tokenizer`; parts written as user programs are refused."""
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
        """Normalise a text."""
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
    """The number of ids up to the largest; too large ids are refused."""
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
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the tokenizers library crashes on {name}: {error}") from None


def fast_backend(tokenizer: Any) -> Any:
    """The `tokenizers.Tokenizer` inside a fast transformers tokenizer."""
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
    """A configuration as a flat list of steps; `key` names the parts of sequences.

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
    """Byte fallback and unknown id; adds duplicate pieces of a Unigram list."""
    if type(model).__name__ == "Unigram":
        state = json.loads(model.__getstate__())
        for number, (piece, _) in enumerate(state["vocab"]):
            pieces[number] = piece
        return bool(state.get("byte_fallback")), state["unk_id"]
    unknown = getattr(model, "unk_token", None)
    number = None if unknown is None else model.token_to_id(unknown)
    return bool(getattr(model, "byte_fallback", False)), number
