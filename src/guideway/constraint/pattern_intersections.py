"""Intersections of patterns in a schema, each tried in time for compiling to refuse it.

Parts of a schema are lowered when a text enters them. Intersected patterns may have an automaton of
2^n states: `propertyNames` of `a.{12}b` and `c.{12}d` took more than 21 s within one mask. So the
first mask in each such string or key is computed when compiling. Alternatives of very many patterns
are tried, too: a state of them may have all branches.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import extend, find, walk, write_json, write_plain
from guideway.language.nodes import Alt, Concat, Expr
from guideway.language.regular import parts_of

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
    root, found, looked_at = source.value, dict[str, tuple[int, str, bytes]](), 0
    for raw in _speaking(root):
        here = _Together(raw, root)
        for key, part, before in (*_strings(raw, here), *_keys(raw, root), *_items(raw, here)):
            found.setdefault(write_json(part), (id(raw), key, before))
        looked_at += here.parts
        if len(found) >= _TRIALS_MOST or looked_at > _LOOKED_AT:
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
    todo: list[Any] = [[root]]  # which may be True or False
    while todo:
        inside = todo.pop()
        if inside.__class__ is dict:
            if not _PATTERNED.isdisjoint(inside):
                yield inside
            inside = inside.values()
        todo += [part for part in inside if part.__class__ in _HOLDING]


def _repeating(patterns: Any) -> list[str]:
    if patterns.__class__ is not dict:
        return []
    return [name for name in patterns if not _REPEATS.isdisjoint(name)][:_MOST_KEYS]


def _strings(raw: dict[str, Any], here: "_Together") -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """The place, schema and prefix of an intersection of strings in a part."""
    if here.meet():
        keyword = next((name for name in _IN_PLACES if name in raw), "$ref")
        yield keyword, {"type": "string", "allOf": [here.schema]}, _STRING


def _keys(raw: dict[str, Any], root: Any) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    patterns: Any = raw.get("patternProperties")
    repeating = _repeating(patterns)
    several = len(repeating) >= _MOST_KEY_PATTERNS
    if several or _is_wide(repeating):
        told = [write_plain(patterns[name]) or name for name in repeating]  # None: too deep
        if len({*told}) >= _MOST_KEY_PATTERNS or _is_wide(repeating):
            # The values do not matter, only which are equal.
            values = {
                name: {"minProperties": told.index(value)}
                for name, value in zip(repeating, told, strict=True)
            }
            yield "patternProperties", {"type": "object", "patternProperties": values}, b'{"'
    names = _Together(raw.get("propertyNames"), root)
    if names.meet():
        yield "propertyNames", {"type": "object", "propertyNames": names.schema}, b'{"'


def _items(raw: dict[str, Any], here: "_Together") -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """The items of a part that patterns of `contains` distinguish: each may match or not.

    For six such as `a.{5}a` in one array a mask took 94 s, and eight took all memory.
    """
    told, every, root = here.contains, here.items, here.root
    if told and _Together({"allOf": [*every, *({"not": one} for one in told)]}, root).meet():
        # Branches that exclude each other may constrain all items. Their intersection would be
        # empty, and nothing would be tried.
        said = [{"contains": _Together(one, root).schema} for one in (*told, *every)]
        keyword = next((name for name in ("contains", *_IN_PLACES) if name in raw), "$ref")
        yield keyword, {"type": "array", "allOf": said}, b'["'


def _is_wide(patterns: list[str]) -> bool:
    return len(patterns) > _WIDE or any(one.count("|") > _WIDE for one in patterns)


def _is_far(length: Any) -> bool:
    return length.__class__ in (int, Decimal) and length >= _FAR


class _Together:
    """The subschemas that apply to the same value as a part of a schema, up to a number.

    Attributes:
        schema: the keywords of strings.
        parts: number of subschemas with any.
        contains: the `contains` of arrays.
        items: the `items` of arrays.
    """

    def __init__(self, part: Any, root: Any) -> None:
        self.root, self.parts, self._left = root, 0, _MOST_PARTS + _width(part)
        self.contains, self.items = list[Any](), list[Any]()
        self._patterns, self._formats = list[str](), 0
        self._denied = self._meeting = self._far = self._long = self._tells = False
        self.schema = self._read(part, 0, inside=False)

    def meet(self) -> bool:
        """Return True if patterns meet, or a text must be very long."""
        patterns = self._patterns
        if self._far or (self._long and self._tells):
            return bool(patterns or self._formats)
        if not patterns:
            return False
        if self._denied or _is_wide(patterns):
            return True
        if any(look in one for one in patterns for look in _LOOKAROUND):
            return True
        return self._meeting and len(patterns) + self._formats > 1

    def _read(self, part: Any, depth: int, *, inside: bool) -> dict[str, Any]:
        """The keywords of strings in a subschema; {} if it is too deep. `inside`: it is denied."""
        if part.__class__ is not dict or depth > _DEEPEST or self._left < 0:
            return {}
        self._left -= 1
        self.parts += not _OF_STRINGS.isdisjoint(part)
        self._note(part, inside=inside)
        self._meeting |= depth == 0 and "pattern" in part
        kept = _keywords(part)
        for name in _LISTS:
            listed: Any = part.get(name)
            if listed.__class__ is list and listed:
                kept[name] = [self._read(one, depth + 1, inside=inside) for one in listed]
        for name in _PARTS:
            if name in part:
                denied = inside or name in _DENYING
                kept[name] = self._read(part[name], depth + 1, inside=denied)
        referred = self._read(_target(part.get("$ref"), self.root), depth + 1, inside=inside)
        if referred:
            kept["allOf"] = [*kept.get("allOf", ()), referred]
        return kept

    def _note(self, part: dict[str, Any], *, inside: bool) -> None:
        pattern: Any = part.get("pattern")
        if pattern.__class__ is str:
            self._patterns.append(pattern)
            self._denied |= inside
        self._formats += part.get("format").__class__ is str
        self._meeting |= not _MEETING_WORDS.isdisjoint(part)
        self._far |= _is_far(part.get("minLength"))
        self._long |= _is_far(part.get("maxLength"))
        self._tells |= not _NEGATING.isdisjoint(part)
        self.contains += [part["contains"]] if "contains" in part else ()
        self.items += [part["items"]] if "items" in part else ()


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
