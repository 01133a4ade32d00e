"""Meta-schemas of drafts 4, 6, 7, 2019-09 and 2020-12, for schemas that refer to them.

The texts are those of json-schema-org/json-schema-spec, by URI in `json_schema_drafts.json`, under
the licence in `json_schema_drafts.LICENSE`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

_REFERENCE: Final = re.compile(
    r'"\$(?:ref|dynamicRef|recursiveRef)"\s*:\s*"(https?:(?:\\?/){2}json-schema\.org\\?/[^"#]+)'
)
_LATEST: Final = "json-schema.org/draft/2020-12/schema"
_SHORT: Final = {"json-schema.org/schema": _LATEST}  # the latest, says draft 4


def meta_schemas(texts: Iterable[str], given: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Meta-schemas and vocabularies that texts refer to, as (URI, JSON text), without `given` URIs.

    >>> text = '{"$ref": "http://json-schema.org/draft-07/schema#"}'
    >>> [uri for uri, _ in meta_schemas([text], [])]
    ['http://json-schema.org/draft-07/schema']
    """
    found: dict[str, str] = {}
    for written in {
        name.replace("\\/", "/") for text in texts for name in _REFERENCE.findall(text)
    }:
        found |= dict(_with_vocabularies(written))
    known = {uri.removesuffix("#") for uri in given}
    return tuple((uri, text) for uri, text in sorted(found.items()) if uri not in known)


def is_meta_schema(uri: str) -> bool:
    """Return True for the URI of a meta-schema or vocabulary of these drafts."""
    path = uri.partition("://")[2]
    return _SHORT.get(path, path) in _by_path()


def _with_vocabularies(uri: str) -> Iterator[tuple[str, str]]:
    """A meta-schema and its vocabularies; those of 2019-09 on are eight documents."""
    if not is_meta_schema(uri):
        return
    path = uri.partition("://")[2]
    yield uri, _by_path()[_SHORT.get(path, path)][1]
    draft = re.match(r"json-schema\.org/draft/[^/]+/", _SHORT.get(path, path))
    if draft:
        yield from (own for other, own in _by_path().items() if other.startswith(draft[0]))


@lru_cache(maxsize=1)
def _by_path() -> dict[str, tuple[str, str]]:
    """URIs and texts, by the URI without its scheme."""
    content = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(content)
    return {uri.partition("://")[2]: (uri, json.dumps(raw)) for uri, raw in read.items()}
