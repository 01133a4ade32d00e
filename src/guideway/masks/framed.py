"""The names of objects, as frames of the arena hold them: which may come, and what each has.

What this module does not know: how far it is from a node to an end.
"""

from typing import Final, final

from guideway.masks.arena import Arena
from guideway.masks.kernels import layout as at

UNLIKE: Final = 4  # characters with which a key differs from all that came
_KEYS: Final = 64  # that came, and are looked at
_FEW: Final = 8  # names that are looked at where one has to come
_NAMED_SO: Final = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}


@final
class FrameNames:
    """The names of an object, and which may come.

    Attributes:
        thing: its row in OBJECT,
        fields: and what that says.
        count: how many names there are.
        others: whether keys may come that are none of them.
        missing: whether any has to come.
    """

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
        """Whether more of them may have to come than are named."""
        return self.fields[at.O_COUNTS] & 0xFFFF > 0 and not self.fields[at.O_CLASSES]

    def any_others(self) -> bool:
        """Whether a key that is no name may be any other: of a class they are few, or longer.

        So are different strings, behind which there is no colon. Frames are made only where all of
        ASCII is spelled (`objects.can_spell`), so there are letters enough.
        """
        any_key = not self.fields[at.O_CLASSES] and self.fields[at.O_COLON] != at.NIL
        return self.others and any_key

    def came(self, text: int) -> bool:
        """Whether a key that is no name came before, as far as it takes a look."""
        extras, left = self._extras, _KEYS
        while extras and left:
            found, extras = divmod(self._arena.row(at.EXTRA, extras, 1)[0], 1 << 32)
            if found == text:
                return True
            left -= 1
        return extras > 0

    def some(self, low: int, high: int) -> list[int]:
        """A few of the names between two ranks that may come."""
        found = list[int]()
        for rank in range(low, high):
            if self._may >> rank & 1:
                found.append(rank)
                if len(found) == _FEW:
                    break
        return found

    def required(self) -> list[int]:
        """The names that have to come."""
        ranks = range(self.count)
        if self.fields[at.O_ORDERED]:
            left = [rank for rank in ranks if self._name(rank)[at.N_INDEX] >= self._position]
        else:
            left = [rank for rank in ranks if self._may >> rank & 1]
        return [rank for rank in left if self.is_required(rank)]

    def ends(self, rank: int, read: int) -> bool:
        """Whether a name has been read when so many bytes of it have."""
        return self._name(rank)[at.N_LENGTH] == read

    def is_required(self, rank: int) -> bool:
        """Whether a name has to come."""
        return self._name(rank)[at.N_REQUIRED] > 0

    def value(self, rank: int) -> int:
        """The node of what a name has."""
        return self._name(rank)[at.N_VALUE]

    def length(self, rank: int) -> int:
        """How many bytes spell a name at most, where each character is spelled as shortly."""
        start, length, *_ = self._name(rank)
        plain = _NAMED_SO.issuperset(self._arena.pooled(start, length))
        return length if plain else len("\\u0000") * length

    def _name(self, rank: int) -> list[int]:
        return self._arena.row(at.NAME, self.fields[at.O_NAME] + rank, 6)
