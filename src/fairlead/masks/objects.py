"""Objects of the plain kind, as the tables that the kernels read: names, values, key trie."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, final

import numpy as np

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.expr import ALL_BYTES, EMPTY, EPSILON, concat, literal
from fairlead.lowering.json_objects import ObjectTemplate
from fairlead.lowering.json_text import QUOTE, JsonStyle
from fairlead.lowering.json_words import words_of
from fairlead.lowering.nodes import Expr, Rule
from fairlead.masks.arena import Arena
from fairlead.masks.kernels import layout as at
from fairlead.masks.lexicon import Lexicon


class Nodes(Protocol):
    """What an object is described to: a network, as far as it matters here."""

    arena: Arena
    lexicon: Lexicon

    def node(self, expr: Expr) -> int:
        """The node of an expression."""
        ...


def is_plain_object(template: ObjectTemplate, spellable: int) -> bool:
    """Whether the kernels can read such objects: any names, all of them spellable."""
    return template.members.allowed is None and can_spell(template.members.names, spellable)


def can_spell(names: tuple[str, ...], spellable: int) -> bool:
    """Whether the kernels can read such names: in each spelling."""
    if spellable == ALL_BYTES:
        return True
    used = set("".join(names).encode("utf-8", "surrogatepass"))
    return all(spellable >> byte & 1 for byte in (*used, *range(0x20, 0x7F)))


def describe_object(template: ObjectTemplate, network: Nodes, machine: Derivatives) -> int:
    """The node of a whole object."""
    members, style, arena = template.members, template.style, network.arena
    names = Names(members.names, arena)
    values = [network.node(v) if machine.alive(v) else at.DEAD for v in members.values]
    other = members.others if machine.alive(members.others) else EMPTY
    fields = describe_style(style, network.lexicon)
    fields[at.O_OTHER], fields[at.O_ORDERED] = network.node(other), style.ordered
    fields[at.O_COMMA] = network.node(style.comma)
    fields[at.O_CLOSING] = network.node(end_of_object(style))
    fields[at.O_COLON] = network.node(style.colon)
    opened = arena.make(at.OPENED, names.frame(values, members.required, fields))
    if style.opened is not EPSILON:
        opened = arena.make(at.SEQUENCE, network.node(style.opened), opened)
    return arena.make(at.LITERAL, arena.pool(b"{"), 1, opened)


def describe_style(style: JsonStyle, lexicon: Lexicon) -> list[int]:
    """The fields of an object, those set that say how keys are spelled."""
    begun, key, _ = _spelled(style)
    fields = [0] * 16
    fields[at.O_START] = lexicon.state(begun)
    fields[at.O_QUOTED] = lexicon.state(key)
    fields[at.O_PLAIN] = style.spelling.plain
    return fields


def end_of_object(style: JsonStyle) -> Expr:
    """The closing brace and what stands before it."""
    return _spelled(style)[2]


@lru_cache(maxsize=64)
def _spelled(style: JsonStyle) -> tuple[Expr, Expr, Expr]:
    """Any key behind its quote, with that, and the end of an object."""
    begun = concat(style.spelling.content, QUOTE)
    return begun, concat(QUOTE, begun), concat(style.closing, literal("}"))


def describe_words(rule: Rule, network: Nodes) -> int | None:
    """The node of one of some strings, read like names behind which nothing else is.

    None if the rule lists no strings, or they cannot be spelled in each way.
    """
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
    """The names of objects that differ in what else is said of them; their trie is made once."""

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

    def frame(self, values: Sequence[int], required: Sequence[bool], fields: list[int]) -> int:
        """The frame of an empty object.

        Args:
            values: for each name, the node of its value, DEAD if there is none.
            required: for each name, whether it must come.
            fields: of the object; those about names are still to be set.
        """
        from fairlead.masks.kernels.entry import build

        arena, table = self._arena, list[int]()  # small arrays of numpy take longer
        for place, length, index, rank in self._places:
            table += (place, length, values[index], required[index], index, rank)
        count = len(self._places)
        fields[at.O_WORDS], fields[at.O_NAMES] = max(-(-count // 64), 1), count
        fields[at.O_NAME] = arena.put(at.NAME, np.array(table, np.int32)) // 6
        fields[at.O_KEYS] = self._trie or 0
        thing = arena.put(at.OBJECT, np.array(fields, np.int32)) // 16
        if self._trie is None:
            self._trie = arena.reserve(at.KEYS, 6 * (self._length + 1)) // 6
            build(arena.context, at.BUILD_KEYS, 0, thing, self._trie, 0, 0, 0)
        return arena.first_frame(thing)
