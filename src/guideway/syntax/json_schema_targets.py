"""Targets of JSON pointer references within the same document."""

from typing import Any, Final, final
from urllib.parse import unquote

from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.json_schema_resources import Draft
from guideway.syntax.json_text import Json, steps

_NO_RESOURCE: Final = ("", "#")  # identifiers that begin so open no resource


@final
class Targets(dict[str, Any]):
    """Schemas by reference, followed on demand.

    >>> found = Targets({"$defs": {"a": {"type": "null"}}}, 2020)
    >>> found["#/$defs/a"], found.get("#/$defs/b"), sorted(found)
    ({'type': 'null'}, None, ['#/$defs/a'])
    """

    def __init__(self, root: Json, draft: Draft) -> None:
        super().__init__()
        self._root, self._draft = root, draft
        self.identifier = "id" if draft == 4 else "$id"

    def __missing__(self, name: str) -> Any:
        """Follow a reference."""
        found = self.follow(name)
        if found is None:
            raise KeyError(name)
        self[name] = found
        return found

    def get(self, name: Any, default: Any = None) -> Any:
        """Target of a reference; `default` if it cannot be followed."""
        plain = name.__class__ is str and is_plain(name)
        try:
            return self[name] if plain else default
        except KeyError:
            return default

    def opens(self, raw: Raw) -> bool:
        """Return True if a resource may begin at a nested schema."""
        if "$schema" in raw:  # without an identifier it has no effect
            return "id" in raw or "$id" in raw
        given: Any = raw.get(self.identifier)
        if self._draft <= 7 and "$ref" in raw:  # other keywords are ignored beside it
            return False
        return given.__class__ is str and given[:1] not in _NO_RESOURCE

    def follow(self, name: str) -> Json:
        """Target of a pointer; None if it is missing or inside another resource."""
        value: Any = self._root
        for key in steps(unquote(name)):
            if value.__class__ is list:
                value = {str(place): one for place, one in enumerate(value)}
            elif value.__class__ is not dict or (value is not self._root and self.opens(value)):
                return None
            value = value.get(key)
        return value


def is_plain(name: str) -> bool:
    """Return True for a JSON pointer into the same document."""
    return name == "#" or name.startswith("#/")


def holds_reference(raw: Raw) -> bool:
    """Return True if a schema or one inside it has a `$ref`."""
    todo: list[Any] = [raw]
    while todo:
        value = todo.pop()
        if value.__class__ is dict:
            if "$ref" in value:
                return True
            todo += value.values()
        elif value.__class__ is list:
            todo += value
    return False
