"""Special tokens in sources, and the fewest tokens that spell a text.

`marked` gives special tokens a spelling, that of `language.special_tokens`: all of them, so one
vocabulary serves all constraints. A named id with a spelling ("<tool_call>" of Qwen) is no text
there. End ids stay unmarked. Tokens with bytes that occur in no text lose their spelling, because
they could spell a mark.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Final

from guideway.chat.parts import with_parts
from guideway.errors import LimitError, SourceError, UnsatisfiableError, UnsupportedError, brief
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY, alt
from guideway.language.nodes import Expr
from guideway.language.special_tokens import FIRST_MARK, MARKS, mark
from guideway.sources.names import did_you_mean
from guideway.sources.regions import Composed, Others, Special
from guideway.sources.sources import Either, Literal, PythonType, Regex, Source, repeat
from guideway.vocabulary.vocabulary import Vocabulary

_ODD: Final = bytes(range(FIRST_MARK, 0x100))


@lru_cache(maxsize=16)
def names_of(vocabulary: Vocabulary) -> dict[int, str]:
    """Names of special tokens other than end ids; the least of several."""
    named: dict[int, str] = {}
    for name, token in sorted(vocabulary.special.items()):
        if token not in vocabulary.eos_ids:
            named.setdefault(token, name)
    return named


@lru_cache(maxsize=16)
def marked(vocabulary: Vocabulary, others: frozenset[tuple[int, str]] = frozenset()) -> Vocabulary:
    """The vocabulary with marks for its special tokens and for `others`, ids with names."""
    names = {**names_of(vocabulary), **dict(others)}
    padding = [None] * (max(names, default=0) + 1 - len(vocabulary.tokens))
    plain = [
        token if token and len(token.translate(None, _ODD)) == len(token) else None
        for token in (*vocabulary.tokens, *padding)
    ]
    tokens = [mark(names[i]) if i in names else token for i, token in enumerate(plain)]
    made = vocabulary.replaced(tokens=tokens, special={})
    text = Vocabulary([None if i in names else token for i, token in enumerate(plain)])
    # A mark is one token, whose bytes need none of their own.
    vars(made).update(spellable=text.spellable | MARKS, closed=text.closed)
    return made


@dataclass(frozen=True, slots=True)
class Resolved:
    """A source for one vocabulary; `names` of its special tokens have marks in `vocabulary`."""

    source: Source
    names: frozenset[str]
    vocabulary: Vocabulary


def resolve(source: Source, vocabulary: Vocabulary) -> Resolved:
    """`source` with its special tokens looked up; unknown tokens and end ids are refused."""
    if isinstance(source, JsonSchema | PythonType):  # most sources; they name no special tokens
        return Resolved(source, frozenset(), vocabulary)
    lookup = _Lookup(vocabulary)
    found = lookup.resolved(source)
    if not lookup.names:
        return Resolved(found, frozenset(), vocabulary)
    named = marked(vocabulary, frozenset(lookup.others.items()))
    return Resolved(found, frozenset(lookup.names), named)


def find(token: Special, vocabulary: Vocabulary) -> str:
    """The name in the mark of a special token."""
    return _Lookup(vocabulary).found(token)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Names found so far, and names for ids that are text tokens or have no name."""

    vocabulary: Vocabulary
    names: set[str] = field(default_factory=set[str])
    others: dict[int, str] = field(default_factory=dict[int, str])

    def resolved(self, source: Source) -> Source:
        if isinstance(source, Composed):
            return self.resolved(source.spelled_out)
        if isinstance(source, Others):
            return self._all_but(source)
        if not isinstance(source, Special):
            return with_parts(source, self.resolved)
        if not source.required and self._id(source.token) is None:
            return Literal(str(source.token))
        return Special(self.found(source))

    def _all_but(self, others: Others) -> Source:
        """Text and all named special tokens, without some."""
        left = dict(names_of(self.vocabulary))
        for each in others.without:
            token = self._id(each)
            if token is None:
                raise self._unknown(each)
            if left.pop(token, None) is None and self._is_text(token):
                raise UnsupportedError(
                    f"token {token} is a text token, and other tokens can spell the same text: "
                    "only special tokens can be excluded",
                    feature="all tokens but a text",
                )
        tokens = (self.resolved(Special(name)) for name in left.values())
        return repeat(Either((Regex(r"[\s\S]"), *tokens)), others.least)

    def _is_text(self, token: int) -> bool:
        return token not in self.vocabulary.eos_ids and bool(self.vocabulary.spelling(token))

    def found(self, special: Special) -> str:
        token = self._id(special.token)
        if token is None:
            raise self._unknown(special.token)
        name = self._name(token)
        self.names.add(name)
        return name

    def _id(self, token: str | int) -> int | None:
        """The id of a token by name or id, None if there is none."""
        if isinstance(token, int):
            return token if token < self.vocabulary.width else None
        found = self.vocabulary.special.get(token)
        if found is None:
            spelled = self.vocabulary.ids(token.encode())
            return spelled[0] if spelled else None
        return found

    def _name(self, token: int) -> str:
        """The name in the mark of an id."""
        if token in self.vocabulary.eos_ids:
            raise UnsupportedError(
                f"token {token} is an end token: guideway adds it where the text may end; leave "
                "it out of the source",
                feature="end of text as a special token",
            )
        name = names_of(self.vocabulary).get(token)
        if name is None:
            text = self.vocabulary.spelling(token).decode(errors="ignore")
            apart = text not in self.vocabulary.special and self._id(text) == token
            name = self.others[token] = text if apart else f"<[{token}]>"
        return name

    def _unknown(self, token: str | int) -> UnsupportedError:
        names = list(self.vocabulary.special)
        listed = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        return UnsupportedError(
            f"the vocabulary has no token {brief(token)}; its special tokens are {listed or 'none'}"
            f"{did_you_mean(token, names)}",
            feature=f"special token {brief(token)}",
        )


NO_TEXT: Final = b"\xfe"  # in no text, and in no mark
_BYTES: Final = (bytes, bytearray)  # made once: a new union on each call costs garbage collections


@dataclass(frozen=True, slots=True)
class Readings:
    """Text with marks of special tokens, and names that may be special tokens."""

    data: bytes
    names: tuple[bytes, ...] = ()

    def matches(
        self, machine: Derivatives, start: Expr, vocabulary: Vocabulary | None = None
    ) -> bool:
        """Return True if one reading is in `start`, and the tokens of the vocabulary spell it.

        Without a vocabulary, all bytes are tokens. Checking liveness on the way is slow.
        """
        ways: dict[int, Expr] = {0: start}
        for at in range(len(self.data)):
            rest = ways.pop(at, EMPTY)
            if rest is EMPTY:
                continue
            lengths = [1] if vocabulary is None else vocabulary.prefixes(self.data, at)
            texts = [(self.data[at : at + length], length) for length in lengths]
            named = [name for name in self.names if self.data.startswith(name, at)]
            texts += [(mark(name.decode()), len(name)) for name in named]
            for text, length in texts:
                after = reduce(machine.after, text, rest)
                ways[at + length] = alt(ways.get(at + length, EMPTY), after)
        return machine.accepts(ways.get(len(self.data), EMPTY))


def checked_lead(lead: object, vocabulary: Vocabulary) -> bytes:
    r"""Check the bytes that tokens spell before the text; for None, `vocabulary.lead`."""
    if lead is None:
        lead = vocabulary.lead
    if not isinstance(lead, _BYTES):
        raise SourceError(f"lead must be bytes, not {brief(lead)}")
    return _checked_bytes(bytes(lead), vocabulary) if lead else b""


def _checked_bytes(given: bytes, vocabulary: Vocabulary) -> bytes:
    """Check that tokens contain the bytes; apart, because its generator costs a closure."""
    missing = next((byte for byte in given if not vocabulary.spellable >> byte & 1), None)
    if missing is not None:
        raise UnsatisfiableError(
            f"lead is {brief(given)}, and no token of the vocabulary contains the byte "
            f"0x{missing:02x}",
            conflict=("lead", "vocabulary"),
        )
    return given


def read_text(
    text: str | bytes | Sequence[str | Special], vocabulary: Vocabulary, names: frozenset[str]
) -> Readings:
    if isinstance(text, str | bytes):
        return Readings(_encoded(text), tuple(name.encode() for name in sorted(names)))
    if not isinstance(text, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"a text must be str or bytes, not {type(text).__name__}")
    data = b""
    for part in text:
        if isinstance(part, Special):
            data += mark(find(part, vocabulary))
        elif isinstance(part, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            data += _encoded(part)
        else:
            raise SourceError(
                f"a text is str, bytes, or a list of str and guideway.special(...), not a list "
                f"with {brief(part)}"
            )
    return Readings(data)


def _encoded(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return NO_TEXT if data and max(data) >= FIRST_MARK else data


class Segmentation:
    """Fewest tokens of one text after another.

    Only bytes before the common suffix with the last text are measured: 1.9 ms instead of 28 for
    the distance of a place with 1,100 bytes to come.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._text = b""
        self._fewest: list[int | None] = [0]  # tokens for its last 0, 1, 2, … bytes

    def fewest(self, text: bytes) -> int | None:
        """The fewest tokens that spell `text`, None if none do; O(new bytes · longest token)."""
        self._measure(text)
        return self._fewest[-1]

    def first(self, text: bytes) -> list[int]:
        """First tokens of shortest spellings."""
        self._measure(text)
        best, left = self._fewest[-1], len(text)
        lengths = [
            length
            for length in self._vocabulary.prefixes(text)
            if best is not None and self._fewest[left - length] == best - 1
        ]
        return [token for each in lengths for token in self._vocabulary.ids(text[:each])]

    def _measure(self, text: bytes) -> None:
        alike = _common_suffix(text, self._text)
        fewest = self._fewest[: alike + 1]
        for at in range(len(text) - alike - 1, -1, -1):
            left = len(text) - at
            rests = [fewest[left - length] for length in self._vocabulary.prefixes(text, at)]
            fewest.append(min((1 + rest for rest in rests if rest is not None), default=None))
        self._text, self._fewest = text, fewest


def _common_suffix(text: bytes, other: bytes) -> int:
    """Length of the common suffix of two texts."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text.endswith(other[len(other) - middle :]):
            low = middle
        else:
            high = middle - 1
    return low


def too_few(left: int, needed: int) -> LimitError:
    return LimitError(
        f"the text needs {needed} more tokens to end, and {left} are left",
        limit="max_new_tokens",
        given=left,
        needed=needed,
    )
