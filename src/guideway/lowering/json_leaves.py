"""Values of schemas without parts, cached by their keywords."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

from guideway.lowering.expr import alt
from guideway.lowering.json_scalars import scalars
from guideway.lowering.json_text import JsonStyle
from guideway.lowering.json_words import words_rule
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema_keywords import LATEST, Draft
from guideway.syntax.json_schema_parts import read_scalars

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
        found = _listed(said, draft, style, lower) or _lowered(said, draft, style, lower)
        _leaves.put(key, found)
    return found


def _lowered(said: Raw, draft: Draft, style: JsonStyle, lower: Values) -> Expr:
    schema = read_scalars(said, draft)
    if schema is not None:
        return scalars(schema, style.spelling)
    return lower(said)


def _listed(said: Raw, draft: Draft, style: JsonStyle, lower: Values) -> Expr | None:
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
