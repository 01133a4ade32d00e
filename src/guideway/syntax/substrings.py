"""Substrings: the texts that a longer one has in it, cut between chunks alone.

What a quotation of a document is held to. The chunks are given, or are the words or the characters
of a text: of words, a run of letters, digits and `_` is one, a run of whitespace, and a run of
anything else.
"""

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
    """Some of the chunks, one after the other as they stand, or none.

    Attributes:
        chunks: what stands one after the other; none is empty.
    """

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
