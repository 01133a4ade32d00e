"""Intersections of patterns in a schema, each tried in time for compiling to refuse it.

Parts of a schema are lowered when a text enters them. Intersected patterns may have an automaton of
2^n states: `propertyNames` of `a.{12}b` and `c.{12}d` took more than 21 s within one mask. So the
first mask in each such string or key is computed when compiling, unless `overlap` estimates few
states. Alternatives of very many patterns are tried, too: a state of them may have all branches.

`overlap` estimates how much a pattern overlaps with itself, which can give 2^n states. A state is
the set of places where a text may be within the pattern. `a.{12}b` may begin at each letter, so
it has about 2^12 states; `abc` has four; `^[a-f0-9]{8}-` is at one place at a time.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from guideway.errors import GuidewayError
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import extend, find, walk, write_json, write_plain
from guideway.language.nodes import Alt, Concat, Expr
from guideway.language.regular import parts_of
from guideway.regex.parser import parse_search
from guideway.regex.tree import (
    Alternation,
    Anchor,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    folded,
    nodes_of,
)

_MOST: Final = 1 << 20


class _Part(NamedTuple):
    """Numbers of open places if the part begins once, and if it begins anywhere."""

    once: int = 0
    anywhere: int = 0
    varies: bool = False


@lru_cache(maxsize=4096)
def overlap(pattern: str) -> int:
    """About how many places of a pattern may be open at once, independently of each other.

    >>> overlap("a.{12}b"), overlap("abc"), overlap("^[a-f0-9]{8}-[a-f0-9]{4}$")
    (14, 2, 0)
    """
    try:
        body = parse_search(pattern).body
    except GuidewayError:  # refused elsewhere, if a text can enter it
        return 0
    whole = folded(body, _part)
    if _begins_once(body):
        return min(whole.anywhere, _MOST)
    # An unanchored pattern has one place of its own: nine words in one text give thousands of
    # states.
    letters = sum(_letters(node) for node in nodes_of(body))
    return min(whole.anywhere + letters.bit_length(), _MOST)


def _letters(node: Node) -> int:
    return len(node.text) if isinstance(node, Text) else isinstance(node, Class | Shorthand | Dot)


def _begins_once(body: Node) -> bool:
    """Return True if each option begins at the start of the text."""
    options = body.options if isinstance(body, Alternation) else (body,)
    return all(map(_is_anchored, options))


def _is_anchored(node: Node) -> bool:
    first = node.items[0] if isinstance(node, Sequence) and node.items else node
    return isinstance(first, Anchor) and first.kind == "text start"


def _part(node: Node, parts: list[_Part]) -> _Part:  # noqa: PLR0911  an arm for each node
    match node:
        case Class() | Shorthand() | Dot():
            return _Part(0, 1)
        case Repeat(_, low, high):
            return _repeated(parts[0], low, high)
        case Sequence():
            once, anywhere, varies = 0, 0, False
            for part in parts:
                once += part.anywhere if varies else part.once
                anywhere += part.anywhere
                varies = varies or part.varies
            return _Part(once, once if _is_anchored(node) else anywhere, varies)
        case Alternation():  # at least like a class of characters
            once, anywhere = sum(part.once for part in parts), sum(part.anywhere for part in parts)
            return _Part(once, max(anywhere, 1), varies=True)
        case Group():
            return parts[0]
        case Look():  # it may hold several texts at once
            return _Part(parts[0].anywhere, parts[0].anywhere)
        case _:
            return _Part()


def _repeated(part: _Part, low: int, high: int | None) -> _Part:
    if low == high and not part.varies:
        return _Part(part.once * low, part.anywhere * low)
    often = max(low if high is None else high, 1)
    if part.varies:
        again = part.anywhere * (often - 1 + (high is None))
    else:  # a text that began once is at one of its places, or after them
        again = part.anywhere.bit_length()
    anywhere = part.anywhere if low == high else max(part.anywhere, 1)
    return _Part(part.once + again, anywhere * often, varies=True)


Trials: TypeAlias = Iterator[tuple[Callable[[], str], JsonSchema | None, bytes]]
_TRIALS_MOST: Final = 64  # trials, of a millisecond each unless something is large
_DEEPEST: Final = 12  # levels of parts that apply to one string
_MOST_PARTS: Final = 64  # such parts read for one trial
_LOOKED_AT: Final = 4096  # and in a schema
_TRIALS_LONGEST: Final = 1 << 40
_MOST_KEY_PATTERNS: Final = 2  # patterns of keys; most schemas with any have one
_MOST_KEYS: Final = 16  # 300 simple ones take 3 s to try, and no time in a mask
_WIDE: Final = 256  # patterns, or alternatives of one
_PARTS_OF_ONE: Final = 256  # parts of an expression that are read
_REPEATS: Final = frozenset("*+{")  # without one a pattern has few states
_LOOKAROUND: Final = ("(?=", "(?!", "(?<")
_EASY: Final = 9  # places that may be open at once: some 2^9 states at most
# Patterns that overlap as much as formats do: most have few open places, and these very many. With
# `é` and a `maxLength` those took 13 to 92 s within masks when they were not tried.
_FORMAT: Final = "^.*......"
_HARD_FORMATS: Final = frozenset(("regex", "idn-hostname", "idn-email"))
_NAMED: Final = ("type", "pattern", "format")
_LENGTHS: Final = ("minLength", "maxLength")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_PARTS: Final = ("not", "if", "then", "else")
_MEETING_WORDS: Final = frozenset(("allOf", "oneOf", "$ref", *_LENGTHS))
_OF_STRINGS: Final = _MEETING_WORDS | {*_NAMED[1:], *_LISTS, *_PARTS}
_DENYING: Final = ("not", "if")
_NEGATING: Final = frozenset((*_DENYING, "oneOf"))  # where a text must also fail a subschema
_PATTERNED: Final = frozenset(
    (*_LISTS, *_NAMED[1:], "not", "if", "patternProperties", "propertyNames", "contains")
)
_HOLDING: Final = (dict, list)
# Patterns of keys, long texts, and escaped letters or $, which may be in a keyword.
_TRIED: Final = re.compile(
    r'"patternP|Length"\s*:\s*\d{4}|Length"\s*:\s*\d[\d.]*[eE]|\\u00(?:24|[4-7])'
)
_PATTERN: Final = re.compile(r'"pattern"\s*:\s*("(?:[^"\\]|\\.)*")')
_FORMATTED: Final = re.compile(r'"format"\s*:\s*"([^"]*)"')
_FAR: Final = 4096  # characters from which on stepping through them takes long
_STRING: Final = b'"'
# In the order in which the place names them.
_IN_PLACES: Final = ("pattern", *_LISTS, *_PARTS, "format")


def trials(source: JsonSchema) -> Trials:
    """The parts in which patterns meet: their pointer, the intersection, the text before it.

    The intersection is None for very many patterns that are the whole source, which is lowered
    already: lowering 5,000 takes 1.4 s. Parts that nothing refers to are tried as well.

    >>> for place, part, before in trials(JsonSchema({"items": {"not": {"pattern": "a.{9}b"}}})):
    ...     print(place(), part and part.text, before)
    /items/not {"type":"string","allOf":[{"not":{"pattern":"a.{9}b"}}]} b'"'
    """
    if not _may_meet(source.text):
        return
    root, found = source.value, dict[str, tuple[int, str, bytes]]()
    kept = _Kept(root)
    for raw in _speaking(root):
        for key, part, before in (*_strings(raw, kept), *_keys(raw, kept), *_items(raw, kept)):
            found.setdefault(write_json(part), (id(raw), key, before))
        if len(found) >= _TRIALS_MOST or kept.looked_at > _LOOKED_AT:
            break
    for text, (raw, key, before) in found.items():
        whole = raw == id(root) and before == _STRING and _width(root) > 0
        yield partial(_place, root, raw, key), None if whole else JsonSchema(text), before


def wide_part(expr: Expr) -> Expr | None:
    """The first alternative of more than 256 options in a regular expression, or None."""
    todo, left = [expr], _PARTS_OF_ONE
    while todo and left:
        part, left = todo.pop(), left - 1
        if isinstance(part, Alt) and len(part.options) > _WIDE:
            return part
        if part.regular or isinstance(part, Concat):
            todo += parts_of(part)
    return None


def _place(root: Any, raw: int, key: str) -> str:
    """The pointer of a keyword in the part with this id, searched only on demand."""
    return extend(next(pointer for pointer, part in walk(root) if id(part) == raw), key)


def _speaking(root: Any) -> Iterator[dict[str, Any]]:
    """The parts that may be tried, without pointers, which would double the time."""
    todo = [root]
    while todo:
        inside = todo.pop()
        if inside.__class__ is dict:
            if not _PATTERNED.isdisjoint(inside):
                yield inside
            inside = inside.values()
        todo += [part for part in inside if part.__class__ in _HOLDING]


def _may_meet(text: str) -> bool:
    """Return True if the parts may need trials, from the text alone: 135 kB take a millisecond."""
    patterns = [str(json.loads(one)) for one in {*_PATTERN.findall(text)}]
    met = [*patterns, *map(_as_pattern, {*_FORMATTED.findall(text)})]
    return _TRIED.search(text) is not None or (bool(patterns) and _is_hard(met))


def _repeating(patterns: Any) -> list[str]:
    if patterns.__class__ is not dict:
        return []
    return [name for name in patterns if not _REPEATS.isdisjoint(name)][:_MOST_KEYS]


def _strings(raw: dict[str, Any], kept: "_Kept") -> "Iterator[tuple[str, dict[str, Any], bytes]]":
    """The place, schema and prefix of an intersection of strings in a part."""
    if kept.meet(raw):
        keyword = next((name for name in _IN_PLACES if name in raw), "$ref")
        yield keyword, {"type": "string", "allOf": [kept.all_of(raw)]}, _STRING


def _keys(raw: dict[str, Any], kept: "_Kept") -> "Iterator[tuple[str, dict[str, Any], bytes]]":
    patterns: Any = raw.get("patternProperties")
    repeating = _repeating(patterns)
    several = len(repeating) >= _MOST_KEY_PATTERNS
    if (several and _is_hard(repeating)) or _is_wide(repeating):
        told = [write_plain(patterns[name]) or name for name in repeating]  # None: too deep
        if len({*told}) >= _MOST_KEY_PATTERNS or _is_wide(repeating):
            # The values do not matter, only which are equal.
            values = {
                name: {"minProperties": told.index(value)}
                for name, value in zip(repeating, told, strict=True)
            }
            yield "patternProperties", {"type": "object", "patternProperties": values}, b'{"'
    names = raw.get("propertyNames")
    if kept.meet(names):
        said = kept.all_of(names)
        yield "propertyNames", {"type": "object", "propertyNames": said}, b'{"'


def _items(raw: dict[str, Any], kept: "_Kept") -> "Iterator[tuple[str, dict[str, Any], bytes]]":
    """The items of a part that patterns of `contains` distinguish: each may match or not.

    For six such as `a.{5}a` in one array a mask took 94 s, and eight took all memory.
    """
    told, every = kept.contained(raw)
    if told and kept.meet({"allOf": [*every, *({"not": one} for one in told)]}):
        # Branches that exclude each other may constrain all items. Their intersection would be
        # empty, and nothing would be tried.
        said = [{"contains": kept.all_of(one)} for one in (*told, *every)]
        keyword = next((name for name in ("contains", *_IN_PLACES) if name in raw), "$ref")
        yield keyword, {"type": "array", "allOf": said}, b'["'


def _as_pattern(said: str) -> str:
    """A pattern with as many open places as a format."""
    return "." * _WIDE if said in _HARD_FORMATS else _FORMAT


def _is_hard(patterns: list[str]) -> bool:
    """Return True if a trial is worth it: always trying took a third of compiling 1,880 schemas."""
    return _is_wide(patterns) or any(n > _EASY for n in accumulate(map(overlap, patterns)))


def _is_wide(patterns: list[str]) -> bool:
    return len(patterns) > _WIDE or any(one.count("|") > _WIDE for one in patterns)


def _is_far(length: Any) -> bool:
    return length.__class__ in (int, Decimal) and length >= _FAR


class _Found:
    """Patterns, formats and lengths that apply to one string."""

    def __init__(self) -> None:
        self.patterns, self.formats = list[str](), list[str]()
        self.denied = self.meeting = self._far = self._long = self._tells = False

    def read(self, part: dict[str, Any], *, inside: bool) -> None:
        """Read the keywords of a part; `inside`: under `not` or `if`."""
        pattern: Any = part.get("pattern")
        if pattern.__class__ is str:
            self.patterns.append(pattern)
            self.denied |= inside
        said: Any = part.get("format")
        if said.__class__ is str:
            self.formats.append(said)
        self.meeting |= not _MEETING_WORDS.isdisjoint(part)
        self._far |= _is_far(part.get("minLength"))
        self._long |= _is_far(part.get("maxLength"))
        self._tells |= not _NEGATING.isdisjoint(part)

    def meet(self) -> bool:
        """Return True if patterns meet that need a trial, or a text must be very long."""
        patterns = self.patterns
        if self._far or (self._long and self._tells):
            return bool(patterns or self.formats)
        if not patterns or not _is_hard([*patterns, *map(_as_pattern, self.formats)]):
            return False
        if self.denied or _is_wide(patterns):
            return True
        if any(look in one for one in patterns for look in _LOOKAROUND):
            return True
        return self.meeting and len(patterns) + len(self.formats) > 1


class _Kept:
    """Collects the subschemas that apply to one string."""

    def __init__(self, root: Any) -> None:
        self._root, self.looked_at, self._left = root, 0, 0

    def meet(self, part: Any) -> bool:
        """Return True if patterns meet in a part; cheaper than `all_of`."""
        found, left = _Found(), _MOST_PARTS + _width(part)
        for one, depth, inside in self._applying(part, left):
            if not _OF_STRINGS.isdisjoint(one):
                self.looked_at += 1
                found.read(one, inside=inside)
                found.meeting |= depth == 0 and "pattern" in one
        return found.meet()

    def contained(self, part: Any) -> tuple[list[Any], list[Any]]:
        """The `contains` and the `items` that apply to one array."""
        told, every = list[Any](), list[Any]()
        for one, _, _ in self._applying(part, _MOST_PARTS):
            told += [one["contains"]] if "contains" in one else ()
            every += [one["items"]] if "items" in one else ()
        return told, every

    def _applying(self, part: Any, left: int) -> Iterator[tuple[dict[str, Any], int, bool]]:
        """The subschemas that apply to one value, their depth, and True under `not` or `if`."""
        todo: list[tuple[Any, int, bool]] = [(part, 0, False)]
        while todo and left:
            one, depth, inside = todo.pop()
            if one.__class__ is dict and depth <= _DEEPEST:
                left -= not _OF_STRINGS.isdisjoint(one)
                yield one, depth, inside
                todo += [
                    (beside, depth + 1, inside or name in _DENYING)
                    for name, beside in self._in_place(one)
                ]

    def _in_place(self, part: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """The subschemas that apply to the same value, and their keywords."""
        for name in _LISTS:
            listed: Any = part.get(name)
            if listed.__class__ is list:
                yield from ((name, branch) for branch in listed)
        yield from ((name, part[name]) for name in _PARTS if name in part)
        if "$ref" in part:
            yield "$ref", _target(part["$ref"], self._root)

    def all_of(self, part: Any) -> dict[str, Any]:
        """The keywords of strings in a part, from a bounded number of subschemas."""
        self._left = _MOST_PARTS + _width(part)
        return self._part_of(part, 0)

    def _part_of(self, part: Any, depth: int) -> dict[str, Any]:
        """The keywords of strings in a subschema; {} if it is too deep."""
        if part.__class__ is not dict or depth > _DEEPEST or self._left < 0:
            return {}
        self._left -= 1
        kept = _keywords(part)
        for name in _LISTS:
            listed: Any = part.get(name)
            if listed.__class__ is list and listed:
                kept[name] = [self._part_of(one, depth + 1) for one in listed]
        kept |= {name: self._part_of(part[name], depth + 1) for name in _PARTS if name in part}
        referred = self._part_of(_target(part.get("$ref"), self._root), depth + 1)
        if referred:
            kept["allOf"] = [*kept.get("allOf", ()), referred]
        return kept


def _width(part: Any) -> int:
    """Number of branches of a part if very many are patterns, else 0."""
    branches: Any = part.get("anyOf") if part.__class__ is dict else None
    if branches.__class__ is not list or len(branches) <= _WIDE:
        return 0
    patterns = sum(one.__class__ is dict and "pattern" in one for one in branches)
    return len(branches) if patterns > _WIDE else 0


def _keywords(part: dict[str, Any]) -> dict[str, Any]:
    """Keywords of strings in a part itself, in canonical form; invalid ones are dropped."""
    kept: dict[str, Any] = {name: part[name] for name in _NAMED if part.get(name).__class__ is str}
    kinds: Any = part.get("type")
    if kinds.__class__ is list:
        kept["type"] = [kind for kind in kinds if kind.__class__ is str]
    for name in _LENGTHS:
        if part.get(name).__class__ in (int, Decimal):
            kept[name] = int(min(part[name], _TRIALS_LONGEST))
    values: Any = [part["const"]] if "const" in part else part.get("enum")
    if values.__class__ is list:
        kept["enum"] = [value for value in values if value.__class__ is str]
    return kept


def _target(reference: Any, root: Any) -> Any:
    if reference.__class__ is not str or not reference.startswith("#/"):
        return None
    try:
        return find(root, unquote(reference[1:]))
    except LookupError:
        return None
