"""Objects that are read member by member, against a formula."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Generic, Protocol, TypeAlias, TypeVar, cast, final

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
    Extras,
    KeyTexts,
    Member,
    Recalled,
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
    Alone,
    Chosen,
    Completions,
    Estimate,
    Needed,
    Ways,
    Word,
    Words,
    can_end,
    key_of,
    least_members,
    size,
    told_alone,
)
from guideway.json_schema.spelling import QUOTE, JsonStyle
from guideway.language.expr import ALL_BYTES, EMPTY, UNSURE, alt, call, capture, concat, literal
from guideway.language.fuel import spend
from guideway.language.nodes import Answers, Expr, Least, Look
from guideway.language.regular import SOMETHING
from guideway.language.values import by_value

_MOST = 1 << 16  # cached questions
_EACH = 8  # cached answers to each

_NONE: Extras = frozenset()

_LOOK, _PAIR = 30, 300  # work of a look at a value, and of one with its rest

Answer = TypeVar("Answer")
Finding: TypeAlias = "Callable[[Extras, set[str]], Answer]"


@final
class Standing(Generic[Answer]):
    """Answers by question; `no` is the answer "none", which more used keys cannot change."""

    def __init__(self, no: Answer) -> None:
        self._no = no
        self._found: dict[Hashable, list[tuple[Extras, set[str], Answer]]] = {}

    def ask(
        self,
        question: Hashable,
        extras: Extras,
        find: "Finding[Answer]",
        stays: Callable[[Answer], bool],
    ) -> Answer:
        """The answer to a question after the keys `extras`; `stays` decides about caching.

        `find` gets the used keys and a set to which it adds the keys it depends on. It is tried
        without used keys first, as most do not matter: a step took 3 s with hundreds of keys.
        """
        found = self.told(question, extras)
        if found is None and extras and self.told(question, _NONE) is None:
            answer, looked = self._look(question, _NONE, find, stays)
            if answer is None or answer is self._no or looked.isdisjoint(extras):
                return answer
        return self._look(question, extras, find, stays)[0] if found is None else found[0]

    def told(self, question: Hashable, extras: Extras) -> tuple[Answer] | None:
        for then, looked, answer in self._found.get(question, ()):
            if then <= extras and (answer is self._no or looked.isdisjoint(extras - then)):
                return (answer,)
        return None

    def _look(
        self,
        question: Hashable,
        extras: Extras,
        find: "Finding[Answer]",
        stays: Callable[[Answer], bool],
    ) -> tuple[Answer, set[str]]:
        looked = set[str]()
        answer = find(extras, looked)
        if stays(answer):
            if len(self._found) > _MOST:
                self._found.clear()
            answers = self._found.setdefault(question, [])
            if len(answers) < _EACH:
                answers.append((extras, looked, answer))
        return answer, looked


def stays(look: Look) -> Callable[[bool | None], bool]:
    """Return the test which answers to cache: True, or any once the look is settled."""
    return lambda answer: answer is True or look.settled


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

    def is_dead(self, rest: Rest, key: int) -> bool:
        """Return True if it is known that no member of a key can come."""
        ...

    def completions(self, spellable: int) -> Completions:
        """The known completions."""
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
        if self.reading.is_dead(rest, key):
            return None
        answers, place = Answers.of(least), self.reading.behind(rest.place, key)
        best = self._named(rest, key, answers)
        if best is not None and not answers.afford(size(rest.said)):
            return best
        estimate, found = self._estimate(place, least), list[tuple[int, bytes, Rest]]()
        for said, value in self.reading.after(rest.said, key).items():
            if best is not None and not answers.afford(_PAIR):
                break
            word = least(concat(self.reading.style.colon, self.value(value)))
            if word is not None:
                bound = len(word) + estimate.undone(said) + len("}")
                found.append((bound, word, Rest(place, rest.extras, said)))
        for bound, word, behind in sorted(found, key=itemgetter(0, 1)):
            if best is not None and bound > len(best):
                break
            members = self.members(behind, least)
            if members is not None:
                whole = _joined(word, members)
                best = min(best or whole, whole, key=lambda one: (len(one), one))
        return best

    def _named(self, rest: Rest, key: int, answers: Answers) -> bytes | None:
        """The value of a name and a rest that suffice, if they are found soon."""
        if key >= self.count:
            return None
        said = all_of(rest.said, leaf(Required(str(self.keys[key].name))))
        place = key if self.reading.style.ordered else rest.place
        first = self._first(Rest(place, rest.extras, said), answers, set())
        if first is None:
            return None
        value = answers(concat(self.reading.style.colon, self.value(dict(first)[key])))
        others = [one for one in first if one[0] != key]
        members = self._written(others, rest.extras, answers, set())
        if value is None or members is None:
            return None
        return _joined(value, self._in_order(members))

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
        estimate, answers = self._estimate(rest.place, least), Answers.of(least)
        said = bounded(rest.said, rest.place, "{}", writes(least))

        def find(extras: Extras, looked: set[str]) -> Chosen | None:
            word = self._word(least, looked)
            first = self._first(Rest(rest.place, extras, said), answers, looked)
            known = None if first is None else self._written(first, extras, least, looked)
            if known is None:
                return None
            return least_members(estimate, word, known, said, extras, answers.afford)

        standing = answers.recall(self.reading, partial(Standing[Chosen | None], None))
        found = standing.ask((rest.place, said), rest.extras, find, lambda _: answers.settled())
        return None if found is None else self._in_order(found)

    def _word(self, least: Least, looked: set[str]) -> Word:
        """The shortest member of a key; adds the keys of classes to `looked`."""

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

        return word

    def _written(
        self, members: Needed, extras: Extras, least: Least, looked: set[str]
    ) -> Chosen | None:
        """Members with their shortest texts; None if one has none."""
        word, found = self._word(least, looked), list[tuple[int, bytes]]()
        for key, value in members:
            text = word(key, value, extras)
            if text is None:
                return None
            extras = extras if key < self.count else extras | {key_of(text)}
            found.append((key, text))
        return tuple(found)

    def _first(self, rest: Rest, answers: Answers, looked: set[str]) -> "Needed | None":
        """The first members found that suffice; None also if the search takes too long."""
        free, completions = (
            self.reading.free(rest.place),
            self.reading.completions(answers.spellable),
        )
        said = said_by_cases(self.keys)
        way = completions.way(rest.said, sum(1 << key for key in free))
        if way is not None:
            case = tuple(way.atoms)
            return [(key, said(case, key)) for key in way.keys]
        word, afford = self._word(answers, looked), answers.portion()

        def another(key: int, extras: Extras) -> "Extras | None":
            text = answers(concat(QUOTE, self.texts.unused(key, extras), QUOTE))
            if text is None:
                return None
            looked.add(name := key_of(text))
            return extras | {name}

        def lives(key: int, value: Formula) -> bool | None:
            return word(key, value, _NONE) is not None if afford(_LOOK) else None

        names, members = {str(self.keys[key].name): key for key in free}, Needed()
        words = self._estimate(rest.place, answers).words
        ways = Ways(words, said, names, lives, another, completions.keep)
        return members if can_end(ways, rest.said, rest.extras, members) else None

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
            self._in_order,
        )

    def _estimate(self, place: int, least: Least) -> Estimate:
        """The estimate for a place, cached."""

        def make() -> Estimate:
            return Estimate(self.words(self.reading.free(place)))

        return Answers.of(least).recall((self.reading, place), make)

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
_MANY = 32  # names, of which it is worth to look at all together
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
        self._keys = keys = (*names, *keysets.classes(listed))
        self._texts = KeyTexts(self._keys, keysets, style.spelling)
        self._limited = len(self._keys) > self._count + 1
        self._progress = tuple(Progress(partial(read_member, key=key), judge) for key in self._keys)
        self._closing, self._ending = dict[Formula, bool](), Standing[bool | None](no=False)
        self._with_all: Rest | None = None
        self._completions = defaultdict[int, Completions](lambda: Completions(keys, listed))
        self._unfolded = Recalled[Hashable, Expr](_REMEMBERED)

    def alone(self) -> Alone | None:
        """Its members, if none says anything of another."""
        return told_alone(self._said, self._keys, self._keysets, self._value)

    def start(self) -> Expr:
        """The whole object."""
        return call(self, Rest(-1, frozenset(), self._said))

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """What may follow."""
        if isinstance(argument, Rest) and not self.is_known(argument):
            return self._doubtful(argument, look)
        found, read = self._unfolded.get(argument), cast("Rest | Member", argument)
        return self._unfolded.keep(argument, self._unfold(read)) if found is None else found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        """What follows an undeclared key and its closing quote."""
        member = cast("Member", argument)
        return self._behind_key(self._known(member, captured), member.key)

    def resume_any(self, argument: Hashable) -> Expr:
        """As `resume`, as if the key could come again."""
        return self._unfold(cast("Member", argument))

    def remembers(self, argument: Hashable) -> bool:
        """Whether all keys that came are known."""
        return UNKNOWN not in cast("Rest | Member", argument).extras

    def depends(self, argument: Hashable) -> bool:
        """Whether something may ask for keys of the class of the key that was read."""
        asked = self._asked_classes
        return argument.key in asked if isinstance(argument, Member) else bool(asked)

    @cached_property
    def _asked_classes(self) -> frozenset[int]:
        classes, listed = range(self._count, len(self._keys)), atoms(self._said)
        return frozenset(key for key in classes if any(asks(a, self._keys[key]) for a in listed))

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Whether the rest can be completed."""
        if isinstance(argument, Member):
            return self._lives_behind_key(argument.rest, argument.key, look)
        return self._can_end(cast("Rest", argument), look)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        """The same behind an undeclared key; where keys run out it matters which."""
        member = cast("Member", argument)
        if not self.depends(member) or self._texts.endless(member.key, look.spellable):
            return self._lives_behind_key(member.rest, member.key, look)
        if self._surely_lives(member, look):
            return True
        return self._lives_behind_key(self._known(member, captured()), member.key, look)

    def parts(self, argument: Hashable) -> Iterator[Expr]:
        """What is said of members, each on its own; what is said together comes later."""
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

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        """One of the members that are needed, if that key begins so; the others behind it."""
        member = cast("Member", argument)
        asked = self.depends(member)
        return self._shortest.begun(member.rest, member.key, least, read) if asked else None

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
        """Whether it is known which keys may come."""
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
        """The place behind a member."""
        place = max(place, 0)
        if self.style.ordered:
            return key + 1 if key < self._count else self._count
        return place | 1 << key if key < self._count else place

    # Progress

    def may_close(self, said: Formula) -> bool:
        """Whether the object may end here."""
        if len(self._closing) > _MOST_KNOWN:
            self._closing = {}
        return holds(said, holds_at_end, self._closing)

    def after(self, said: Formula, key: int) -> Pairs:
        """What a member of this key has to satisfy, and the rest after it."""
        return self._progress[key].pairs(said)

    # Lives

    def names_of(self, rest: Rest, look: Look) -> list[int]:
        """The names behind which the rest can be completed."""
        free = self.free(rest.place)
        told = self._completed(rest, free, look) if look.spellable == ALL_BYTES else ()
        return [key for key in free if key in told or self._lives_behind_key(rest, key, look)]

    def _lives_behind_key(self, rest: Rest, key: int, look: Look) -> bool | None:
        place = self.behind(rest.place, key)
        if key < self._count and look.spellable == ALL_BYTES:
            find = partial(self._completes, rest, key, look)
            return self._ending.ask((rest.said, place, key), rest.extras, find, stays(look))
        for said, value in self.after(rest.said, key).items():
            behind = Rest(place, rest.extras, said)
            found = self._lives(key, value, look) and self._can_end(behind, look)
            if found is not False:
                return found
        return False

    def _completes(
        self, rest: Rest, key: int, look: Look, extras: Extras, looked: set[str]
    ) -> bool | None:
        if self._completed(rest, [key], look) or (
            self._all_complete(rest, look) and self._completed(rest, [key], look)
        ):
            return True
        said = all_of(rest.said, leaf(Required(self.names[key])))
        free = [key, *self.free(self.behind(rest.place, key))]
        return self._find_end(said, free, look, extras, looked)

    def _completed(self, rest: Rest, keys: list[int], look: Look) -> set[int]:
        """Names after which a known completion serves."""
        known, ordered = self._completions[ALL_BYTES], self.style.ordered
        free = {key: self._free(key if ordered else rest.place) for key in keys}
        return known.with_members(rest.said, free, lambda said: look(self._value(said)))

    def _all_complete(self, rest: Rest, look: Look) -> bool:
        """Return whether all names together complete a rest, if they are many; searched once."""
        if self._count < _MANY or rest == self._with_all:
            return False
        free = self.free(rest.place)
        said = all_of(rest.said, *(leaf(Required(self.names[key])) for key in free))
        found = self._find_end(said, free, look, rest.extras, set())
        if found is not None:  # else it is asked again when values are known
            self._with_all = rest
        return found is True

    def _surely_lives(self, member: Member, look: Look) -> bool:
        """Return whether a known completion serves after any undeclared key."""
        rest, key, known = member.rest, member.key, self._completions[ALL_BYTES]
        free = self._free(self.behind(rest.place, key))
        return look.spellable == ALL_BYTES and any(
            known.suffice(said, free) and self._lives(key, value, look)
            for said, value in self.after(rest.said, key).items()
        )

    def _can_end(self, rest: Rest, look: Look) -> bool | None:
        said = rest.said
        if look.spellable != ALL_BYTES:
            said = bounded(said, rest.place, "{}", among(look.spellable))
        free, known = self._free(rest.place), self._completions[look.spellable]
        return self._ending.ask(
            (rest.place, said, look.spellable),
            rest.extras,
            lambda extras, looked: (
                known.suffice(said, free)
                or self._find_end(said, self.free(rest.place), look, extras, looked)
            ),
            stays(look),
        )

    def is_dead(self, rest: Rest, key: int) -> bool:
        """Whether it is known that no member of a key can come."""
        question = rest.said, self.behind(rest.place, key), key
        return self._ending.told(question, rest.extras) == (False,)

    def completions(self, spellable: int) -> Completions:
        """The known completions."""
        return self._completions[spellable]

    def _find_end(
        self, said: Formula, free: list[int], look: Look, extras: Extras, looked: set[str]
    ) -> bool | None:
        def another(key: int, extras: Extras) -> "Extras | None":
            if self._texts.endless(key, look.spellable):
                return extras
            word = look.word(concat(QUOTE, self._texts.unused(key, extras), QUOTE))
            if word is None:
                return None
            looked.add(name := read_key(word[1:]))
            return extras | {name}

        ways = Ways(
            self._shortest.words(free),
            said_by_cases(self._keys),
            {self.names[key]: key for key in free},
            lambda key, value: self._lives(key, value, look),
            another,
            self._completions[look.spellable].keep,
        )
        return can_end(ways, said, extras, Needed())

    def _free(self, place: int) -> int:
        used = (1 << max(place, 0)) - 1 if self.style.ordered else max(place, 0)
        return (1 << self._count) - 1 & ~used

    def _lives(self, key: int, value: Formula, look: Look) -> bool | None:
        found = look(self._value(value))
        if found and look.spellable != ALL_BYTES:
            return look(concat(QUOTE, self._texts[key], QUOTE, self.style.colon))
        return found
