"""Files of a folder that a JSON Schema refers to, directly or indirectly.

The schema counts as a file of that folder: `{"$ref": "parts/address.json"}` is a path there,
relative to the file of the reference. Another URI names the file with that `$id`. Only files in the
folder are read.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, final
from urllib.parse import unquote, urljoin

from guideway.errors import GuidewayError, LimitError
from guideway.syntax.files import read_file
from guideway.syntax.json_schema_drafts import is_meta_schema
from guideway.syntax.json_text import Json, read_json

_MOST_FILES: Final = 10_000
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef", "$schema")


def files_of(folder: Path, schema: Json) -> tuple[tuple[str, str], ...]:
    """Files that a schema needs, as (URI, JSON text)."""
    files, found = _Folder(folder, _base("", schema)), dict[str, str]()
    todo, known = [("", schema)], {""}
    while todo:
        references, own = _uris(*todo.pop())
        known |= own
        for uri in references - known:
            known.add(uri)
            text = files.find(uri)
            if text is not None:
                found[uri] = text
                todo.append((uri, read_json(text)))
    return tuple(sorted(found.items()))


@final
class _Folder:
    """Files by URI."""

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._prefix = folder.resolve(), base.rpartition("/")[0]
        self._by_id: dict[str, Path] | None = None

    def find(self, uri: str) -> str | None:
        """Text of the file with this URI, or None."""
        path = self._at(uri) or (None if is_meta_schema(uri) else self._named(uri))
        return None if path is None else read_file(path, "the schema")

    def _at(self, uri: str) -> Path | None:
        """The file at a path relative to the folder."""
        start = f"{self._prefix}/" if self._prefix else ""
        if not uri.startswith(start):
            return None
        try:
            path = (self._folder / unquote(uri[len(start) :])).resolve()
            return path if path.is_relative_to(self._folder) and path.is_file() else None
        except (OSError, ValueError):  # no name of a file: too long, or with a NUL
            return None

    def _named(self, uri: str) -> Path | None:
        """The file with this identifier."""
        if self._by_id is None:
            listed = list(islice(self._folder.rglob("*.json"), _MOST_FILES + 1))
            if len(listed) > _MOST_FILES:
                raise LimitError(
                    f"the folder {str(self._folder)!r} has more than {_MOST_FILES} JSON files: "
                    "pass the needed ones as resources={uri: schema}",
                    limit="files of a folder",
                    given=_MOST_FILES,
                )
            self._by_id = {name: path for path in sorted(listed) for name in _identifiers(path)}
        return self._by_id.get(uri)


def _identifiers(path: Path) -> Iterator[str]:
    try:
        found = _base("", read_json(read_file(path, "the schema")))
    except GuidewayError:  # raised again when the file is referred to by path
        return
    if found:
        yield found


def _base(around: str, raw: Json) -> str:
    """The URI of a schema within a resource."""
    given: Any = (raw.get("$id") or raw.get("id")) if isinstance(raw, dict) else None
    return _join(around, given) if isinstance(given, str) else around


def _join(base: str, uri: str) -> str:
    try:
        return urljoin(base, uri).partition("#")[0]
    except ValueError:  # no URI: raised again, with the place, when the schema is read
        return base


def _uris(base: str, schema: Json) -> tuple[set[str], set[str]]:
    """URIs of all references in a document, and of all resources; data does no harm."""
    references, own, todo = set[str](), {base}, [(base, schema)]
    while todo:
        around, raw = todo.pop()
        if isinstance(raw, dict):
            base = _base(around, raw)
            own.add(base)
            named = (raw[name] for name in _REFERENCES if name in raw)
            references |= {_join(base, uri) for uri in named if isinstance(uri, str)}
            todo += ((base, part) for part in raw.values())
        elif isinstance(raw, list):
            todo += ((around, part) for part in raw)
    return references, own
