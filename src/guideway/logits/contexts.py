"""Input of classifiers: the text so far, and the text after each candidate token.

- An incomplete character at the end is held back; bytes that are not UTF-8 become U+FFFD.
- End ids and ids without a spelling leave the text unchanged.
- The joint is not part of the text.
- A window of n tokens is the candidate and the n − 1 tokens before it; the text without a candidate
  has those n − 1. A window that begins inside a character begins with that character.
"""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from guideway.vocabulary.spellings import Vocabulary


@final
@dataclass(frozen=True, slots=True)
class TextContext:
    """The generated part of one row.

    Attributes:
        pieces: bytes of each token; b"" for one without a spelling.
        prompt: the prompt as a text, "" for chats.
        joint: bytes at the beginning of the pieces that are not part of the text.
    """

    pieces: tuple[bytes, ...] = ()
    prompt: str = ""
    joint: bytes = b""

    @classmethod
    def of(
        cls, tokens: Iterable[int], vocabulary: Vocabulary, prompt: str = "", joint: bytes = b""
    ) -> "TextContext":
        """The context after these tokens."""
        return cls(tuple(_piece(token, vocabulary) for token in tokens), prompt, joint)

    @property
    def step(self) -> int:
        """Number of tokens."""
        return len(self.pieces)


@final
@dataclass(frozen=True, slots=True)
class OpenText:
    r"""A text that goes on: what is decoded of it, and the bytes that are not.

    Attributes:
        text: the whole characters.
        pending: the bytes after them: a character that is not complete, or a part of the joint.
        joint: the joint if that is not over, else b"".

    Example:
        >>> text = OpenText.of(TextContext((b"caf", b"\xc3")))
        >>> text.text, text.after(b"\xa9!"), text.after(b"")
        ('caf', 'café!', 'caf')
    """

    text: str
    pending: bytes
    joint: bytes = b""

    @classmethod
    def of(
        cls, context: TextContext, *, window: int | None = None, prompt: bool = False
    ) -> "OpenText":
        """The text before the next token, with the prompt before it or from a window on."""
        pieces = context.pieces
        data, joint = b"".join(pieces), context.joint
        if joint and len(data) < len(joint) and joint.startswith(data):
            return cls(context.prompt if prompt else "", data, joint)
        begin = len(joint) if data.startswith(joint) else 0
        cut = 0 if window is None else len(pieces) - window + 1
        if cut > 0:
            begin = max(begin, sum(map(len, pieces[:cut])))
            begin -= _unfinished(data[:begin])
        text, read = codecs.utf_8_decode(data[begin:], "replace", False)
        return cls(context.prompt + text if prompt else text, data[begin + read :])

    def after(self, piece: bytes) -> str:
        """The text with the bytes of one more token."""
        data = self.pending + piece
        if self.joint:
            if self.joint.startswith(data):
                return self.text
            data = data.removeprefix(self.joint)
        return self.text + codecs.utf_8_decode(data, "replace", False)[0]


def candidate_texts(text: OpenText, tokens: Sequence[int], vocabulary: Vocabulary) -> list[str]:
    """The text after each of `tokens`."""
    return [text.after(_piece(token, vocabulary)) for token in tokens]


def _piece(token: int, vocabulary: Vocabulary) -> bytes:
    known = vocabulary.tokens
    return (known[token] or b"") if token < len(known) else b""


def _unfinished(data: bytes) -> int:
    """Number of bytes at the end that begin an incomplete character."""
    tail = data[-4:]
    return len(tail) - codecs.utf_8_decode(tail, "replace", False)[1]
