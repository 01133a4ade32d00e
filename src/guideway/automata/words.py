"""Words with shared suffixes: linked lists of pieces.

Written out, the shortest words along a path take n²/2 bytes: 5 GB for a literal of 100 KB.
"""

from dataclasses import dataclass
from typing import final

from guideway.errors import GuidewayError, LimitError

LONGEST = 1 << 24


@final
@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """`times` times `piece`, then `rest`.

    >>> Word.of(b"ab", Word.of(b"c")).text, Word.of(b"x", times=3).length
    (b'abc', 3)
    """

    piece: bytes
    times: int
    rest: "Word | None"
    length: int

    @classmethod
    def of(cls, piece: bytes, rest: "Word | None" = None, times: int = 1) -> "Word":
        length = len(piece) * times + (0 if rest is None else rest.length)
        return cls(piece, times, rest if rest is not None and rest.length else None, length)

    def then(self, other: "Word") -> "Word":
        if not self.length:
            return other
        if self.rest is not None:
            return Word.of(self.text, other)
        return Word.of(self.piece, other, self.times)

    def repeated(self, times: int) -> "Word":
        simple = self.rest is None and self.times == 1
        return Word.of(self.piece if simple else self.text, None, times)

    @property
    def text(self) -> bytes:
        """The word written out; more than 16 MiB raise LimitError."""
        if self.length > LONGEST:
            raise LimitError(
                f"the shortest text has {self.length} bytes; at most {LONGEST} are allowed",
                limit="bytes of the shortest text",
                given=LONGEST,
                needed=self.length,
            )
        pieces, word = list[bytes](), self
        while word is not None:
            pieces.append(word.piece * word.times)
            word = word.rest
        return b"".join(pieces)

    def less(self, than: "Word | None") -> bool:
        """Return True if this word is shorter, or of equal length and before in byte order."""
        if than is None or self.length != than.length:
            return than is None or self.length < than.length
        return self is not than and self.text < than.text


NOTHING = Word.of(b"")


def text_of(word: Word | None) -> bytes:
    if word is None:
        raise GuidewayError("a state without any continuation was asked for its shortest")
    return word.text
