"""Substrings of a text, between chunks: words, characters, or given ones."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final, get_args

from guideway.errors import SourceError, brief
from guideway.syntax.sources import Source, check_option, check_text

Cut: TypeAlias = Literal["words", "characters"]

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
