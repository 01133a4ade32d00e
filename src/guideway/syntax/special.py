"""Special tokens and substrings as sources."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final, get_args
from typing import Literal as OneOf

from guideway.errors import SourceError, brief
from guideway.syntax.sources import Source, check_flag, check_option, check_text

_MOST_IDS: Final = 1 << 32  # more than any vocabulary has


@final
@dataclass(frozen=True)
class Special(Source[str]):
    """One special token, by name or id.

    `required`: a vocabulary without it is refused; else the name is text there.
    """

    token: str | int
    required: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.token, bool) or not isinstance(self.token, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"a special token must be a name or an id, not {brief(self.token)}")
        if isinstance(self.token, str):
            check_text(self.token, "the name of a special token")
        check_flag("required", self.required)
        if self.token == "" or (isinstance(self.token, int) and not 0 <= self.token < _MOST_IDS):
            raise SourceError(f"{brief(self.token)} cannot be a special token")


@final
@dataclass(frozen=True)
class Others(Source[str]):
    """Any number of tokens (text and special tokens), or at least one, without some special tokens.

    Other counts are impossible, because a language does not determine the tokens of a text.

    Attributes:
        without: names and ids of the excluded tokens.
        least: 0 or 1.
    """

    without: tuple[str | int, ...]
    least: int


def special(token: str | int, *, required: bool = True) -> Special:
    """Return the special token of a name or id as a source.

    A token that also spells text (Qwen's "<tool_call>") can be named too; it is a single id then.

    >>> special("<|tool|>") + "x"
    Sequence(parts=(Special(token='<|tool|>', required=True), Literal(text='x')))

    Args:
        token: the name as the tokenizer writes it, or the id.
        required: whether a vocabulary without that name is refused. If False, the name is text
            there.

    Raises:
        SourceError: the token is no name and no id, or `required` is no bool.
    """
    return Special(token, required)


Cut: TypeAlias = OneOf["words", "characters"]

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]+")


@final
@dataclass(frozen=True)
class Substring(Source[str]):
    """Consecutive chunks, or none; no chunk is empty."""

    chunks: tuple[str, ...]


def substring(text: str | Iterable[str], cut: Cut = "words") -> Substring:
    r"""Return any part of a text, word for word, the empty one included.

    >>> substring("Alas, poor").chunks
    ('Alas', ',', ' ', 'poor')

    Args:
        text: the text, or its chunks.
        cut: where a part may start and end: "words" (`\w+`, `\s+`, and runs of other characters)
            or "characters". Ignored for chunks.

    Raises:
        SourceError: the text is no string, or `cut` is unknown.
    """
    check_option("cut", cut, get_args(Cut))
    if isinstance(text, str):
        check_text(text, "the text of a substring")
        return Substring(tuple(_WORDS.findall(text) if cut == "words" else text))
    if not isinstance(text, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"substring needs a text or a list of chunks, not {brief(text)}")
    chunks = tuple(text)
    for chunk in chunks:
        check_text(chunk, "a chunk")
    return Substring(tuple(filter(None, chunks)))
