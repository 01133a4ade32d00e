"""JSON objects, member by member: each key once, in any order or the declared one."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Protocol, TypeAlias, cast
from weakref import WeakKeyDictionary

from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formula_derivative import now, unlike_member
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    AtLeast,
    AtMost,
    Atom,
    Formula,
    Found,
    Matching,
    Named,
    Required,
    all_of,
    any_of,
    at_least,
    at_most,
    leaf,
)
from guideway.json_schema.key_classes import KeyClass, Keysets, Members
from guideway.json_schema.spelling import QUOTE, JsonStyle, Spelling, words_of
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    UNSURE,
    alt,
    both,
    call,
    capture,
    complement,
    concat,
    literal,
)
from guideway.language.fuel import spend
from guideway.language.nodes import Alt, Call, Concat, Expr, Least, Look, Rule
from guideway.language.regular import SOMETHING, derivative, soon_endless, surely_open
from guideway.language.values import by_value


def room(place: int, brackets: str, spelled: Callable[[str], bool]) -> int | None:
    """The number of members or items that can still be written: None for any, -1 without a bracket.

    Args:
        place: negative before the opening bracket, else behind a value.
        brackets: the opening and the closing one.
        spelled: whether the vocabulary has a character.

    Returns:
        The number, None where there is no bound, -1 where a bracket is missing.
    """
    if not all(map(spelled, brackets if place < 0 else brackets[1])):
        return -1
    if spelled(","):
        return None
    return 1 if place < 0 else 0


def bounded(formula: Formula, place: int, brackets: str, spelled: Callable[[str], bool]) -> Formula:
    """The formula, with at most as many members or items as there is room for."""
    left = room(place, brackets, spelled)
    if left is None:
        return formula
    return FALSE if left < 0 else all_of(formula, at_most(left))


def is_in_bytes(spellable: int) -> Callable[[str], bool]:
    """A test of whether an ASCII character is among bytes, a 256-bit integer."""
    return lambda mark: bool(spellable >> ord(mark) & 1)


def writes(least: Least) -> Callable[[str], bool]:
    """The same test, by a function that gives shortest texts."""
    return lambda mark: least(literal(mark)) is not None


Extras: TypeAlias = frozenset[str | None]
UNKNOWN = None
_REMEMBERED = 4096


@by_value
class Rest:
    """State after a value: used names (`place`, -1 at the start), used extra keys, formula left."""

    place: int
    extras: Extras
    formula: Formula


@by_value
class Member:
    """State after a key, numbered from 0: names, then classes."""

    rest: Rest
    key: int


START = Rest(-1, frozenset(), TRUE)  # of independent members


def read_key(captured: bytes) -> str:
    """The key of a capture, which begins after the opening quote."""
    return str(json.loads(b'"' + captured))


@by_value
class Places:
    """Used names as a number: bits, or in declared order the number of the first one left."""

    count: int
    ordered: bool

    def free(self, place: int) -> list[int]:
        """The names that may still come."""
        place = max(place, 0)
        if self.ordered:
            return list(range(place, self.count))
        return [key for key in range(self.count) if not place >> key & 1]

    def after_key(self, place: int, key: int) -> int:
        """The place after a member; undeclared keys come after all names in declared order."""
        place = max(place, 0)
        if self.ordered:
            return min(key + 1, self.count)
        return place | 1 << key if key < self.count else place


class Reading(Protocol):
    """The members of one kind of object; keys are declared names, then classes of other keys.

    Attributes:
        dependent: True if the keys that came decide which members may come.
    """

    style: JsonStyle
    names: tuple[str, ...]
    dependent: bool

    @property
    def texts(self) -> "KeyTexts":
        """The keys."""
        ...

    def coming(self, rest: Rest) -> list[int]:
        """Names that may come next."""
        ...

    def others(self, rest: Rest) -> list[int]:
        """The classes whose keys may come next."""
        ...

    def after(self, rest: Rest, key: int) -> list[tuple[Expr, Rest]]:
        """The values of a member of a key, with the rests after it."""
        ...

    def may_close(self, rest: Rest) -> bool:
        """Return True if the object may end here."""
        ...

    def depends(self, key: int) -> bool:
        """Return True if the rest depends on which key of a class is used."""
        ...

    def lives(self, rest: Rest, look: Look) -> bool | None:
        """Return True if the rest can be completed; None if `look` does not know yet."""
        ...

    def lives_after_key(self, rest: Rest, key: int, look: Look) -> bool | None:
        """`lives` after a key was read."""
        ...

    def parts(self) -> Iterable[Expr]:
        """Values that may be refused."""
        ...

    def least(self, rest: Rest, least: Least) -> list[bytes] | None:
        """The shortest members that complete a rest, in order; None if none do."""
        ...

    def least_after_key(self, rest: Rest, key: int, least: Least) -> bytes | None:
        """The shortest value of a key together with the shortest rest."""
        ...


class ObjectTemplate:
    """Unfolds the rest of an object, given its keys so far."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._unfolded: dict[Rest | Member, Expr] = {}

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        read = cast("Rest | Member", argument)
        found = self._unfolded.get(read)
        if found is None:
            found = self._unfold(read, look)
            if len(self._unfolded) > _REMEMBERED:
                self._unfolded.clear()
            if self.remembers(read):  # else it depends on `look`
                self._unfolded[read] = found
        return found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        member = cast("Member", argument)
        return call(self, Member(_with_key(member, captured), member.key))

    def remembers(self, argument: Hashable) -> bool:
        read = cast("Rest | Member", argument)
        return UNKNOWN not in (read.rest if isinstance(read, Member) else read).extras

    def depends(self, argument: Hashable) -> bool:
        reading = self.reading
        if isinstance(argument, Member):
            return reading.depends(argument.key)
        return any(map(reading.depends, reading.texts.classes))

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        if isinstance(argument, Member):
            return self.reading.lives_after_key(argument.rest, argument.key, look)
        return self.reading.lives(cast("Rest", argument), look)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        member, reading = cast("Member", argument), self.reading
        rest, key = member.rest, member.key
        if reading.depends(key) and not reading.texts.endless(key, look.spellable):
            rest = _with_key(member, captured())
        return reading.lives_after_key(rest, key, look)

    def parts(self, argument: Hashable) -> Iterable[Expr]:
        del argument
        return self.reading.parts()

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        if isinstance(argument, Member):
            return self.reading.least_after_key(argument.rest, argument.key, least)
        rest = cast("Rest", argument)
        words = self.reading.least(rest, least)
        if words is None:
            return None
        listed = b"".join(b"," + word for word in words)
        return b"{" + listed[1:] + b"}" if rest.place < 0 else listed + b"}"

    def is_vague(self, rest: Rest) -> bool:
        """Return True if it is unknown which keys may come."""
        return UNKNOWN in rest.extras and self.reading.texts.limited

    def end(self, rest: Rest) -> Expr:
        """The closing brace, if it may come."""
        return literal("}") if self.reading.may_close(rest) else EMPTY

    def other(self, rest: Rest) -> Expr:
        """An undeclared key without its opening quote, its value, and the rest."""
        return alt(*(self._unnamed_key(rest, key) for key in self.reading.others(rest)))

    def _unnamed_key(self, rest: Rest, key: int) -> Expr:
        content = self.reading.texts.unused(key, rest.extras)
        if UNKNOWN in rest.extras:
            return concat(content, QUOTE, UNSURE)
        return capture(concat(content, QUOTE), b"", self, Member(rest, key))

    def _unfold(self, argument: Rest | Member, look: Look) -> Expr:
        if isinstance(argument, Member):
            return self._after_key(argument.rest, argument.key)
        style, close = self.reading.style, self.end(argument)
        member = concat(QUOTE, self._member(argument, look))
        if argument.place < 0:
            return concat(literal("{"), style.opened, alt(close, member))
        return alt(concat(style.comma, member), concat(style.closing, close))

    def _member(self, rest: Rest, look: Look) -> Expr:
        reading, vague = self.reading, self.is_vague(rest)
        other = self._vaguely(rest, look) if vague else self.other(rest)
        if vague and reading.dependent:
            return other
        declared = [
            (reading.names[key], concat(QUOTE, call(self, Member(rest, key))))
            for key in reading.coming(rest)  # whether one can be completed is asked later
        ]
        return alt(reading.style.spelling.choose(declared), other)

    def _vaguely(self, rest: Rest, look: Look) -> Expr:
        """Some undeclared key: sure only if keys never run out."""
        reading = self.reading
        sure = any(
            reading.texts.endless(key, look.spellable)
            and reading.lives_after_key(rest, key, look) is True
            for key in reading.others(rest)
        )
        return SOMETHING if sure else UNSURE

    def _after_key(self, rest: Rest, key: int) -> Expr:
        options = (concat(value, call(self, left)) for value, left in self.reading.after(rest, key))
        return concat(self.reading.style.colon, alt(*options))


def _with_key(member: Member, captured: bytes | None) -> Rest:
    key: str | None = UNKNOWN if captured is None else read_key(captured)
    return replace(member.rest, extras=member.rest.extras | {key})


def json_object(members: Members, style: JsonStyle, *, inhabited: bool = False) -> Expr:
    """The objects with such members; `inhabited` if there surely are some."""
    return call(ObjectTemplate(Independent(members, style)), START, inhabited=inhabited)


class Independent:
    """A `Reading` of members that say nothing of one another."""

    dependent = False

    def __init__(self, members: Members, style: JsonStyle) -> None:
        self.members, self.style, self.names = members, style, members.names
        self._places = Places(len(members.names), style.ordered)
        self.values = (*members.values, *(value for _, value in members.classes))
        self._texts: KeyTexts | None = None
        self._needed = [key for key, needed in enumerate(members.required) if needed]

    @property
    def texts(self) -> "KeyTexts":
        if self._texts is None:
            keys = [KeyClass(name, ANYTHING, frozenset()) for name in self.names]
            for allowed, _ in self.members.classes:
                languages = frozenset(() if allowed is None else (allowed,))
                keys.append(KeyClass(None, next(iter(languages), ANYTHING), languages))
            self._texts = KeyTexts(keys, Keysets(self.style.spelling), self.style.spelling)
        return self._texts

    def coming(self, rest: Rest) -> list[int]:
        """Names that may come next; in order, none after a missing required one."""
        free, missing = self._places.free(rest.place), self._missing(rest.place)
        if self.style.ordered and missing:
            free = [key for key in free if key <= missing[0]]
        return [key for key in free if self.values[key] is not EMPTY]

    def others(self, rest: Rest) -> list[int]:
        if self.style.ordered and self._missing(rest.place):
            return []
        return [key for key in self.texts.classes if self.values[key] is not EMPTY]

    def after(self, rest: Rest, key: int) -> list[tuple[Expr, Rest]]:
        return [(self.values[key], self._rest_after(rest, key))]

    def may_close(self, rest: Rest) -> bool:
        return not self._missing(rest.place)

    def depends(self, key: int) -> bool:
        del key
        return False

    def lives(self, rest: Rest, look: Look) -> bool | None:
        for key in self._missing(rest.place):
            found = self._lives(key, look)
            if not found:
                return found
        return self._fits(rest.place, is_in_bytes(look.spellable))

    def lives_after_key(self, rest: Rest, key: int, look: Look) -> bool | None:
        return self._lives(key, look) and self.lives(self._rest_after(rest, key), look)

    def parts(self) -> Iterable[Expr]:
        return () if self.members.lazy else self.values

    def least(self, rest: Rest, least: Least) -> list[bytes] | None:
        words = list[bytes]()
        for key in self._missing(rest.place):
            word = least(self.texts.member(key, self.style.colon, self.values[key]))
            if word is None:
                return None
            words.append(word)
        if not self._fits(rest.place, writes(least)):
            return None
        return words if self.style.ordered else sorted(words)

    def least_after_key(self, rest: Rest, key: int, least: Least) -> bytes | None:
        value = least(concat(self.style.colon, self.values[key]))
        words = self.least(self._rest_after(rest, key), least)
        return None if value is None or words is None else b",".join((value, *words)) + b"}"

    def _rest_after(self, rest: Rest, key: int) -> Rest:
        return Rest(self._places.after_key(rest.place, key), rest.extras, rest.formula)

    def _lives(self, key: int, look: Look) -> bool | None:
        return self.texts.lives(key, self.style.colon, self.values[key], look)

    def _missing(self, place: int) -> list[int]:
        place = max(place, 0)
        if self.style.ordered:
            return [key for key in self._needed if key >= place]
        return [key for key in self._needed if not place >> key & 1]

    def _fits(self, place: int, spelled: Callable[[str], bool]) -> bool:
        """Return True if the vocabulary has marks for the missing members."""
        left = room(place, "{}", spelled)
        return left is None or len(self._missing(place)) <= left


_ONES: Final = 32  # digits until they have to come again
_endless: "WeakKeyDictionary[Expr, tuple[bool, ...]]" = WeakKeyDictionary()


def options_in(value: Expr) -> Iterable[Expr]:
    """The options of a value, of each type."""
    value = value_of(value)
    return value.options if isinstance(value, Alt) else (value,)


def is_open_string(value: Expr) -> bool:
    """Return True for strings that have infinitely many ends after each of their prefixes.

    >>> from guideway.language.expr import concat
    >>> from guideway.json_schema.spelling import Spelling
    >>> is_open_string(concat(QUOTE, Spelling(plain=True).content, QUOTE))
    True
    """
    match value:
        case Concat(head, Concat(content, tail)) if head is QUOTE and tail is QUOTE:
            return surely_open(content)
        case _:
            return False


def is_endless_object(value: Expr) -> bool:
    """Return True for objects, infinitely many if any."""
    call = value_of(value)
    if not isinstance(call, Call) or call.argument != START:
        return False
    reading = call.template.reading if isinstance(call.template, ObjectTemplate) else None
    if not isinstance(reading, Independent) or reading.texts.limited:
        return False
    return any(is_open_string(option) for part in reading.values for option in options_in(part))


def endless_options(value: Expr) -> list[Expr]:
    """The options of a value with surely infinitely many values, if any.

    >>> from guideway.json_schema.numbers import PLAIN_INTEGER
    >>> from guideway.language.expr import byte_set, literal
    >>> len(endless_options(PLAIN_INTEGER)), len(endless_options(byte_set(b"0123456789")))
    (1, 0)
    """
    options = options_in(value)
    found = _endless.get(value)
    if found is None:
        found = tuple(is_open_string(o) or is_endless_object(o) or _repeats(o) for o in options)
        _endless[value] = found
    return [option for option, endless in zip(options, found, strict=True) if endless]


def _repeats(option: Expr) -> bool:
    """Return whether some of 1, 11, 111, … recur: no two are the same number."""
    seen = dict[Expr, None]()
    while option.regular and option not in seen and len(seen) < _ONES:
        seen[option] = None
        option = derivative(option, ord("1"))
    around = [*seen][[*seen].index(option) :] if option in seen else ()
    return any(node.nullable for node in around)


def value_of(value: Expr) -> Expr:
    """The body of rules, but for long lists of words."""
    while isinstance(value, Rule) and words_of(value) is None:
        value = value.body
    return value


_MOST_KNOWN = 1 << 12
_KEY = 8  # fuel of one look at a key, 5 µs


class KeyTexts:
    """The keys of one kind of object without quotes, by number: `count` names, then `classes`.

    `limited`: True if no class has all other keys.
    """

    def __init__(self, keys: Sequence[KeyClass], keysets: Keysets, spelling: Spelling) -> None:
        self._keys, self._keysets, self._spelling = keys, keysets, spelling
        self.count = sum(key.name is not None for key in keys)
        self.classes = range(self.count, len(keys))
        self.limited = any(keys[key].content is not ANYTHING for key in self.classes)
        self._contents: dict[int, Expr] = {}  # on demand
        self._languages = frozenset[Expr]().union(*(key.inside for key in keys))
        self._members: dict[tuple[int, Expr], Expr] = {}
        self._endless: dict[tuple[int, int], bool] = {}

    def __getitem__(self, key: int) -> Expr:
        """A name, or the keys of a class."""
        found = self._contents.get(key)
        if found is None:
            part = self._keys[key]
            found = self._keysets.content(part)
            if part.name is None:
                found = both(found, self._unnamed)
            self._contents[key] = found
        return found

    @cached_property
    def _unnamed(self) -> Expr:
        names = (str(key.name) for key in self._keys if key.name is not None)
        return complement(self._spelling.choose((name, EPSILON) for name in names))

    def unused(self, key: int, extras: Extras) -> Expr:
        """The keys of a class without those already used."""
        part, content = self._keys[key], self[key]
        used = [
            (extra, EPSILON)
            for extra in extras
            if extra is not None and self._keysets.is_of(extra, part, self._languages)
        ]
        spend(_KEY * (len(extras) + len(used)))
        return both(content, complement(self._spelling.choose(used))) if used else content

    def member(self, key: int, colon: Expr, value: Expr) -> Expr:
        """A name and its value."""
        found = self._members.get((key, value))
        if found is None:
            found = concat(QUOTE, self[key], QUOTE, colon, value)
            if len(self._members) > _MOST_KNOWN:
                self._members.clear()
            self._members[(key, value)] = found
        return found

    def lives(self, key: int, colon: Expr, value: Expr, look: Look) -> bool | None:
        """Return True if a member exists; None if `look` does not know yet."""
        found = look(value)
        if found and look.spellable != ALL_BYTES:
            return look(concat(QUOTE, self[key], QUOTE, colon))
        return found

    def endless(self, key: int, spellable: int) -> bool:
        """Return True if keys of a class surely never run out."""
        found = self._endless.get((key, spellable))
        if found is None:
            found = soon_endless(self[key], spellable)
            self._endless[(key, spellable)] = found
        return found


def asks(atom: Atom, key: KeyClass) -> bool:
    """Return True if an atom that fails at the end can be satisfied by members of a key."""
    match atom:
        case Required(name):
            return name == key.name
        case Found(keys, _):
            return key.among(keys)
        case _:
            return isinstance(atom, (AtLeast, Unlike))


def read_member(atom: Atom, key: KeyClass) -> Formula | None:  # noqa: PLR0911  an arm for each atom
    """The derivative of an atom by a member of this key; None if it stays."""
    match atom:
        case Named(name, value):
            return now(value) if name == key.name else None
        case Required(name):
            return TRUE if name == key.name else None
        case Matching(keys, value):
            return all_of(now(value), leaf(atom)) if key.among(keys) else None
        case Found(keys, value):
            return any_of(now(value), leaf(atom)) if key.among(keys) else None
        case AtLeast(count):
            return at_least(count - 1)
        case AtMost(count):
            return at_most(count - 1)
        case Unlike(values):
            return unlike_member(values, key.name)
        case _:
            raise TypeError(f"{atom} says nothing about members")
