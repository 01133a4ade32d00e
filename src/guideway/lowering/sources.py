"""Lower every kind of source."""

import re
from collections.abc import Callable
from functools import partial
from itertools import chain, product
from math import prod
from typing import Final, TypeAlias

from guideway.errors import SourceError, UnsupportedError
from guideway.lowering.expr import alt, concat, literal, repeat
from guideway.lowering.fuel import spend
from guideway.lowering.grammar import lower_grammar
from guideway.lowering.json_schema import apart, lower_json_schema, lower_strings, lower_together
from guideway.lowering.json_text import choice
from guideway.lowering.lark import lower_lark
from guideway.lowering.meets import Decider, Operand, meet
from guideway.lowering.nodes import Expr
from guideway.lowering.regex import lower_regex
from guideway.lowering.regions import lower_until
from guideway.lowering.special import special
from guideway.lowering.substrings import lower_substring
from guideway.lowering.unicode import TEXT
from guideway.syntax.gbnf import parse_gbnf, tokens_of
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.lark_reader import read_lark
from guideway.syntax.lark_source import Lark, regexes_placed
from guideway.syntax.python_types import type_source
from guideway.syntax.regex import parse_regex
from guideway.syntax.regions import Captured, Composed, Region, Until
from guideway.syntax.sources import (
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
from guideway.syntax.special import Special, Substring
from guideway.syntax.tool_literals import RawStrings
from guideway.syntax.written import parts_of, written

Meeting: TypeAlias = tuple[Source, bool]
"""An operand of an intersection, and whether it is denied."""

_IN_REGEX: Final = re.compile(r"\(\?#(?:\\.|[^\\)])*+", re.DOTALL)  # terminated or not
_IN_LARK: Final = re.compile(r"^[ \t]*+(?://|#)[^\n]*+", re.MULTILINE)
_SKIPPED: Final = 8  # characters of comments per unit of fuel: 1 MB took .2 s

MOST_WAYS: Final = 64
"""Most combinations of one alternative of each operand."""


def lower_source(  # noqa: PLR0911  an arm for each
    source: Source, decide: Decider | None = None, *, regular: bool = False
) -> Expr:
    """Texts of `source` as byte strings.

    `decide` answers questions that take a search; without it, more sources are refused. `regular`
    makes even a long `Choice` a regular expression.
    """
    match source:
        case Literal(text):
            return literal(text)
        case Choice(options):
            return choice(options, regular=regular)
        case Text():
            return TEXT
        case Regex() | Gbnf() | Lark() | Substring():
            return _lower_notation(source, partial(lower_source, decide=decide, regular=True))
        case RawStrings(schema):
            return lower_strings(schema)
        case JsonSchema() | PythonType():
            return lower_json_schema(_schema(source))
        case _:
            among = isinstance(source, Both | Inverse | Until)
            lower = partial(lower_source, decide=decide, regular=regular or among)
            return _lower_combination(source, lower, decide)


def _schema(source: JsonSchema | PythonType) -> JsonSchema:
    return type_source(source) if isinstance(source, PythonType) else source


def _spend_on(text: str, comments: re.Pattern[str]) -> None:
    """Pay for a text by its length; comments cost less."""
    skipped = sum(found.end() - found.start() for found in comments.finditer(text))
    spend(len(text) - skipped + skipped // _SKIPPED)


def _lower_notation(
    source: Regex | Gbnf | Lark | Substring, lower: Callable[[Source], Expr]
) -> Expr:
    match source:
        case Regex(pattern, dialect, flags):
            _spend_on(pattern, _IN_REGEX)
            return lower_regex(parse_regex(pattern, dialect, flags))
        case Substring(chunks):
            return lower_substring(chunks)
        case Lark(text):
            _spend_on(text, _IN_LARK)
            grammar = read_lark(source, spend)
            with regexes_placed(source, grammar.terminals.values()):
                return lower_lark(grammar, lower)
        case _:
            spend(len(source.text))
            tokens = dict(source.tokens) or tokens_of(source.text)
            lowered = {name: lower(each) for name, each in tokens.items()}
            return lower_grammar(parse_gbnf(source.text, source.root), lowered)


def _lower_combination(
    source: Source, lower: Callable[[Source], Expr], decide: Decider | None
) -> Expr:
    match source:
        case Special() | Until() | Captured() | Region() | Composed():
            return _lower_place(source, lower)
        case Sequence(parts):
            return concat(*map(lower, parts))
        case Either(parts):
            return alt(*map(lower, parts))
        case Both() | Inverse():
            return _lower_meet(source, lower, decide)
        case Repetition(item, low, high):
            return repeat(lower(item), low, high)
        case _:
            raise SourceError(f"{type(source).__name__} is not a source of guideway")


def _lower_place(
    source: Special | Until | Captured | Region | Composed, lower: Callable[[Source], Expr]
) -> Expr:
    match source:
        case Special(token):
            return special(str(token))
        case Until(stop, _, others):
            return lower_until(source, lower(stop), [*map(lower, others)])
        case Captured(_, item) | Region(_, item):
            return lower(item)
        case _:
            return lower(source.spelled_out)


def _lower_meet(
    source: Both | Inverse, lower: Callable[[Source], Expr], decide: Decider | None
) -> Expr:
    """Intersect as a whole or, if that is refused, alternative by alternative."""
    parts = _parts(source)
    try:
        return _met(parts, lower, decide)
    except UnsupportedError:
        ways = _alternatives(parts)
        if len(ways) == 1:
            raise
    spend(len(ways) * len(parts))
    return alt(*(_met(way, lower, decide) for way in ways))


def _alternatives(parts: list[Meeting]) -> list[list[Meeting]]:
    options = [
        [[(part, True)]] if denied else [_parts(option) for option in _options(part)]
        for part, denied in parts
    ]
    if prod(map(len, options)) > MOST_WAYS:
        return [parts]
    return [[*chain.from_iterable(way)] for way in product(*options)]


def _options(source: Source) -> list[Source]:
    found: list[Source] = []
    todo = [source]
    while todo:
        part = todo.pop()
        if isinstance(part, Either):
            todo += reversed(part.parts)
        else:
            found.append(part)
    return found


def _met(parts: list[Meeting], lower: Callable[[Source], Expr], decide: Decider | None) -> Expr:
    operands: list[Operand] = []
    held: list[JsonSchema] = []
    denied: list[JsonSchema] = []
    schemas: list[tuple[Source, bool]] = []
    for part, sign in parts:
        if isinstance(part, JsonSchema | PythonType):
            schemas.append((part, sign))
            (denied if sign else held).append(_schema(part))
        else:
            operands.append(Operand(written(part), lower(part), sign, _is_marked(part)))
    several = bool(held) and len(schemas) > 1
    option = apart(held, denied) if several else ""
    if several and not option:
        name = " & ".join(f"~{written(part)}" if no else written(part) for part, no in schemas)
        operands.append(Operand(name, lower_together(held, denied)))
    else:
        operands += [Operand(written(part), lower(part), sign) for part, sign in schemas]
    return meet(operands, decide, option)


def _is_marked(source: Source) -> bool:
    return isinstance(source, Special) or any(map(_is_marked, parts_of(source)))


def _parts(source: Source) -> list[Meeting]:
    """Flatten the operands, each with whether it is denied (De Morgan)."""
    found: list[Meeting] = []
    todo: list[Meeting] = [(source, False)]
    while todo:
        part, denied = todo.pop()
        if isinstance(part, Inverse):
            todo.append((part.item, not denied))
        elif isinstance(part, Both) and not denied:
            todo += reversed([(each, False) for each in part.parts])
        elif isinstance(part, Either) and denied:
            todo += reversed([(each, True) for each in part.parts])
        elif isinstance(part, Both):
            found.append((Either(tuple(map(Inverse, part.parts))), False))
        else:
            found.append((part, denied))
    return found
