"""List the parts of a source and how each is enforced.

    /type                    exact       only values of these types can start
    /properties/a/maxLength  exact       characters are counted
    /properties/a/title      annotation  does not restrict values

Parts are keywords of JSON Schema (for a Python type, of its schema), constructs of a regular
expression, or parts of a combination, numbered from 0.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast
from typing import Literal as OneOf

from guideway.chat.parts import parts_of
from guideway.chat.tools import Tools
from guideway.context_free.gbnf import Grammar, parse_gbnf
from guideway.context_free.lark.grammar import LarkGrammar
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.json_schema.formats import FORMATS
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.resources import find_draft, schemas_in
from guideway.json_schema.source import Formats, JsonSchema
from guideway.json_schema.text import Json, extend, read_json, show
from guideway.json_schema.tree import (
    ANNOTATIONS,
    ASSERTED,
    KEYWORDS,
    KIND_OF,
    LATEST,
    NAMING,
    Address,
    Draft,
    Keywords,
    kind_of,
    read_pattern,
)
from guideway.python_types.source import type_source
from guideway.regex import tree
from guideway.regex.parser import parse_regex
from guideway.sources import sources
from guideway.sources.names import did_you_mean
from guideway.sources.regions import Others, Regions, Special, Tag, Thinking, Until

Standing: TypeAlias = OneOf["exact", "merged", "inert", "annotation", "names", "unused"]
"""How a part is treated:

    exact       enforced as it stands
    merged      intersected with the keywords around it, and enforced with them
    inert       an assertion that has no effect at its place
    annotation  does not restrict values
    names       says what other parts are called, or where they stand
    unused      in a schema that nothing refers to
"""


@dataclass(frozen=True, slots=True)
class Enforced:
    """A part of a source.

    Attributes:
        place: a JSON pointer, after a URI in a resource; "character 4" in a regular expression;
            numbers of the parts of a combination.
        part: name of the keyword or construct.
        standing: kind of enforcement.
        how: the enforcement in words.
    """

    place: str
    part: str
    standing: Standing
    how: str


_BOUND: Final = re.compile(r"^=|~[0-9]+$")
_MERGED: Final = frozenset(("allOf", "$ref", "$dynamicRef", "$recursiveRef"))
# Keywords that have no effect without one of these others.
_NEEDS: Final = {
    "then": ("if",),
    "else": ("if",),
    "if": ("then", "else"),
    "minContains": ("contains",),
    "maxContains": ("contains",),
}


def schema_keywords(source: JsonSchema) -> Iterator[Enforced]:
    """The keywords of a schema and of its resources.

    >>> [found] = schema_keywords(JsonSchema({"maxLength": 3}))
    >>> found.place, found.standing, found.how
    ('/maxLength', 'exact', 'characters are counted')
    """
    document = parse_json_schema(source)
    read = set(map(_place, document.schemas))
    draft: Draft = LATEST
    for uri, text in (("", source.text), *source.resource_texts):
        raw = read_json(text)
        said = raw if isinstance(raw, dict) else {}
        draft = find_draft(said.get("$schema"), uri, draft)
        yield from _Listing(uri, draft, read, source.formats).of(raw)


def _place(address: Address) -> str:
    """Document and pointer of an address, without the number of bindings."""
    document, _, pointer = address.partition("#")
    return f"{_BOUND.sub('', document)}#{pointer}"


class _Listing:
    """Lists one document; `read` are the addresses of the schemas that are used."""

    def __init__(self, uri: str, draft: Draft, read: set[str], formats: Formats) -> None:
        self._uri, self._draft, self._read, self._formats = uri, draft, read, formats

    def of(self, root: Json) -> Iterator[Enforced]:
        """The keywords of `root` and of the schemas in it, in their order."""
        todo = [("", root)]
        while todo:
            pointer, raw = todo.pop()
            if isinstance(raw, dict):
                used = f"{self._uri}#{pointer}" in self._read
                for name in raw:
                    place = extend(pointer, name)
                    shown = f"{self._uri}#{place}" if self._uri else place
                    yield Enforced(shown, name, *self._standing_of(raw, name, used))
                todo.extend(reversed(list(schemas_in(pointer, raw))))

    def _standing_of(self, raw: Mapping[str, Json], name: str, used: bool) -> tuple[Standing, str]:
        if used or name not in KEYWORDS:
            return self._standing(raw, name)
        return "unused", "nothing refers to the schema it stands in"

    def _standing(self, raw: Mapping[str, Json], name: str) -> tuple[Standing, str]:
        if name == "format" and self._formats == "annotation":
            return "annotation", 'formats="annotation"'
        if name not in ASSERTED[self._draft]:
            return self._silent(name)
        if "$ref" in raw and self._draft <= 7 and name != "$ref":
            return "inert", f"in draft {self._draft}, keywords beside $ref are ignored"
        why = _why_inert(raw, name)
        if why:
            return "inert", why
        if name == "format" and raw[name] not in FORMATS:
            return "annotation", "no format of the specification"
        if self._formats == "annotation":
            raw = {name: value for name, value in raw.items() if name != "format"}
        return "merged" if name in _MERGED else "exact", _how(raw, name)

    def _silent(self, name: str) -> tuple[Standing, str]:
        if name in NAMING:
            return "names", "names schemas, or says where they are"
        if name in KEYWORDS:
            return "annotation", f"not a keyword of draft {self._draft}"
        if name in ANNOTATIONS:
            return "annotation", "does not restrict values"
        hint = did_you_mean(name, [*KEYWORDS, *NAMING, *ANNOTATIONS])
        return "annotation", f"not a keyword of any draft{hint}"


def _why_inert(raw: Mapping[str, Json], name: str) -> str:
    """Why an assertion has no effect at its place, "" if it has one."""
    needed = _NEEDS.get(name, ())
    if needed and not any(other in raw for other in needed):
        return f"it has no effect without {' or '.join(needed)}"
    kind = KIND_OF.get(name)
    types = Keywords(raw, "").types()
    if kind == "number" and "integer" in types:
        return ""
    return "" if kind is None or kind in types else f"`type` allows no {kind}"


def _how(raw: Mapping[str, Json], name: str) -> str:
    special = _SPECIAL.get(name)
    return KEYWORDS[name].how if special is None else special(raw)


def _values(raw: Mapping[str, Json]) -> str:
    listed = cast("list[Json]", raw["enum"]) if "enum" in raw else [raw["const"]]
    plural = "" if len(listed) == 1 else "s"
    if any(kind_of(value) in ("array", "object") for value in listed):
        return f"{len(listed)} value{plural}, members in any order that the source allows"
    return f"a trie of the spellings of {len(listed)} value{plural}"


def _pattern(raw: Mapping[str, Json]) -> str:
    pattern = read_pattern(str(raw["pattern"]), "")
    looks = pattern.has(tree.Look, tree.Boundary)
    with_looks = ", intersected with its lookaround" if looks else ""
    return KEYWORDS["pattern"].how + with_looks


def _length(raw: Mapping[str, Json]) -> str:
    formatted = ["format"] if raw.get("format") in FORMATS else []
    beside = [*(["pattern"] if "pattern" in raw else []), *formatted]
    said = KEYWORDS["minLength"].how
    return f"{said}, in step with the automaton of {' and '.join(beside)}" if beside else said


_SPECIAL: Final[dict[str, Callable[[Mapping[str, Json]], str]]] = {
    **dict.fromkeys(("enum", "const"), _values),
    "pattern": _pattern,
    **dict.fromkeys(("minLength", "maxLength"), _length),
    "additionalProperties": lambda raw: (
        KEYWORDS["additionalProperties"].how
        if raw["additionalProperties"]
        else "no other key can start"
    ),
    "uniqueItems": lambda raw: (
        KEYWORDS["uniqueItems"].how if raw["uniqueItems"] else "false has no effect"
    ),
    "$ref": lambda raw: f"{KEYWORDS['$ref'].how}: {show(raw['$ref'])}",
}


def enforcement(source: sources.Source) -> Iterator[Enforced]:
    r"""The parts of a source, outer ones first, and how each is enforced.

    >>> for found in enforcement(sources.Regex("(?=a)[a-z]{2,5}")):
    ...     print(found.place, found.part, "-", found.how)
    character 1 (?=...) - its automaton meets that of what follows
    character 6 {2,5} - 2 to 5 times, counted
    """
    todo = [("", source)]
    while todo:
        place, given = todo.pop()
        match given:
            case JsonSchema():
                yield from _inside(place, schema_keywords(given))
            case sources.PythonType():
                yield from _inside(place, schema_keywords(type_source(given)))
            case sources.Regex(pattern, dialect, flags):
                yield from _inside(place, _constructs(parse_regex(pattern, dialect, flags)))
            case sources.Gbnf(text, root):
                yield from _inside(place, _rules(parse_gbnf(text, root)))
            case Lark():
                yield from _inside(place, _symbols(read_lark(given)))
            case _:
                how = _PARTS.get(
                    type(given), lambda _: "its item, found again in the finished text"
                )
                yield Enforced(place, type(given).__name__, "exact", how(given))
                inner = enumerate(parts_of(given))
                todo.extend(reversed([(f"{place}/{n}", part) for n, part in inner]))


def _inside(place: str, found: Iterator[Enforced]) -> Iterator[Enforced]:
    """The parts of a source that is itself the part `place`."""
    for one in found:
        inner = f"{place}: {one.place}" if place else one.place
        yield Enforced(inner, one.part, one.standing, one.how)


def _rules(grammar: Grammar) -> Iterator[Enforced]:
    """The rules of a grammar, without its groups."""
    for name, alternatives in grammar.rules.items():
        if name not in grammar.groups:
            how = f"{len(alternatives)} alternatives; shared parts are followed once"
            yield Enforced(f"rule {name}", "::=", "exact", how)


def _symbols(grammar: LarkGrammar) -> Iterator[Enforced]:
    """The rules that somebody named, and the terminals."""
    if grammar.collision:
        told = f"none was given, and Lark's automaton cannot be made: {grammar.collision}"
        yield Enforced("lexer", "dynamic", "exact", told)
    how = "conflicts resolved as Lark does" if grammar.table else "any of its readings"
    for name, expansions in grammar.rules.items():
        if not name.startswith("__"):
            count = f"{len(expansions)} expansions, {how}"
            yield Enforced(f"rule {name}", ":", "exact", count)
    for name, terminal in grammar.terminals.items():
        told = "as much as re.match prefers, where no terminal before it in Lark's order matches"
        if grammar.table is None:
            told = "as much as re.match prefers"
        what = "%ignore" if name in grammar.ignored else ":"
        yield Enforced(f"terminal {terminal.written}", what, "exact", told)


def _constructs(pattern: tree.Pattern) -> Iterator[Enforced]:
    """Constructs of a pattern other than literal characters."""
    todo: list[tree.Node] = [pattern.body]
    while todo:
        node = todo.pop()
        told = _explain_node(node)
        if told is not None:
            part, how = told
            yield Enforced(f"character {node.place + 1}", part, "exact", how)
        todo += reversed(tree.children(node))


def _explain_node(node: tree.Node) -> tuple[str, str] | None:  # noqa: PLR0911  an arm for each node
    match node:
        case tree.Look(_, ahead, negated):
            sign = f"(?{'' if ahead else '<'}{'!' if negated else '='}...)"
            meets = "the opposite of its automaton meets" if negated else "its automaton meets"
            return sign, f"{meets} that of what {'follows' if ahead else 'stands before'}"
        case tree.Repeat(_, low, high, lazy):
            shown = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
            same = "; lazy or not, the texts are the same" if lazy else ""
            return shown, _times(low, high) + same
        case tree.Back(number):
            return f"\\{number}", f"an alternative for each text of group {number}"
        case tree.Boundary(negated):
            said = "of the same kind" if negated else "of two kinds"
            return "\\B" if negated else "\\b", f"the characters around it are {said}"
        case tree.Anchor(kind):
            return kind, "a condition on the place in the text"
        case tree.Alternation(options):
            return "|", f"any of {len(options)} options; shared parts are followed once"
        case _:
            return None


def _times(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} times or more" + (", counted" if low > 1 else "")
    return f"{low} times, counted" if low == high else f"{low} to {high} times, counted"


_PARTS: Final[dict[type, Callable[[Any], str]]] = {
    sources.Choice: lambda given: f"a trie of {len(given.options)} texts",
    sources.Literal: lambda given: f"exactly its {len(given.text.encode())} bytes",
    sources.Sequence: lambda given: f"{len(given.parts)} parts, one after the other",
    sources.Either: lambda given: (
        f"any of {len(given.parts)} parts; shared parts are followed once"
    ),
    sources.Both: lambda given: f"the meet of {len(given.parts)} automata",
    sources.Inverse: lambda _: "valid UTF-8 that the automaton does not accept",
    sources.Repetition: lambda given: _times(given.low, given.high),
    sources.Text: lambda _: "any valid UTF-8",
    Special: lambda given: f"the id of {given.token}, and no text",
    Others: lambda _: "free text, and the ids of other special tokens",
    Until: lambda given: (
        f"free text {'up to the first stop' if given.include else 'without the stops'}"
    ),
    Tag: lambda _: "its parts in a row; after its trigger, in free text",
    Regions: lambda given: (
        f"free text without triggers; {_times(given.at_least, given.at_most)} one of "
        f"{len(given.tags)} tags"
    ),
    Thinking: lambda _: "free text between two marks, then its item",
    Tools: lambda given: (
        f"replies in the format {given.format}, {len(given.tools)} tools, choice {given.choice}"
    ),
}
"""How the parts of combinations are enforced."""
