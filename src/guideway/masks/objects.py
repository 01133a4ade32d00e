"""Tables of objects and unique items that kernels read."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Protocol, final

import numpy as np

from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import ALL_BYTES, EMPTY, EPSILON, concat, literal
from guideway.lowering.fuel import attempt
from guideway.lowering.json_items import DifferentStrings, ItemsTemplate
from guideway.lowering.json_keysets import Unnamed
from guideway.lowering.json_objects import START, ObjectTemplate
from guideway.lowering.json_progress import Rest as ItemsRest
from guideway.lowering.json_text import QUOTE, JsonStyle, WordsTemplate, words_of
from guideway.lowering.nodes import Call, Expr, Rule
from guideway.masks.arena import Arena
from guideway.masks.kernels import layout as at
from guideway.masks.lexicon import Lexicon

_SEARCHED: Final = 1 << 15
"""Expressions derived before giving up: intersected key languages of 2^21 states took minutes."""


class Nodes(Protocol):
    """The methods of a network that this module needs."""

    arena: Arena
    lexicon: Lexicon

    def node(self, expr: Expr) -> int: ...

    def entered(self, expr: Expr) -> int: ...


def describe_whole(call: Call, network: Nodes, machine: Derivatives) -> int | None:
    """Node of an object, an array of distinct strings, or words; None if kernels cannot read it."""
    match call.template, call.argument:
        case ObjectTemplate() as template, argument if argument == START:
            plain = is_plain_object(template, network.lexicon)
            return describe_object(template, network, machine) if plain else None
        case ItemsTemplate() as template, ItemsRest() as argument:
            strings = template.different_strings(argument)
            return None if strings is None else describe_strings(strings, template.style, network)
        case WordsTemplate() as template, argument:
            return _describe_verbatim(template.verbatim(argument), network)
        case _:
            return None


def _describe_verbatim(words: list[str] | None, network: Nodes) -> int | None:
    """Node of a choice of words, each spelled as it is; None if one cannot be spelled."""
    spellable, arena = network.lexicon.spellable, network.arena
    if words is None or not all(spellable >> byte & 1 for byte in set("".join(words).encode())):
        return None
    count = len(words)
    frame = Names(tuple(words), arena).frame([at.NIL] * count, [False] * count, [0] * 16)
    thing = arena.row(at.FRAME, frame, 6)[0]
    return arena.make(at.WORDS, thing, arena.row(at.OBJECT, thing, 16)[at.O_KEYS])


def is_plain_object(template: ObjectTemplate, lexicon: Lexicon) -> bool:
    """Return True if kernels can read objects: names, with any other keys or one class of them."""
    members = template.members
    if not can_spell(members.names, lexicon.spellable):
        return False
    return members.allowed is None or (
        members.unnamed is not None and can_be_class(members.unnamed, lexicon, members.ordered)
    )


def can_be_class(keys: Unnamed, lexicon: Lexicon, ordered: bool) -> bool:
    """Return True if kernels can read a class of keys: each prefix of a key can be continued."""
    if ordered or lexicon.spellable != ALL_BYTES or keys.plain is None:
        return False
    plain = keys.plain
    return attempt(lambda: not lexicon.alive(plain) or lexicon.is_open(plain), _SEARCHED)


def can_spell(names: tuple[str, ...], spellable: int) -> bool:
    """Return True if kernels can read these names in each spelling."""
    if spellable == ALL_BYTES:
        return True
    used = set("".join(names).encode("utf-8", "surrogatepass"))
    return all(spellable >> byte & 1 for byte in (*used, *range(0x20, 0x7F)))


def describe_object(template: ObjectTemplate, network: Nodes, machine: Derivatives) -> int:
    members, style = template.members, template.style
    names = Names(members.names, network.arena)
    other = members.others if machine.alive(members.others) else EMPTY
    if members.allowed is not None and members.unnamed is not None:
        return describe_members(members, ((members.unnamed, other),), style, network, machine)
    fields = _object_fields(style, network)
    fields[at.O_OTHER], fields[at.O_ORDERED] = network.node(other), style.ordered
    values = _value_nodes(members, network, machine)
    return _opened(names.frame(values, members.required, fields), style, network)


def describe_strings(strings: DifferentStrings, style: JsonStyle, network: Nodes) -> int | None:
    """Node of an array of distinct strings, read as keys; None if some spelling is missing."""
    lexicon, arena = network.lexicon, network.arena
    most = 0 if strings.high is None else strings.high + 1
    if max(strings.low, most) >> 15 or most == 1 or not can_spell(strings.words, lexicon.spellable):
        return None
    fields = describe_style(style, lexicon)
    if (begun := strings.begun) is not EMPTY:
        if lexicon.spellable != ALL_BYTES or not lexicon.alive(begun):
            return None
        fields[at.O_START], fields[at.O_QUOTED] = (
            lexicon.state(begun),
            lexicon.state(concat(QUOTE, begun)),
        )
        fields[at.O_COUNTS] = most << 16 | (strings.low if strings.low > 1 else 0)
        fields[at.O_OTHER] = at.NIL
    fields[at.O_COMMA] = network.node(concat(style.edge, literal(","), style.opened))
    fields[at.O_CLOSING] = network.node(concat(style.closing, literal("]")))
    fields[at.O_COLON] = at.NIL
    count, names = len(strings.words), Names(strings.words, arena)
    member = arena.make(at.MEMBER, names.frame([at.NIL] * count, [False] * count, fields))
    if strings.low == 0:
        member = arena.choice([network.node(literal("]")), member])
    if style.opened is not EPSILON:
        member = arena.make(at.SEQUENCE, network.node(style.opened), member)
    return arena.make(at.LITERAL, arena.pool(b"["), 1, member)


class Declared(Protocol):
    """Declared names of an object with their values."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def values(self) -> tuple[Expr, ...]: ...

    @property
    def required(self) -> tuple[bool, ...]: ...


def describe_members(
    members: Declared,
    classes: Iterable[tuple[Unnamed, Expr]],
    style: JsonStyle,
    network: Nodes,
    machine: Derivatives,
) -> int:
    """Node of a whole object with disjoint classes of undeclared keys, each with a value.

    Names are in no class, even if they are among its keys.
    """
    lexicon, fields = network.lexicon, _object_fields(style, network)
    rows = list[list[int]]()
    for keys, value in classes:
        if lexicon.alive(keys.spelled) and machine.alive(value):
            begun = concat(keys.spelled, QUOTE)
            row = [*fields]
            row[at.O_START], row[at.O_QUOTED] = (
                lexicon.state(begun),
                lexicon.state(concat(QUOTE, begun)),
            )
            row[at.O_OTHER], row[at.O_OF_CLASS] = network.node(value), 1
            rows.append(row)
    values = _value_nodes(members, network, machine)
    frame = Names(members.names, network.arena).frame(values, members.required, fields, rows)
    return _opened(frame, style, network)


def _object_fields(style: JsonStyle, network: Nodes) -> list[int]:
    fields = describe_style(style, network.lexicon)
    fields[at.O_COMMA] = network.node(style.comma)
    fields[at.O_CLOSING] = network.node(end_of_object(style))
    fields[at.O_COLON] = network.node(style.colon)
    return fields


def _value_nodes(members: Declared, network: Nodes, machine: Derivatives) -> list[int]:
    return [network.node(v) if machine.alive(v) else at.DEAD for v in members.values]


def _opened(frame: int, style: JsonStyle, network: Nodes) -> int:
    opened = network.arena.make(at.OPENED, frame)
    if style.opened is not EPSILON:
        opened = network.arena.make(at.SEQUENCE, network.node(style.opened), opened)
    return network.arena.make(at.LITERAL, network.arena.pool(b"{"), 1, opened)


def describe_style(style: JsonStyle, lexicon: Lexicon) -> list[int]:
    """Fields of an object, with only those set that depend on the spelling of keys."""
    begun, key, _ = _spelled(style)
    fields = [0] * 16
    fields[at.O_START] = lexicon.state(begun)
    fields[at.O_QUOTED] = lexicon.state(key)
    fields[at.O_PLAIN] = style.spelling.plain
    return fields


def end_of_object(style: JsonStyle) -> Expr:
    """The closing brace with the white space before it."""
    return _spelled(style)[2]


@lru_cache(maxsize=64)
def _spelled(style: JsonStyle) -> tuple[Expr, Expr, Expr]:
    """Any key after its opening quote, any key with it, and the end of an object."""
    begun = concat(style.spelling.content, QUOTE)
    return begun, concat(QUOTE, begun), concat(style.closing, literal("}"))


def describe_words(rule: Rule, network: Nodes) -> int | None:
    """Node of a choice of strings, read like names without values; None if it is no such choice."""
    listed = words_of(rule)
    if listed is None or not can_spell(listed[0], network.lexicon.spellable):
        return None
    (words, style), arena = listed, network.arena
    fields = describe_style(style, network.lexicon)
    fields[at.O_BARE] = 1
    frame = Names(words, arena).frame([at.NIL] * len(words), [False] * len(words), fields)
    return arena.make(at.MEMBER, frame)


@final
class Names:
    """Names shared by objects that differ in other fields; their trie is made once."""

    __slots__ = ("_arena", "_length", "_places", "_trie")

    def __init__(self, names: tuple[str, ...], arena: Arena) -> None:
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        order = sorted(range(len(encoded)), key=encoded.__getitem__)
        ranks = [0] * len(order)
        for rank, index in enumerate(order):
            ranks[index] = rank
        first = place = arena.pool(b"".join(encoded[index] for index in order))
        self._places: list[tuple[int, int, int, int]] = []
        for rank, index in enumerate(order):
            self._places.append((place, len(encoded[index]), index, ranks[rank]))
            place += len(encoded[index])
        self._arena, self._length = arena, place - first
        self._trie: int | None = None

    def frame(
        self,
        values: Sequence[int],
        required: Sequence[bool],
        fields: list[int],
        classes: "Sequence[list[int]]" = (),
    ) -> int:
        """Frame of an empty object; `classes` has fields for each class of undeclared keys."""
        from guideway.masks.kernels.entry import build_keys

        arena, table = self._arena, list[int]()  # small arrays of numpy take longer
        for place, length, index, rank in self._places:
            table += (place, length, values[index], required[index], index, rank)
        count, trie = len(self._places), self._trie
        if trie is None:
            trie = arena.reserve(at.KEYS, 6 * (self._length + 1)) // 6
        begun = arena.put(at.NAME, np.array(table, np.int32)) // 6
        first = arena.reserve(at.OBJECT, 16 * (len(classes) + 1)) // 16
        if classes:
            fields[at.O_CLASS], fields[at.O_CLASSES] = first + 1, len(classes)
        for place, row in enumerate((fields, *classes)):
            row[at.O_WORDS], row[at.O_NAMES] = max(-(-count // 64), 1), count
            row[at.O_NAME], row[at.O_KEYS] = begun, trie
            arena.write(at.OBJECT, (first + place) * 16, np.array(row, np.int32))
        if self._trie is None:
            self._trie = trie
            build_keys(arena.context, first, trie)
        return arena.first_frame(first)


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
