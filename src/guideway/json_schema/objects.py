"""JSON objects: each key once, in any order or the declared one."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Final, TypeAlias, TypeVar, cast, final
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
    members_of,
)
from guideway.json_schema.key_classes import KeyClass, Keysets, KeyTrie, Unnamed
from guideway.json_schema.spelling import QUOTE, JsonStyle, Spelling, words_of
from guideway.language.expr import (
    ALL_BYTES,
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
from guideway.language.values import by_identity, by_value

Key = TypeVar("Key")
Made = TypeVar("Made")


@final
class Recalled(dict[Key, Made]):
    """A dictionary that is read with `get`, filled with `keep`, and cleared when it is full.

    >>> table = Recalled[int, str](most=1)
    >>> table.keep(3, "a"), table.keep(4, "b"), table.get(3), table.get(4)
    ('a', 'b', None, 'b')
    """

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        self._most = most

    def keep(self, key: Key, made: Made) -> Made:
        """Keep what was made for a key, and give it back."""
        if len(self) >= self._most:
            self.clear()
        self[key] = made
        return made


def room(place: int, brackets: str, spelled: Callable[[str], bool]) -> int | None:
    """How many members or items may still come: None for any number, -1 if a bracket is missing.

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


def bounded(said: Formula, place: int, brackets: str, spelled: Callable[[str], bool]) -> Formula:
    """What is said, and that no more comes than there is room for."""
    left = room(place, brackets, spelled)
    if left is None:
        return said
    return FALSE if left < 0 else all_of(said, at_most(left))


def among(spellable: int) -> Callable[[str], bool]:
    """What tells whether a character of ASCII is among bytes, given as a 256-bit integer."""
    return lambda mark: bool(spellable >> ord(mark) & 1)


def writes(least: Least) -> Callable[[str], bool]:
    """The same by what tells the shortest text of an expression."""
    return lambda mark: least(literal(mark)) is not None


Extras: TypeAlias = "frozenset[str | None]"
Argument: TypeAlias = "tuple[int, Extras, int]"
UNKNOWN = None
BEHIND = -1
START: Argument = (-1, frozenset(), BEHIND)
_REMEMBERED = 1024


@final
@by_identity
class Members:
    """Possible members of an object.

    Attributes:
        others: the value of every undeclared key, EMPTY if there may be none.
        allowed: any key between its quotes, names included; None for all strings.
        ordered: True if declared keys come in order, and undeclared ones after them.
        tame: True if no value can be refused, so that values may be made lazily.
        unnamed: undeclared keys, maybe with names among them; None if not known.
    """

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    required: tuple[bool, ...]
    others: Expr
    allowed: Expr | None
    ordered: bool
    tame: bool = False
    unnamed: "Unnamed | None" = None


def json_object(members: Members, style: JsonStyle, *, inhabited: bool = False) -> Expr:
    """The objects with such members; `inhabited` if there surely are some."""
    return call(ObjectTemplate(members, style), START, inhabited=inhabited)


def read_key(captured: bytes) -> str:
    """The key of a capture, which begins after the opening quote."""
    return str(json.loads(b'"' + captured))


@final
class ObjectTemplate:
    """Unfolds the rest of an object, given its keys so far."""

    def __init__(self, members: Members, style: JsonStyle) -> None:
        self.members, self.style, self._count = members, style, len(members.names)
        self._unfolded = Recalled[tuple[Hashable, int], Expr](_REMEMBERED)
        self._lacking = Recalled[int, tuple[int, ...]](_REMEMBERED)
        self._next = Recalled[int, int](_REMEMBERED)

    @cached_property
    def _trie(self) -> KeyTrie:
        return KeyTrie(self.members.names)

    @cached_property
    def _bodies(self) -> tuple[Expr, ...]:
        between = concat(QUOTE, self.style.colon)
        return tuple(concat(between, value) for value in self.members.values)

    @cached_property
    def _words(self) -> tuple[Expr, ...]:
        keys = map(self.style.spelling.text, self.members.names)
        return tuple(concat(QUOTE, key, body) for key, body in zip(keys, self._bodies, strict=True))

    @cached_property
    def _other_body(self) -> Expr:
        return concat(self.style.colon, self.members.others)

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        key = argument, look.spellable
        found = self._unfolded.get(key)
        return self._unfolded.keep(key, self._unfold(*key)) if found is None else found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        position, extras, _ = cast("Argument", argument)
        key: str | None = UNKNOWN if captured is None else read_key(captured)
        return self._resumed(position, extras | {key})

    def resume_any(self, argument: Hashable) -> Expr:
        position, extras, _ = cast("Argument", argument)
        return self._resumed(position, extras)

    def remembers(self, argument: Hashable) -> bool:
        return UNKNOWN not in cast("Argument", argument)[1]

    def depends(self, argument: Hashable) -> bool:
        del argument
        return False

    def _resumed(self, position: int, extras: Extras) -> Expr:
        behind = (self._behind_other(position), extras, BEHIND)
        return concat(self._other_body, call(self, behind))

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        position, _, node = cast("Argument", argument)
        spelled = among(look.spellable)
        parts = self.members.values if look.spellable == ALL_BYTES else self._words
        for index in self._missing(position):
            found = look(parts[index])
            if not found:
                return found
        if node == BEHIND:
            return self._fits(position, spelled)
        below = (
            parts[index]
            for index in self._trie.below(node, self._coming(position))
            if self._fits(position, spelled, index)
        )
        return next((found for part in below if (found := look(part)) is not False), False)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        position, extras, _ = cast("Argument", argument)
        behind = (self._behind_other(position), extras, BEHIND)
        value = self.members.others if look.spellable == ALL_BYTES else self._other_body
        return look(value) and self.lives(behind, look)

    def parts(self, argument: Hashable) -> tuple[Expr, ...]:
        return () if self.members.tame else (*self.members.values, self.members.others)

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The shortest rest, inside a key from its beginning."""
        position, _, node = cast("Argument", argument)
        missing = self._missing(position)
        words = {index: least(self._words[index]) for index in missing}
        if node != BEHIND:
            return self._least_in_key(position, node, words, least)
        listed = self._joined_members(words)
        if listed is None or not self._fits(position, writes(least)):
            return None
        return b"{" + listed[1:] + b"}" if position < 0 else listed + b"}"

    def least_after(
        self, argument: Hashable, least: Least, captured: bytes | None = None
    ) -> bytes | None:
        position, extras, _ = cast("Argument", argument)
        value = least(self._other_body)
        rest = self.least((self._behind_other(position), extras, BEHIND), least)
        return None if value is None or rest is None else value + rest

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        del argument, least, read
        return None

    def _least_in_key(
        self, position: int, node: int, missing: dict[int, bytes | None], least: Least
    ) -> bytes | None:
        """The shortest rest inside a key; a required key costs nothing extra."""
        best: tuple[int, bytes, int] | None = None
        for index in self._trie.below(node, self._coming(position)):
            word = least(self._words[index])
            if word is not None and self._fits(position, writes(least), index):
                added = -1 if index in missing else len(word)
                best = min(best or (added, word, index), (added, word, index))
        if best is None:
            return None
        _, word, index = best
        begun = least(self._begun(index, node))
        listed = self._joined_members(
            {other: word for other, word in missing.items() if other != index}
        )
        return None if begun is None or listed is None else word[len(begun) :] + listed + b"}"

    def _begun(self, index: int, node: int) -> Expr:
        name = self.members.names[index][: self._trie.depth(node)]
        return concat(QUOTE, self.style.spelling.text(name))

    def _joined_members(self, words: dict[int, bytes | None]) -> bytes | None:
        known = [word for word in words.values() if word is not None]
        if len(known) < len(words):
            return None
        if not self.members.ordered:
            known.sort()
        return b"".join(b"," + word for word in known)

    def _unfold(self, argument: Hashable, spellable: int) -> Expr:
        position, extras, node = cast("Argument", argument)
        if node != BEHIND:
            return self._rest_of_key(position, extras, node)
        close = EMPTY if self._missing(position) else literal("}")
        member = concat(QUOTE, self._member(max(position, 0), extras, spellable))
        style = self.style
        if position < 0:
            return concat(literal("{"), style.opened, alt(close, member))
        return alt(concat(style.comma, member), concat(style.closing, close))

    def _member(self, position: int, extras: Extras, spellable: int) -> Expr:
        coming = self._coming(position)
        waiting = self.members.ordered and bool(self._missing(position))
        undeclared = EMPTY if waiting else self._other(position, extras, spellable)
        return alt(call(self, (position, extras, 0)) if coming else EMPTY, undeclared)

    def _rest_of_key(self, position: int, extras: Extras, node: int) -> Expr:
        coming, spelling = self._coming(position), self.style.spelling
        index = self._trie.key(node, coming)
        end = EMPTY if index is None else self._after_key(index, position, extras)
        longer = (
            concat(spelling.text(character), call(self, (position, extras, child)))
            for character, child in self._trie.children(node, coming)
        )
        return alt(end, *longer)

    def _after_key(self, index: int, position: int, extras: Extras) -> Expr:
        behind = index + 1 if self.members.ordered else position | 1 << index
        return concat(self._bodies[index], call(self, (behind, extras, BEHIND)))

    def _other(self, position: int, extras: Extras, spellable: int) -> Expr:
        if self.members.others is EMPTY:
            return EMPTY
        keys, used = self._other_key, [(key, EPSILON) for key in extras if key is not None]
        if used:
            keys = both(keys, complement(self.style.spelling.choose(used)))
        if UNKNOWN not in extras:
            return capture(concat(keys, QUOTE), b"", self, (position, extras, BEHIND))
        # Every prefix of a key continues to some unused key, unless names are limited.
        if self.members.allowed is None:
            return concat(keys, QUOTE, UNSURE)
        return SOMETHING if soon_endless(self._other_key, spellable) else UNSURE

    @cached_property
    def _other_key(self) -> Expr:
        allowed, spelling = self.members.allowed, self.style.spelling
        declared = spelling.choose((name, EPSILON) for name in self.members.names)
        keys = spelling.content if allowed is None else allowed
        return keys if declared is EMPTY else both(keys, complement(declared))

    def _behind_other(self, position: int) -> int:
        return self._count if self.members.ordered else max(position, 0)

    def _missing(self, position: int) -> tuple[int, ...]:
        found = self._lacking.get(position)
        if found is None:
            found = self._lacking.keep(position, tuple(self._unused(position, self._required)))
        return found

    @cached_property
    def _required(self) -> list[int]:
        return [index for index, needed in enumerate(self.members.required) if needed]

    def _coming(self, position: int) -> int:
        """Declared keys that may come next; in order, none after a missing required one."""
        found = self._next.get(position)
        return self._next.keep(position, self._find_coming(position)) if found is None else found

    def _find_coming(self, position: int) -> int:
        unused = self._unused(position, range(self._count))
        missing = self._missing(position)
        if self.members.ordered and missing:
            unused = [index for index in unused if index <= missing[0]]
        return self._trie.among(unused)

    def _fits(
        self, position: int, spelled: Callable[[str], bool], begun: int | None = None
    ) -> bool:
        """Return True if the vocabulary has marks for the missing members."""
        left = room(position, "{}", spelled)
        return left is None or len({*self._missing(position)} - {begun}) <= left

    def _unused(self, position: int, names: Iterable[int]) -> list[int]:
        position = max(position, 0)
        if self.members.ordered:
            return [index for index in names if index >= position]
        return [index for index in names if not position >> index & 1]


_ONES: Final = 32  # digits until they have to come again
_endless: "WeakKeyDictionary[Expr, tuple[bool, ...]]" = WeakKeyDictionary()


def options_in(value: Expr) -> Iterable[Expr]:
    """The options of a value, of each type."""
    value = value_of(value)
    return value.options if isinstance(value, Alt) else (value,)


def is_open_string(value: Expr) -> bool:
    """Whether these are strings, and every prefix has infinitely many ends.

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
    """Whether these are objects, infinitely many if any."""
    call = value_of(value)
    if not isinstance(call, Call) or not isinstance(call.template, ObjectTemplate):
        return False
    members = call.template.members
    if call.argument != START or members.allowed is not None:
        return False
    parts = (*members.values, members.others)
    return any(is_open_string(option) for part in parts for option in options_in(part))


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


@final
class KeyTexts:
    """The keys of one kind of object without quotes, by number: names, then classes."""

    def __init__(self, keys: Sequence[KeyClass], keysets: Keysets, spelling: Spelling) -> None:
        self._keys, self._keysets, self._spelling = keys, keysets, spelling
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
                found = both(found, self._others)
            self._contents[key] = found
        return found

    @cached_property
    def _others(self) -> Expr:
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

    def endless(self, key: int, spellable: int) -> bool:
        """Return True if keys of a class surely never run out."""
        found = self._endless.get((key, spellable))
        if found is None:
            found = soon_endless(self[key], spellable)
            self._endless[(key, spellable)] = found
        return found


@final
@by_value
class Rest:
    """State after a value: used names (`place`, -1 at the start), used extra keys, formula left."""

    place: int
    extras: Extras
    said: Formula


@final
@by_value
class Member:
    """State after a key, numbered from 0: names, then classes."""

    rest: Rest
    key: int

    @property
    def extras(self) -> Extras:
        return self.rest.extras


def holds_at_end(atom: Atom) -> bool:
    """Return True if an atom holds when no more members come."""
    match atom:
        case Named() | Matching() | AtMost():
            return True
        case Unlike(values):
            return all(members_of(value) for value in values)
        case _:
            return False


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
