"""Lark grammars to expressions, by the parser that their source asks for."""

from collections.abc import Callable

from guideway.lowering.lark_contextual import lower_lark_contextual
from guideway.lowering.lark_dynamic import lower_lark_dynamic
from guideway.lowering.meets import solid
from guideway.lowering.nodes import Expr
from guideway.syntax.lark_errors import LarkGrammar, within
from guideway.syntax.lark_source import Lark, regexes_placed
from guideway.syntax.sources import Source


def lower_lark(grammar: LarkGrammar, lower: Callable[[Source], Expr]) -> Expr:
    """Expression of a grammar; `lower` compiles its non-Lark parts."""
    parts = {name: _lowered(name, grammar, lower) for name in grammar.parts}
    if grammar.table is None:
        return lower_lark_dynamic(grammar, parts)
    return lower_lark_contextual(grammar, parts)


def _lowered(name: str, grammar: LarkGrammar, lower: Callable[[Source], Expr]) -> Expr:
    part = grammar.parts[name]
    with within(part):
        if isinstance(part.source, Lark):
            nested = grammar.nested[name]
            with regexes_placed(part.source, nested.terminals.values()):
                found = lower_lark(nested, lower)
        else:
            found = lower(part.source)
    return solid(found) if found.nullable else found
