r"""Sources as the requests of serving engines name them (`KINDS`), and structural tags of xgrammar:
regions in free text, and formats beside them.

    structural_tag({"format": {"type": "triggered_tags", "triggers": [...], "tags": [...]}})
    structural_tag({"triggers": ["<f="], "structures": [{"begin", "schema", "end"}, ...]})

`_FORMATS` has the formats and their options. Others are refused by name.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from guideway.chat.tool_formats import elements_of
from guideway.chat.tool_literals import Elements, elements, parameters
from guideway.context_free.lark.source import Lark
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.json_schema.source import bare_schema
from guideway.sources.regions import Tag, regions, special, tag, until
from guideway.sources.sources import (
    Choice,
    Either,
    Gbnf,
    Literal,
    Regex,
    Source,
    Text,
    repeat,
    source,
)
from guideway.sources.sources import Sequence as Joined

Spec: TypeAlias = Mapping[str, Any]

_LINE: Final = Regex("\n?")
_STYLES: Final[Mapping[str, Elements]] = {
    "qwen_xml": Elements(
        begin=(Literal("<parameter="),),
        middle=(Literal(">"), _LINE),
        end=Regex("\n?</parameter>"),
        after=(_LINE,),
    ),
    "glm_xml": elements_of("glm47"),
    "deepseek_xml": elements_of("deepseek_v32"),
    "minimax_xml": elements_of("minimax_m2"),
}
_RULE: Final = re.compile(r"^\s*[A-Za-z][\w-]*\s*::=", re.MULTILINE)


def structural_tag(given: Any) -> Source:
    """The source of a structural tag in its present or its older form, or of its JSON text.

    >>> structural_tag({"format": {"type": "regex", "pattern": "a+"}}).pattern
    'a+'

    Raises:
        SourceError: it has another form, or a part of it is not well formed.
        UnsupportedError: a format or an option cannot be enforced.
    """
    spec = loaded(given, "structural_tag") if isinstance(given, str) else given
    try:
        if "format" in spec:
            return _format(spec["format"])
        schema = {"type": "json_schema"}
        tags = [
            {**each, "content": schema | {"json_schema": each["schema"]}}
            for each in spec["structures"]
        ]
        return _triggered({"triggers": spec["triggers"], "tags": tags})
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(
            "a structural tag has a format, or structures and triggers; "
            f"{brief(spec)} is malformed: {error!r}"
        ) from None


def grammar(text: object) -> Source:
    """A GBNF grammar if a line begins with `name ::=`, else a Lark grammar.

    >>> grammar('root ::= "a"').root
    'root'

    Raises:
        SourceError: it is no text.
    """
    if not isinstance(text, str):
        raise SourceError(f"a grammar must be a text, not {brief(text)}")
    return Gbnf(text) if _RULE.search(text) else Lark(text)


def regex(pattern: Any) -> Regex:
    r"""A regex of a request, in the syntax of Python's `re` with ASCII classes.

    Clients write patterns for Python and Rust, and `\d` is an ASCII digit in xgrammar.

    >>> regex("[0-9]+").flags
    'a'
    """
    return Regex(pattern, flags="a")


def loaded(text: str, what: str) -> Any:
    """The value of a JSON text; `what` names it in the error."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{what} is not valid JSON: {error}") from None


def _format(form: Spec) -> Source:
    if form["type"] not in _FORMATS:
        raise UnsupportedError(
            f"a structural tag with {brief(form['type'])}; known are {', '.join(_FORMATS)}",
            feature=f"structural tag {form['type']}",
        )
    taken, read = _FORMATS[form["type"]]
    for option, value in form.items():
        if option not in ("type", *taken) and value not in (None, False, []):
            raise UnsupportedError(
                f"the option {option} = {brief(value)} in a structural tag",
                feature=f"structural tag: {option}",
            )
    return read(form)


def _excluded(form: Spec) -> tuple[str, ...]:
    return Choice(form["excludes"]).options if form.get("excludes") else ()


def _json_schema(form: Spec) -> Source:
    """A text of a schema as JSON, or as the elements of a family of models."""
    schema, style = form["json_schema"], form.get("style") or "json"
    if style == "json":
        return bare_schema(schema)
    if style not in _STYLES:
        raise UnsupportedError(
            f"the style {brief(style)} in a structural tag; known are json, {', '.join(_STYLES)}",
            feature=f"structural tag: style {style}",
        )
    return _elements(schema, _STYLES[style])


def _elements(schema: Any, form: Elements) -> Source:
    if schema is not True:
        return elements(parameters("in a structural tag", bare_schema(schema)), form)
    name, value = Regex("[a-zA-Z_][a-zA-Z0-9_]*"), until(form.end, include=False)
    inside: list[Source] = [Joined((*form.middle, value))]
    if form.json is not None:
        inside.append(Joined((*form.json, bare_schema(True) & value)))
    return repeat(Joined((*form.begin, name, _either(inside), form.end, *form.after)))


def _any_text(form: Spec) -> Source:
    excluded = _excluded(form)
    return until(*excluded, include=False) if excluded else Text()


def _either(sources: Sequence[Source]) -> Source:
    if not sources:
        raise SourceError("a list of alternatives in a structural tag is empty")
    return Either(tuple(sources))


def _piece(written: Any) -> Source:
    """A text, one of several texts, or a token."""
    match written:
        case {"token": token}:
            return special(token)
        case [_, *_]:
            return _either([source(str(each)) for each in written])
        case str():
            return source(written)
        case _:
            raise SourceError(f"the begin or end of a tag must be a text, not {brief(written)}")


def _tag(form: Spec, trigger: str = "") -> Tag[Any]:
    begin = _piece(form["begin"])
    if trigger and form["begin"] != trigger:
        begin = source(trigger) + form["begin"].removeprefix(trigger)
    return tag(begin, _format(form["content"]), _piece(form["end"]))


def _triggered(form: Spec) -> Source:
    tags: list[Tag[Any]] = []
    for each in form["tags"]:
        begun = [trigger for trigger in form["triggers"] if each["begin"].startswith(trigger)]
        if len(begun) != 1:
            raise SourceError(f"{each['begin']!r} must begin with exactly one trigger, not {begun}")
        tags.append(_tag(each, begun[0]))
    stops = bool(form.get("stop_after_first"))
    found = replace(regions(*tags, stop_after_first=stops), excludes=_excluded(form))
    if not form.get("at_least_one"):
        return found
    return _either(tags) if stops else _either(tags) + found  # no text before the first tag


def _separated(form: Spec) -> Source:
    one = _either([_tag(each) for each in form["tags"]])
    several = one if form.get("stop_after_first") else one + repeat(form["separator"] + one)
    return several if form.get("at_least_one") else repeat(several, 0, 1)


_FORMATS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Spec], Source]]]] = {
    "const_string": (("value",), lambda form: source(form["value"])),
    "json_schema": (("json_schema", "style"), _json_schema),
    "regex": (("pattern",), lambda form: regex(form["pattern"])),
    "grammar": (("grammar",), lambda form: grammar(form["grammar"])),
    "any_text": (("excludes",), _any_text),
    "token": (("token",), _piece),
    "sequence": (("elements",), lambda form: Joined(tuple(map(_format, form["elements"])))),
    "or": (("elements",), lambda form: _either([*map(_format, form["elements"])])),
    "optional": (("content",), lambda form: repeat(_format(form["content"]), 0, 1)),
    "star": (("content",), lambda form: repeat(_format(form["content"]))),
    "plus": (("content",), lambda form: repeat(_format(form["content"]), 1)),
    "tag": (("begin", "content", "end"), _tag),
    "triggered_tags": (
        ("triggers", "tags", "at_least_one", "stop_after_first", "excludes"),
        _triggered,
    ),
    "tags_with_separator": (("tags", "separator", "at_least_one", "stop_after_first"), _separated),
}


def _choice(options: Any) -> Source:
    return Choice(loaded(options, "choice") if isinstance(options, str) else options)


KINDS: Final[Mapping[str, Callable[[Any], Source]]] = {
    "json": bare_schema,
    "json_object": lambda _: bare_schema({"type": "object"}),
    "regex": regex,
    "choice": _choice,
    "grammar": grammar,
    "structural_tag": structural_tag,
}
"""Readers of the kinds of sources that vLLM calls structured outputs."""
