"""`JsonSchema`, the source, and warnings of keywords that have no effect."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from functools import cached_property, lru_cache, reduce
from os import PathLike
from typing import Any, Final, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

from guideway.errors import GuidewayError, SourceError, brief, warn
from guideway.json_schema.closed_objects import close_objects
from guideway.json_schema.formats import FORMATS
from guideway.json_schema.resources import files_of, find_draft, meta_schemas, steps_in
from guideway.json_schema.satisfiability.parts import Targets
from guideway.json_schema.text import Json, copy_json, extend, pause, read_json, resume
from guideway.json_schema.tree import ANNOTATIONS, ASSERTED, KEYWORDS, LATEST, NAMING, Draft
from guideway.sources.json_style import KeyOrder, Spelling, Whitespace, WhitespaceName
from guideway.sources.names import SURE, did_you_mean, near
from guideway.sources.reading import MARK, checked_path, decode_json, holds, read_file
from guideway.sources.sources import Source, check_option, check_style, check_text


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
            todo += (part for _, part in steps_in(raw))
            todo.append(targets.get(raw.get("$ref")))
    return root


Formats: TypeAlias = Literal["known", "strict", "annotation"]
Undeclared: TypeAlias = Literal["allow", "forbid"]
Schema: TypeAlias = "Mapping[str, Any] | bool | str | bytes"
Resources: TypeAlias = "Mapping[str, Schema] | str | PathLike[str]"

_FORMAT_OPTIONS: Final[tuple[str, ...]] = get_args(Formats)
_UNDECLARED: Final[tuple[str, ...]] = get_args(Undeclared)


class Options(TypedDict, total=False):
    """Keyword arguments of `JsonSchema`."""

    key_order: KeyOrder
    whitespace: WhitespaceName | Whitespace
    spelling: Spelling
    formats: Formats
    resources: "Resources | None"
    undeclared: Undeclared


@dataclass(frozen=True)
class JsonSchema(Source):
    """The JSON texts of the values that a JSON Schema allows.

    Example:
        >>> JsonSchema({"type": "integer"}, whitespace="compact").text
        '{"type":"integer"}'

    Args:
        schema: the schema: a dict, a bool, or JSON text (str, or bytes in UTF-8, 16 or 32, with or
            without a byte order mark).
        key_order: "any", or "declared": first the keys in the order of `properties`, those of
            `$ref` and branches after those of the schema itself; then keys that only `required` or
            `dependentRequired` names; then all others. Each alternative has its own order; more
            than 24 combinations share one. Objects in an `enum` have the order in which they are
            written; equal objects that of the first.
        whitespace: "natural" (bounded runs, as `json.dumps` writes them), "compact" (none), "any"
            (all that JSON allows), or a `Whitespace`. Under "any" a model can write whitespace
            until its budget ends.
        spelling: "any" allows all spellings of strings and numbers, within limits for exponents.
            "plain" allows strings as `json.dumps(..., ensure_ascii=False)` writes them; integers as
            digits; other numbers as digits with a fraction, or as one digit with a fraction and an
            exponent; with format "double" at most 17 significant digits.
        formats: "known" asserts the formats of the specification, and ignores other names; "strict"
            refuses other names; "annotation" ignores all formats, as drafts 2019-09 and 2020-12 do
            by default.
        resources: the schemas that `$ref` may name: a dict of schemas by URI, or a folder with
            files, found by path and by `$id`. The meta-schemas of the drafts are built in. Nothing
            is ever fetched.
        undeclared: "allow" allows members that `properties` does not list, as the standard says.
            "forbid" closes objects that list `properties` without `additionalProperties`,
            `patternProperties`, `unevaluatedProperties` or `propertyNames`, as `generate` does for
            a schema given as a dict.

    Attributes:
        text: the schema as JSON text; closed if `undeclared` is "forbid".
        resource_texts: the resources as (URI, JSON text).

    Raises:
        SourceError: an option is unknown, the schema is not a JSON value, or a file cannot be read.
    """

    schema: InitVar[Schema]
    key_order: KeyOrder = "any"
    whitespace: WhitespaceName | Whitespace = "natural"
    spelling: Spelling = "any"
    formats: Formats = "known"
    resources: InitVar["Resources | None"] = None
    undeclared: InitVar[Undeclared] = "allow"
    text: str = field(init=False)
    resource_texts: tuple[tuple[str, str], ...] = field(init=False, default=())

    def __post_init__(
        self, schema: Schema, resources: "Resources | None", undeclared: Undeclared
    ) -> None:
        check_style(self.key_order, self.whitespace, self.spelling)
        if brief(self.formats) == "'annotations'":  # the same in the plural
            object.__setattr__(self, "formats", "annotation")
        check_option("formats", self.formats, _FORMAT_OPTIONS)
        check_option("undeclared", undeclared, _UNDECLARED)
        paused = pause()
        try:
            _set_fields(self, schema, resources, closed=undeclared == "forbid")
        finally:
            resume(paused)

    @staticmethod
    def open(path: str | PathLike[str], **options: Unpack[Options]) -> "JsonSchema":
        """Read the schema in a file. The options are those of `JsonSchema`.

        `resources` is by default the folder of the file, so references to other files work.

        Raises:
            SourceError: the file does not exist or is not UTF-8, or `path` is not a path.
        """
        file = checked_path(path)
        options.setdefault("resources", file.parent)
        return JsonSchema(read_file(file, "the schema"), **options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: held for name, held in vars(self).items() if name != "value"}

    @cached_property
    def value(self) -> Json:
        """The schema as a JSON value, without ignored formats. Do not change it.

        Raises:
            SourceError, LimitError: as `read_json`.
        """
        read = read_json(self.text)
        return drop_formats(read) if self.formats == "annotation" else read


def bare_schema(schema: Schema, resources: "Resources | None" = None) -> JsonSchema:
    """A schema with the options that `generate` and the command line use for a dict.

    >>> bare_schema({"properties": {"a": True}}).text
    '{"properties":{"a":true},"additionalProperties":false}'
    """
    return JsonSchema(
        schema, "declared", spelling="plain", resources=resources, undeclared="forbid"
    )


def _set_fields(source: JsonSchema, schema: object, resources: object, *, closed: bool) -> None:
    text, value = _copied(schema, "a schema")
    if closed:
        text = close_objects(text)
    object.__setattr__(source, "text", text)
    if not isinstance(schema, str | bytes) and source.formats != "annotation" and not closed:
        source.__dict__["value"] = value  # as the property does
    given = _resource_texts(text, resources)
    known = meta_schemas((text, *(other for _, other in given)), (uri for uri, _ in given))
    object.__setattr__(source, "resource_texts", given + known)


def _resource_texts(text: str, resources: object) -> tuple[tuple[str, str], ...]:
    if resources is None:
        return ()
    if isinstance(resources, str | PathLike):
        folder = checked_path(cast("str | PathLike[str]", resources))
        if not holds(folder.is_dir):
            raise SourceError(f"resources={brief(str(folder))} is not a folder")
        return files_of(folder, read_json(text))
    if not isinstance(resources, Mapping):
        raise SourceError(
            f"resources must be a dict of schemas by URI, or a folder, not {brief(resources)}"
        )
    listed = cast("Mapping[object, object]", resources).items()
    texts: list[tuple[str, str]] = []
    for uri, part in listed:
        if not isinstance(uri, str):
            raise SourceError(f"the URI of a resource must be a str, not {brief(uri)}")
        check_text(uri, "a resource's URI")
        texts.append((uri, _copied(part, f"resource {brief(uri)}")[0]))
    return tuple(texts)


def _copied(schema: object, what: str) -> tuple[str, Json]:
    """The JSON text and the value of a schema; of a text, the text twice."""
    if isinstance(schema, bytes):
        schema = decode_json(schema, what)
    if isinstance(schema, str):
        check_text(schema, what)
        text = schema.removeprefix(MARK)
        return text, text
    if isinstance(schema, dict | Mapping | bool):
        return copy_json(schema if isinstance(schema, bool) else dict(schema))  # pyright: ignore[reportUnknownArgumentType]
    raise SourceError(
        f"{what} must be a dict, a bool or JSON text, not {brief(schema)}{_instead(schema)}"
    )


def _instead(given: object) -> str:
    """Advice for an object that is no schema, or ""."""
    name = getattr(given, "__name__", None) or type(given).__name__
    if hasattr(given, "model_json_schema"):
        return f"; write {name}.model_json_schema(), or take the type {name} itself as the source"
    if isinstance(given, type):
        return f"; take the type {name} itself as the source"
    if isinstance(given, Source):
        return "; it is a source itself"
    return ""


_OPEN_API: Final[set[str]] = {"discriminator", "nullable", "example", "xml", "externalDocs"}
_ANNOTATIONS: Final = NAMING | ANNOTATIONS | _OPEN_API
_SHOWN: Final = 2  # mistakes of a schema that a warning lists
_SHORT: Final = frozenset(("not", "if", "then", "else"))  # "note" is near to them


def check_keywords(root: Json) -> None:
    """Warn about keywords without effect: misspelt ones, and those of other drafts."""
    if not isinstance(root, dict):
        return
    whole = cast("dict[str, Json]", root)
    if whole and not any(name in KEYWORDS or name in _ANNOTATIONS for name in whole):
        warn(_nothing_known(whole))
        return
    with suppress(GuidewayError):  # compiling says what is wrong
        found = list(_silent_keywords(whole, find_draft(whole.get("$schema"), "", LATEST)))
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        if found:
            warn(f"in the JSON Schema, {'; '.join(found[:_SHOWN])}{more}")


def _nothing_known(whole: dict[str, Json]) -> str:
    about = f"the schema {brief(whole)} has no keyword of JSON Schema, so it allows every value"
    inner = next((whole[key] for key in ("schema", "json_schema") if key in whole), None)
    if isinstance(inner, dict):
        return f"{about}; pass the schema inside it"
    meant = next(filter(None, (did_you_mean(name, KEYWORDS) for name in whole)), "")
    return about + (meant or '; properties are {"type": "object", "properties": {...}}')


@lru_cache(maxsize=4096)
def _meant(name: str) -> str | None:
    """The keyword that a name misspells, or None."""
    if name.startswith(("_", "@", "x-")):
        return None
    return near(name, KEYWORDS.keys() - _SHORT, SURE)


_Path: TypeAlias = "tuple[_Path | None, tuple[str, ...]]"
"""The last steps to a part, after the path to the part around it."""


def _silent_keywords(whole: dict[str, Json], draft: Draft) -> Iterator[str]:
    usual = (_ANNOTATIONS | ASSERTED[draft]) - {"format", "$ref"}
    todo: list[tuple[_Path | None, Json]] = [(None, whole)]
    while todo:
        path, raw = todo.pop()
        if isinstance(raw, dict):
            said = cast("dict[str, Json]", raw)
            if not said.keys() <= usual:
                yield from (f"{about} (at {_pointer(path)})" for about in _silences(said, draft))
            todo += (((path, steps), part) for steps, part in steps_in(said))


def _pointer(path: "_Path | None") -> str:
    steps = list[str]()
    while path is not None:
        path, last = path
        steps += reversed(last)
    return reduce(extend, reversed(steps), "") or "/"


def _silences(raw: dict[str, Json], draft: Draft) -> Iterator[str]:
    """A sentence for each keyword without effect."""
    for name in raw:
        if name in KEYWORDS and name not in ASSERTED[draft]:
            yield f"{name!r} has no effect: the draft that $schema names does not define it"
        elif name not in KEYWORDS and name not in _ANNOTATIONS and (meant := _meant(name)):
            yield f"{name!r} has no effect: it is not a keyword; did you mean {meant!r}?"
    beside = (name for name in raw if name in KEYWORDS and name != "$ref")
    if draft <= 7 and "$ref" in raw and (first := next(beside, None)):
        yield f"{first!r} has no effect: the draft that $schema names ignores it beside $ref"
    name = raw.get("format")
    if isinstance(name, str) and name not in FORMATS and (meant := near(name, FORMATS, SURE)):
        yield f"the format {name!r} has no effect: it is unknown; did you mean {meant!r}?"
