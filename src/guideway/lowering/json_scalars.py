"""Strings and numbers that a formula allows, as regular expressions.

Strings are exact. Numbers have only the spellings of `numbers`, so the complement of a range is
built separately.
"""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache, partial, reduce
from itertools import groupby
from typing import Final, cast

from guideway.errors import LimitError, UnsupportedError
from guideway.lowering.expr import (
    EMPTY,
    EPSILON,
    alt,
    both,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.lowering.formats import format_bound, is_plain_format, lower_format
from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import Amount, Text
from guideway.lowering.json_formulas import (
    Atom,
    Every,
    Formula,
    Leaf,
    Some,
    Truth,
    atoms,
    fold,
    holds,
)
from guideway.lowering.json_lengths import in_lengths
from guideway.lowering.json_numbers import common, implies, merged, no_number, within
from guideway.lowering.json_patterns import strings_with
from guideway.lowering.json_ranges import in_ranges
from guideway.lowering.json_text import PLAIN, QUOTE, JsonStyle, Spelling
from guideway.lowering.json_words import words_rule
from guideway.lowering.nodes import Expr
from guideway.lowering.number_far import is_far
from guideway.lowering.numbers import (
    common_multiple,
    lower_numbers,
    lower_other_numbers,
    number_range,
)
from guideway.lowering.regex import lower_regex
from guideway.lowering.unicode import SCALARS
from guideway.syntax.json_schema_keywords import JSON_TEXT
from guideway.syntax.json_schema_multiples import factor_of
from guideway.syntax.json_schema_tree import Numbers, Schema, Strings
from guideway.syntax.regex import parse_regex

_FEW_STRINGS: Final = 64
_DEEPEST: Final = 8
_MANY_FACTORS: Final = 3
_MOST_RESTS: Final = 1 << 17


def scalars(schema: Schema, spelling: Spelling) -> Expr:
    """The values of a schema without arrays and objects."""
    options: list[Expr] = []
    if "null" in schema.kinds:
        options.append(literal("null"))
    if "boolean" in schema.kinds:
        options += [
            literal(text)
            for text, value in (("true", True), ("false", False))
            if value in schema.booleans
        ]
    if "number" in schema.kinds:
        options.append(_amount(schema.numbers, plain=spelling.plain))
    if "string" in schema.kinds:
        content = reduce(both, _strings([schema.strings], spelling))
        options.append(concat(QUOTE, content, QUOTE))
    return alt(*options)


def string(formula: Formula, style: JsonStyle) -> Expr:
    """The strings that satisfy a formula, with their quotes; long lists become words."""
    listed = _listed(formula)
    words = None if listed is None or len(listed) <= _FEW_STRINGS else words_rule(listed, style)
    return words or concat(QUOTE, text_content(formula, style.spelling), QUOTE)


def _listed(formula: Formula, deep: int = 3) -> list[str] | None:
    """The strings that a formula lists, in order, if its only other conditions are lengths."""
    if isinstance(formula, Some):
        return _each_listed(formula.parts, deep - 1) if deep else None
    plain, others = _sorted(formula.parts if isinstance(formula, Every) else (formula,))
    denied = [_denied_values(part) for part in others if not isinstance(part, Some)]
    chosen = [_listed(part, deep) for part in others if isinstance(part, Some)]
    whole, *more = _merged(plain or [Strings()])
    values = common([whole.values, *(frozenset(texts) for texts in chosen if texts is not None)])
    if more or values is None or None in chosen or not all(denied):
        return None
    return _kept(Strings(values.difference(*denied), whole.low, whole.high))


def _each_listed(parts: Iterable[Formula], deep: int) -> list[str] | None:
    found = [_listed(part, deep) for part in parts]
    told = [texts for texts in found if texts is not None]
    return sorted({text for texts in told for text in texts}) if len(told) == len(found) else None


def text_content(formula: Formula, spelling: Spelling) -> Expr:
    """The strings for which a formula over `Text` holds, without their quotes."""

    def make(node: Formula, made: dict[Formula, Expr]) -> Expr:
        match node:
            case Truth(holds):
                return spelling.content if holds else EMPTY
            case Leaf(atom):
                return _text(atom, spelling)
            case Some(parts):
                return alt(*(made[part] for part in parts))
            case _:
                plain, others = _sorted(node.parts)
                if any(strings.values is not None for strings in plain):
                    listed = [values for part in others if (values := _denied_values(part))]
                    plain.append(_without(_merged(plain)[0], listed))
                    others = [part for part in others if not _denied_values(part)]
                first = _strings(_merged(plain), spelling) if plain else []
                denied = [text for part in others if (text := _denied_text(part)) is not None]
                if len(denied) > 1 or (denied and first):
                    # One complement of all: of 200, each state had 200 more parts. With all strings
                    # it is soon seen to leave some: otherwise that took minutes for 100.
                    none = complement(alt(*(_shape(text, spelling) for text in denied)))
                    others = [part for part in others if _denied_text(part) is None]
                    # A single one needs all strings only if nothing else holds. Then 10^12
                    # characters that are no date are soon seen to exist: a search took all memory.
                    first += [none] if first and len(denied) == 1 else [spelling.content, none]
                return reduce(both, [*first, *(made[part] for part in others)])

    lengths = in_lengths(formula, spelling.character(SCALARS))
    return fold(formula, make) if lengths is None else lengths


def _sorted(parts: Iterable[Formula]) -> tuple[list[Strings], list[Formula]]:
    plain: list[Strings] = []
    others: list[Formula] = []
    for part in parts:
        if isinstance(part, Leaf) and isinstance(part.atom, Text) and part.atom.sign:
            plain.append(part.atom.strings)
        else:
            others.append(part)
    return plain, others


def _denied_values(part: Formula) -> frozenset[str]:
    if isinstance(part, Leaf) and isinstance(part.atom, Text) and not part.atom.sign:
        strings = part.atom.strings
        if strings.values is not None and strings == Strings(values=strings.values):
            return strings.values
    return frozenset()


def _without(strings: Strings, denied: list[frozenset[str]]) -> Strings:
    """Listed strings without others; intersections with complements would need automata."""
    return Strings(values=(strings.values or frozenset()).difference(*denied))


def _text(atom: object, spelling: Spelling) -> Expr:
    if not isinstance(atom, Text):
        raise TypeError(f"{atom} says nothing about strings")
    shape = _shape(atom, spelling)
    return shape if atom.sign else both(spelling.content, complement(shape))


def _shape(atom: Text, spelling: Spelling) -> Expr:
    return reduce(both, _strings([atom.strings], spelling, outer=not atom.sign))


def _denied_text(part: Formula) -> Text | None:
    atom = part.atom if isinstance(part, Leaf) else None
    return atom if isinstance(atom, Text) and not atom.sign else None


def _merged(parts: list[Strings]) -> list[Strings]:
    values = common(part.values for part in parts)
    low = max(part.low for part in parts)
    high = min((part.high for part in parts if part.high is not None), default=None)
    others = [part for part in parts if part.pattern or part.format or part.holds]
    return [
        Strings(values, low, high),
        *(Strings(pattern=o.pattern, format=o.format, holds=o.holds) for o in others),
    ]


def _strings(parts: list[Strings], spelling: Spelling, outer: bool = False) -> list[Expr]:
    """Expressions whose intersection is these keywords; `outer`: a superset."""
    found: list[Expr] = []
    plain = not outer and any(p.format is not None and is_plain_format(p.format) for p in parts)
    for part in parts:
        if part.holds is not None:
            raise UnsupportedError("JSON in a string is not supported here", feature=JSON_TEXT)
        if part.values is not None:
            found.append(_one_of(tuple(_kept(part)), spelling))
        elif (part.low, part.high) != (0, None):
            counted = spelling.character(PLAIN if plain else SCALARS)
            found.append(repeat(counted, part.low, part.high))
        if part.pattern is not None:
            found.append(strings_with(part.pattern, spelling))
        if part.format is not None:
            found.append(_format(part.format, spelling, outer))
    return found or [spelling.content]


def _kept(part: Strings) -> list[str]:
    values = part.values or frozenset()
    most = len(max(values, key=len, default="")) if part.high is None else part.high
    return [value for value in sorted(values) if part.low <= len(value) <= most]


@lru_cache(maxsize=1024)
def _one_of(values: tuple[str, ...], spelling: Spelling, depth: int = 0) -> Expr:
    """One of some strings, in order; large lists are cached by common prefix."""
    if len(values) <= _FEW_STRINGS or depth == _DEEPEST:
        return spelling.choose((value, EPSILON) for value in values)
    beginning = values[0]
    while not values[-1].startswith(beginning):  # sorted: all have it if the last has
        beginning = beginning[:-1]
    shared = len(beginning)
    groups = {
        first: _one_of(tuple(value[shared + 1 :] for value in group), spelling, depth + 1)
        for first, group in groupby(values, lambda value: value[shared : shared + 1])
        if first
    }
    ended = [(beginning, EPSILON)] if values[0] == beginning else []
    entries = [(beginning + first, rest) for first, rest in groups.items()]
    return spelling.choose([*ended, *entries])


@lru_cache(maxsize=128)
def _format(name: str, spelling: Spelling, outer: bool) -> Expr:
    def match(pattern: str) -> Expr:
        return lower_regex(parse_regex(pattern, "ecma"), spelling.character)

    return (format_bound if outer else lower_format)(name, match)


def number(formula: Formula, *, plain: bool) -> Expr:
    """The numbers for which a formula over `Amount` holds."""

    def make(node: Formula, made: dict[Formula, Expr]) -> Expr:
        match node:
            case Truth(holds):
                return number_range(plain=plain) if holds else EMPTY
            case Leaf(atom):
                if not isinstance(atom, Amount):
                    raise TypeError(f"{atom} says nothing about numbers")
                shape = _amount if atom.sign else _denied
                return shape(atom.numbers, plain=plain)
            case Some(parts):
                return alt(*(made[part] for part in parts))
            case _:
                said = [found for part in node.parts if (found := _amount_of(part)) is not None]
                whole = merged(said) if said else None
                others = [made[part] for part in node.parts if _amount_of(part) is None]
                if others and whole is not None and _is_listed(whole, node):
                    return _amount(_those(whole, node), plain=plain)
                if whole is not None and any(implies(whole, none) for none in _denied_by(node)):
                    return EMPTY  # a search takes 30 s after an exponent of 1417
                first = [] if whole is None else [_amount(whole, plain=plain)]
                return reduce(both, [*first, *others])

    ranges = in_ranges(formula, plain=plain)
    if ranges is not None:
        return ranges
    _check_rests(formula)
    return fold(formula, make)


def _check_rests(formula: Formula) -> None:
    """Refuse mixed multiples and non-multiples with too many remainders together."""
    said = [atom for atom in atoms(formula) if isinstance(atom, Amount) and atom.numbers.multiples]
    factors = {factor for atom in said for factor in atom.numbers.multiples}
    if len(factors) < _MANY_FACTORS or len({atom.sign for atom in said}) == 1:
        return
    if factor_of(common_multiple(tuple(sorted(factors))), most=_MOST_RESTS) is None:
        raise LimitError(
            f"multiples of some of {len(factors)} numbers, and of no others, have more than "
            f"{_MOST_RESTS} remainders",
            limit="rests of multipleOf",
            given=_MOST_RESTS,
        )


def _amount_of(part: Formula) -> Numbers | None:
    atom = part.atom if isinstance(part, Leaf) else None
    return atom.numbers if isinstance(atom, Amount) and atom.sign else None


def _denied_by(node: Formula) -> Iterable[Numbers]:
    for part in node.parts:
        atom = part.atom if isinstance(part, Leaf) else None
        if isinstance(atom, Amount) and not atom.sign:
            yield merged([atom.numbers])


def _is_listed(whole: Numbers, said: Formula) -> bool:
    """Return True if the values can be evaluated one by one."""
    near = whole.values is not None and not any(map(is_far, whole.values))
    return near and not any(atom.numbers.digits for atom in atoms(said) if isinstance(atom, Amount))


def _those(whole: Numbers, said: Formula) -> Numbers:
    kept = [value for value in whole.values or () if holds(said, partial(_is_so, value))]
    spend(len(whole.values or ()))
    return Numbers(frozenset(kept), whole.integer)


def _is_so(value: Decimal, atom: Atom) -> bool:
    numbers = cast("Amount", atom).numbers
    listed = numbers.values is None or value in numbers.values
    return (listed and within(value, numbers)) is cast("Amount", atom).sign


@lru_cache(maxsize=16)
def _amount(numbers: Numbers, *, plain: bool) -> Expr:
    numbers = merged([numbers])
    return EMPTY if no_number(numbers) else lower_numbers(numbers, plain=plain)


def _denied(numbers: Numbers, *, plain: bool) -> Expr:
    return lower_other_numbers(merged([numbers]), plain=plain)
