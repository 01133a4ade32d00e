"""What kernels lay every schema with: nodes of plain values, and of what stands between them."""

from typing import Protocol

import numpy as np

from guideway.lowering.expr import EPSILON, concat, literal, repeat
from guideway.lowering.json_schema import lower_part
from guideway.lowering.json_text import QUOTE, json_style
from guideway.lowering.nodes import Expr
from guideway.lowering.unicode import SCALARS
from guideway.masks.arena import Arena
from guideway.masks.forest import address
from guideway.masks.kernels import layout as at
from guideway.masks.kernels import schema_layout as of
from guideway.masks.lexicon import Lexicon
from guideway.masks.objects import describe_style, end_of_object
from guideway.masks.seeds import Stencil
from guideway.syntax.json_schema_keywords import LATEST
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_values import TYPES


class Nodes(Protocol):
    """What makes nodes: a network, as far as it matters here."""

    arena: Arena
    lexicon: Lexicon

    def node(self, expr: Expr) -> int:
        """The node of an expression."""
        ...


def stencil_of(network: Nodes) -> Stencil:
    """The stencil for schemas with the default options; it lives as long as its nodes."""
    source = JsonSchema({})
    style, made = json_style(source), [0] * of.STENCIL_SIZE

    def node(expr: Expr) -> int:
        return at.NIL if expr is EPSILON else network.node(expr)

    for bit, name in enumerate(TYPES):
        values = lower_part(source, f'{{"type":"{name}"}}', LATEST)
        made[of.T_TYPES + bit] = network.node(values)
    made[of.T_ANYTHING] = network.node(lower_part(source, "{}", LATEST))
    made[of.T_OPENED], made[of.T_EDGE] = node(style.opened), node(style.edge)
    made[of.T_COMMA], made[of.T_COLON] = node(style.comma), node(style.colon)
    made[of.T_CLOSING] = network.node(end_of_object(style))
    made[of.T_LAST] = network.node(concat(style.closing, literal("]")))
    fields = describe_style(style, network.lexicon)
    made[of.T_START], made[of.T_QUOTED] = fields[at.O_START], fields[at.O_QUOTED]
    made[of.T_PLAIN] = fields[at.O_PLAIN]
    made[of.T_BRACKETS] = network.arena.pool(b'{[]truefalse"')
    made[of.T_CHARACTERS] = network.lexicon.state(style.spelling.content)
    filled = concat(QUOTE, repeat(style.spelling.character(SCALARS), 1), QUOTE)
    made[of.T_FILLED] = network.lexicon.state(filled)
    stencil = np.array(made, np.int32)
    network.arena.context[at.STENCIL] = address(stencil)
    return stencil
