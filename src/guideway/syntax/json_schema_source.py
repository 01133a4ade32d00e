"""What a user writes for a JSON Schema: the schema and how its JSON may be spelled.

The schema is kept as JSON text, so that sources are equal by content and keep the order of
properties. `syntax.json_schema` reads it; this file only checks the options.
"""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, Final, Literal, TypeAlias, TypedDict, Unpack, cast, final, get_args

from guideway.errors import GuidewayError, SourceError, brief
from guideway.syntax.collecting import pause, resume
from guideway.syntax.files import MARK, checked_path, decode_json, holds, read_file
from guideway.syntax.json_schema_closing import close_objects
from guideway.syntax.json_schema_drafts import meta_schemas
from guideway.syntax.json_schema_files import files_of
from guideway.syntax.json_schema_unformatted import drop_formats
from guideway.syntax.json_style import KeyOrder, Spelling, Whitespace, WhitespaceName
from guideway.syntax.json_text import Json, copy_json, read_json, write_plain
from guideway.syntax.sources import Source, check_option, check_style, check_text

Formats: TypeAlias = Literal["known", "strict", "annotation"]
Undeclared: TypeAlias = Literal["allow", "forbid"]
Schema: TypeAlias = "Mapping[str, Any] | bool | str | bytes"
Resources: TypeAlias = "Mapping[str, Schema] | str | PathLike[str]"

_FORMATS: Final[tuple[str, ...]] = get_args(Formats)
_UNDECLARED: Final[tuple[str, ...]] = get_args(Undeclared)
_READ: Final = ("value", "compact")


class Options(TypedDict, total=False):
    """Keyword arguments of `JsonSchema`."""

    key_order: KeyOrder
    whitespace: WhitespaceName | Whitespace
    spelling: Spelling
    formats: Formats
    resources: "Resources | None"
    undeclared: Undeclared


@final
@dataclass(frozen=True)
class JsonSchema(Source):
    """The JSON texts of the values that a JSON Schema allows.

    Example:
        >>> JsonSchema({"type": "integer"}, whitespace="compact").text
        '{"type":"integer"}'

    Args:
        schema: the schema: a dict, a bool, or JSON text (str, or bytes as `json.loads` takes them;
            a byte order mark is skipped).
        key_order: "any", or "declared": keys come in the order in which the schemas that hold name
            them in `properties`, those with `$ref` and branches after the schema itself; then those
            that are only in `required`, or that `dependentRequired` asks for, then all others.
            Alternatives have an order each; where they multiply to more than 24, one for all;
            objects that an `enum` lists come as listed, where several do as in the first.
        whitespace: "natural" (bounded runs, as `json.dumps` writes them), "compact" (none), "any"
            that JSON allows, or your own `Whitespace`. Under "any" a model can write whitespace
            until its budget ends.
        spelling: "any" way to write a string or a number, or "plain": strings as
            `json.dumps(..., ensure_ascii=False)` writes them, integers as digits, numbers as digits
            with a fraction or one digit, a fraction and an exponent, and beside format "double"
            with at most 17 significant digits. Of the spellings with an exponent, which have no
            end, those near the number are known: `1` is also `0.001e3` where the schema lists it (5
            digits before the point, or zeros behind it, as beside bounds), `0.01e2` where it is a
            whole number between bounds (2), and any spelling only where no bound is. Beside
            `multipleOf` exponents are read where the factor is 1 to 12 by a power of ten; other
            multiples are written without: 0.00000025, not 2.5e-7. Two schemas of the same values
            may differ in such texts alone.
        formats: "known": the formats of the specification are asserted, and names that it does not
            have are annotations; "strict": those are refused; "annotation": all formats are
            annotations, as in 2019-09 and 2020-12 by default.
        resources: schemas that `$ref` may name: a dict of schemas by URI, or a folder, in which
            files are found by their paths and by their `$id`. The meta-schemas of the drafts are
            known without. Nothing is ever fetched.
        undeclared: "allow": other members than those of `properties` are allowed, as the standard
            says; "forbid": objects that list `properties`, and say nothing of others by
            `additionalProperties`, `patternProperties`, `unevaluatedProperties` or `propertyNames`,
            have no others. So `generate` reads a bare schema.

    Attributes:
        text: the schema as JSON text, closed where `undeclared` is "forbid".
        resource_texts: the resources as (URI, JSON text).

    Raises:
        SourceError: an option that does not exist, a schema that is no JSON value, or a file that
            cannot be read.
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
        """Check the options and keep the schema as text."""
        check_style(self.key_order, self.whitespace, self.spelling)
        if brief(self.formats) == "'annotations'":  # the same in the plural
            object.__setattr__(self, "formats", "annotation")
        check_option("formats", self.formats, _FORMATS)
        check_option("undeclared", undeclared, _UNDECLARED)
        paused = pause()
        try:
            _keep(self, schema, resources, closed=undeclared == "forbid")
        finally:
            resume(paused)

    @staticmethod
    def open(path: str | PathLike[str], **options: Unpack[Options]) -> "JsonSchema":
        """The schema in a file; the options are those of `JsonSchema`.

        References to other files are looked up in the folder of the file, unless there are
        `resources=`.

        Raises:
            SourceError: there is no such file, it is not UTF-8, or `path` is no path.
        """
        file = checked_path(path)
        options.setdefault("resources", file.parent)
        return JsonSchema(read_file(file, "the schema"), **options)

    def __getstate__(self) -> dict[str, Any]:
        """All but what is read from the text again."""
        return {name: held for name, held in vars(self).items() if name not in _READ}

    @cached_property
    def value(self) -> Json:
        """The schema as a JSON value, without formats that are annotations; nobody changes it.

        Raises:
            SourceError, LimitError: as `read_json`.
        """
        read = read_json(self.text)
        return drop_formats(read) if self.formats == "annotation" else read

    @cached_property
    def compact(self) -> str | None:
        """The text as `write_plain` writes its value; None where it is no JSON."""
        try:
            return write_plain(self.value)
        except GuidewayError:  # which compiling will say
            return None


def bare_schema(schema: Schema, resources: "Resources | None" = None) -> JsonSchema:
    """A schema as `generate` and the command line read one that is given without options.

    >>> bare_schema({"properties": {"a": True}}).text
    '{"properties": {"a": true}, "additionalProperties": false}'
    """
    return JsonSchema(
        schema, "declared", spelling="plain", resources=resources, undeclared="forbid"
    )


def _keep(source: JsonSchema, schema: object, resources: object, *, closed: bool) -> None:
    text, value = _copied(schema, "a schema")
    if closed:
        text = close_objects(text)
    object.__setattr__(source, "text", text)
    if not isinstance(schema, str | bytes) and source.formats != "annotation" and not closed:
        source.__dict__["value"], source.__dict__["compact"] = value, text  # as the properties do
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
            f"resources are a dict of schemas by URI, or a folder, not {brief(resources)}"
        )
    listed = cast("Mapping[object, object]", resources).items()
    return tuple((_uri(uri), _copied(part, f"resource {brief(uri)}")[0]) for uri, part in listed)


def _uri(uri: object) -> str:
    if not isinstance(uri, str):
        raise SourceError(f"a resource's URI is a str, not {brief(uri)}")
    check_text(uri, "a resource's URI")
    return uri


def _copied(schema: object, what: str) -> tuple[str, Json]:
    """The JSON text of a schema and its value, that of a text being the text."""
    if isinstance(schema, bytes):
        schema = decode_json(schema, what)
    if isinstance(schema, str):
        check_text(schema, what)
        text = schema.removeprefix(MARK)
        return text, text
    if isinstance(schema, dict | Mapping | bool):
        return copy_json(schema if isinstance(schema, bool) else dict(schema))  # pyright: ignore[reportUnknownArgumentType]
    raise SourceError(
        f"{what} is a dict, a bool or JSON text, not {brief(schema)}{_instead(schema)}"
    )


def _instead(given: object) -> str:
    """What to write instead of something that is no schema, "" if nobody knows."""
    name = getattr(given, "__name__", None) or type(given).__name__
    if hasattr(given, "model_json_schema"):
        return f"; write {name}.model_json_schema(), or take the type {name} itself as the source"
    if isinstance(given, type):
        return f"; take the type {name} itself as the source"
    if isinstance(given, Source):
        return "; it is a source itself"
    return ""
