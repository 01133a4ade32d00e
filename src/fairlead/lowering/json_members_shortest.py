"""The shortest members that complete an object which is read against a formula.

Behind a key there are alternatives, each a value and what is left to be said. Those come first that
may be the shortest, and others are looked at only as long as they may be shorter still.

What this module does not know: how formulas go on (`json_progress`).
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Protocol, final

from fairlead.lowering.expr import concat
from fairlead.lowering.json_formulas import Formula
from fairlead.lowering.json_keysets import KeyClass
from fairlead.lowering.json_members_atoms import asks
from fairlead.lowering.json_members_keys import KeyTexts
from fairlead.lowering.json_members_least import Chosen, Estimate, Words, least_members
from fairlead.lowering.json_members_rest import Rest
from fairlead.lowering.json_objects import Extras, Least
from fairlead.lowering.json_progress import Pairs
from fairlead.lowering.json_room import bounded, writes
from fairlead.lowering.json_text import JsonStyle
from fairlead.lowering.nodes import Expr
from fairlead.syntax.frozen import by_value


class Reading(Protocol):
    """How objects are read member by member."""

    style: JsonStyle

    def after(self, said: Formula, key: int) -> Pairs:
        """What a member of a key has to satisfy, and the rest after it."""
        ...

    def may_close(self, said: Formula) -> bool:
        """Whether an object may end."""
        ...

    def free(self, place: int) -> list[int]:
        """The names that may still come."""
        ...

    def behind(self, place: int, key: int) -> int:
        """The place behind a member."""
        ...


@final
@by_value
class Shortest:
    """What is known of the members of one kind of object.

    Attributes:
        reading: how they are read.
        keys: the `count` names, then classes of others.
        texts: those keys as they are spelled.
        value: the values that satisfy a formula.
    """

    reading: Reading
    keys: tuple[KeyClass, ...]
    count: int
    texts: KeyTexts
    value: Callable[[Formula], Expr]

    def behind_key(self, rest: Rest, key: int, least: Least) -> bytes | None:
        """The shortest value of a key, and the shortest rest.

        Of `oneOf` of fifty objects each of 50 names took .2 s while all alternatives were searched.
        """
        place, found = self.reading.behind(rest.place, key), list[tuple[int, bytes, Rest]]()
        estimate = self._estimate(place, least)
        for said, value in self.reading.after(rest.said, key).items():
            word = least(concat(self.reading.style.colon, self.value(value)))
            if word is not None:
                bound = len(word) + estimate.undone(said) + len("}")
                found.append((bound, word, Rest(place, rest.extras, said)))
        best: bytes | None = None
        for bound, word, behind in sorted(found, key=itemgetter(0, 1)):
            if best is not None and bound > len(best):
                break
            members = self.members(behind, least, estimate)
            if members is not None:
                whole = word + b"".join(b"," + part for _, part in members) + b"}"
                best = min(best or whole, whole, key=lambda one: (len(one), one))
        return best

    def members(
        self, rest: Rest, least: Least, estimate: Estimate | None = None
    ) -> list[tuple[int, bytes]] | None:
        """The shortest members that suffice, in the order in which they come; None if none do."""
        said = bounded(rest.said, rest.place, "{}", writes(least))
        found = least_members(estimate or self._estimate(rest.place, least), said, rest.extras)
        return None if found is None else self._listed(found)

    def words(self, free: list[int], word: Callable[[int, Formula, Extras], bytes | None]) -> Words:
        """What a search needs to know where some names are free, and how members are spelled."""
        return Words(
            word,
            self.reading.after,
            self.reading.may_close,
            lambda atom, key: asks(atom, self.keys[key]),
            [*free, *range(self.count, len(self.keys))],
            lambda key: key < self.count,
            lambda key: len(str(self.keys[key].name or "")) + 5,  # "":0 and a comma
            self._listed,
        )

    def _estimate(self, place: int, least: Least) -> Estimate:
        """How long what is needed behind a place is at least, and the shortest members there."""

        def word(key: int, value: Formula, used: Extras) -> bytes | None:
            taken, colon = None if key < self.count else used, self.reading.style.colon
            return least(self.texts.member(key, taken, colon, self.value(value)))

        return Estimate(self.words(self.reading.free(place), word))

    def _listed(self, members: Chosen) -> list[tuple[int, bytes]]:
        """Members in the order that comes first."""
        ordered = self.reading.style.ordered
        return sorted(members) if ordered else sorted(members, key=itemgetter(1))
