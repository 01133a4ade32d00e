"""`guideway.lint`: what other engines enforce, refuse or drop of a JSON Schema.

The table `engines.json` has verdicts by keyword, with their sources. A key such as
"minLength:pattern" is for a keyword under a condition (`_conditions`), and "*" for all others.
Engines that are installed are tried as well (`trials`), and a trial counts more.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, cast, final
from typing import Literal as OneOf

from guideway.api.linting.enforcement import ABOUT_ONE_TYPE, schema_keywords
from guideway.api.linting.trials import Site, try_engine
from guideway.errors import SourceError, brief
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import Json
from guideway.python_types.source import type_source
from guideway.sources.sources import PythonType, source

Verdict: TypeAlias = OneOf["enforced", "partly", "refused", "dropped", "unknown"]
ENGINES: Final = ("xgrammar", "llguidance", "outlines", "openai", "gemini", "llama.cpp")
_VERDICTS: Final[tuple[Verdict, ...]] = ("enforced", "partly", "refused", "dropped")

_COMBINED: Final = frozenset(("anyOf", "oneOf", "allOf", "$ref"))
_SHAPES: Final = frozenset(("properties", "required", "additionalProperties", "items"))


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A keyword of a schema in an engine.

    Attributes:
        engine: its name.
        place: JSON pointer of the keyword.
        keyword: its name.
        verdict: "enforced", "partly" (see `why`), "refused" (an error), "dropped" (texts that
            violate the keyword are generated) or "unknown".
        why: the reason in words; of a trial, the text that the engine accepts or its error.
        tried: True for a trial of the installed engine, False for the table.
        sources: the version and the sources of the table; the installed version of a trial.
    """

    engine: str
    place: str
    keyword: str
    verdict: Verdict
    why: str
    tried: bool
    sources: tuple[str, ...]


def lint(schema: Any, engine: str | Iterable[str] | None = None) -> list[Finding]:
    """Return how other engines treat each asserting keyword of a JSON Schema.

    Verdicts are from a table, and from trials where the engine is installed (llguidance, xgrammar,
    outlines-core). A trial gives the engine a text that violates one keyword and nothing else.

    Example:
        >>> import guideway as gw
        >>> schema = {"type": "array", "items": {"type": "number", "minimum": 0}}
        >>> [(f.place, f.verdict) for f in gw.lint(schema, "llama.cpp")]
        [('/type', 'enforced'), ('/items', 'enforced'), ('/items/type', 'enforced'), \
('/items/minimum', 'dropped')]

    Args:
        schema: a `guideway.JsonSchema`, what it takes (a dict or JSON text), or a Python type.
        engine: names of engines; default: all of "xgrammar", "llguidance", "outlines", "openai",
            "gemini" and "llama.cpp".

    Returns:
        The findings by engine, in the order of the schema.

    Raises:
        SourceError: the schema is wrong, or an engine has no such name.
        UnsupportedError: guideway cannot read the schema.
    """
    read = (
        JsonSchema(cast("Any", schema))
        if isinstance(schema, Mapping | str | bool)
        else source(schema)
    )
    given = type_source(read) if isinstance(read, PythonType) else read
    if not isinstance(given, JsonSchema):
        raise SourceError(f"the linter reads JSON Schemas, not {brief(given)}")
    names = ENGINES if engine is None else (engine,) if isinstance(engine, str) else (*engine,)
    for name in names:
        if name not in ENGINES:
            raise SourceError(f"the linter knows no engine {name!r}, only {', '.join(ENGINES)}")
    root: Json = json.loads(given.text)
    found = [
        Site(each.place, each.part)
        for each in schema_keywords(given)
        if each.standing in ("exact", "merged") and each.place.startswith("/")
    ]
    return [finding for name in names for finding in _of_engine(name, root, found)]


def _of_engine(engine: str, root: Json, sites: list[Site]) -> Iterator[Finding]:
    tried_version, tried = try_engine(engine, root, sites)
    verdicts, sources = _table(engine)
    gone = list[tuple[Site, Verdict]]()  # what is in them goes with them
    for site in sites:
        around = next(((other, verdict) for other, verdict in gone if site.within(other)), None)
        verdict, why = tried.get(site) or (
            _looked_up(verdicts, site, site.schema(root))
            if around is None
            else (around[1], f"within {around[0].place}")
        )
        if verdict in ("refused", "dropped") and site.keyword != "properties":
            gone.append((site, cast("Verdict", verdict)))
        known = (tried_version,) if site in tried else sources
        yield Finding(engine, *site, cast("Verdict", verdict), why, site in tried, known)


@cache
def _table(engine: str) -> tuple[dict[str, tuple[Verdict, str]], tuple[str, ...]]:
    """The verdicts of an engine by key, its version and its sources."""
    text = Path(__file__).with_name("engines.json").read_text(encoding="utf-8")
    listed: dict[str, Any] = json.loads(text)[engine]
    verdicts: dict[str, tuple[Verdict, str]] = {
        key: (verdict, str(why))
        for verdict in _VERDICTS
        for keys, why in listed.get(verdict, {}).items()
        for key in keys.split()
    }
    return verdicts, (listed["version"], *listed["sources"])


def _looked_up(
    verdicts: Mapping[str, tuple[Verdict, str]], site: Site, raw: Mapping[str, Any]
) -> tuple[Verdict, str]:
    for condition in _conditions(site, raw):
        for key in (f"{site.keyword}:{condition}", f"*:{condition}"):
            if key in verdicts:
                return verdicts[key]
    return verdicts.get(site.keyword) or verdicts.get("*") or ("unknown", "the table has no entry")


def _conditions(site: Site, raw: Mapping[str, Any]) -> Iterator[str]:
    """The conditions under which the keyword of a site stands, for the keys of the table."""
    keyword, value = site.keyword, raw[site.keyword]
    if keyword == "format":
        yield str(value)
    declared, required = set(raw.get("properties", ())), set(raw.get("required", ()))
    tests = {
        "lookaround": keyword == "pattern" and any(look in value for look in ("(?=", "(?!", "(?<")),
        "unanchored": keyword == "pattern" and not (value[:1] == "^" and value[-1:] == "$"),
        "length": not raw.keys().isdisjoint(("minLength", "maxLength")),
        "pattern": not raw.keys().isdisjoint(("pattern", "format")),
        "number": raw.get("type") != "integer",
        "list": isinstance(value, list),
        "several": isinstance(value, list | dict) and len(cast("list[Any]", value)) > 1,
        "remote": not str(raw.get("$ref", "#")).startswith("#"),
        "siblings": not raw.keys().isdisjoint(ABOUT_ONE_TYPE),
        "combined": keyword not in _COMBINED and not raw.keys().isdisjoint(_COMBINED),
        "untyped": keyword in ABOUT_ONE_TYPE.keys() - _SHAPES and "type" not in raw,
        "false": value is False,
        "true": value is True,
        "root": site.place.count("/") == 1,
        "undeclared": not required <= declared,
        "open": raw.get("additionalProperties") is not False,
        "optional": not declared <= required,
    }
    yield from (name for name, holds in tests.items() if holds)
