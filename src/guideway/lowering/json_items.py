"""Arrays that are read item by item against a formula.

If values matter, each item is captured, and it is only allowed if the array can still end.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Final, cast, final
from weakref import ref

from guideway.lowering.endless import SOMETHING
from guideway.lowering.expr import (
    ALL_BYTES,
    EMPTY,
    UNSURE,
    alt,
    byte_set,
    call,
    capture,
    concat,
    literal,
)
from guideway.lowering.json_endless import is_endless_object, is_open_string, options_in
from guideway.lowering.json_formulas import Formula, all_of
from guideway.lowering.json_items_dealt import critical, deal
from guideway.lowering.json_items_read import told_apart
from guideway.lowering.json_items_strings import DifferentStrings, different_strings
from guideway.lowering.json_items_twice import can_end, repeatable
from guideway.lowering.json_items_ways import ItemJudge, Rest, Step, Ways, among, beside
from guideway.lowering.json_objects import UNKNOWN
from guideway.lowering.json_room import among as spelled_among
from guideway.lowering.json_room import room, writes
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.json_values import read_exact
from guideway.lowering.nodes import Expr, Least, Look

_REMEMBERED = 4096
_OTHERS: Final = byte_set(b"{[-0123456789tfn")  # first bytes of values that are not strings


@final
class ItemsTemplate:
    """Unfolds the rest of an array, given its formula."""

    def __init__(
        self,
        said: Formula,
        value: Callable[[Formula], Expr],
        style: JsonStyle,
        judge: ItemJudge,
    ) -> None:
        self._said, self._value, self.style = said, value, style
        self._ways = Ways(said, value, judge)
        # Of the last caller, weakly: it would live as long as schemas share a template.
        self._unfolded: tuple[ref[Look] | None, dict[Hashable, Expr]] = None, {}

    def different_strings(self, rest: Rest) -> DifferentStrings | None:
        """The items, if the formula only asks for distinct strings."""
        whole = rest.position < 0 and rest.twice is False
        return different_strings(rest.said, self._value) if whole else None

    def start(self) -> Expr:
        none = frozenset[None]()
        starts = (Rest(-1, none, said, twice) for said, twice in told_apart(self._said))
        return alt(*(call(self, rest) for rest in starts))

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        asker, known = self._unfolded
        if asker is None or asker() is not look or len(known) >= _REMEMBERED:
            known = dict[Hashable, Expr]()
            self._unfolded = ref(look), known
        found = known.get(argument)
        if found is None:
            found = known[argument] = self._unfold(cast("Rest", argument), look)
        return found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        return call(self, _behind(cast("Rest", argument), captured))

    def resume_any(self, argument: Hashable) -> Expr:
        rest = cast("Rest", argument)
        return UNSURE if rest.twice else call(self, rest)

    def remembers(self, argument: Hashable) -> bool:
        return UNKNOWN not in cast("Rest", argument).used

    def depends(self, argument: Hashable) -> bool:
        del argument
        return True

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        return self._lives(cast("Rest", argument), look)

    def _lives(self, rest: Rest, look: Look) -> bool | None:
        left = room(rest.position, "[]", spelled_among(look.spellable))
        if left is not None:
            return self._few(rest, left, look)
        if UNKNOWN in rest.used:
            return True
        if rest.twice is False:
            return deal(self._ways, rest, look.word) is not None
        return can_end(self._ways, rest, look)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        if look.spellable == ALL_BYTES:
            return True
        return self._lives(_behind(cast("Rest", argument), captured()), look)

    def parts(self, argument: Hashable) -> Iterator[Expr]:
        rest = cast("Rest", argument)
        for position in range(-1, self._ways.single):
            steps = self._ways.steps(Rest(position, frozenset(), rest.said))
            yield from (self._value(step.value) for step in steps)

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The shortest rest, or nearly so if earlier values matter."""
        rest = cast("Rest", argument)
        left = room(rest.position, "[]", writes(least))
        words = self._words(rest, least) if left is None else self._few_words(rest, left, least)
        if words is None:
            return None
        text = b",".join(words)
        if rest.position < 0:
            return b"[" + text + b"]"
        return b"," * bool(words) + text + b"]"

    def least_after(
        self, argument: Hashable, least: Least, captured: bytes | None = None
    ) -> bytes | None:
        return self.least(_behind(cast("Rest", argument), captured), least)

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        del argument, least, read
        return None

    def _unfold(self, rest: Rest, look: Look) -> Expr:
        style = self.style
        close = literal("]") if self._ways.ends(rest) else EMPTY
        item = self._doubtful(rest, look) if UNKNOWN in rest.used else self._item(rest, look)
        if rest.position < 0:
            return concat(literal("["), alt(concat(style.opened, close), item))
        return alt(concat(style.edge, literal(","), item), concat(style.closing, close))

    def _item(self, rest: Rest, look: Look) -> Expr:
        options: list[Expr] = []
        for value, behind in self._options(rest, look, look.word):
            item = concat(self.style.opened, self._value(value))
            if behind.twice is None:
                options.append(concat(item, call(self, behind)))
            else:
                options.append(capture(item, b"", self, behind))
        return alt(*options)

    def _doubtful(self, rest: Rest, look: Look) -> Expr:
        """An item after an unknown one: only prefixes of infinitely many values are sure."""
        steps, options = self._ways.steps(rest), list[Expr]()
        free = all(self._ways.may_close(step.said) for step in steps)  # it leaves later items free
        if rest.twice is False and free and look.spellable == ALL_BYTES:
            options = [part for step in steps for part in options_in(self._value(step.value))]
        begun = [found for part in options if (found := self._begun(part, look)) is not None]
        if not begun:
            return UNSURE
        others = [] if len(begun) == len(options) else [concat(_OTHERS, UNSURE)]
        return concat(self.style.opened, alt(*begun, *others))

    def _begun(self, value: Expr, look: Look) -> Expr | None:
        """A prefix of infinitely many values, None if none is known."""
        if is_open_string(value):
            return concat(value, UNSURE)
        if is_endless_object(value) and look(value):
            member = alt(concat(QUOTE, SOMETHING), concat(literal("}"), UNSURE))
            return concat(literal("{"), self.style.opened, member)
        return None

    def _options(
        self, rest: Rest, look: Callable[[Expr], bool | None], least: Least
    ) -> Iterator[tuple[Formula, Rest]]:
        """Conditions on the next item that lead to an end, and the rest after it."""
        for step in self._ways.steps(rest):
            plain = Rest(step.position, frozenset(), step.said)
            behind = Rest(step.position, rest.used, step.said, rest.twice)
            if rest.twice is None:
                yield step.value, plain
            elif rest.twice:
                yield among(step.value, rest.used), plain
                yield self._new(step, behind, look), behind
            else:
                needed = critical(self._ways, behind, least)
                if needed is not None:
                    yield beside(step.value, rest.used | needed), behind

    def _new(self, step: Step, behind: Rest, look: Callable[[Expr], bool | None]) -> Formula:
        """A new value; one that can be repeated, if no other value will be."""
        new = beside(step.value, behind.used)
        if can_end(self._ways, behind, look):
            return new
        return all_of(new, repeatable(self._ways, behind, look))

    def _few(self, rest: Rest, left: int, look: Look) -> bool | None:
        """`lives` for vocabularies without a comma or bracket."""
        if left < 0 or self._ways.ends(rest):
            return left >= 0
        values = self._last_values(rest) if left else ()
        return next((found for part in values if (found := look(part)) is not False), False)

    def _few_words(self, rest: Rest, left: int, least: Least) -> list[bytes] | None:
        if left < 0 or self._ways.ends(rest):
            return None if left < 0 else []
        words = [least(part) for part in self._last_values(rest)] if left else []
        found = [word for word in words if word is not None]
        return [min(found, key=lambda word: (len(word), word))] if found else None

    def _last_values(self, rest: Rest) -> list[Expr]:
        return [
            self._value(step.value)
            for step in self._ways.steps(rest)
            if self._ways.ends(Rest(step.position, rest.used, step.said, rest.twice))
        ]

    def _words(self, rest: Rest, least: Least) -> list[bytes] | None:
        """Items that complete the array: the nearest end, or the least items, one by one."""

        def look(part: Expr) -> bool:
            return least(part) is not None

        words: list[bytes] = []
        while rest.twice is not True or can_end(self._ways, rest, look):
            found = self._ways.nearest(rest, least)
            if found is not None:
                return words + found
            chosen = None if rest.twice is None else self._chosen(rest, look, least)
            if chosen is None:
                break
            word, rest = chosen
            words.append(word)
        return None

    def _chosen(
        self, rest: Rest, look: Callable[[Expr], bool | None], least: Least
    ) -> tuple[bytes, Rest] | None:
        """The least item that leads to another position or formula, and the rest after it."""
        for value, behind in self._options(rest, look, least):
            stays = behind.said is rest.said and behind.position == rest.position
            if not stays and behind.twice is not None:
                word = least(self._value(value))
                if word is not None:
                    return word, _behind(behind, word)
        return None


def _behind(rest: Rest, captured: bytes | None) -> Rest:
    value = UNKNOWN if captured is None else read_exact(captured)
    return Rest(rest.position, rest.used | {value}, rest.said, rest.twice)
