"""Shortest members that complete an object read with a formula.

After a key there are alternatives of a value and a rest: best-first by lower bound.
"""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Protocol, final

from guideway.lowering.answers import Answers
from guideway.lowering.expr import concat
from guideway.lowering.json_formulas import Formula
from guideway.lowering.json_keysets import KeyClass
from guideway.lowering.json_members_atoms import asks
from guideway.lowering.json_members_keys import KeyTexts
from guideway.lowering.json_members_least import Chosen, Estimate, Words, key_of, least_members
from guideway.lowering.json_members_rest import Rest
from guideway.lowering.json_members_standing import Standing
from guideway.lowering.json_objects import Extras
from guideway.lowering.json_progress import Pairs
from guideway.lowering.json_room import bounded, writes
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.nodes import Expr, Least
from guideway.syntax.frozen import by_value


class Reading(Protocol):
    """How objects are read member by member."""

    style: JsonStyle

    def after(self, said: Formula, key: int) -> Pairs:
        """The values of a member of a key, with the formulas for the rest."""
        ...

    def may_close(self, said: Formula) -> bool:
        """Return True if the object may end."""
        ...

    def free(self, place: int) -> list[int]:
        """The names that may still come."""
        ...

    def behind(self, place: int, key: int) -> int:
        """The place after a member."""
        ...


@final
@by_value
class Shortest:
    """Shortest completions of one kind of object; `keys` are `count` names, then classes."""

    reading: Reading
    keys: tuple[KeyClass, ...]
    count: int
    texts: KeyTexts
    value: Callable[[Formula], Expr]

    def behind_key(self, rest: Rest, key: int, least: Least) -> bytes | None:
        """The shortest value of a key together with the shortest rest.

        A `oneOf` of fifty objects of 50 names took .2 s with all alternatives searched.
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
            members = self.members(behind, least)
            if members is not None:
                whole = word + b"".join(b"," + part for _, part in members) + b"}"
                best = min(best or whole, whole, key=lambda one: (len(one), one))
        return best

    def begun(self, rest: Rest, key: int, least: Least, read: bytes) -> bytes | None:
        """The rest of a needed member whose key (of a class) begins with `read`, and the others."""
        words = self.members(rest, least) or []
        for at, (number, word) in enumerate(words):
            if number == key and word[1:].startswith(read):
                others = (*words[:at], *words[at + 1 :])
                return word[1:] + b"".join(b"," + other for _, other in others) + b"}"
            if self.reading.style.ordered and number < self.count:
                break
        return None

    def members(self, rest: Rest, least: Least) -> list[tuple[int, bytes]] | None:
        """The shortest members that suffice, in order; None if none do."""
        estimate = self._estimate(rest.place, least)
        said = bounded(rest.said, rest.place, "{}", writes(least))

        def find(extras: Extras, looked: set[str]) -> Chosen | None:
            def word(key: int, value: Formula, used: Extras) -> bytes | None:
                colon = self.reading.style.colon
                if key < self.count:
                    return least(self.texts.member(key, colon, self.value(value)))
                name = least(concat(QUOTE, self.texts.unused(key, used), QUOTE))
                said = least(concat(colon, self.value(value)))
                if name is None or said is None:
                    return None
                looked.add(key_of(name))
                return name + said

            return least_members(estimate, word, said, extras)

        answers = Answers.of(least)
        standing = answers.recall(self.reading, partial(Standing[Chosen | None], None))
        found = standing.ask((rest.place, said), rest.extras, find, lambda _: answers.settled())
        return None if found is None else self._listed(found)

    def words(self, free: list[int]) -> Words:
        """Access for the search where some names are free, the shortest keys first.

        In another order each object of a `oneOf` of sixty took 1.3 s.
        """

        def shortest(key: int) -> int:
            return len(str(self.keys[key].name or "")) + 5  # "":0 and a comma

        return Words(
            self.reading.after,
            self.reading.may_close,
            lambda atom, key: asks(atom, self.keys[key]),
            sorted([*free, *range(self.count, len(self.keys))], key=shortest),
            lambda key: key < self.count,
            shortest,
            self._listed,
        )

    def _estimate(self, place: int, least: Least) -> Estimate:
        """The estimate for a place, cached."""

        def make() -> Estimate:
            return Estimate(self.words(self.reading.free(place)))

        return Answers.of(least).recall((self.reading, place), make)

    def _listed(self, members: Chosen) -> list[tuple[int, bytes]]:
        """Members in the first possible order."""
        ordered = self.reading.style.ordered
        return sorted(members) if ordered else sorted(members, key=itemgetter(1))
