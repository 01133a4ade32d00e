"""Lark grammars to expressions, by the parser that their source asks for.

The Earley parser with the dynamic lexer has no lexer: each terminal that a rule may go on with
matches what `re.match` prefers at its place. So any grammar is a context-free one over its
terminals, and ambiguity, left recursion and empty rules are allowed. Ignored terminals may repeat
before each terminal and at the end.
"""

from collections.abc import Callable, Mapping
from typing import Final

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.lowering.expr import EMPTY, EPSILON, ahead, alt, concat, repeat, stop
from guideway.lowering.grammar import lower_grammar
from guideway.lowering.lark_contextual import lower_lark_contextual
from guideway.lowering.lark_plans import check_length, least_texts
from guideway.lowering.lark_terminals import limited, said_of
from guideway.lowering.meets import solid
from guideway.lowering.nodes import Expr
from guideway.lowering.preferred import exits
from guideway.syntax.gbnf import Alternative, Grammar, Item, Name, Terminal
from guideway.syntax.lark_errors import LarkGrammar, LarkTerminal, Production, within
from guideway.syntax.lark_source import Lark, regexes_placed
from guideway.syntax.regex import parse_regex
from guideway.syntax.sources import Source

UNNAMED: Final = "__"  # prefix of rules that Lark generates


def lower_lark_dynamic(grammar: LarkGrammar, parts: Mapping[str, Expr] | None = None) -> Expr:
    """Expression of a grammar; `parts` are its non-Lark parts, never empty.

    Raises UnsatisfiableError, UnsupportedError or LimitError.
    """
    others: Mapping[str, Expr] = parts or {}
    _check_length(grammar, others)
    # Above the lookahead levels of all parts.
    level = max((each.looks for each in others.values()), default=0)
    terminals = {
        name: _taken(each, level, bool(others)) for name, each in grammar.terminals.items()
    }
    terminals |= others
    ignored = repeat(alt(*(terminals[name] for name in grammar.ignored)))
    rules = {
        name: tuple(
            _alternative(expansion, grammar.rules, terminals)
            for expansion in expansions
            if not any(terminals.get(symbol) is EMPTY for symbol in expansion)
        )
        for name, expansions in grammar.rules.items()
    }
    unnamed = frozenset(name for name in rules if name.startswith(UNNAMED))
    found = lower_grammar(
        Grammar(rules, grammar.start, unnamed),
        {name: concat(ignored, text) for name, text in terminals.items()},
    )
    texts = concat(found, ignored)
    if not texts.looks:
        return texts
    if not texts.nullable:
        return concat(texts, stop(level))
    # The empty alternative has no lookahead, so the whole may be repeated.
    return alt(concat(solid(texts), stop(level)), EPSILON)


def _check_length(grammar: LarkGrammar, others: Mapping[str, Expr]) -> None:
    """Check the shortest text before lowering, which would build it."""
    widths = {name: each.min_width for name, each in grammar.terminals.items()}
    made = [Production(name, each) for name, rows in grammar.rules.items() for each in rows]
    needed = least_texts(made, {**widths, **dict.fromkeys(others, 1)}).get(grammar.start)
    check_length(grammar.start, needed or 0)


def _alternative(
    expansion: tuple[str, ...], rules: Mapping[str, object], terminals: Mapping[str, Expr]
) -> Alternative:
    for symbol in expansion:
        if symbol not in rules and symbol not in terminals:
            raise UnsupportedError(
                f"the terminal {symbol} is only declared, and the dynamic lexer has no postlex "
                "that makes it",
                feature="%declare",
            )
    return tuple(Item(Name(name) if name in rules else Terminal(name)) for name in expansion)


def _taken(terminal: LarkTerminal, level: int, marks: bool) -> Expr:
    """The texts of a terminal with the lookahead that `re.match` implies."""
    try:
        found = exits(parse_regex(terminal.pattern), marks, terminal.solid)
    except (SourceError, UnsupportedError) as error:
        raise said_of(terminal, error) from None
    except LimitError as error:
        raise limited(terminal, error) from None
    return alt(*(concat(each.text, ahead(each.after, level)) for each in found))


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
