"""The growing text of a row: bytes in, whole characters out.

- The joint is removed from the beginning once it is complete.
- Stop strings are searched in the bytes, so they may span tokens (UTF-8 is self-synchronising).
- A possible beginning of a stop string and an incomplete character are held back.
- Bytes that are not UTF-8 become U+FFFD, as in the tokenizers' own decoding.
"""

import codecs
import copy
from collections.abc import Iterator


class Transcript:
    r"""Bytes that are read as text while they come.

    Example:
        >>> transcript = Transcript(stops=["END"])
        >>> for piece in (b"caf\xc3", b"\xa9 E", b"arl"):
        ...     transcript.push(piece)
        ...     transcript.take()
        'caf'
        'é '
        'Earl'
    """

    def __init__(
        self,
        joint: bytes = b"",
        stops: tuple[str, ...] | list[str] = (),
        *,
        expected: bool = False,
    ) -> None:
        """An empty text after `joint`, which ends at one of `stops`.

        `expected`: the text surely begins with the joint, so a part of it is no text.
        """
        self._joint, self._expected = joint, expected
        self._stops = tuple(stop.encode() for stop in stops)
        self._bytes = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._taken = 0
        self._searched = 0

    def fork(self) -> "Transcript":
        other = copy.copy(self)
        other._bytes = bytearray(self._bytes)
        other._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        other._decoder.setstate(self._decoder.getstate())
        return other

    @property
    def text(self) -> str:
        return "" if self._waits else self._bytes.decode(errors="replace")

    @property
    def _waits(self) -> bool:
        """Return True if the bytes so far are only a part of the joint."""
        return self._expected and bool(self._joint)

    @property
    def readable(self) -> str:
        """The text so far without a character that is not complete; "" before the joint is."""
        return "" if self._joint else codecs.utf_8_decode(self._bytes, "replace", False)[0]

    def push(self, piece: bytes) -> None:
        self._bytes += piece
        if self._joint and not self._joint.startswith(self._bytes[: len(self._joint)]):
            self._joint = b""  # free text that does not begin as expected is left as it is
        if self._joint and len(self._bytes) >= len(self._joint):
            del self._bytes[: len(self._joint)]
            self._joint = b""

    def stop_places(self) -> Iterator[int]:
        """Start positions of stop strings completed since the last call, in order."""
        if not self._stops or self._joint:
            return
        searched, self._searched = self._searched, len(self._bytes)
        begin = max(0, searched - max(map(len, self._stops)) + 1)
        for place in range(begin, len(self._bytes)):
            found = (stop for stop in self._stops if self._bytes.startswith(stop, place))
            if any(place + len(stop) > searched for stop in found):
                yield place

    def before(self, place: int) -> str | None:
        """The text before `place`, None if that is inside a character."""
        try:
            return self._bytes[:place].decode()
        except UnicodeDecodeError:
            return None

    def cut(self, place: int) -> None:
        del self._bytes[place:]

    def take(self, *, final: bool = False) -> str:
        """The text that was not taken yet: all of it if `final`, else the part that is certain."""
        end = len(self._bytes) - (0 if final and not self._waits else self._held_back())
        end = max(end, self._taken)
        piece = bytes(self._bytes[self._taken : end])
        self._taken = end
        return self._decoder.decode(piece, final)

    def _held_back(self) -> int:
        """Number of last bytes that may begin a stop string or the joint."""
        if self._joint:
            return len(self._bytes)
        most = min(max(map(len, self._stops), default=1) - 1, len(self._bytes))
        return next(
            (
                length
                for length in range(most, 0, -1)
                if any(
                    len(stop) > length and stop.startswith(self._bytes[-length:])
                    for stop in self._stops
                )
            ),
            0,
        )
