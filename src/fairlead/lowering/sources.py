"""Every kind of source to the core: the one place that knows them all."""

from fairlead.errors import SourceError, UnsupportedError
from fairlead.lowering.alternatives import either
from fairlead.lowering.expr import alt, both, complement, concat, literal, repeat
from fairlead.lowering.fuel import spend
from fairlead.lowering.grammar import lower_grammar
from fairlead.lowering.json_schema import lower_json_schema
from fairlead.lowering.lark import lower_lark
from fairlead.lowering.nodes import Expr
from fairlead.lowering.regex import lower_regex
from fairlead.lowering.regions import lower_until
from fairlead.lowering.special import special
from fairlead.lowering.unicode import TEXT
from fairlead.syntax.gbnf import parse_gbnf
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.lark_reader import read_lark
from fairlead.syntax.lark_source import Lark
from fairlead.syntax.python_types import type_source
from fairlead.syntax.regex import parse_regex
from fairlead.syntax.regions import Captured, Composed, Region, Until
from fairlead.syntax.sources import (
    Both,
    Choice,
    Either,
    Gbnf,
    Inverse,
    Literal,
    PythonType,
    Regex,
    Repetition,
    Sequence,
    Source,
    Text,
)
from fairlead.syntax.special import Special


def lower_source(source: Source) -> Expr:
    """The texts of `source` as byte strings.

    >>> lower_source(Literal("a") | Literal("b")) is lower_source(Choice(["b", "a"]))
    True

    Raises:
        SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `fairlead.compile` says.
    """
    match source:
        case Literal(text):
            return literal(text)
        case Choice(options):
            return either(option.encode() for option in options)
        case Text():
            return TEXT
        case Regex() | Gbnf() | Lark():
            return _lower_notation(source)
        case JsonSchema() | PythonType():
            return lower_json_schema(
                type_source(source) if isinstance(source, PythonType) else source
            )
        case _:
            return _lower_combination(source)


def _lower_notation(source: Regex | Gbnf | Lark) -> Expr:
    if isinstance(source, Regex):
        spend(len(source.pattern))
        return lower_regex(parse_regex(source.pattern, source.dialect, source.flags))
    spend(len(source.text))
    if isinstance(source, Lark):
        return lower_lark(read_lark(source))
    return lower_grammar(parse_gbnf(source.text, source.root))


def _lower_combination(source: Source) -> Expr:
    match source:
        case Special() | Until() | Captured() | Region() | Composed():
            return _lower_place(source)
        case Sequence(parts):
            return concat(*map(lower_source, parts))
        case Either(parts):
            return alt(*map(lower_source, parts))
        case Both(parts):
            first, *others = (_regular(part, "&") for part in parts)
            for other in others:
                first = both(first, other)
            return first
        case Inverse(item):
            return both(TEXT, complement(_regular(item, "~")))
        case Repetition(item, low, high):
            return repeat(lower_source(item), low, high)
        case _:
            raise SourceError(f"{type(source).__name__} is a source that nothing here reads")


def _lower_place(source: Special | Until | Captured | Region | Composed) -> Expr:
    match source:
        case Special(token):
            return special(str(token))
        case Until(stop, _, others):
            return lower_until(source, lower_source(stop), [*map(lower_source, others)])
        case Captured(_, item) | Region(_, item):
            return lower_source(item)
        case Composed():
            return lower_source(source.spelled_out)


def _regular(source: Source, operator: str) -> Expr:
    expr = lower_source(source)
    if not expr.regular:
        raise UnsupportedError(
            f"{operator} needs languages without nesting: regexes, choices, texts and what is made "
            f"of them; {type(source).__name__} nests",
            feature=f"{operator} on {type(source).__name__}",
        )
    return expr
