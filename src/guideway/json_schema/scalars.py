"""Strings and numbers of a formula as regular expressions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any, Final, cast

from guideway.errors import LimitError, UnsupportedError
from guideway.json_schema.formats import format_bound, is_plain_format, lower_format
from guideway.json_schema.formulas import (
    TRUE,
    Amount,
    Every,
    Formula,
    Leaf,
    Some,
    Text,
    Truth,
    atoms,
    conjuncts,
    fold,
)
from guideway.json_schema.key_classes import strings_with
from guideway.json_schema.numbers import (
    common,
    common_multiple,
    lower_numbers,
    lower_other_numbers,
    merged,
    multiples,
    no_number,
    number_range,
    tightest,
)
from guideway.json_schema.spelling import PLAIN, QUOTE, JsonStyle, Spelling, words_rule
from guideway.json_schema.tree import (
    JSON_TEXT,
    Bound,
    Numbers,
    Strings,
    factor_of,
)
from guideway.language.expr import EMPTY, EPSILON, alt, both, complement, concat, repeat
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.regular import apart_by_bytes
from guideway.language.utf8 import SCALARS
from guideway.regex.lowering import lower_regex, lower_search
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Pattern


def _cells(formula: Formula, every: int, holding: Callable[[Any], int]) -> int:
    """The cells in which a formula holds, as bits of `every`; `holding`: those of an atom."""

    def make(node: Formula, made: dict[Formula, int]) -> int:
        match node:
            case Leaf(atom):
                cells = holding(atom)
                return cells if cast("Text | Amount", atom).sign else every ^ cells
            case Every(parts):
                return reduce(int.__and__, (made[part] for part in parts), every)
            case Some(parts):
                return reduce(int.__or__, (made[part] for part in parts), 0)
            case _:
                return every if node is TRUE else 0

    return fold(formula, make)


def _bits(first: int, end: int) -> int:
    return (1 << max(first, end)) - (1 << first)


def _runs(cells: int) -> Iterator[tuple[int, int]]:
    """The first bit and the end of each run of bits, in order."""
    end = 0
    while rest := cells >> end:
        first = end + (rest & -rest).bit_length() - 1
        rest = (cells >> first) + 1
        end = first + (rest & -rest).bit_length() - 1
        yield first, end


def in_lengths(formula: Formula, character: Expr) -> Expr | None:
    """The strings that satisfy a formula about lengths alone; None for others, and for one range.

    Args:
        formula: a formula over `Text`.
        character: the spellings of one character.
    """
    if isinstance(formula, Leaf) or not formula.parts:
        return None
    said = [cast("Text", atom).strings for atom in atoms(formula)]
    if any(strings != Strings(low=strings.low, high=strings.high) for strings in said):
        return None
    ends = [one.high + 1 for one in said if one.high is not None]
    cuts = sorted({0, *(one.low for one in said), *ends})
    spend(len(said) + len(cuts))

    def holding(atom: Text) -> int:
        low, high = atom.strings.low, atom.strings.high
        return _bits(cuts.index(low), len(cuts) if high is None else cuts.index(high + 1))

    cells = _cells(formula, _bits(0, len(cuts)), holding)
    # Counts of characters, nested so that no more than two are kept at once.
    rest, following = EMPTY, 0
    for first, end in reversed([*_runs(cells)]):
        low = cuts[first]
        here = repeat(character, 0, cuts[end] - 1 - low if end < len(cuts) else None)
        rest = alt(here, concat(_count(character, following - low), rest))
        following = low
    return concat(_count(character, following), rest)


def _count(character: Expr, count: int) -> Expr:
    return repeat(character, count, count) if count > 0 else EPSILON


def in_ranges(formula: Formula, *, plain: bool) -> Expr | None:
    """The numbers that satisfy a formula about bounds alone; None for others, and for one range."""
    if isinstance(formula, Leaf) or not formula.parts:
        return None
    said = [cast("Amount", atom).numbers for atom in atoms(formula)]
    if any(one != Numbers(integer=one.integer, lower=one.lower, upper=one.upper) for one in said):
        return None
    # A cut is before a number or, True, behind it. Each cell counts once for integers and once,
    # `size` bits further, for fractions.
    lower = {(bound.value, bound.exclusive) for one in said for bound in one.lower}
    upper = {(bound.value, not bound.exclusive) for one in said for bound in one.upper}
    cuts = sorted(lower | upper)
    place = {cut: index for index, cut in enumerate(cuts, 1)}
    size = len(cuts) + 1
    spend(len(said) + size)

    def holding(atom: Amount) -> int:
        low, high = tightest(atom.numbers)
        first = 0 if low is None else place[low.value, low.exclusive]
        cells = _bits(first, size if high is None else place[high.value, not high.exclusive])
        return cells if atom.numbers.integer else cells | cells << size

    def ranges(cells: int) -> Iterator[tuple[Bound | None, Bound | None]]:
        for first, end in _runs(cells):
            low = Bound(*cuts[first - 1]) if first else None
            yield low, None if end == size else Bound(cuts[end - 1][0], not cuts[end - 1][1])

    found = _cells(formula, _bits(0, 2 * size), holding)
    whole, broken = found & _bits(0, size), found >> size
    fractions = multiples(Decimal(1), denied=True, plain=plain) if broken & ~whole else EMPTY
    return alt(
        *(number_range(low, high, plain=plain) for low, high in ranges(whole & broken)),
        *(_integers(low, high, plain) for low, high in ranges(whole & ~broken)),
        *(
            both(number_range(low, high, plain=plain), fractions)
            for low, high in ranges(broken & ~whole)
        ),
    )


def _integers(low: Bound | None, high: Bound | None, plain: bool) -> Expr:
    lower, upper = () if low is None else (low,), () if high is None else (high,)
    return lower_numbers(Numbers(integer=True, lower=lower, upper=upper), plain=plain)


_MANY_FACTORS: Final = 3
_MOST_RESTS: Final = 1 << 17


def string(formula: Formula, style: JsonStyle) -> Expr:
    """The strings that satisfy a formula, with their quotes; lists become words."""
    listed = _listed_strings(formula)
    words = None if listed is None else words_rule(listed, style)
    return words or concat(QUOTE, text_content(formula, style.spelling), QUOTE)


def _listed_strings(formula: Formula, deep: int = 3) -> list[str] | None:
    """The strings that a formula lists, in order, if its only other conditions are lengths."""
    if isinstance(formula, Some):
        return _each_listed(formula.parts, deep - 1) if deep else None
    plain, others = _partitioned(conjuncts(formula))
    denied = [_denied_values(part) for part in others if not isinstance(part, Some)]
    chosen = [_listed_strings(part, deep) for part in others if isinstance(part, Some)]
    whole, *more = _merged(plain or [Strings()])
    values = common([whole.values, *(frozenset(texts) for texts in chosen if texts is not None)])
    if more or values is None or None in chosen or not all(denied):
        return None
    return _fitting(Strings(values.difference(*denied), whole.low, whole.high))


def _each_listed(parts: Iterable[Formula], deep: int) -> list[str] | None:
    found = [_listed_strings(part, deep) for part in parts]
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
                plain, others = _partitioned(node.parts)
                if any(strings.values is not None for strings in plain):
                    listed = [values for part in others if (values := _denied_values(part))]
                    plain.append(_difference(_merged(plain)[0], listed))
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


def _partitioned(parts: Iterable[Formula]) -> tuple[list[Strings], list[Formula]]:
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


def _difference(strings: Strings, denied: list[frozenset[str]]) -> Strings:
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
    others = (replace(part, values=None, low=0, high=None) for part in parts)
    return [Strings(values, low, high), *(part for part in others if part != Strings())]


def _strings(parts: list[Strings], spelling: Spelling, outer: bool = False) -> list[Expr]:
    """Expressions whose intersection is these keywords; `outer`: a superset."""
    found: list[Expr] = []
    plain = not outer and any(p.format is not None and is_plain_format(p.format) for p in parts)
    for part in parts:
        if part.holds is not None:
            raise UnsupportedError("JSON in a string is not supported here", feature=JSON_TEXT)
        if part.values is not None:
            found.append(_one_of(tuple(_fitting(part)), spelling))
        elif (part.low, part.high) != (0, None):
            counted = spelling.character(PLAIN if plain else SCALARS)
            found.append(repeat(counted, part.low, part.high))
        if part.pattern is not None:
            found.append(strings_with(part.pattern, spelling))
        if part.format is not None:
            found.append(_format(part.format, spelling, outer))
    patterns = [part.pattern for part in parts if part.pattern is not None]
    formats = [part.format for part in parts if part.format is not None]
    if any(_are_apart(one, name) for one in patterns for name in formats):
        return [EMPTY]
    return found or [spelling.content]


@lru_cache(maxsize=512)
def _are_apart(pattern: Pattern, name: str) -> bool:
    """Return True if bytes show that a pattern matches no string of a format."""

    def match(pattern: str) -> Expr:
        return lower_regex(parse_regex(pattern, "ecma"))

    return apart_by_bytes(lower_search(pattern), format_bound(name, match))


def _fitting(part: Strings) -> list[str]:
    values = part.values or frozenset()
    most = len(max(values, key=len, default="")) if part.high is None else part.high
    return [value for value in sorted(values) if part.low <= len(value) <= most]


@lru_cache(maxsize=1024)
def _one_of(values: tuple[str, ...], spelling: Spelling) -> Expr:
    """One of some strings."""
    return spelling.choose((value, EPSILON) for value in values)


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
                if atom.sign:
                    return _amount(atom.numbers, plain=plain)
                return lower_other_numbers(merged([atom.numbers]), plain=plain)
            case Some(parts):
                return alt(*(made[part] for part in parts))
            case _:
                said = [found for part in node.parts if (found := _amount_of(part)) is not None]
                whole = merged(said) if said else None
                others = [made[part] for part in node.parts if _amount_of(part) is None]
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


@lru_cache(maxsize=16)
def _amount(numbers: Numbers, *, plain: bool) -> Expr:
    numbers = merged([numbers])
    return EMPTY if no_number(numbers) else lower_numbers(numbers, plain=plain)
