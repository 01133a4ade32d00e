"""Lower every kind of source.

Free text up to a stop is one regular expression: until(R) is text·R ∧ ¬(any·R·byte·any); without
the stop, text ∧ ¬(any·R·any).
"""

import re
from collections.abc import Callable
from functools import partial
from itertools import chain, product
from math import prod
from typing import Final, TypeAlias

from guideway.chat.parts import operands_of, parts_of, written
from guideway.chat.tool_literals import RawStrings
from guideway.context_free.gbnf import parse_gbnf, tokens_of
from guideway.context_free.lark.lowering import lower_lark
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark, regexes_placed
from guideway.context_free.lowering import lower_grammar
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.json_schema.lowering import lower_json_schema, lower_strings, lower_together, mismatch
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import choice
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EPSILON,
    ONE_BYTE,
    alt,
    both,
    branching,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.finite_languages import Decisions
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.set_algebra import Operand, meet
from guideway.language.special_tokens import special
from guideway.language.utf8 import TEXT
from guideway.python_types.source import type_source
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from guideway.sources.regions import Captured, Composed, Region, Special, Substring, Until
from guideway.sources.sources import (
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

MOST_STOP = 1000


def lower_until(until: Until, stop: Expr, others: list[Expr]) -> Expr:
    """Texts of `until`, whose stop and other parts are lowered already."""
    longest = max(
        (len(part.text) for part in _stops(until) if isinstance(part, Literal)), default=0
    )
    if longest > MOST_STOP:
        raise LimitError(
            f"a stop has at most {MOST_STOP} characters, got {longest}",
            limit="characters of a stop",
            given=MOST_STOP,
            needed=longest,
        )
    stops = alt(stop, *others)
    if stops.nullable:
        raise SourceError("a stop or trigger must not match the empty text")
    if not stops.regular:
        raise UnsupportedError(
            "a stop must be a text, a special token or another regular source; this source nests",
            feature="stop that nests",
        )
    names = alt(*map(literal, _names(until)))
    if not until.include:
        return both(TEXT, complement(_containing(alt(stops, names))))
    text = both(TEXT, complement(_containing(names)))
    early = concat(ANYTHING, stops, byte_set(ALL_BYTES), ANYTHING)
    return both(concat(text, stop), complement(early))


def _containing(part: Expr) -> Expr:
    return concat(ANYTHING, part, ANYTHING)


def _stops(until: Until) -> list[Source]:
    found: list[Source] = [until.stop, *until.others]
    for each in found:  # grows while we go
        found += parts_of(each)
    return found


def _names(until: Until) -> list[str]:
    names = [str(each.token) for each in _stops(until) if isinstance(each, Special)]
    return [name for name in names if not name.startswith("<[")]


def lower_substring(chunks: tuple[str, ...]) -> Expr:
    """Texts of any consecutive chunks, or of none."""
    ways, longest = _automaton(chunks)
    made: list[Expr] = [EPSILON] * len(ways)
    for state in sorted(range(len(ways)), key=longest.__getitem__, reverse=True):
        spend(len(ways[state]))
        steps = ((chunk.encode(), made[to]) for chunk, to in ways[state].items())
        made[state] = alt(EPSILON, branching(steps, ONE_BYTE.__getitem__))
    return made[0]


def _automaton(chunks: tuple[str, ...]) -> tuple[list[dict[str, int]], list[int]]:
    """Transitions of each state by chunk, and the length of the longest run to it."""
    ways, longest, links = [dict[str, int]()], [0], [-1]
    last = 0
    for chunk in chunks:
        spend(1)
        new, at, last = len(ways), last, len(ways)
        ways.append({})
        longest.append(longest[at] + 1)
        links.append(0)
        while at >= 0 and chunk not in ways[at]:
            ways[at][chunk] = new
            at = links[at]
        if at < 0:
            continue
        met = ways[at][chunk]
        if longest[met] == longest[at] + 1:
            links[new] = met
            continue
        twin = len(ways)
        ways.append(dict(ways[met]))
        longest.append(longest[at] + 1)
        links.append(links[met])
        links[met] = links[new] = twin
        while at >= 0 and ways[at].get(chunk) == met:
            ways[at][chunk] = twin
            at = links[at]
    return ways, longest


Meeting: TypeAlias = tuple[Source, bool]
"""An operand of an intersection, and whether it is denied."""

_IN_REGEX: Final = re.compile(r"\(\?#(?:\\.|[^\\)])*+", re.DOTALL)  # terminated or not
_IN_LARK: Final = re.compile(r"^[ \t]*+(?://|#)[^\n]*+", re.MULTILINE)
_SKIPPED: Final = 8  # characters of comments per unit of fuel: 1 MB took .2 s

MOST_WAYS: Final = 64
"""Most combinations of one alternative of each operand."""


def lower_source(  # noqa: PLR0911  an arm for each
    source: Source, decide: Decisions | None = None, *, regular: bool = False
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
            grammar = read_lark(source)
            with regexes_placed(source, grammar.terminals.values()):
                return lower_lark(grammar, lower)
        case _:
            spend(len(source.text))
            tokens = dict(source.tokens) or tokens_of(source.text)
            lowered = {name: lower(each) for name, each in tokens.items()}
            return lower_grammar(parse_gbnf(source.text, source.root), lowered)


def _lower_combination(
    source: Source, lower: Callable[[Source], Expr], decide: Decisions | None
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
    source: Both | Inverse, lower: Callable[[Source], Expr], decide: Decisions | None
) -> Expr:
    """Intersect as a whole or, if that is refused, alternative by alternative."""
    parts = _operands(source)
    try:
        return _meet(parts, lower, decide)
    except UnsupportedError:
        ways = _alternatives(parts)
        if len(ways) == 1:
            raise
    spend(len(ways) * len(parts))
    return alt(*(_meet(way, lower, decide) for way in ways))


def _alternatives(parts: list[Meeting]) -> list[list[Meeting]]:
    options = [
        [[(part, True)]] if denied else [_operands(option) for option in operands_of(part, Either)]
        for part, denied in parts
    ]
    if prod(map(len, options)) > MOST_WAYS:
        return [parts]
    return [[*chain.from_iterable(way)] for way in product(*options)]


def _meet(parts: list[Meeting], lower: Callable[[Source], Expr], decide: Decisions | None) -> Expr:
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
    option = mismatch(held, denied) if several else ""
    if several and not option:
        name = " & ".join(f"~{written(part)}" if no else written(part) for part, no in schemas)
        operands.append(Operand(name, lower_together(held, denied)))
    else:
        operands += [Operand(written(part), lower(part), sign) for part, sign in schemas]
    return meet(operands, decide, option)


def _is_marked(source: Source) -> bool:
    return isinstance(source, Special) or any(map(_is_marked, parts_of(source)))


def _operands(source: Source, denied: bool = False) -> list[Meeting]:
    """Flatten the operands, each with whether it is denied (De Morgan)."""
    match source:
        case Inverse(item):
            return _operands(item, not denied)
        case Both(parts) if denied:
            return [(Either(tuple(map(Inverse, parts))), False)]
        case Both(parts):
            return [each for part in parts for each in _operands(part)]
        case Either(parts) if denied:
            return [each for part in parts for each in _operands(part, denied)]
        case _:
            return [(source, denied)]
