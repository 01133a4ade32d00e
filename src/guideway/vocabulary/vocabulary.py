"""`Vocabulary`: the bytes of each token id, the end ids, and the width of the logits.

Other modules rely on these rules:

- `tokens[i]` is the exact bytes that id `i` adds to a text, or None if it adds none: gaps in the
  numbering, special tokens, end ids. A text never contains an id without bytes.
- Several ids may have the same bytes, and bytes may be a part of a character.
- Ids from `len(tokens)` up to `width` are padding rows of the logits.
- `lead` is the bytes that decoding removes at the beginning of a text: the tokens of "hello" spell
  `lead + b"hello"`.

The tokenizer's configuration, the generation configuration and the chat template may name different
end ids, and a missed one is a text that never stops, so all are used, unless the caller names them.

A vocabulary is a value: immutable, and equal to any other with the same content. It does not know
grammars, models or tokenizers.
"""

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from guideway.errors import LimitError, ModelError, brief
from guideway.sources.mistakes import vocabulary_of
from guideway.sources.names import did_you_mean
from guideway.vocabulary.backend import MOST_IDS, Backend, fast_backend
from guideway.vocabulary.cache import cached_trie
from guideway.vocabulary.tokenizer_json import TokenTable, open_table, read_table
from guideway.vocabulary.trie import Trie, levels

# Names of end tokens in use, for a tokenizer that comes without any configuration.
KNOWN: Final = (
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
)

# The reply in a conversation that is rendered to see what closes it: a word no template contains.
REPLY: Final = "Guideway"


def named_ends(eos: str | int | Iterable[str | int], ids: Mapping[str, int]) -> frozenset[int]:
    """End ids named by a caller: tokens or ids.

    >>> sorted(named_ends(["</s>", 7], {"</s>": 2}))
    [2, 7]
    """
    several = [eos] if isinstance(eos, str | int) else eos
    if not isinstance(several, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"eos must be a token's name, an id, or a list of them, not {brief(eos)}")
    return frozenset(_id_of(one, ids, "eos") for one in several)


def ends_beside(folder: Path | None, ids: Mapping[str, int]) -> frozenset[int]:
    """End ids of the configuration files in `folder`, else all well-known ones."""
    found: set[int] = set()
    for name, key in (
        ("generation_config.json", "eos_token_id"),
        ("tokenizer_config.json", "eos_token"),
    ):
        if folder is None or not (folder / name).is_file():
            continue
        named = _as_collection(_object(folder / name).get(key))
        found |= {_id_of(_name(one), ids, f"{name}, {key}") for one in named}
    return frozenset(found or (ids[name] for name in KNOWN if name in ids))


def ends_of(tokenizer: Any, generation_config: Any, added: Mapping[str, int]) -> frozenset[int]:
    """End ids of a transformers tokenizer, its generation config and its chat template."""
    found: set[int] = set()
    for source in (tokenizer, generation_config):
        found.update(_as_collection(getattr(source, "eos_token_id", None)))
    if getattr(tokenizer, "chat_template", None):
        template = str(tokenizer.chat_template)
        found.update(_turn_ends(tokenizer.apply_chat_template, template, added))
    return frozenset(found)


def _turn_ends(
    render: Callable[..., str], template: str, added: Mapping[str, int]
) -> Iterable[int]:
    """The added token that follows a reply in a rendered conversation, if one does."""
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": REPLY}]
    try:
        after = render(messages, tokenize=False).partition(REPLY)[2].lstrip()
    except Exception:  # noqa: BLE001  a template is a program, which may raise anything
        return [added[name] for name in KNOWN if name in added and name in template]
    closing = max((name for name in added if after.startswith(name)), key=len, default=None)
    return [] if closing is None else [added[closing]]


def _object(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} must contain a JSON object, not a {type(value).__name__}")
    return value  # pyright: ignore[reportUnknownVariableType]


def _as_collection(value: Any) -> Iterable[Any]:
    """A configuration value as a collection: None is empty."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]


def _name(token: Any) -> Any:
    """A token's name or id: configurations write it plain, or as an object with settings."""
    match token:
        case {"content": content}:
            return content
        case _:
            return token


def _id_of(token: Any, ids: Mapping[str, int], place: str) -> int:
    if isinstance(token, int):
        return token
    if isinstance(token, str) and token in ids:
        return ids[token]
    # Only what looks like an end token is compared: 200,000 words would take a second.
    hint = did_you_mean(token, [name for name in ids if name.startswith(("<", "["))])
    named = brief(token)
    raise ModelError(f"{place} names the token {named}, but the vocabulary has no such token{hint}")


_HALVES: Final = re.compile("[\ud800-\udfff]")
NO_SPECIAL: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, eq=False, init=False, repr=False)  # no slots: the cached properties
class Vocabulary:
    """The tokens of one model, as bytes.

    Attributes:
        tokens: the bytes that each id spells; None for an id that never occurs in text.
        eos_ids: the ids that end a text.
        width: number of logits per step, at least `len(tokens)`.
        lead: the bytes that decoding removes at the start of a text.
        special: special tokens by name ("<|im_start|>" → 1).
        loss: the reason why decoding loses information, so that texts are not exact; "" if it does
            not.

    Example:
        >>> vocabulary = Vocabulary([b"a", b"b", None, b"<eos>"], eos_ids={3})
        >>> vocabulary.tokens, vocabulary.width, dict(vocabulary.special)
        ((b'a', b'b', None, None), 4, {'<eos>': 3})
    """

    tokens: tuple[bytes | None, ...]
    eos_ids: frozenset[int]
    width: int
    lead: bytes
    special: Mapping[str, int]
    loss: str

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        eos_ids: Collection[int] = (),
        *,
        width: int | None = None,
        lead: bytes = b"",
        special: Mapping[str, int] = NO_SPECIAL,
        loss: str = "",
    ) -> None:
        """Make a vocabulary of tokens.

        Args:
            tokens: the bytes of each id; None or b"" for an id without bytes.
            eos_ids: the ids that end a text. Their bytes, if given, become their names.
            width: number of logits. Default: `len(tokens)`.
            lead: the bytes that decoding removes at the beginning of a text.
            special: ids of special tokens by name; their bytes are ignored.
            loss: the reason why decoding loses information, or "".

        Raises:
            ModelError: a token is not bytes, an id is not below the width, the width is too small,
                or another argument has a wrong type.
            LimitError: the width is more than 2**24.
        """
        for name, value in (("tokens", tokens), ("eos_ids", eos_ids)):
            if isinstance(value, str | bytes) or not isinstance(value, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ModelError(
                    f"{name} must be a list or another collection, not {brief(value)}"
                    f"{vocabulary_of(value)}"
                )
        spelled = _checked_tokens(tokens)
        wide = _checked_width(width, len(spelled))
        ends = frozenset(_checked_id(i, wide, "end id") for i in eos_ids)
        names = _checked_special(special, wide)
        named = set(names.values())
        for i in ends:
            if i < len(spelled) and i not in named:
                names[(spelled[i] or b"").decode(errors="replace") or f"<end {i}>"] = i
        for i in {*ends, *named}:
            if i < len(spelled):
                spelled[i] = None
        if not isinstance(lead, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"lead must be bytes, not {brief(lead)}")
        if not isinstance(loss, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"loss must be a str, not {brief(loss)}")
        vars(self).update(  # frozen: this is the one place that writes
            tokens=tuple(spelled),
            eos_ids=ends,
            width=wide,
            lead=lead,
            special=MappingProxyType(names),
            loss=loss,
        )

    @classmethod
    def from_tokenizer_json(
        cls,
        source: str | Path | bytes,
        eos: str | int | Iterable[str | int] | None = None,
        width: int | None = None,
    ) -> Self:
        """Read the vocabulary of a tokenizer.json file.

        Where the `tokenizers` library is installed (the extra `torch` brings it), the tokens are
        compared with how the library encodes and decodes some 300 texts. Without it, there is
        no such comparison.

        Args:
            source: path of the file or its folder, or the content of the file as bytes.
            eos: the end tokens: a name, an id, or several. None: those that generation_config.json
                and tokenizer_config.json beside the file name, else all well-known end tokens.
            width: number of logits, if there are more than tokens.

        Raises:
            ModelError: the file is missing or broken, an end token is unknown, or the bytes read
                from the configuration are not those of the texts that the tokenizer encodes.
            UnsupportedError: the decoder does not work token by token.
            LimitError: a token is longer than 65,535 bytes, or the width more than 2**24.
        """
        if not isinstance(source, str | Path | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"a tokenizer.json must be a path or the bytes of the file, not {brief(source)}"
                f"{vocabulary_of(source)}"
            )
        table, folder = open_table(source)
        ends = ends_beside(folder, table.ids) if eos is None else named_ends(eos, table.ids)
        return cls.of_table(table, ends, width)

    @classmethod
    def from_transformers(
        cls, tokenizer: Any, width: int | None = None, generation_config: Any = None
    ) -> Self:
        """Read the vocabulary of a transformers tokenizer.

        Texts end with the ids that the tokenizer names, those that `generation_config` names, and
        what the chat template puts after a reply.

        Args:
            tokenizer: a fast transformers tokenizer; it is only read.
            width: number of logits of the model: take it from its output layer, since some
                configurations of composite models hold a placeholder.
            generation_config: transformers' `GenerationConfig` of the model.

        Raises:
            ModelError: it is not a fast tokenizer, or does not do what it says.
            UnsupportedError: the decoder does not work token by token.
            LimitError: a token is longer than 65,535 bytes, or the width more than 2**24.
        """
        table = read_table(Backend.of(fast_backend(tokenizer)))
        return cls.of_table(table, ends_of(tokenizer, generation_config, table.added), width)

    @classmethod
    def of_table(cls, table: TokenTable, ends: Collection[int], width: int | None) -> Self:
        """The vocabulary of tokens that were read and tested, with its trie from the cache."""
        made = cls(
            table.tokens, ends, width=width, lead=table.lead, special=table.special, loss=table.loss
        )
        vars(made)["trie"] = cached_trie(made.tokens)  # now: compiling opens no file
        for prepare in prepared:
            prepare(made)
        return made

    @property
    def lossless(self) -> bool:
        """Whether decoding the tokens of a text gives the text back."""
        return not self.loss

    def spelling(self, token: int) -> bytes:
        """The bytes that a token adds to a text: none for special tokens and unknown ids."""
        return (self.tokens[token] if 0 <= token < len(self.tokens) else None) or b""

    def shown(self, token: int) -> bytes:
        """The bytes that a token shows: its spelling, or the name of a special token.

        >>> Vocabulary([b"a", None], special={"<b>": 1}).shown(1)
        b'<b>'
        """
        return self.spelling(token) or self._names.get(token, b"")

    @cached_property
    def _names(self) -> dict[int, bytes]:
        named = sorted(self.special.items(), reverse=True)
        return {token: name.encode() for name, token in named}

    @cached_property
    def longest(self) -> int:
        """The length of the longest spelling, in bytes."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def lengths(self) -> "NDArray[np.int64]":
        """int64[width or less]: bytes of each token's spelling, 0 where it has none."""
        return np.array([len(token or b"") for token in self.tokens], np.int64)

    @cached_property
    def trie(self) -> Trie:
        """The spellings as a tree of bytes.

        Vocabularies of tokenizers read it from the cache on disk; others build it at its first use.

        Raises:
            LimitError: a token is longer than 65,535 bytes.
        """
        return Trie.build(self.tokens)

    @cached_property
    def levels(self) -> "list[tuple[NDArray[np.int64], NDArray[np.int64]]]":
        """The nodes of the trie by length of their prefix, each with its parent, -1 at the top."""
        return [*levels(self.trie.depth)]

    @cached_property
    def _ids(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for i, token in enumerate(self.tokens):
            if token:
                found.setdefault(token, []).append(i)
        return found

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({*map(len, self._ids)})

    def ids(self, spelling: bytes) -> list[int]:
        """The ids that spell exactly these bytes, ascending."""
        return self._ids.get(spelling, [])

    def prefixes(self, data: bytes, at: int = 0) -> list[int]:
        """Lengths of the tokens that are prefixes of `data[at:]`, ascending.

        >>> Vocabulary([b"a", b"abc", b"b"]).prefixes(b"xabcd", 1)
        [1, 3]
        """
        left = len(data) - at
        return [n for n in self._lengths if n <= left and data[at : at + n] in self._ids]

    def beginning(self, prefix: bytes) -> "NDArray[np.int32]":
        """The ids whose spelling begins with `prefix`, in byte order.

        >>> Vocabulary([b"ab", b"b", b"a", b"ac"]).beginning(b"a").tolist()
        [2, 0, 3]
        """

        def key(token: int) -> bytes:
            return self.spelling(token)[: len(prefix)]

        ids = self.trie.token_ids
        return ids[bisect_left(ids, prefix, key=key) : bisect_right(ids, prefix, key=key)]

    @cached_property
    def joined(self) -> "tuple[bytes, NDArray[np.int64]]":
        """The concatenated bytes of all tokens, and the offset of each token and of the end.

        Example:
            >>> text, begins = Vocabulary([b"a", None, b"ab"]).joined
            >>> text, begins.tolist()
            (b'aab', [0, 1, 1, 3])
        """
        texts = [token or b"" for token in self.tokens]
        begins = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=begins[1:])
        return b"".join(texts), begins

    @cached_property
    def spellable(self) -> int:
        """The bytes that occur in tokens, as a 256-bit integer (bit b: byte b).

        Example:
            >>> Vocabulary([b"a", b"ab"]).spellable == 1 << ord("a") | 1 << ord("b")
            True
        """
        return _bits(self.joined[0])

    @cached_property
    def closed(self) -> bool:
        """Whether each byte of each token is itself a token.

        If so, tokens can spell every text over the spellable bytes, and can continue every text
        byte by byte.

        Example:
            >>> Vocabulary([b"a", b"b", b"ab"]).closed, Vocabulary([b"a", b"ab"]).closed
            (True, False)
        """
        joined, begins = self.joined
        single = begins[:-1][np.diff(begins) == 1]
        return self.spellable == _bits(np.frombuffer(joined, np.uint8)[single].tobytes())

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the whole content (BLAKE2b, 128 bits, hexadecimal)."""
        digest = hashlib.blake2b(digest_size=16)
        joined, begins = self.joined
        names = sorted(self.special.items())
        head = (len(self.tokens), sorted(self.eos_ids), self.width, self.lead, names, self.loss)
        for part in (repr(head).encode(), np.diff(begins).tobytes(), joined):
            digest.update(part)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Return True if the contents are equal."""
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        """A hash of the content."""
        return hash(self.fingerprint)

    def __copy__(self) -> Self:
        """Itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: it is immutable."""
        return self

    def __reduce__(self) -> tuple[Callable[[], "Vocabulary"], tuple[()]]:
        """Pickle the content without the tries."""
        return partial(Vocabulary, **self._given), ()

    @property
    def _given(self) -> dict[str, Any]:
        names = "tokens", "eos_ids", "width", "lead", "loss"
        return {name: getattr(self, name) for name in names} | {"special": dict(self.special)}

    def replaced(self, **changes: Any) -> "Vocabulary":
        """Return a vocabulary with other values of some arguments."""
        return Vocabulary(**self._given | changes)

    def __repr__(self) -> str:
        """The sizes and the end ids."""
        ends = brief(sorted(self.eos_ids))
        return f"Vocabulary({len(self.tokens)} tokens, width {self.width}, end ids {ends})"


prepared: Final[dict[Callable[[Vocabulary], None], None]] = {}
"""Functions to run on each vocabulary of a tokenizer; `guideway.warmup` adds one."""


def _checked_tokens(tokens: Iterable[object]) -> list[bytes | None]:
    listed: list[Any] = list(tokens)
    if not set(map(type, listed)) <= {bytes, type(None)}:
        for i, token in enumerate(listed):
            if token is not None and not isinstance(token, bytes):
                raise ModelError(
                    f"token {i} is {brief(token)} of type {type(token).__name__}: it must be "
                    "bytes, or None for an id that spells nothing"
                )
    return [token or None for token in listed]


def _checked_width(width: object, count: int) -> int:
    if width is None:
        return _below_limit(count)
    if not isinstance(width, int) or isinstance(width, bool) or width < count:
        raise ModelError(
            f"width must be at least the number of tokens, {count}, not {brief(width)}"
        )
    return _below_limit(width)


def _below_limit(width: int) -> int:
    if width > MOST_IDS:
        raise LimitError(
            f"width must be at most {MOST_IDS}, not {brief(width)}",
            limit="width",
            given=width,
            needed=MOST_IDS,
        )
    return width


def _checked_special(special: object, width: int) -> dict[str, int]:
    if not isinstance(special, Mapping):
        raise ModelError(f"special must be a dict from names to ids, not {brief(special)}")
    names: dict[str, int] = {}
    for name, token in cast("Mapping[object, object]", special).items():
        if not isinstance(name, str) or _HALVES.search(name):
            raise ModelError(f"the names in special must be texts, not {brief(name)}")
        names[name] = _checked_id(token, width, f"special token {brief(name)}")
    return names


def _checked_id(given: object, width: int, role: str) -> int:
    if isinstance(given, np.signedinteger | np.unsignedinteger):  # from config arrays
        given = given.item()
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < width:
        raise ModelError(f"{role} must be a whole number from 0 to {width - 1}, not {brief(given)}")
    return given


def _bits(data: bytes) -> int:
    held = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
    return sum(1 << byte for byte in np.flatnonzero(held).tolist())
