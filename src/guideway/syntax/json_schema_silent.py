"""A `GuidewayWarning` for keywords of a JSON Schema without effect.

    requred            a name that is near a keyword
    const, draft 4     a keyword that the draft does not have
    beside $ref        up to draft 7, where $ref stands alone
    format: datetime   a name that is near a format

Other unknown names are annotations.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, cast

from guideway.errors import GuidewayError, brief, warn
from guideway.syntax.json_schema_resources import LATEST, READ, Draft, find_draft, parts_of
from guideway.syntax.json_schema_tame_tree import ASSERTED
from guideway.syntax.json_schema_tree import FORMATS
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
        found = list(_found(whole, find_draft(whole.get("$schema"), "", LATEST)))
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        if found:
            warn(f"in the JSON Schema, {'; '.join(found[:_TOLD])}{more}")


def _nothing_known(whole: dict[str, Json]) -> str:
    about = f"the schema {brief(whole)} has no keyword of JSON Schema, so it allows every value"
    inner = next((whole[key] for key in ("schema", "json_schema") if key in whole), None)
    if isinstance(inner, dict):
        return f"{about}; pass the schema inside it"
    near = next(filter(None, (did_you_mean(name, READ) for name in whole)), "")
    return about + (near or '; properties are {"type": "object", "properties": {...}}')


@lru_cache(maxsize=4096)
def _meant(name: str) -> str | None:
    """The keyword that a name misspells, or None."""
    if name.startswith(("_", "@", "x-")):
        return None
    return close(name, READ.keys() - _SHORT)


def _format_meant(raw: dict[str, Json]) -> str | None:
    """The format that a schema's `format` misspells, or None."""
    name = raw.get("format")
    return close(name, FORMATS) if isinstance(name, str) and name not in FORMATS else None


def _found(whole: dict[str, Json], draft: Draft) -> Iterator[str]:
    usual = (_ANNOTATIONS | ASSERTED[draft]) - {"format", "$ref"}
    todo: list[tuple[str, Json]] = [("", whole)]
    while todo:
        pointer, raw = todo.pop()
        if isinstance(raw, dict):
            said = cast("dict[str, Json]", raw)
            if not said.keys() <= usual:
                yield from (f"{about} (at {pointer or '/'})" for about in _silences(said, draft))
            todo += parts_of(pointer, said)


def _silences(raw: dict[str, Json], draft: Draft) -> Iterator[str]:
    """A sentence for each keyword without effect."""
    for name in raw:
        if name in READ and not READ[name][0] <= draft <= READ[name][1]:
            yield f"{name!r} has no effect: the draft that $schema names does not define it"
        elif name not in READ and name not in _ANNOTATIONS and (meant := _meant(name)):
            yield f"{name!r} has no effect: it is not a keyword; did you mean {meant!r}?"
    beside = (name for name in raw if name in READ and name != "$ref")
    if draft <= 7 and "$ref" in raw and (first := next(beside, None)):
        yield f"{first!r} has no effect: the draft that $schema names ignores it beside $ref"
    if meant := _format_meant(raw):
        yield f"the format {raw['format']!r} has no effect: it is unknown; did you mean {meant!r}?"
