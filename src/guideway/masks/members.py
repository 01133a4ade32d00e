"""Objects that depend on a formula (`MembersTemplate`): names and trie are shared by all states.

A state adds a row with the node of what follows each name. After a value: CHOICE of a comma, then
MEMBER or the captured key of a class; and a closing brace if nothing is missing.
"""

from typing import final
from weakref import proxy

from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import concat, literal
from guideway.lowering.json_members import MembersTemplate
from guideway.lowering.json_objects import Member, Rest
from guideway.lowering.json_text import QUOTE
from guideway.lowering.nodes import Call, Expr
from guideway.masks.kernels import layout as at
from guideway.masks.objects import (
    Names,
    Nodes,
    can_be_class,
    can_spell,
    describe_members,
    describe_style,
)


@final
class MemberNodes:
    """The states of all objects of one template; what follows a name is NAMED until it is read."""

    def __init__(
        self,
        template: MembersTemplate,
        number: int,
        network: Nodes,
        machine: Derivatives,
        spellable: int,
    ) -> None:
        self._number = number
        self._rests: list[Rest] = []
        self._template, self._machine = template, machine
        self._network: Nodes = proxy(network)  # it holds this object: avoids a cycle
        self._readable = can_spell(template.names, spellable)
        self._names: Names | None = None

    def node(self, rest: Rest) -> int:
        template, network, style = self._template, self._network, self._template.style
        if rest.place < 0 and (whole := self._whole()) is not None:
            return whole
        if not self._readable or not template.is_known(rest):
            return network.node(self._machine.unfold(Call(template, rest)))
        arena, member, end = network.arena, self._member(rest), template.end(rest)
        if rest.place < 0:
            brace = network.node(concat(literal("{"), style.opened))
            return arena.make(at.SEQUENCE, brace, arena.choice([network.node(end), member]))
        if member != at.DEAD:
            member = arena.make(at.SEQUENCE, network.node(style.comma), member)
        return arena.choice([network.node(concat(style.closing, end)), member])

    def _whole(self) -> int | None:
        """Node of the whole object if its members are independent, else None."""
        template, lexicon = self._template, self._network.lexicon
        found = template.alone() if self._readable else None
        if found is None or not all(
            can_be_class(keys, lexicon, template.style.ordered) for keys, _ in found.classes
        ):
            return None
        return describe_members(found, found.classes, template.style, self._network, self._machine)

    def named(self, state: int, key: int) -> Expr:
        """Expression of what follows the closing quote of a name in a state."""
        return self._machine.unfold(Call(self._template, Member(self._rests[state], key)))

    def _member(self, rest: Rest) -> int:
        found = [self._named(rest), self._other(rest)]
        options = [node for node in found if node != at.DEAD]
        return self._network.arena.choice(options) if options else at.DEAD

    def _other(self, rest: Rest) -> int:
        other = concat(QUOTE, self._template.other(rest))
        return self._network.node(other) if self._machine.alive(other) else at.DEAD

    def _named(self, rest: Rest) -> int:
        template, network = self._template, self._network
        values = [at.DEAD] * len(template.names)
        number = len(self._rests)
        self._rests.append(rest)
        for key in template.names_of(rest, self._machine.living):
            values[key] = network.arena.make(at.NAMED, self._number, number, key)
        if values.count(at.DEAD) == len(values):
            return at.DEAD
        if self._names is None:
            self._names = Names(template.names, network.arena)
        fields = describe_style(template.style, network.lexicon)
        fields[at.O_BARE] = 1
        frame = self._names.frame(values, [False] * len(values), fields)
        return network.arena.make(at.MEMBER, frame)
