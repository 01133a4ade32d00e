"""Names of an object from its frame in the arena: which are allowed, and their values."""

from typing import Final, final

from guideway.masks.arena import Arena
from guideway.masks.kernels import layout as at

UNLIKE: Final = 4  # characters that suffice for a key unlike all earlier ones
_KEYS: Final = 64  # earlier keys that are searched
_FEW: Final = 8  # names that are tried where one is required
_NAMED_SO: Final = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}


@final
class FrameNames:
    """The names of an object; `thing` is its OBJECT row, `others` says if more keys are allowed."""

    def __init__(self, arena: Arena, frame: int) -> None:
        self.thing, self._position, self._extras, missing, bits, others = arena.row(
            at.FRAME, frame, 6
        )
        self.missing, self.others = missing > 0, others > 0
        self.fields = fields = arena.row(at.OBJECT, self.thing, 16)
        self._arena, self.count = arena, fields[at.O_NAMES]
        words = (arena.row(at.BIT, bits + word, 1)[0] for word in range(fields[at.O_WORDS]))
        self._may = sum(int(bits) << 64 * word for word, bits in enumerate(words))

    @property
    def counted(self) -> bool:
        """Return True if `minProperties` may require more keys than are named."""
        return self.fields[at.O_COUNTS] & 0xFFFF > 0 and not self.fields[at.O_CLASSES]

    def any_others(self) -> bool:
        """Return True if a key that is no name may be any other string.

        False for keys of a class, which may be few or long, and for distinct strings, which have no
        colon. Frames exist only where all of ASCII is allowed in keys (`objects.can_spell`).
        """
        any_key = not self.fields[at.O_CLASSES] and self.fields[at.O_COLON] != at.NIL
        return self.others and any_key

    def came(self, text: int) -> bool:
        """Return True if a key that is no name came before, or too many came to search."""
        extras, left = self._extras, _KEYS
        while extras and left:
            found, extras = divmod(self._arena.row(at.EXTRA, extras, 1)[0], 1 << 32)
            if found == text:
                return True
            left -= 1
        return extras > 0

    def some(self, low: int, high: int) -> list[int]:
        found = list[int]()
        for rank in range(low, high):
            if self._may >> rank & 1:
                found.append(rank)
                if len(found) == _FEW:
                    break
        return found

    def required(self) -> list[int]:
        ranks = range(self.count)
        if self.fields[at.O_ORDERED]:
            left = [rank for rank in ranks if self._name(rank)[at.N_INDEX] >= self._position]
        else:
            left = [rank for rank in ranks if self._may >> rank & 1]
        return [rank for rank in left if self.is_required(rank)]

    def ends(self, rank: int, read: int) -> bool:
        return self._name(rank)[at.N_LENGTH] == read

    def is_required(self, rank: int) -> bool:
        return self._name(rank)[at.N_REQUIRED] > 0

    def value(self, rank: int) -> int:
        return self._name(rank)[at.N_VALUE]

    def length(self, rank: int) -> int:
        """Upper bound on the bytes of a name in its shortest spelling."""
        start, length, *_ = self._name(rank)
        plain = _NAMED_SO.issuperset(self._arena.pooled(start, length))
        return length if plain else len("\\u0000") * length

    def _name(self, rank: int) -> list[int]:
        return self._arena.row(at.NAME, self.fields[at.O_NAME] + rank, 6)
