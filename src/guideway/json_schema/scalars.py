"""Strings and numbers of a formula as regular expressions."""

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache, partial, reduce
from itertools import groupby
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast, final

from guideway.errors import LimitError, UnsupportedError
from guideway.json_schema.formats import format_bound, is_plain_format, lower_format
from guideway.json_schema.formulas import (
    FALSE,
    Amount,
    Atom,
    Every,
    Formula,
    Leaf,
    Some,
    Text,
    Truth,
    atoms,
    fold,
    holds,
)
from guideway.json_schema.key_classes import strings_with
from guideway.json_schema.numbers import (
    common,
    common_multiple,
    implies,
    is_far,
    lower_numbers,
    lower_other_numbers,
    merged,
    multiples,
    no_number,
    number_range,
    tightest,
    within,
)
from guideway.json_schema.resources import JSON_TEXT, LATEST, Draft
from guideway.json_schema.spelling import PLAIN, QUOTE, JsonStyle, Spelling, words_rule
from guideway.json_schema.tree import (
    Bound,
    Numbers,
    Schema,
    Strings,
    factor_of,
    read_scalars,
)
from guideway.language.expr import EMPTY, EPSILON, alt, both, complement, concat, literal, repeat
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.regular import apart_by_bytes
from guideway.language.utf8 import SCALARS
from guideway.language.values import by_value
from guideway.regex.lowering import lower_regex, lower_search
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Pattern


def in_lengths(formula: Formula, character: Expr) -> Expr | None:
    """The strings that satisfy a formula about lengths alone; None for others, and for one range.

    Args:
        formula: what is said.
        character: the spellings of one character.
    """
    if isinstance(formula, Leaf) or not formula.parts:
        return None
    said = [cast("Text", atom).strings for atom in atoms(formula)]
    if any(strings != Strings(low=strings.low, high=strings.high) for strings in said):
        return None
    cuts = _cuts(said)
    spend(len(said) + len(cuts))
    every = (1 << len(cuts)) - 1

    def make(node: Formula, made: dict[Formula, int]) -> int:
        if isinstance(node, Leaf):
            return _cells(cast("Text", node.atom), cuts)
        found = every if isinstance(node, Every) else 0
        for part in node.parts:
            found = found & made[part] if isinstance(node, Every) else found | made[part]
        return found

    return _texts(_ranges(fold(formula, make), cuts), character)


def _cuts(said: list[Strings]) -> list[int]:
    ends = [one.high + 1 for one in said if one.high is not None]
    return sorted({0, *(one.low for one in said), *ends})


def _cells(atom: Text, cuts: list[int]) -> int:
    """A bit for each cell in which an atom holds."""
    low, high = atom.strings.low, atom.strings.high
    first = bisect_left(cuts, low)
    end = len(cuts) if high is None else bisect_right(cuts, high)
    held = (1 << max(first, end)) - (1 << first)
    return held if atom.sign else (1 << len(cuts)) - 1 - held


def _ranges(cells: int, cuts: list[int]) -> list[tuple[int, int | None]]:
    edges = [
        cut
        for place, cut in enumerate(cuts)
        if (cells >> place & 1) != (place > 0 and cells >> place - 1 & 1)
    ]
    ends = [end - 1 for end in edges[1::2]]
    return [*zip(edges[::2], [*ends, None], strict=False)]


def _texts(ranges: list[tuple[int, int | None]], character: Expr) -> Expr:
    """Counts of characters, nested so that no more than two are kept at once."""
    rest, following = EMPTY, 0
    for low, high in reversed(ranges):
        here = repeat(character, 0, None if high is None else high - low)
        rest = alt(here, concat(_count(character, following - low), rest))
        following = low
    return concat(_count(character, following), rest)


def _count(character: Expr, count: int) -> Expr:
    return repeat(character, count, count) if count > 0 else EPSILON


_LONGEST: Final = 300  # digits of a bound that is rounded
_Cut: TypeAlias = "tuple[Decimal, bool]"  # before a number, or, True, behind it
_Range: TypeAlias = "tuple[Bound | None, Bound | None]"


@final
@by_value
class _Cells:
    """A set of numbers: whether it holds the least, and the cuts where that changes."""

    least: bool
    cuts: tuple[_Cut, ...] = ()

    def others(self) -> "_Cells":
        return _Cells(not self.least, self.cuts)

    def ranges(self) -> list[_Range]:
        bounds = [Bound(value, behind) for value, behind in self.cuts]
        ends = [None, *bounds] if self.least else [*bounds]
        lasts: list[Bound | None] = [
            None if end is None else Bound(end.value, not end.exclusive) for end in ends[1::2]
        ]
        return [*zip(ends[::2], [*lasts, None], strict=False)]


_NONE: Final = _Cells(False)


@final
@by_value
class _Ranges:
    """A set of integers and a set of fractions."""

    whole: _Cells
    broken: _Cells


def in_ranges(formula: Formula, *, plain: bool) -> Expr | None:
    """The numbers that satisfy a formula about bounds alone; None for others, and for one range."""
    if isinstance(formula, Leaf) or not formula.parts:
        return None
    found = _found(formula)
    if found is None:
        return None
    alike, whole, broken = _parted(found)
    spend(len(alike.cuts) + len(whole.cuts) + len(broken.cuts))
    fractions = multiples(Decimal(1), denied=True, plain=plain) if broken != _NONE else EMPTY
    return alt(
        *(number_range(low, high, plain=plain) for low, high in alike.ranges()),
        *(lower_numbers(_numbers(low, high, True), plain=plain) for low, high in whole.ranges()),
        *(both(number_range(low, high, plain=plain), fractions) for low, high in broken.ranges()),
    )


def _numbers(low: Bound | None, high: Bound | None, integer: bool) -> Numbers:
    lower, upper = () if low is None else (low,), () if high is None else (high,)
    return Numbers(integer=integer, lower=lower, upper=upper)


def _found(formula: Formula) -> _Ranges | None:
    def make(node: Formula, made: "dict[Formula, _Ranges | None]") -> _Ranges | None:
        match node:
            case Leaf(Amount(numbers, sign)):
                return _number_ranges(numbers, sign)
            case Every(parts) | Some(parts):
                told = [found for part in parts if (found := made[part]) is not None]
                if len(told) < len(parts):
                    return None
                least = len(parts) if isinstance(node, Every) else 1
                return _joined(told, lambda count: count >= least)
            case _:
                every = _Cells(node is not FALSE)
                return _Ranges(every, every)

    return fold(formula, make)


def _number_ranges(numbers: Numbers, sign: bool) -> _Ranges | None:
    if numbers != Numbers(integer=numbers.integer, lower=numbers.lower, upper=numbers.upper):
        return None
    lower, upper = tightest(numbers)
    cuts: list[_Cut] = [] if lower is None else [(lower.value, lower.exclusive)]
    if upper is not None:
        cuts.append((upper.value, not upper.exclusive))
    cells = _Cells(lower is None, tuple(cuts))
    if len(cuts) > 1 and cuts[0] >= cuts[1]:
        cells = _NONE
    broken = _NONE if numbers.integer else cells
    return _Ranges(cells, broken) if sign else _Ranges(cells.others(), broken.others())


def _joined(sets: list[_Ranges], wanted: Callable[[int], bool]) -> _Ranges:
    """Numbers in as many of the sets as are wanted."""
    return _Ranges(
        _counted([one.whole for one in sets], wanted),
        _counted([one.broken for one in sets], wanted),
    )


def _counted(sets: list[_Cells], wanted: Callable[[int], bool]) -> _Cells:
    changes: defaultdict[_Cut, int] = defaultdict(int)
    for cells in sets:
        entered = not cells.least
        for cut in cells.cuts:
            changes[cut] += 1 if entered else -1
            entered = not entered
    spend(len(sets) + len(changes))
    count = sum(cells.least for cells in sets)
    least = inside = wanted(count)
    cuts: list[_Cut] = []
    for cut in sorted(changes):
        count += changes[cut]
        if wanted(count) is not inside:
            inside = not inside
            cuts.append(cut)
    return _Cells(least, tuple(cuts))


def _parted(found: _Ranges) -> tuple[_Cells, _Cells, _Cells]:
    """Where all numbers are in a set, only integers, only fractions."""
    alike = _counted([found.whole, found.broken], lambda count: count == 2)
    whole = _counted([found.whole, alike.others()], lambda count: count == 2)
    broken = _counted([found.broken, alike.others()], lambda count: count == 2)
    return alike, _rounded(whole), broken


def _rounded(cells: _Cells) -> _Cells:
    """The same integers, with each cut behind an integer."""
    changes: dict[_Cut, None] = {}
    for value, behind in cells.cuts:
        cut = _integer_cut(value, behind)
        if cut in changes:  # it changes there and back
            del changes[cut]
        else:
            changes[cut] = None
    return _Cells(cells.least, tuple(changes))


def _integer_cut(value: Decimal, behind: bool) -> _Cut:
    if abs(value.adjusted()) > _LONGEST:
        return value, behind
    whole = int(value.to_integral_value(ROUND_FLOOR))
    return Decimal(whole if behind or whole != value else whole - 1), True


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
    listed = _listed_strings(formula)
    words = None if listed is None or len(listed) <= _FEW_STRINGS else words_rule(listed, style)
    return words or concat(QUOTE, text_content(formula, style.spelling), QUOTE)


def _listed_strings(formula: Formula, deep: int = 3) -> list[str] | None:
    """The strings that a formula lists, in order, if its only other conditions are lengths."""
    if isinstance(formula, Some):
        return _each_listed(formula.parts, deep - 1) if deep else None
    plain, others = _sorted(formula.parts if isinstance(formula, Every) else (formula,))
    denied = [_denied_values(part) for part in others if not isinstance(part, Some)]
    chosen = [_listed_strings(part, deep) for part in others if isinstance(part, Some)]
    whole, *more = _merged(plain or [Strings()])
    values = common([whole.values, *(frozenset(texts) for texts in chosen if texts is not None)])
    if more or values is None or None in chosen or not all(denied):
        return None
    return _kept(Strings(values.difference(*denied), whole.low, whole.high))


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


Raw: TypeAlias = "Mapping[str, Any]"
Values: TypeAlias = Callable[[Any], Expr]
Made = TypeVar("Made")

_BESIDE: Final = {"type", "minLength", "maxLength"}
_ALIKE: Final = frozenset(  # what means the same in each draft; 1.0 is no integer in draft 4
    (
        (),
        *(
            (("type", repr(name)),)
            for name in ("object", "array", "null", "boolean", "number", "string")
        ),
    )
)


@final
class Leaves(Generic[Made]):
    """What was made last of leaves, by what is said of them. Thread safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Made] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Made | None:
        """What was made for `key`, which is now the last one asked for."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, made: Made) -> None:
        """Remember `made`."""
        with self._lock:
            self._kept[key] = made
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


_leaves: Leaves[Expr] = Leaves(most=512)


def remembered(said: Raw, draft: Draft, style: JsonStyle, lower: Values) -> Expr:
    """The values of a schema with only these keywords.

    Args:
        said: its keywords that assert something.
        draft: what it is written in.
        style: how its JSON is written.
        lower: gives the values if they are not those of scalars alone.
    """
    words = tuple((name, repr(said[name])) for name in sorted(said))
    key = (style, LATEST if words in _ALIKE else draft, words)
    found = _leaves.get(key)
    if found is None:
        found = _leaves_listed(said, draft, style, lower) or _lowered(said, draft, style, lower)
        _leaves.put(key, found)
    return found


def _lowered(said: Raw, draft: Draft, style: JsonStyle, lower: Values) -> Expr:
    schema = read_scalars(said, draft)
    if schema is not None:
        return scalars(schema, style.spelling)
    return lower(said)


def _leaves_listed(said: Raw, draft: Draft, style: JsonStyle, lower: Values) -> Expr | None:
    """An enum of strings, and of other values, with type and length, as a list of words."""
    types = said.get("type", ())
    if len(said.keys() - _BESIDE) != 1 or (types and "string" not in types):
        return None
    values = (said["const"],) if "const" in said else said.get("enum", ())
    texts = [value for value in values if value.__class__ is str]
    low, high = said.get("minLength", 0), said.get("maxLength", max(map(len, texts), default=0))
    words = words_rule((text for text in texts if low <= len(text) <= high), style)
    others = [value for value in values if value.__class__ is not str]
    if words is None or not others or types == "string":
        return words
    return alt(words, _lowered({**said, "enum": others}, draft, style, lower))
