"""`guideway.lint`: what other engines enforce, refuse or drop of a JSON Schema.

The table `engines.json` has verdicts by keyword, with their sources. A key such as
"minLength:pattern" is for a keyword under a condition (`_conditions`), and "*" for all others.

Engines that are installed are tried as well, and a trial counts more. For a keyword, guideway makes
a shortest text that the schema allows without the keyword, and not with it. An engine that accepts
this text drops the keyword. An engine that rejects it enforces the keyword if it accepts the same
text under the schema without the keyword; otherwise it may have another reason, and a smaller
schema is tried: the one that the keyword stands in, by itself.
"""

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, cast
from typing import Literal as OneOf

from guideway.api.linting.enforcement import schema_keywords
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import GuidewayError, SourceError, brief
from guideway.extras import installed
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import Json
from guideway.json_schema.tree import KIND_OF
from guideway.language.budget import Budget, Meter
from guideway.language.fuel import metered
from guideway.python_types.source import type_source
from guideway.sources.sources import PythonType, source
from guideway.vocabulary.vocabulary import Vocabulary

_MOST: Final = 200  # keywords; others have the verdict of the table
_FEW: Final = 40  # keywords that are tried in the whole schema; of more, each by itself
_SEARCHED: Final = 60_000  # parts of automata for one text, about a second
_NAMES: Final = ("$defs", "definitions", "$schema")

Accepts = Callable[[str], bool]
Engine = Callable[[str], Accepts]
"""Compiles a schema, or raises; the result says whether a text is accepted."""


class Site(NamedTuple):
    """A keyword in a schema, by its JSON pointer."""

    place: str
    keyword: str

    def within(self, other: "Site") -> bool:
        """Return True if `other` is this site, or contains it."""
        return f"{self.place}/".startswith(f"{other.place}/")

    def schema(self, root: Json) -> dict[str, Any]:
        """The schema that has the keyword."""
        found: Any = root
        for step in self.place.split("/")[1:-1]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found[int(name) if isinstance(found, list) else name]
        return cast("dict[str, Any]", found)


Verdicts = dict[Site, tuple[str, str]]
"""Verdicts with their reasons."""


def try_engine(engine: str, root: Json, sites: list[Site]) -> tuple[str, Verdicts]:
    """The version of an engine, and the verdicts on what can be tried; nothing if not installed."""
    module, made = TRIED.get(engine, ("", None))
    if made is None or not installed(module) or len(sites) > _MOST:
        return "", {}
    compiles = _remembering(made())
    refused = _refused(compiles, root, sites)
    verdicts: Verdicts = {site: ("refused", why) for site, why in refused.items()}
    taken = _removed(root, refused)
    for site in [] if isinstance(compiles(json.dumps(taken)), str) else sites:
        if not any(site.within(other) for other in refused):
            verdict = _trial(compiles, taken, site) if len(sites) <= _FEW else None
            if verdict is None and (alone := _trial(compiles, *_cut_out(taken, site))):
                verdict = alone[0], f"{alone[1]} by itself"
            verdicts.update({} if verdict is None else {site: verdict})
    return f"{module.replace('_', '-')} {version(module)}", verdicts


def _remembering(engine: Engine) -> Callable[[str], Accepts | str]:
    """Compile each schema once; the error's text if the engine refuses it."""

    @cache
    def compiles(schema: str) -> Accepts | str:
        try:
            return engine(schema)
        except Exception as error:  # noqa: BLE001  each engine has errors of its own
            said = re.sub(r"^\[[\d:]+\] \S+: ", "", " ".join(str(error).split()))  # of C++ logs
            return brief(said, 160)

    return compiles


def _refused(
    compiles: Callable[[str], Accepts | str], root: Json, sites: list[Site]
) -> dict[Site, str]:
    """The keywords without which the engine takes the schema, with its errors.

    All keywords are removed and put back one by one: those with which it is refused stay away.
    Empty if the engine refuses the schema without all of them.
    """
    if not isinstance(compiles(json.dumps(root)), str):
        return {}
    away, refused = dict.fromkeys(sites, ""), dict[Site, str]()
    if isinstance(compiles(json.dumps(_removed(root, away))), str):
        return {}
    for site in sites:
        del away[site]
        error = compiles(json.dumps(_removed(root, away)))
        if isinstance(error, str):
            away[site] = refused[site] = error
    return refused


def _trial(
    compiles: Callable[[str], Accepts | str], root: Json, site: Site
) -> tuple[str, str] | None:
    """The verdict on a keyword of a schema; None if the trial says nothing."""
    accepts, found = compiles(json.dumps(root)), dict[str, str]()
    for strict, loose in () if isinstance(accepts, str) else _pairs(root, site):
        without = compiles(json.dumps(loose))
        for text in _violations(json.dumps(strict), json.dumps(loose)):
            if callable(accepts) and accepts(text):
                found.setdefault("dropped", f"accepts {brief(text, 80)}")
            elif callable(without) and without(text):
                found.setdefault("enforced", f"rejects {brief(text, 80)}")
    if len(found) > 1:
        return "partly", found["dropped"]
    return next(iter(found.items()), None)


def _pairs(root: Json, site: Site) -> list[tuple[Json, Json]]:
    """The schema, and without the keyword; between them, for oneOf, the one with anyOf."""
    loose = _removed(root, (site,))
    if site.keyword != "oneOf" or "anyOf" in site.schema(root):
        return [(root, loose)]
    either = copy.deepcopy(loose)
    site.schema(either)["anyOf"] = site.schema(root)["oneOf"]
    return [(root, either), (either, loose)]


def _removed(root: Json, sites: Mapping[Site, object] | tuple[Site, ...]) -> Json:
    """A copy of the schema without some keywords."""
    made = copy.deepcopy(root)
    for site in sites:
        try:
            site.schema(made).pop(site.keyword, None)
        except (KeyError, IndexError):  # within another one
            continue
    return made


def _cut_out(root: Json, site: Site) -> tuple[Json, Site]:
    """The schema that has the keyword, with the definitions of the root."""
    top = cast("dict[str, Json]", root)
    named = {name: top[name] for name in _NAMES if name in top}
    return {**named, **site.schema(root)}, Site(f"/{site.place.rsplit('/', 1)[1]}", site.keyword)


@lru_cache(1024)
def _violations(strict: str, loose: str) -> list[str]:
    """Spellings of a shortest text that `loose` allows and `strict` does not; [] for none."""
    inner = {key: value for key, value in json.loads(strict).items() if key not in _NAMES}
    outer = json.loads(loose)
    both = {**outer, "allOf": [*outer.get("allOf", ()), {"not": inner}]}
    try:
        with metered(Meter(Budget(fuel=_SEARCHED)).tick, fresh=True):
            text = _compiled(json.dumps(both)).example()
        plain = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
        fits, misses = _compiled(loose).matches, _compiled(strict).matches
        return [each for each in (plain, text) if fits(each) and not misses(each)]
    except GuidewayError:
        return []


@lru_cache(8)
def _compiled(schema: str) -> CompiledConstraint:
    source = JsonSchema(schema, key_order="declared", whitespace="compact", spelling="plain")
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)])  # equal ones share caches
    return compile_source(source, vocabulary, budget=Budget.untrusted())


def _llguidance() -> Engine:
    library = import_module("llguidance")
    tokenizer = library.LLTokenizer("byte")

    def engine(schema: str) -> Accepts:
        matcher = library.LLMatcher(tokenizer, library.LLMatcher.grammar_from_json_schema(schema))
        if matcher.is_error():
            raise ValueError(matcher.get_error())

        def ends(text: str) -> bool:
            read, own = list(text.encode()), matcher.deep_copy()
            return bool(own.try_consume_tokens(read) == len(read) and own.is_accepting())

        return ends

    return engine


def _xgrammar() -> Engine:
    library = import_module("xgrammar")
    tokens = [*(bytes([byte]) for byte in range(256)), b"<end>"]
    info = library.TokenizerInfo(tokens, library.VocabType.RAW, stop_token_ids=[256])
    compiler = library.GrammarCompiler(info, max_threads=1)

    def engine(schema: str) -> Accepts:
        grammar = compiler.compile_json_schema(schema, strict_mode=False)
        begin = partial(library.GrammarMatcher, grammar)
        return lambda text: bool((new := begin()).accept_string(text) and new.is_completed())

    return engine


def _outlines() -> Engine:
    regex_of = import_module("outlines_core.json_schema").build_regex_from_schema

    def engine(schema: str) -> Accepts:
        pattern = re.compile(regex_of(schema))
        return lambda text: bool(pattern.fullmatch(text))

    return engine


TRIED: Final[dict[str, tuple[str, Callable[[], Engine]]]] = {
    "llguidance": ("llguidance", _llguidance),
    "xgrammar": ("xgrammar", _xgrammar),
    "outlines": ("outlines_core", _outlines),
}
"""Module and maker of the engines that can be tried."""

Verdict: TypeAlias = OneOf["enforced", "partly", "refused", "dropped", "unknown"]
ENGINES: Final = ("xgrammar", "llguidance", "outlines", "openai", "gemini", "llama.cpp")
_VERDICTS: Final[tuple[Verdict, ...]] = ("enforced", "partly", "refused", "dropped")

_COMBINED: Final = frozenset(("anyOf", "oneOf", "allOf", "$ref"))
_SHAPES: Final = frozenset(("properties", "required", "additionalProperties", "items"))


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
    """The conditions of the keyword of a site, as in the keys of the table."""
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
        "siblings": not raw.keys().isdisjoint(KIND_OF),
        "combined": keyword not in _COMBINED and not raw.keys().isdisjoint(_COMBINED),
        "untyped": keyword in KIND_OF.keys() - _SHAPES and "type" not in raw,
        "false": value is False,
        "true": value is True,
        "root": site.place.count("/") == 1,
        "undeclared": not required <= declared,
        "open": raw.get("additionalProperties") is not False,
        "optional": not declared <= required,
    }
    yield from (name for name, holds in tests.items() if holds)
