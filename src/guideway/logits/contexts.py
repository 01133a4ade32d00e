"""What a classifier reads: the text so far, and what each candidate token would make of it.

Rules:

- a character that is not complete is held back, at the end of the text; bytes that are no UTF-8
  become U+FFFD, as in the tokenizers' own decoding;
- an end id, and every id that spells nothing, leaves the text as it is;
- the joint (bytes between prompt and text that belong to neither) is no part of the text;
- a window of n tokens is the candidate and the n − 1 tokens before it. The text without a candidate
  is that of those n − 1, so that the two differ by the candidate alone. A window that begins inside
  a character begins with that character.

What this module does not know: classifiers, logits.
"""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from guideway.vocabulary.spellings import Vocabulary


@final
@dataclass(frozen=True, slots=True)
class TextContext:
    """What one row has generated.

    Attributes:
        pieces: the bytes of each token, in order; b"" for one that spells nothing.
        prompt: the prompt as a text, "" for chats.
        joint: the bytes with which the pieces begin that are no part of the text.
    """

    pieces: tuple[bytes, ...] = ()
    prompt: str = ""
    joint: bytes = b""

    @classmethod
    def of(
        cls, tokens: Iterable[int], vocabulary: Vocabulary, prompt: str = "", joint: bytes = b""
    ) -> "TextContext":
        """The context after these tokens.

        Example:
            >>> vocabulary = Vocabulary([b"a", b"bc", b"<eos>"], eos_ids={2})
            >>> TextContext.of([1, 0], vocabulary).pieces
            (b'bc', b'a')
        """
        return cls(tuple(_piece(token, vocabulary) for token in tokens), prompt, joint)

    @property
    def step(self) -> int:
        """How many tokens there are."""
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
    """The text after each of `tokens`.

    Example:
        >>> vocabulary = Vocabulary([b"a", b"bc", b"<eos>"], eos_ids={2})
        >>> candidate_texts(OpenText.of(TextContext((b"a",))), [0, 1, 2], vocabulary)
        ['aa', 'abc', 'a']
    """
    return [text.after(_piece(token, vocabulary)) for token in tokens]


def _piece(token: int, vocabulary: Vocabulary) -> bytes:
    known = vocabulary.tokens
    return (known[token] or b"") if token < len(known) else b""


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a character that is not complete."""
    tail = data[-4:]
    return len(tail) - codecs.utf_8_decode(tail, "replace", False)[1]
