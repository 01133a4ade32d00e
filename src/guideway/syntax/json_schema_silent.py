"""A `GuidewayWarning` for keywords of a JSON Schema that have no effect.

    requred            a name that is near a keyword
    const, draft 4     a keyword that the draft does not have
    beside $ref        up to draft 7, where $ref stands alone
    format: datetime   a name that is near a format

The specification calls all of them annotations. Other unknown names are taken as the user's own.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, cast

from guideway.errors import GuidewayError, brief, warn
from guideway.syntax.json_schema_keywords import LATEST, READ, Draft, find_draft
from guideway.syntax.json_schema_resources import parts_of
from guideway.syntax.json_schema_tame_tree import ASSERTED
from guideway.syntax.json_schema_tame_values import BELOW, MAPS
from guideway.syntax.json_schema_values import FORMATS
from guideway.syntax.json_text import Json
from guideway.syntax.names import close, did_you_mean

_ANNOTATIONS: Final = frozenset(
    (
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("$defs", "definitions", "$comment", "title", "description", "default", "examples"),
        *("readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType"),
        *("contentSchema", "discriminator", "nullable", "example", "xml", "externalDocs"),
    )
)
_MAPS: Final = MAPS | {"$defs", "definitions"}
_HOLDING: Final = BELOW - MAPS
_TOLD: Final = 2  # mistakes of a schema that a warning lists
_SHORT: Final = frozenset(("not", "if", "then", "else"))  # "note" is near to them


def check_keywords(root: Json) -> None:
    """Warn about keywords without effect: misspelt ones, and those of other drafts."""
    if not isinstance(root, dict):
        return
    whole = cast("dict[str, Json]", root)
    if whole and not any(name in READ or name in _ANNOTATIONS for name in whole):
        warn(_nothing_known(whole))
        return
    with suppress(GuidewayError):  # compiling says what is wrong
        draft = find_draft(whole.get("$schema"), "", LATEST)
        if any(_is_silent(raw, draft) for raw in _schemas(whole)):
            _tell(whole, draft)


def _nothing_known(whole: dict[str, Json]) -> str:
    about = f"the schema {brief(whole)} has no keyword of JSON Schema, so it allows every value"
    inner = next((whole[key] for key in ("schema", "json_schema") if key in whole), None)
    if isinstance(inner, dict):
        return f"{about}; pass the schema inside it"
    near = next(filter(None, (did_you_mean(name, READ) for name in whole)), "")
    return about + (near or '; properties are {"type": "object", "properties": {...}}')


def _schemas(whole: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Every schema in a document, without its place: most documents have no mistakes."""
    todo: list[Any] = [whole]
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += cast("list[Any]", part)
        elif isinstance(part, dict):
            raw = cast("dict[str, Any]", part)
            yield raw
            todo += [raw[name] for name in raw.keys() & _HOLDING]
            for name in raw.keys() & _MAPS:
                if isinstance(raw[name], dict):
                    todo += raw[name].values()


def _is_silent(raw: dict[str, Json], draft: Draft) -> bool:
    names = raw.keys() - ASSERTED[draft] - _ANNOTATIONS
    if any(name in READ or _meant(name) for name in names) or _format_meant(raw):
        return True
    return draft <= 7 and "$ref" in raw and len(raw) > 1 and bool(_beside(raw))


@lru_cache(maxsize=4096)
def _meant(name: str) -> str | None:
    """The keyword of which a name is a misspelling."""
    if name.startswith(("_", "@", "x-")):
        return None
    return close(name, READ.keys() - _SHORT)


def _format_meant(raw: dict[str, Json]) -> str | None:
    """The format of which that of a schema is a misspelling."""
    name = raw.get("format")
    return close(name, FORMATS) if isinstance(name, str) and name not in FORMATS else None


def _beside(raw: dict[str, Json]) -> list[str]:
    return [name for name in raw if name in READ and name != "$ref"]


def _tell(whole: dict[str, Json], draft: Draft) -> None:
    found: list[str] = []
    todo: list[tuple[str, Json]] = [("", whole)]
    while todo:
        pointer, raw = todo.pop()
        if isinstance(raw, dict):
            said = cast("dict[str, Json]", raw)
            if _is_silent(said, draft):
                found += (f"{about} (at {pointer or '/'})" for about in _silences(said, draft))
            todo += parts_of(pointer, said)
    more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    warn(f"in the JSON Schema, {'; '.join(found[:_TOLD])}{more}")


def _silences(raw: dict[str, Json], draft: Draft) -> Iterator[str]:
    """A sentence for each keyword without effect."""
    for name in raw:
        if name in READ and name not in ASSERTED[draft]:
            yield f"{name!r} has no effect: the draft that $schema names does not define it"
        elif name not in READ and name not in _ANNOTATIONS and (meant := _meant(name)):
            yield f"{name!r} has no effect: it is not a keyword; did you mean {meant!r}?"
    if draft <= 7 and "$ref" in raw and (beside := _beside(raw)):
        yield f"{beside[0]!r} has no effect: the draft that $schema names ignores it beside $ref"
    if meant := _format_meant(raw):
        yield f"the format {raw['format']!r} has no effect: it is unknown; did you mean {meant!r}?"
