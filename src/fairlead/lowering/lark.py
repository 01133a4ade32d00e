"""Lark grammars to the core, each by the way in which its source asks for it to be read."""

from fairlead.lowering.lark_contextual import lower_lark_contextual
from fairlead.lowering.lark_dynamic import lower_lark_dynamic
from fairlead.lowering.nodes import Expr
from fairlead.syntax.lark_tree import LarkGrammar


def lower_lark(grammar: LarkGrammar) -> Expr:
    """The texts of a grammar; errors as of `lark_contextual` and `lark_dynamic`."""
    if grammar.table is None:
        return lower_lark_dynamic(grammar)
    return lower_lark_contextual(grammar)
