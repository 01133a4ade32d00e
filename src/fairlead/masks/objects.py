"""Objects of the plain kind, as the tables that the kernels read: names, values, key trie."""

from typing import Protocol

import numpy as np

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.expr import ALL_BYTES, EMPTY, EPSILON, concat, literal
from fairlead.lowering.json_objects import ObjectTemplate
from fairlead.lowering.json_text import QUOTE
from fairlead.lowering.nodes import Expr
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
    if template.members.allowed is not None:
        return False
    if spellable == ALL_BYTES:
        return True
    used = set("".join(template.members.names).encode("utf-8", "surrogatepass"))
    return all(spellable >> byte & 1 for byte in (*used, *range(0x20, 0x7F)))


def describe_object(template: ObjectTemplate, network: Nodes, machine: Derivatives) -> int:
    """The node of a whole object."""
    from fairlead.masks.kernels.entry import build

    members, style, arena = template.members, template.style, network.arena
    encoded = [name.encode("utf-8", "surrogatepass") for name in members.names]
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    count = len(order)
    ranks = [0] * count
    for rank, index in enumerate(order):
        ranks[index] = rank
    place = arena.pool(b"".join(encoded[index] for index in order))
    names: list[int] = []  # as N_AT and what follows it say; small arrays of numpy take longer
    for rank, index in enumerate(order):
        value, length = members.values[index], len(encoded[index])
        node = network.node(value) if machine.alive(value) else at.DEAD
        names += (place, length, node, members.required[index], index, ranks[rank])
        place += length
    other = members.others if machine.alive(members.others) else EMPTY
    content = concat(style.spelling.content, QUOTE)
    fields = [0] * 16
    fields[at.O_WORDS], fields[at.O_NAMES] = max(-(-count // 64), 1), count
    fields[at.O_NAME] = arena.put(at.NAME, np.array(names, np.int32)) // 6
    fields[at.O_OTHER], fields[at.O_ORDERED] = network.node(other), style.ordered
    fields[at.O_COMMA] = network.node(style.comma)
    fields[at.O_CLOSING] = network.node(concat(style.closing, literal("}")))
    fields[at.O_COLON] = network.node(style.colon)
    fields[at.O_START] = network.lexicon.state(content)
    fields[at.O_QUOTED] = network.lexicon.state(concat(QUOTE, content))
    fields[at.O_PLAIN] = style.spelling.plain
    thing = arena.put(at.OBJECT, np.array(fields, np.int32)) // 16
    keys = arena.reserve(at.KEYS, 6 * (sum(map(len, encoded)) + 1)) // 6
    build(arena.context, at.BUILD_KEYS, 0, thing, keys, 0, 0)
    opened = arena.make(at.OPENED, arena.first_frame(thing))
    if style.opened is not EPSILON:
        opened = arena.make(at.SEQUENCE, network.node(style.opened), opened)
    return arena.make(at.LITERAL, arena.pool(b"{"), 1, opened)
