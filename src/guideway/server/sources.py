"""The source of a request, under the names of OpenAI, vLLM, SGLang and llama.cpp."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel

from guideway.chat.structural_tags import grammar, regex, structural_tag
from guideway.context_free.lark.source import Lark
from guideway.errors import SourceError
from guideway.json_schema.source import bare_schema
from guideway.server import protocol
from guideway.server.refusals import of_field
from guideway.sources.sources import Choice, Gbnf, Source

AnyFormat: TypeAlias = Any
Read: TypeAlias = Callable[[Any], Source | None]


def read_format(given: AnyFormat) -> Source | None:
    """The source of a `response_format`, or of `text.format`."""
    match given:
        case protocol.ObjectFormat():
            return bare_schema(given.schema_ or {"type": "object"})
        case protocol.SchemaFormat(json_schema=protocol.NamedSchema() as named):
            return bare_schema(named.schema_)
        case protocol.ResponseText.Json():
            return bare_schema(given.schema_)
        case protocol.GrammarFormat():
            return read_grammar(given.grammar, given.syntax)
        case protocol.TagFormat():
            return structural_tag(given.model_dump(exclude_none=True, exclude={"type"}))
        case _:
            return None


def read_grammar(text: str, syntax: Literal["lark", "regex", "gbnf"]) -> Source:
    """A grammar in Lark or GBNF, or a regex."""
    readers: dict[str, Callable[[str], Source]] = {"lark": Lark, "regex": regex, "gbnf": Gbnf}
    return readers[syntax](text)


def read_structured(given: protocol.Structured) -> Source | None:
    return _only(_given(given, _STRUCTURED, "structured_outputs."))[0]


def read_source(
    asked: protocol.Common, form: Mapping[str, Source | None]
) -> tuple[Source | None, str | None]:
    """The only source that a request gives, under whatever name, and the name."""
    found = {name: source for name, source in form.items() if source is not None}
    return _only({**found, **_given(asked, _SOURCES)})


def _given(asked: BaseModel, readers: Mapping[str, Read], place: str = "") -> dict[str, Source]:
    """The sources of the fields that a request has, by the place of each field."""
    found = dict[str, Source]()
    for name, read in readers.items():
        value, field = getattr(asked, name), place + name.rstrip("_")
        with of_field(field):
            source = None if value is None else read(value)
        if source is not None:
            found[field] = source
    return found


def _only(found: Mapping[str, Source]) -> tuple[Source | None, str | None]:
    if len(found) > 1:
        names = ", ".join(found)
        raise SourceError(f"the request has {len(found)} constraints: {names}; give one of them")
    for name, source in found.items():
        return source, name
    return None, None


_STRUCTURED: Final[Mapping[str, Read]] = {
    "json_": bare_schema,
    "regex": regex,
    "choice": Choice,
    "grammar": grammar,
    "json_object": lambda _: bare_schema({"type": "object"}),
    "structural_tag": structural_tag,
}
_SOURCES: Final[Mapping[str, Read]] = {
    "structured_outputs": read_structured,
    "guided_json": bare_schema,
    "guided_regex": regex,
    "guided_choice": Choice,
    "guided_grammar": grammar,
    "json_schema": bare_schema,
    "regex": regex,
    "ebnf": Gbnf,
    "grammar": Gbnf,
    "structural_tag": structural_tag,
}
"""The fields with sources: of vLLM, SGLang and llama.cpp."""
