"""What patterns allow together within a schema, tried while compiling still can refuse it.

Parts of a schema are lowered when a text enters them. Patterns that meet each other there may have
an automaton of 2^n states: `propertyNames` of `a.{12}b` and `c.{12}d` with at most 60 characters
took more than 21 s within one mask. So the first mask within each such string or key is made when
compiling, and paid for.

What this module does not know: how masks are made.
"""

from collections.abc import Iterator
from typing import Any, Final

from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.json_text import extend, walk

_MOST: Final = 64  # trials, of a millisecond each where nothing is large
_LENGTHS: Final = ("minLength", "maxLength")
_MEETING_KEYS: Final = 2  # patterns of keys; most schemas that have any have one
_LOOKAROUND: Final = "(?"
_MEETING: Final = ('"allOf"', '"propertyNames"')


def trials(source: JsonSchema) -> Iterator[tuple[str, JsonSchema, bytes]]:
    """The parts in which patterns meet: a pointer, what meets there, and the text behind which.

    >>> for place, part, behind in trials(
    ...     JsonSchema({"items": {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}})
    ... ):
    ...     print(place, part.text, behind)
    /items/allOf {"type":"string","allOf":[{"pattern":"a"},{"pattern":"b"}]} b'"'

    Args:
        source: the schema, whose parts that nobody refers to are looked at as well.
    """
    if not _may_meet(source.text):
        return
    found = 0
    for pointer, raw in walk(source.value):
        if found >= _MOST:
            return
        if raw.__class__ is dict:
            for key, part, behind in (*_strings(raw), *_keys(raw)):
                found += 1
                yield extend(pointer, key), JsonSchema(part), behind


def _may_meet(text: str) -> bool:
    """Whether it is worth looking: twenty properties with patterns would take .2 ms of .27."""
    if "pattern" not in text and "\\u" not in text:
        return False
    if "\\u" in text or _LOOKAROUND in text or "patternProperties" in text:
        return True
    return '"not"' in text or (text.count("pattern") > 1 and any(word in text for word in _MEETING))


def _strings(raw: dict[str, Any]) -> "Iterator[tuple[str, dict[str, Any], bytes]]":
    """The strings of a part in which patterns meet."""
    said = _said(raw)
    if _meet(said):
        keyword = next(name for name in ("pattern", "allOf", "not") if name in raw)
        yield keyword, {"type": "string", "allOf": said}, b'"'


def _keys(raw: dict[str, Any]) -> "Iterator[tuple[str, dict[str, Any], bytes]]":
    """The keys of a part in which patterns meet."""
    patterns: Any = raw.get("patternProperties")
    told = [*map(str, patterns.values())] if patterns.__class__ is dict else []
    if len({*told}) >= _MEETING_KEYS:
        # What is said of the values does not matter, but for which say the same.
        values = {
            name: {"minProperties": told.index(value)}
            for name, value in zip(patterns, told, strict=True)
        }
        yield "patternProperties", {"type": "object", "patternProperties": values}, b'{"'
    said = _said(raw.get("propertyNames"))
    if _meet(said):
        yield "propertyNames", {"type": "object", "propertyNames": {"allOf": said}}, b'{"'


def _said(raw: Any) -> list[dict[str, Any]]:
    """What a part says of strings by patterns and lengths, all together."""
    listed: Any = raw.get("allOf") if raw.__class__ is dict else None
    parts = [raw, *(listed if listed.__class__ is list else ())]
    said = [kept for part in parts if (kept := _kept(part))]
    return said + [{"not": kept} for part in parts if (kept := _kept(_denied(part)))]


def _kept(part: Any) -> dict[str, Any]:
    if part.__class__ is not dict:
        return {}
    return {name: part[name] for name in ("pattern", *_LENGTHS) if name in part}


def _denied(part: Any) -> Any:
    return part.get("not") if part.__class__ is dict else None


def _meet(said: list[Any]) -> bool:
    """Whether several patterns meet, or one is denied or looks around itself."""
    patterns = [part.get("not", part).get("pattern", "") for part in said]
    return (
        sum(map(bool, patterns)) > 1
        or any(_LOOKAROUND in str(one) for one in patterns)
        or any("pattern" in part.get("not", ()) for part in said)
    )
