r"""Lark's Earley parser with its dynamic lexer, as the core reads it.

There is no lexer: every terminal that a rule may go on with is looked for where it would stand, and
takes what `re.match` prefers there, one text at most, whatever the other terminals take. So a
grammar is context-free over its terminals, and any grammar will do: ambiguous, left-recursive, with
rules that may be empty. What is ignored, again as `re.match` prefers it, may stand before every
terminal and at the end, as often as there is of it:

    text  =  (ignored · text of a terminal) for each terminal in turn, ignored

What this module does not know: what a terminal prefers (`lowering.preferred`), how recursion is
lowered (`lowering.grammar`).
"""

from collections.abc import Mapping
from typing import Final

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.lowering.expr import EMPTY, EPSILON, ahead, alt, concat, repeat, stop
from guideway.lowering.grammar import lower_grammar
from guideway.lowering.lark_automaton import check_length, least_texts
from guideway.lowering.lark_terminals import limited, said_of
from guideway.lowering.meets import solid
from guideway.lowering.nodes import Expr
from guideway.lowering.preferred import exits
from guideway.syntax.grammar_tree import Alternative, Grammar, Item, Name, Terminal
from guideway.syntax.lark_tree import LarkGrammar, LarkTerminal, Production
from guideway.syntax.regex import parse_regex

UNNAMED: Final = "__"  # how names of rules begin that Lark has made


def lower_lark_dynamic(grammar: LarkGrammar, parts: Mapping[str, Expr] | None = None) -> Expr:
    r"""The texts of a grammar.

    Args:
        grammar: the grammar.
        parts: what stands in it that is no Lark; never the empty text.

    Example:
        >>> from guideway.syntax.lark_reader import read_lark
        >>> from guideway.syntax.lark_source import Lark
        >>> source = Lark('start: start "+" start | /[0-9]+/', lexer="dynamic")
        >>> lower_lark_dynamic(read_lark(source)).looks
        1

    Raises:
        UnsatisfiableError: no text can be read by the start, naming rules that never end.
        UnsupportedError: what a terminal matches is not regular, depends on what is before it, or
            is to be found by a postlexer.
        LimitError: it is too large.
    """
    others: Mapping[str, Expr] = parts or {}
    _check_length(grammar, others)
    # What looks ahead here looks over what does within a part.
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
    # Nothing looks at the empty text: so it may be repeated.
    return alt(concat(solid(texts), stop(level)), EPSILON)


def _check_length(grammar: LarkGrammar, others: Mapping[str, Expr]) -> None:
    """Before it is lowered: the texts would be made of one another."""
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
    """What a terminal takes, and what has to follow it."""
    try:
        found = exits(parse_regex(terminal.pattern), marks, terminal.solid)
    except (SourceError, UnsupportedError) as error:
        raise said_of(terminal, error) from None
    except LimitError as error:
        raise limited(terminal, error) from None
    return alt(*(concat(each.text, ahead(each.after, level)) for each in found))
