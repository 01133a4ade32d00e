"""What is enforced, told part by part."""

import pytest

import guideway as gw
from guideway.api.linting.enforcement import enforcement
from guideway.context_free.lark.source import Lark
from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.tree import KEYWORDS
from guideway.sources.regions import Others
from guideway.sources.sources import Choice, Gbnf, PythonType, Regex, Text, repeat, source


def told(what):
    return {one.place: (one.standing, one.how) for one in enforcement(source(what))}


def standings(schema, **options):
    return {place: standing for place, (standing, _) in told(JsonSchema(schema, **options)).items()}


@pytest.mark.parametrize("name", KEYWORDS)
def test_every_keyword_that_asserts_something_is_told_as_enforced(name):
    shapes = {
        "type": "null",
        **{key: ["a"] for key in ("enum", "required")},
        **{key: [{}] for key in ("allOf", "anyOf", "oneOf", "prefixItems")},
        **{key: {"a": {}} for key in ("properties", "patternProperties", "dependentSchemas")},
        **{key: {"a": ["b"]} for key in ("dependencies", "dependentRequired")},
        "pattern": "a(?!b)", "format": "date", "uniqueItems": True, "$ref": "#/$defs/a",
        "$dynamicRef": "#/$defs/a", "$recursiveRef": "#",
    }  # fmt: skip
    last = KEYWORDS[name].last
    uri = f"https://json-schema.org/draft/{last}-{9 if last == 2019 else 12:02}/schema"
    uri = f"http://json-schema.org/draft-0{last}/schema#" if last < 9 else uri
    numbers = name.startswith(("min", "max", "exclusive", "multiple"))
    value = shapes.get(name, 1 if numbers or name == "const" else {})
    beside = {"if": {"then": {}}, "then": {"if": {}}, "else": {"if": {}}}.get(name, {})
    beside |= {"contains": {}} if "Contains" in name else {}
    inner = {"$schema": uri, "$defs": {"a": {"type": "null"}}, name: value, **beside}
    if name == "$recursiveRef":
        inner = {"$schema": uri, "items": {name: "#"}}
    found = told(JsonSchema(inner))
    standing, how = found[f"/items/{name}" if name == "$recursiveRef" else f"/{name}"]
    assert standing == ("merged" if "Ref" in name or name in ("$ref", "allOf") else "exact")
    assert how


@pytest.mark.parametrize(
    ("schema", "place", "standing", "how"),
    [
        ({"requred": ["a"]}, "/requred", "annotation", "did you mean 'required'?"),
        ({"format": "colour"}, "/format", "annotation", "no format"),
        ({"additionalItems": True}, "/additionalItems", "annotation", "not a keyword of draft"),
        ({"description": "d"}, "/description", "annotation", "does not restrict values"),
        ({"$id": "http://a/b"}, "/$id", "names", "names schemas"),
        ({"type": "null", "minLength": 1}, "/minLength", "inert", "allows no string"),
        ({"type": "integer", "minimum": 1}, "/minimum", "exact", "digits"),
        ({"then": {}}, "/then", "inert", "without if"),
        ({"if": {}}, "/if", "inert", "without then or else"),
        ({"minContains": 1}, "/minContains", "inert", "without contains"),
        ({"$defs": {"a": {"type": "null"}}}, "/$defs/a/type", "unused", "nothing refers"),
        ({"$defs": {"a": {"$ref": "http://x/"}}}, "/$defs/a/$ref", "unused", "nothing refers"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a",
          "type": "null", "definitions": {"a": {}}}, "/type", "inert", "beside $ref"),
        ({"enum": [1, [2]]}, "/enum", "exact", "2 values, members"),
        ({"const": "a"}, "/const", "exact", "1 value"),
        ({"maxLength": 1, "pattern": "a", "format": "x"}, "/maxLength", "exact", "of pattern"),
        ({"maxLength": 1, "format": "date"}, "/maxLength", "exact", "of format"),
        ({"pattern": r"\ba"}, "/pattern", "exact", "lookaround"),
        ({"additionalProperties": False}, "/additionalProperties", "exact", "no other key"),
        ({"uniqueItems": False}, "/uniqueItems", "exact", "false has no effect"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, "/$ref", "merged", "#/$defs/a"),
    ],
)  # fmt: skip
def test_what_says_nothing_or_something_special_is_told_so(schema, place, standing, how):
    found = told(JsonSchema(schema))
    assert found[place][0] == standing
    assert how in found[place][1]


def test_resources_are_listed_with_their_uri_and_schemas_that_are_read_in_many_ways_too():
    schema = {"$ref": "http://a/b", "$dynamicAnchor": "n"}
    resource = {"items": {"$dynamicRef": "#n"}, "$dynamicAnchor": "n", "$defs": {"x": {"not": {}}}}
    found = standings(schema, resources={"http://a/b": resource})
    assert found["http://a/b#/items/$dynamicRef"] == "merged"
    assert found["http://a/b#/$defs/x/not"] == "unused"
    assert found["/$ref"] == "merged"


def test_what_is_refused_is_refused_here_too():
    with pytest.raises(UnsupportedError) as refused:
        told(JsonSchema({"items": {"$ref": "http://x/"}}))
    assert refused.value.place == "/items/$ref"
    with pytest.raises(SourceError):
        told(JsonSchema({"type": 1}))


def test_schemas_without_keywords_deep_ones_and_types_are_told():
    assert told(JsonSchema(True)) == {}
    assert len(told(JsonSchema('{"items":' * 3000 + "{}" + "}" * 3000))) == 3000
    assert told(PythonType(bool)) == {"/type": ("exact", "only values of these types can start")}


def test_constructs_of_a_pattern_are_told_with_their_character():
    found = enforcement(Regex(r"^(a|b){2,}?\1(?<=x)(?!y)\b\Bc{3}$"))
    assert [(one.place.removeprefix("character "), one.part) for one in found] == [
        ("1", "text start"), ("2", "{2,}"), ("2", "|"), ("12", "\\1"), ("14", "(?<=...)"),
        ("20", "(?!...)"), ("25", "\\b"), ("27", "\\B"), ("29", "{3}"), ("33", "last line end"),
    ]  # fmt: skip
    assert all(one.place.startswith("character ") for one in found)


def test_rules_and_terminals_of_grammars_are_told_without_their_groups():
    rules = enforcement(Gbnf('root ::= ("a" | b)+\nb ::= [b] | "c"'))
    exact = [("rule root", "exact"), ("rule b", "exact")]
    assert [(each.place, each.standing) for each in rules] == exact
    for lexer in ("contextual", "dynamic"):
        told = enforcement(Lark('start: (A ",")+\nA: "a"\n%ignore /[ ]/', lexer=lexer))
        assert {(each.place, each.part, each.standing) for each in told} == {
            ("rule start", ":", "exact"),
            ("terminal A", ":", "exact"),
            ("terminal /[ ]/", "%ignore", "exact"),
            ("terminal COMMA", ":", "exact"),
        }


def test_what_a_grammar_is_read_by_is_told_where_it_was_left_open():
    (lexer, *rules) = enforcement(Lark('start: start start | "a" |'))
    assert (lexer.place, lexer.part) == ("lexer", "dynamic")
    assert "collision in Terminal" in lexer.how
    assert [each.place for each in rules] == ["rule start", "terminal A"]


def test_combinations_are_told_part_by_part():
    both = Regex("a{2}") & ~Choice(["aa", "b"])
    found = told(repeat(both | (Text() + "x"), 0, 2))
    assert list(found) == [
        *("", "/0", "/0/0", "/0/0/0: character 1", "/0/0/1", "/0/0/1/0"),
        *("/0/1", "/0/1/0", "/0/1/1"),
    ]
    assert found[""][1] == "0 to 2 times, counted"
    assert found["/0/0/1/0"][1] == "a trie of 2 texts"
    assert told("word")[""][1] == "exactly its 4 bytes"


def test_regions_and_tools_are_told_part_by_part():
    tags = gw.regions(gw.tag("<a>", gw.Text(), "</a>"), gw.tag(gw.special("<b>"), gw.Text()))
    found = told(gw.capture("x", tags) + gw.until("y") + gw.until("z", include=False))
    assert {place: how for place, (_, how) in found.items() if "text" in how} == {
        "/0": "its item, found again in the finished text",
        "/0/0": "free text without triggers; 0 times or more one of 2 tags",
        "/0/0/3": "the id of <b>, and no text",
        "/1": "free text up to the first stop",
        "/2": "free text without the stops",
    }
    assert told(Others((7,), 1))[""][1] == "free text, and the ids of other special tokens"
    assert told(gw.thinking("a"))[""][1] == "free text between two marks, then its item"
    assert told(gw.tag("a", "b"))[""][1].startswith("its parts in a row")
    described = [{"type": "function", "name": "f"}]
    assert told(gw.tools(described))[""][1] == "replies in the format hermes, 1 tools, choice auto"
