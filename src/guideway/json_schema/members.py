"""Objects that are read member by member, by the derivative of a formula."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import cast, final

from guideway.json_schema.formula_derivative import Judge, Pairs, Progress
from guideway.json_schema.formulas import (
    Formula,
    Found,
    Matching,
    Named,
    Required,
    Truth,
    all_of,
    atoms,
    holds,
    leaf,
)
from guideway.json_schema.key_classes import KeyClass, Keysets, said_by_cases
from guideway.json_schema.objects import (
    UNKNOWN,
    BoundedCache,
    Extras,
    KeyTexts,
    Member,
    Rest,
    among,
    asks,
    bounded,
    holds_at_end,
    read_key,
    read_member,
    writes,
)
from guideway.json_schema.shortest_members import (
    Chosen,
    IndependentMembers,
    MemberAccess,
    Needed,
    can_end,
    independent_members,
    key_of,
    shortest_members,
    size,
)
from guideway.json_schema.spelling import QUOTE, JsonStyle
from guideway.language.expr import ALL_BYTES, EMPTY, UNSURE, alt, call, capture, concat, literal
from guideway.language.fuel import spend
from guideway.language.nodes import Answers, Expr, Least, Look
from guideway.language.regular import SOMETHING
from guideway.language.values import by_value

_MOST = 1 << 16  # cached questions

_NONE: Extras = frozenset()

_LOOK, _PAIR = 30, 300  # work of a look at a value, and of one with its rest


@final
@by_value
class Shortest:
    """Shortest completions of one kind of object; `keys` are `count` names, then classes."""

    reading: "MembersTemplate"
    keys: tuple[KeyClass, ...]
    count: int
    texts: KeyTexts
    value: Callable[[Formula], Expr]

    def behind_key(self, rest: Rest, key: int, least: Least) -> bytes | None:
        """A short value of a key together with a short rest."""
        answers, place = Answers.of(least), self.reading.behind(rest.place, key)
        best, afford = self._named(rest, key, answers), answers.portion()
        if best is not None and not afford(size(rest.said)):
            return best
        for said, value in self.reading.after(rest.said, key).items():
            if best is not None and not afford(_PAIR):
                break
            word = least(concat(self.reading.style.colon, self.value(value)))
            if word is None or (best is not None and len(word) >= len(best)):
                continue
            members = self.members(Rest(place, rest.extras, said), least)
            if members is not None:
                whole = _joined(word, members)
                best = whole if best is None else min(best, whole, key=lambda one: (len(one), one))
        return best

    def _named(self, rest: Rest, key: int, answers: Answers) -> bytes | None:
        """The value of a name and a rest that suffice, if they are found soon."""
        if key >= self.count:
            return None
        said = all_of(rest.said, leaf(Required(str(self.keys[key].name))))
        place = key if self.reading.style.ordered else rest.place
        first = Needed()
        if not can_end(self._ways(place, answers), said, rest.extras, first):
            return None
        value = answers(concat(self.reading.style.colon, self.value(dict(first)[key])))
        others = [one for one in first if one[0] != key]
        members = self._written(others, rest.extras, answers)
        if value is None or members is None:
            return None
        return _joined(value, self._in_order(members))

    def members(self, rest: Rest, least: Least) -> list[tuple[int, bytes]] | None:
        """Short members that suffice, in order; None if none do."""
        found = self._members(replace(rest, extras=_NONE), least)
        used = {key_of(text) for key, text in found or () if key >= self.count}
        return found if used.isdisjoint(rest.extras) else self._members(rest, least)

    def _members(self, rest: Rest, least: Least) -> list[tuple[int, bytes]] | None:
        answers = Answers.of(least)
        said = bounded(rest.said, rest.place, "{}", writes(least))

        def make() -> list[tuple[int, bytes]] | None:
            ways, first = self._ways(rest.place, answers), Needed()
            known = can_end(ways, said, rest.extras, first)
            found = self._written(first, rest.extras, least) if known else None
            if found is None:
                return None
            word = partial(self._word, least)
            return self._in_order(shortest_members(ways, word, said, rest.extras, found))

        return answers.recall((self.reading, rest.place, said, rest.extras), make)

    def _word(self, least: Least, key: int, value: Formula, used: Extras) -> bytes | None:
        """The shortest member of a key."""
        colon = self.reading.style.colon
        if key < self.count:
            return least(self.texts.member(key, colon, self.value(value)))
        name = least(concat(QUOTE, self.texts.unused(key, used), QUOTE))
        said = least(concat(colon, self.value(value)))
        return None if name is None or said is None else name + said

    def _written(self, members: Needed, extras: Extras, least: Least) -> Chosen | None:
        """Members with their shortest texts; None if one has none."""
        found = list[tuple[int, bytes]]()
        for key, value in members:
            text = self._word(least, key, value, extras)
            if text is None:
                return None
            extras = extras if key < self.count else extras | {key_of(text)}
            found.append((key, text))
        return tuple(found)

    def _ways(self, place: int, answers: Answers) -> MemberAccess:
        afford = answers.portion()

        def another(key: int, extras: Extras) -> "Extras | None":
            text = answers(concat(QUOTE, self.texts.unused(key, extras), QUOTE))
            return None if text is None else extras | {key_of(text)}

        def lives(key: int, value: Formula) -> bool | None:
            known = afford(_LOOK)
            return self._word(answers, key, value, _NONE) is not None if known else None

        return self.ways(self.reading.free(place), lives, another, answers.portion())

    def ways(
        self,
        free: list[int],
        lives: Callable[[int, Formula], bool | None],
        another: "Callable[[int, Extras], Extras | None]",
        afford: Callable[[int], bool] = lambda work: True,
    ) -> MemberAccess:
        """Access for a search where some names are free, the shortest keys first."""

        def shortest(key: int) -> int:
            return len(str(self.keys[key].name or "")) + 5  # "":0 and a comma

        return MemberAccess(
            self.reading.after,
            self.reading.may_close,
            lambda atom, key: asks(atom, self.keys[key]),
            sorted([*free, *range(self.count, len(self.keys))], key=shortest),
            shortest,
            lambda key: key < self.count,
            said_by_cases(self.keys),
            {str(self.keys[key].name): key for key in free},
            lives,
            another,
            afford,
        )

    def _in_order(self, members: Chosen) -> list[tuple[int, bytes]]:
        """Members in the first possible order."""
        ordered = self.reading.style.ordered
        return sorted(members) if ordered else sorted(members, key=itemgetter(1))


def _joined(value: bytes, members: list[tuple[int, bytes]]) -> bytes:
    return value + b"".join(b"," + part for _, part in members) + b"}"


_REMEMBERED = 4096
_MOST_KNOWN = 1 << 16
_LARGE = 100_000  # parts that are read for all classes of keys, .3 s
_READ = 8  # parts of automata that take as long as one of those, 5 µs
_FEW_TESTS = 10  # of one member; they have 2^10 answers, which is MOST_PAIRS


@final
class MembersTemplate:
    """Unfolds the rest of an object, given what it has to satisfy."""

    def __init__(
        self,
        said: Formula,
        value: Callable[[Formula], Expr],
        style: JsonStyle,
        keysets: Keysets,
        judge: Judge,
    ) -> None:
        listed = atoms(said)
        self._said, self._value, self.style, self._keysets = said, value, style, keysets
        names = keysets.names(listed)
        self.names = tuple(str(key.name) for key in names)
        self._count = len(names)
        self._keys = (*names, *keysets.classes(listed))
        self._texts = KeyTexts(self._keys, keysets, style.spelling)
        self._limited = len(self._keys) > self._count + 1
        self._progress = tuple(Progress(partial(read_member, key=key), judge) for key in self._keys)
        self._closing, self._ending = (
            dict[Formula, bool](),
            BoundedCache[Hashable, bool | None](_MOST),
        )
        self._unfolded = BoundedCache[Hashable, Expr](_REMEMBERED)

    def independent(self) -> IndependentMembers | None:
        """Its members, if they are independent of each other."""
        return independent_members(self._said, self._keys, self._keysets, self._value)

    def start(self) -> Expr:
        """The whole object."""
        return call(self, Rest(-1, frozenset(), self._said))

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """The expression after a value or a key."""
        if isinstance(argument, Rest) and not self.is_known(argument):
            return self._doubtful(argument, look)
        found, read = self._unfolded.get(argument), cast("Rest | Member", argument)
        return self._unfolded.keep(argument, self._unfold(read)) if found is None else found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        """The expression after an undeclared key and its closing quote."""
        member = cast("Member", argument)
        return self._behind_key(self._known(member, captured), member.key)

    def resume_any(self, argument: Hashable) -> Expr:
        """As `resume`, as if the key could come again."""
        return self._unfold(cast("Member", argument))

    def remembers(self, argument: Hashable) -> bool:
        """Return True if all used keys are known."""
        return UNKNOWN not in cast("Rest | Member", argument).extras

    def depends(self, argument: Hashable) -> bool:
        """Return True if an atom may ask for keys of the class of the key that was read."""
        asked = self._asked_classes
        return argument.key in asked if isinstance(argument, Member) else bool(asked)

    @cached_property
    def _asked_classes(self) -> frozenset[int]:
        classes, listed = range(self._count, len(self._keys)), atoms(self._said)
        return frozenset(key for key in classes if any(asks(a, self._keys[key]) for a in listed))

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Return True if the rest can be completed; None if that is not known yet."""
        if isinstance(argument, Member):
            return self._lives_behind_key(argument.rest, argument.key, look)
        return self._can_end(cast("Rest", argument), look)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        """`lives` after an undeclared key, which matters where keys run out."""
        member = cast("Member", argument)
        if not self.depends(member) or self._texts.endless(member.key, look.spellable):
            return self._lives_behind_key(member.rest, member.key, look)
        return self._lives_behind_key(self._known(member, captured()), member.key, look)

    def parts(self, argument: Hashable) -> Iterator[Expr]:
        """The values of single formulas about members; conjunctions are lowered later."""
        rest = cast("Rest", argument)
        listed = atoms(rest.said)
        tests: defaultdict[str | None, set[Formula]] = defaultdict(set)
        for atom in listed:
            if isinstance(atom, (Named, Matching, Found)) and not isinstance(atom.value, Truth):
                tests[atom.name if isinstance(atom, Named) else None].add(atom.value)
        parts, classes = size(rest.said), len(self._keys) - self._count
        large = classes > 1 and parts * classes > _LARGE  # a mask looks at them, and at no name
        spend(_READ * parts * classes if large else 0)
        for key, one in enumerate(self._keys):
            many = len(tests[None] | tests[one.name]) > _FEW_TESTS
            if many or (large and key >= self._count):
                self.after(rest.said, key)  # which is refused if that is too much
        for atom in listed:
            if isinstance(atom, (Named, Matching, Found)):
                yield self._value(atom.value)

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The shortest rest."""
        if isinstance(argument, Member):
            return self._shortest.behind_key(argument.rest, argument.key, least)
        rest = cast("Rest", argument)
        words = self._shortest.members(rest, least)
        if words is None:
            return None
        listed = b"".join(b"," + word for _, word in words)
        return b"{" + listed[1:] + b"}" if rest.place < 0 else listed + b"}"

    def least_after(
        self, argument: Hashable, least: Least, captured: bytes | None = None
    ) -> bytes | None:
        """The shortest value of an undeclared key, and the shortest rest."""
        member = cast("Member", argument)
        return self._shortest.behind_key(self._known(member, captured), member.key, least)

    @property
    def _shortest(self) -> Shortest:  # made anew, as it would hold what holds it
        return Shortest(self, self._keys, self._count, self._texts, self._value)

    # Unfolding

    def _unfold(self, argument: Rest | Member) -> Expr:
        if isinstance(argument, Member):
            return self._behind_key(argument.rest, argument.key)
        style, close = self.style, self.end(argument)
        member = concat(QUOTE, self._member(argument))
        if argument.place < 0:
            return concat(literal("{"), style.opened, alt(close, member))
        return alt(concat(style.comma, member), concat(style.closing, close))

    def _doubtful(self, rest: Rest, look: Look) -> Expr:
        """`unfold` where it is unknown which keys came: sure only if keys never run out."""
        endless = any(
            self._texts.endless(key, look.spellable)
            and self._lives_behind_key(rest, key, look) is True
            for key in range(self._count, len(self._keys))
        )
        member = concat(QUOTE, SOMETHING) if endless else UNSURE
        return alt(concat(self.style.comma, member), concat(self.style.closing, self.end(rest)))

    def _member(self, rest: Rest) -> Expr:
        declared = [
            (self.names[key], concat(QUOTE, call(self, Member(rest, key))))
            for key in self.free(rest.place)  # whether one can be completed is asked later
        ]
        return alt(self.style.spelling.choose(declared), self.other(rest))

    def is_known(self, rest: Rest) -> bool:
        """Return True if it is known which keys may come."""
        return not (UNKNOWN in rest.extras and self._limited)

    def end(self, rest: Rest) -> Expr:
        """The closing brace, if it may come."""
        return literal("}") if self.may_close(rest.said) else EMPTY

    def other(self, rest: Rest) -> Expr:
        """Another key without its opening quote, its value, and the rest."""
        return alt(
            *(
                self._other(rest, key)
                for key in range(self._count, len(self._keys))
                if self.after(rest.said, key)
            )
        )

    def _other(self, rest: Rest, key: int) -> Expr:
        content = self._texts.unused(key, rest.extras)
        if UNKNOWN in rest.extras:
            return concat(content, QUOTE, UNSURE)
        return capture(concat(content, QUOTE), b"", self, Member(rest, key))

    def _behind_key(self, rest: Rest, key: int) -> Expr:
        place = self.behind(rest.place, key)
        options = (
            concat(self._value(value), call(self, Rest(place, rest.extras, said)))
            for said, value in self.after(rest.said, key).items()
        )
        return concat(self.style.colon, alt(*options))

    def _known(self, member: Member, captured: bytes | None) -> Rest:
        key: str | None = UNKNOWN if captured is None else read_key(captured)
        return replace(member.rest, extras=member.rest.extras | {key})

    def free(self, place: int) -> list[int]:
        """The names that may still come."""
        place = max(place, 0)
        if self.style.ordered:
            return list(range(place, self._count))
        return [key for key in range(self._count) if not place >> key & 1]

    def behind(self, place: int, key: int) -> int:
        """The place after a member."""
        place = max(place, 0)
        if self.style.ordered:
            return key + 1 if key < self._count else self._count
        return place | 1 << key if key < self._count else place

    # Progress

    def may_close(self, said: Formula) -> bool:
        """Return True if the object may end here."""
        if len(self._closing) > _MOST_KNOWN:
            self._closing = {}
        return holds(said, holds_at_end, self._closing)

    def after(self, said: Formula, key: int) -> Pairs:
        """The values of a member of this key, by the formula for the rest."""
        return self._progress[key].pairs(said)

    # Lives

    def names_of(self, rest: Rest, look: Look) -> list[int]:
        """The names after which the rest can be completed."""
        return [key for key in self.free(rest.place) if self._lives_behind_key(rest, key, look)]

    def _lives_behind_key(self, rest: Rest, key: int, look: Look) -> bool | None:
        place = self.behind(rest.place, key)
        if key < self._count and look.spellable == ALL_BYTES:
            question, find = (rest.said, place, key), partial(self._completes, rest, key, look)
            return self._remembered(question, rest.extras, look, find)
        for said, value in self.after(rest.said, key).items():
            behind = Rest(place, rest.extras, said)
            found = self._lives(key, value, look) and self._can_end(behind, look)
            if found is not False:
                return found
        return False

    def _completes(self, rest: Rest, key: int, look: Look, extras: Extras) -> bool | None:
        said = all_of(rest.said, leaf(Required(self.names[key])))
        free = [key, *self.free(self.behind(rest.place, key))]
        return self._find_end(said, free, look, extras)

    def _can_end(self, rest: Rest, look: Look) -> bool | None:
        said = rest.said
        if look.spellable != ALL_BYTES:
            said = bounded(said, rest.place, "{}", among(look.spellable))
        return self._remembered(
            (rest.place, said, look.spellable),
            rest.extras,
            look,
            lambda extras: self._find_end(said, self.free(rest.place), look, extras),
        )

    def _remembered(
        self,
        question: Hashable,
        extras: Extras,
        look: Look,
        find: "Callable[[Extras], bool | None]",
    ) -> bool | None:
        """The answer to a question after some undeclared keys, which matter if keys run out."""
        if extras:
            found = self._remembered(question, _NONE, look, find)
            endless = partial(self._texts.endless, spellable=look.spellable)
            if not found or all(map(endless, self._asked_classes)):
                return found
        found = self._ending.get((question, extras))
        if found is None:
            found = find(extras)
            if found is True or look.settled:
                self._ending.keep((question, extras), found)
        return found

    def _find_end(self, said: Formula, free: list[int], look: Look, extras: Extras) -> bool | None:
        def another(key: int, extras: Extras) -> "Extras | None":
            if self._texts.endless(key, look.spellable):
                return extras
            word = look.word(concat(QUOTE, self._texts.unused(key, extras), QUOTE))
            return None if word is None else extras | {read_key(word[1:])}

        def lives(key: int, value: Formula) -> bool | None:
            return self._lives(key, value, look)

        return can_end(self._shortest.ways(free, lives, another), said, extras, Needed())

    def _lives(self, key: int, value: Formula, look: Look) -> bool | None:
        found = look(self._value(value))
        if found and look.spellable != ALL_BYTES:
            return look(concat(QUOTE, self._texts[key], QUOTE, self.style.colon))
        return found
