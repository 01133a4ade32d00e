"""JSON Schemas without `format`, for `formats="annotation"`."""

from typing import Any

from guideway.errors import GuidewayError
from guideway.syntax.json_schema_keywords import LATEST, find_draft
from guideway.syntax.json_schema_resources import parts_of
from guideway.syntax.json_schema_targets import Targets
from guideway.syntax.json_text import Json


def drop_formats(root: Json) -> Json:
    """Remove formats in place, also in schemas that only a JSON pointer reaches.

    >>> drop_formats({"format": "date", "const": {"format": "date"}})
    {'const': {'format': 'date'}}
    """
    said: Any = root.get("$schema") if isinstance(root, dict) else None
    try:
        targets = Targets(root, find_draft(said, "", LATEST))
    except GuidewayError:  # raised again when the schema is read
        return root
    todo, seen = [root], set[int]()
    while todo:
        raw = todo.pop()
        if isinstance(raw, dict) and id(raw) not in seen:
            seen.add(id(raw))
            raw.pop("format", None)
            todo += (part for _, part in parts_of("", raw))
            todo.append(targets.get(raw.get("$ref")))
    return root
