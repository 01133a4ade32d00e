"""Where the references of a JSON Schema lead, as far as that is plain: within the same document.

What this module does not know: which parts there are, and what they say.
"""

from typing import Any, Final, final
from urllib.parse import unquote

from guideway.syntax.json_schema_keywords import Draft
from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.json_text import Json, steps

_NO_RESOURCE: Final = ("", "#")  # identifiers that begin so name none


@final
class Targets(dict[str, Any]):
    """What references lead to that were followed; others are followed when they are asked for.

    >>> found = Targets({"$defs": {"a": {"type": "null"}}}, 2020)
    >>> found["#/$defs/a"], found.get("#/$defs/b"), sorted(found)
    ({'type': 'null'}, None, ['#/$defs/a'])
    """

    def __init__(self, root: Json, draft: Draft) -> None:
        super().__init__()
        self._root, self._draft = root, draft
        self.identifier = "id" if draft == 4 else "$id"

    def __missing__(self, name: str) -> Any:
        """Where a reference leads that nobody has followed."""
        found = self.follow(name)
        if found is None:
            raise KeyError(name)
        self[name] = found
        return found

    def get(self, name: Any, default: Any = None) -> Any:
        """Where a reference leads; `default` if that is not plain."""
        plain = name.__class__ is str and is_plain(name)
        try:
            return self[name] if plain else default
        except KeyError:
            return default

    def opens(self, raw: Raw) -> bool:
        """Whether a resource may begin at a nested schema: not without an identifier."""
        if "$schema" in raw:  # which says nothing then
            return "id" in raw or "$id" in raw
        given: Any = raw.get(self.identifier)
        if self._draft <= 7 and "$ref" in raw:  # beside which nothing counts
            return False
        return given.__class__ is str and given[:1] not in _NO_RESOURCE

    def follow(self, name: str) -> Json:
        """Where a pointer leads, None where that is not plain."""
        value: Any = self._root
        for key in steps(unquote(name)):
            if value.__class__ is list:
                value = {str(place): one for place, one in enumerate(value)}
            elif value.__class__ is not dict or (value is not self._root and self.opens(value)):
                return None
            value = value.get(key)
        return value


def is_plain(name: str) -> bool:
    """Whether a reference leads somewhere in the same document."""
    return name == "#" or name.startswith("#/")


def holds_reference(raw: Raw) -> bool:
    """Whether a reference may stand in a schema: within a resource it leads elsewhere.

    >>> holds_reference({"$id": "a", "items": {"$ref": "#"}}), holds_reference({"$id": "a"})
    (True, False)
    """
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
