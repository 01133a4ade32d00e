"""Objects, choices of words and items of `uniqueItems` as tables that kernels read.

Items of `uniqueItems` that are objects or arrays: a state also has the text read within them, and
the node MARK follows each item. There the item is found by scanning the text backwards. Masks do
not read this text, so tokens that go on after a MARK may be unsure.

Objects whose members depend on one another (`json_schema.members`): all states share the names and
their trie. A state has a row with the node that follows each name.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol
from weakref import proxy

import numpy as np

from guideway.automaton.arena import Arena
from guideway.automaton.jit.records import dtype
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import Name, Object
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.automaton.token_tries import Row
from guideway.json_schema.arrays import DistinctStrings, ItemsTemplate
from guideway.json_schema.formula_derivative import Rest as ItemsRest
from guideway.json_schema.key_classes import Members
from guideway.json_schema.members import Dependent
from guideway.json_schema.objects import START, Independent, Member, ObjectTemplate, Rest
from guideway.json_schema.spelling import QUOTE, JsonStyle, WordsTemplate, words_of
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, EMPTY, EPSILON, concat, literal
from guideway.language.fuel import attempt
from guideway.language.nodes import Call, Capture, Expr, Rule

_KEPT: Final = 1024  # masks before the cache is cleared
_STEPS: Final = re.compile(rb'[]{}[]|(\\*)"')
_SCALAR: Final = re.compile(rb"[-+.0-9A-Za-z]*\Z")


class Marks:
    """The MARK nodes of one automaton; `masks` has sure and unsure tokens by macro state."""

    def __init__(self, arena: Arena) -> None:
        self._arena, self.any = arena, bool(arena.context.marks)
        self._within: dict[int, bool] = {}
        self._outside = {0}  # stacks without a MARK
        self.masks: dict[int, tuple[Row, list[int]]] = {}

    def make(self, item: int, number: int) -> int:
        """Node of an item that is captured for the template and argument of that number."""
        self._arena.context.captures = self._arena.context.marks = self.any = True
        return self._arena.make(at.SEQUENCE, item, self._arena.make(at.MARK, number))

    def key(self, macro: int) -> int:
        """A macro state; within an item, the text of READ's target is in the upper half."""
        if not self._is_within(macro):
            return macro
        return self._arena.context.after_text << 32 | macro

    def kept(self, macro: int, row: Row, unsure: list[int]) -> tuple[Row, list[int], bool]:
        """A mask that its caller must not cache; within items it is kept here for the next text."""
        if self.any and self._is_within(macro):
            if len(self.masks) >= _KEPT:
                self.masks.clear()
            self.masks[macro] = row, unsure
        return row, unsure, False

    def _is_within(self, macro: int) -> bool:
        found = self._within.get(macro)
        if found is None:
            found = self._within[macro] = self._finds(
                [stack for _, stack in self._arena.configurations(macro)]
            )
        return found

    def _finds(self, todo: list[int]) -> bool:
        arena, seen = self._arena, set[int]()
        while todo:
            stack = todo.pop()
            if stack in seen or stack in self._outside:
                continue
            seen.add(stack)
            node, below = arena.pop(stack)
            kind, *fields = arena.record(node)
            while kind == at.FORKED:
                todo.append(fields[0])
                kind, *fields = arena.record(fields[1])
            if kind == at.MARK:
                return True
            todo.append(below)
        self._outside |= seen
        return False


def is_marked(capture: Capture) -> bool:
    return isinstance(capture.template, ItemsTemplate) and not capture.item.regular


def last_value(text: bytes) -> bytes:
    r"""The JSON value that has just ended, found from quotes and brackets backwards.

    >>> last_value(b'[{"a": "}"}, {"b": ["\\\\"]}')
    b'{"b": ["\\\\"]}'
    >>> last_value(b"[1, -25")
    b'-25'
    """
    scalar = _SCALAR.search(text)
    if scalar is not None and scalar[0]:
        return scalar[0]
    depth, inside, begin = 0, False, 0
    for step in reversed([*_STEPS.finditer(text)]):
        begin = step.end() - 1
        if step[0][-1:] == b'"':
            inside ^= len(step[1]) % 2 == 0
        elif not inside:
            depth += 1 if step[0] in b"]}" else -1
        if depth == 0 and not inside:
            break
    return text[begin:]


_SEARCHED: Final = 1 << 15
"""Expressions derived before giving up: intersected key languages of 2^21 states took minutes."""


class Nodes(Protocol):
    """The methods of an automaton that this module needs."""

    arena: Arena
    dfa: LexerDfa

    def node(self, expr: Expr) -> int: ...

    def entered(self, expr: Expr) -> int: ...


def describe_whole(call: Call, pda: Nodes, machine: Derivatives) -> int | None:
    """Node of an object, an array of distinct strings, or words; None if kernels cannot read it."""
    match call.template, call.argument:
        case ObjectTemplate(reading=Independent() as reading), argument if argument == START:
            return describe_object(reading.members, reading.style, pda, machine)
        case ItemsTemplate() as template, ItemsRest() as argument:
            strings = template.distinct_strings(argument)
            return None if strings is None else describe_strings(strings, template.style, pda)
        case WordsTemplate() as template, argument:
            return _describe_verbatim(template.verbatim(argument), pda)
        case _:
            return None


def _describe_verbatim(words: list[str] | None, pda: Nodes) -> int | None:
    """Node of a choice of words, each spelled as it is; None if one cannot be spelled."""
    spellable, arena = pda.dfa.spellable, pda.arena
    if words is None or not all(spellable >> byte & 1 for byte in set("".join(words).encode())):
        return None
    count = len(words)
    frame = Names(tuple(words), arena).frame([at.NIL] * count, [False] * count, Object())
    thing = arena.row("frames.rows", frame)[0]
    return arena.make(at.WORDS, thing, arena.object(thing).keys)


def can_be_class(keys: Expr, dfa: LexerDfa, ordered: bool) -> bool:
    """Return True if kernels can read a class of keys: each prefix of a key can be continued."""
    if ordered or dfa.spellable != ALL_BYTES:
        return False
    return attempt(lambda: not dfa.alive(keys) or dfa.is_open(keys), _SEARCHED)


def can_spell(names: tuple[str, ...], spellable: int) -> bool:
    """Return True if kernels can read these names in each spelling."""
    if spellable == ALL_BYTES:
        return True
    used = set("".join(names).encode("utf-8", "surrogatepass"))
    return all(spellable >> byte & 1 for byte in (*used, *range(0x20, 0x7F)))


def describe_object(
    members: Members, style: JsonStyle, pda: Nodes, machine: Derivatives
) -> int | None:
    """Node of a whole object; None if kernels cannot read its keys."""
    dfa, classes = pda.dfa, list[Object]()
    if not can_spell(members.names, dfa.spellable) or not all(
        keys is None or can_be_class(keys, dfa, style.ordered) for keys, _ in members.classes
    ):
        return None
    described = describe_style(style, dfa)
    described.comma, described.colon = pda.node(style.comma), pda.node(style.colon)
    described.closing, described.ordered = pda.node(end_of_object(style)), style.ordered
    for keys, value in members.classes:
        if not machine.alive(value):
            continue
        if keys is None:
            described.other = pda.node(value)
        elif dfa.alive(keys):
            begun = concat(keys, QUOTE)
            each = Object.from_buffer_copy(described)
            each.start, each.quoted = dfa.state(begun), dfa.state(concat(QUOTE, begun))
            each.other, each.is_class = pda.node(value), True
            classes.append(each)
    values = [pda.node(v) if machine.alive(v) else at.DEAD for v in members.values]
    frame = Names(members.names, pda.arena).frame(values, members.required, described, classes)
    opened = pda.arena.make(at.AFTER_BRACE, frame)
    if style.opened is not EPSILON:
        opened = pda.arena.make(at.SEQUENCE, pda.node(style.opened), opened)
    return pda.arena.make(at.LITERAL, pda.arena.pool(b"{"), 1, opened)


def describe_strings(strings: DistinctStrings, style: JsonStyle, pda: Nodes) -> int | None:
    """Node of an array of distinct strings, read as keys; None if some spelling is missing."""
    dfa, arena = pda.dfa, pda.arena
    most = 0 if strings.high is None else strings.high + 1
    if max(strings.low, most) >> 15 or most == 1 or not can_spell(strings.words, dfa.spellable):
        return None
    described = describe_style(style, dfa)
    if (begun := strings.begun) is not EMPTY:
        if dfa.spellable != ALL_BYTES or not dfa.alive(begun):
            return None
        described.start, described.quoted = dfa.state(begun), dfa.state(concat(QUOTE, begun))
        described.class_or_counts = most << 16 | (strings.low if strings.low > 1 else 0)
        described.other = at.NIL
    described.comma = pda.node(concat(style.edge, literal(","), style.opened))
    described.closing = pda.node(concat(style.closing, literal("]")))
    described.colon = at.NIL
    count, names = len(strings.words), Names(strings.words, arena)
    member = arena.make(at.MEMBER, names.frame([at.NIL] * count, [False] * count, described))
    if strings.low == 0:
        member = arena.choice([pda.node(literal("]")), member])
    if style.opened is not EPSILON:
        member = arena.make(at.SEQUENCE, pda.node(style.opened), member)
    return arena.make(at.LITERAL, arena.pool(b"["), 1, member)


def describe_style(style: JsonStyle, dfa: LexerDfa) -> Object:
    """An object with only those fields set that depend on the spelling of keys."""
    begun, key, _ = _key_texts(style)
    return Object(start=dfa.state(begun), quoted=dfa.state(key), plain=style.spelling.plain)


def end_of_object(style: JsonStyle) -> Expr:
    """The closing brace with the white space before it."""
    return _key_texts(style)[2]


@lru_cache(maxsize=64)
def _key_texts(style: JsonStyle) -> tuple[Expr, Expr, Expr]:
    """Any key after its opening quote, any key with it, and the end of an object."""
    begun = concat(style.spelling.content, QUOTE)
    return begun, concat(QUOTE, begun), concat(style.closing, literal("}"))


def describe_words(rule: Rule, pda: Nodes) -> int | None:
    """Node of a choice of strings, read like names without values; None if it is no such choice."""
    listed = words_of(rule)
    if listed is None or not can_spell(listed[0], pda.dfa.spellable):
        return None
    (words, style), arena = listed, pda.arena
    described = describe_style(style, pda.dfa)
    described.bare = True
    frame = Names(words, arena).frame([at.NIL] * len(words), [False] * len(words), described)
    return arena.make(at.MEMBER, frame)


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
        described: Object,
        classes: "Sequence[Object]" = (),
    ) -> int:
        """Frame of an empty object; `classes` has one for each class of undeclared keys."""
        from guideway.automaton.kernels.entry import build_keys

        arena, table = self._arena, list[int]()  # small arrays of numpy take longer
        for place, length, index, rank in self._places:
            table += (place, length, values[index], required[index], index, rank)
        count, trie = len(self._places), self._trie
        if trie is None:
            trie = arena.reserve("key_nodes", self._length + 1)
        begun = arena.put("names", np.array(table, np.int32).view(dtype(Name)))
        first = arena.reserve("objects", len(classes) + 1)
        if classes:
            described.class_or_counts, described.class_count = first + 1, len(classes)
        for place, each in enumerate((described, *classes)):
            each.words, each.name_count = max(-(-count // 64), 1), count
            each.first_name, each.keys = begun, trie
            arena.write("objects", first + place, each.as_array(dtype(Object)))
        if self._trie is None:
            self._trie = trie
            build_keys(arena.context, first, trie)
        return arena.first_frame(first)


UNLIKE: Final = 4  # characters that suffice for a key unlike all earlier ones
_KEYS: Final = 64  # earlier keys that are searched
_FEW: Final = 8  # names that are tried where one is required
_NAMED_SO: Final = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}


class FrameNames:
    """The names of an object; `thing` is its number, `others` says if more keys are allowed."""

    def __init__(self, arena: Arena, frame: int) -> None:
        self.thing, self._position, self._extras, missing, bits, others = arena.row(
            "frames.rows", frame
        )
        self.missing, self.others = missing > 0, others > 0
        self.object = arena.object(self.thing)
        self._arena, self.count = arena, self.object.name_count
        words = (arena.number("bits.rows", bits + word) for word in range(self.object.words))
        self._may = sum(int(bits) << 64 * word for word, bits in enumerate(words))

    @property
    def counted(self) -> bool:
        """Return True if `minProperties` may require more keys than are named."""
        return self.object.class_or_counts & 0xFFFF > 0 and not self.object.class_count

    def any_others(self) -> bool:
        """Return True if a key that is no name may be any other string.

        False for keys of a class, which may be few or long, and for distinct strings, which have no
        colon. Frames exist only where all of ASCII is allowed in keys (`objects.can_spell`).
        """
        any_key = not self.object.class_count and self.object.colon != at.NIL
        return self.others and any_key

    def came(self, text: int) -> bool:
        """Return True if an undeclared key is used already, or too many are used to search them."""
        extras, left = self._extras, _KEYS
        while extras and left:
            found, extras = divmod(self._arena.number("extras.rows", extras), 1 << 32)
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
        if self.object.ordered:
            left = [rank for rank in ranks if self._name(rank).index >= self._position]
        else:
            left = [rank for rank in ranks if self._may >> rank & 1]
        return [rank for rank in left if self.is_required(rank)]

    def ends(self, rank: int, read: int) -> bool:
        return self._name(rank).length == read

    def is_required(self, rank: int) -> bool:
        return self._name(rank).required > 0

    def value(self, rank: int) -> int:
        return self._name(rank).value

    def length(self, rank: int) -> int:
        """Upper bound on the bytes of a name in its shortest spelling."""
        name = self._name(rank)
        plain = _NAMED_SO.issuperset(self._arena.pooled(name.at, name.length))
        return name.length if plain else len("\\u0000") * name.length

    def _name(self, rank: int) -> Name:
        return self._arena.name(self.object.first_name + rank)


class MemberNodes:
    """The states of all objects of one template; a NAMED node follows a name until it is read."""

    def __init__(
        self,
        reading: Dependent,
        number: int,
        pda: Nodes,
        machine: Derivatives,
    ) -> None:
        self._number = number
        self._rests: list[Rest] = []
        self._template, self._reading, self._machine = reading.template, reading, machine
        self._pda: Nodes = proxy(pda)  # it holds this object: avoids a cycle
        self._readable = can_spell(reading.names, pda.dfa.spellable)
        self._names: Names | None = None

    def node(self, rest: Rest) -> int:
        template, pda, style = self._template, self._pda, self._reading.style
        if not self._readable or template.is_vague(rest):
            return pda.node(self._machine.unfold(Call(template, rest)))
        arena, member, end = pda.arena, self._member(rest), template.end(rest)
        if rest.place < 0:
            brace = pda.node(concat(literal("{"), style.opened))
            return arena.make(at.SEQUENCE, brace, arena.choice([pda.node(end), member]))
        if member != at.DEAD:
            member = arena.make(at.SEQUENCE, pda.node(style.comma), member)
        return arena.choice([pda.node(concat(style.closing, end)), member])

    def named(self, state: int, key: int) -> Expr:
        """Expression of the rest after the closing quote of a name."""
        return self._machine.unfold(Call(self._template, Member(self._rests[state], key)))

    def _member(self, rest: Rest) -> int:
        found = [self._named(rest), self._unnamed_key(rest)]
        options = [node for node in found if node != at.DEAD]
        return self._pda.arena.choice(options) if options else at.DEAD

    def _unnamed_key(self, rest: Rest) -> int:
        other = concat(QUOTE, self._template.other(rest))
        return self._pda.node(other) if self._machine.alive(other) else at.DEAD

    def _named(self, rest: Rest) -> int:
        reading, pda = self._reading, self._pda
        values = [at.DEAD] * len(reading.names)
        number = len(self._rests)
        self._rests.append(rest)
        for key in reading.names_of(rest, self._machine.living):
            values[key] = pda.arena.make(at.NAMED, self._number, number, key)
        if values.count(at.DEAD) == len(values):
            return at.DEAD
        if self._names is None:
            self._names = Names(reading.names, pda.arena)
        described = describe_style(reading.style, pda.dfa)
        described.bare = True
        frame = self._names.frame(values, [False] * len(values), described)
        return pda.arena.make(at.MEMBER, frame)
