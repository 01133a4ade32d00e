"""Whether keys with patterns can be the same: asked of plain text, answered for every spelling."""

import json
import re
from itertools import product

import pytest

import guideway as gw
from guideway.json_schema.key_classes import (
    any_of_strings,
    has_string,
    strings_with,
    surely_apart,
    surely_within,
)
from guideway.json_schema.spelling import Spelling
from guideway.language.derivative import Derivatives
from guideway.language.expr import both
from guideway.language.nodes import Expr
from guideway.regex.parser import parse_regex
from guideway.regex.search import finds
from random_walks import BYTES

PATTERNS = (
    *("^a", "a$", "^x-", "^[a-z]+$", "^\\\\", '^"', "\\n", "^.{2}$", "^\\u00e9$", "^[^a]*$"),
    *("^contacts:[0-3]:name$", "^contacts:[0-3]:mail$", "^\\d+$", "^(ab|cd)$", "/"),
)
STRINGS = ("", "a", "x-a", "\\", '"', "\n", "é", "ab", "12", "/", "contacts:1:name", "\U0001f600")


@pytest.mark.parametrize("plain", [True, False])
def test_a_string_has_a_pattern_exactly_if_re_finds_it(plain: bool) -> None:
    spelling = Spelling(plain=plain)
    for pattern, text in product(PATTERNS, STRINGS):
        strings = strings_with(parse_regex(pattern, "ecma"), spelling)
        assert has_string(strings, text, spelling) == bool(re.search(pattern, text))


@pytest.mark.untraced
@pytest.mark.parametrize("plain", [True, False])
def test_patterns_are_apart_only_if_no_string_has_both(plain: bool) -> None:
    spelling = Spelling(plain=plain)
    apart = 0
    for first, second in product(PATTERNS, PATTERNS):
        one, other = (strings_with(parse_regex(p, "ecma"), spelling) for p in (first, second))
        if surely_apart(one, other):
            apart += 1
            shared = both(one, other)
            assert not Derivatives(shared).alive(shared)
    assert apart > 60


def test_strings_that_are_no_pattern_are_asked_as_they_are_spelled() -> None:
    spelling = Spelling(plain=False)
    strings = strings_with(parse_regex("^a", "ecma"), spelling)
    other = spelling.text("b")
    assert has_string(other, "b", spelling)
    assert not has_string(other, "a", spelling)
    assert surely_apart(strings, other)
    assert not surely_apart(other, strings_with(parse_regex("^b", "ecma"), spelling))


def test_strings_with_any_pattern_are_those_of_each() -> None:
    spelling = Spelling(plain=False)

    def of(*patterns: str) -> Expr:
        return any_of_strings(strings_with(parse_regex(p, "ecma"), spelling) for p in patterns)

    assert of("^a") is strings_with(parse_regex("^a", "ecma"), spelling)
    for first, second in product(PATTERNS, PATTERNS):
        for text in STRINGS:
            found = re.search(first, text) or re.search(second, text)
            assert has_string(of(first, second), text, spelling) == bool(found)
    assert surely_apart(of("^a", "^b"), of("^c", "^d"))
    assert not surely_apart(of("^a", "^b"), of("^c", "^b"))
    assert surely_within(of("^a"), of("^a", "^b"))
    assert surely_within(of("^b", "^a"), of("^a", "^b"))
    assert not surely_within(of("^a", "^b"), of("^a", "^c"))


FLAGGED = [
    *(r"(?i)^/subscriptions/[^/]+$", r"(?i)^(yes|no)$", "(?u)^(?=.*B)[a-z]", "(?is)A.B"),
    *(r"(?m)^b$", r"(?i)(?m)^B$", r"(?a)^\w+$", r"(?u)^(['\"])\w*\1$", "(?x) a # any a"),
]
TRIED = ["yes", "No", "yeſ", "ab", "AB", "a\nb", "aB", "é", "'a'", "'a\"", "/SUBSCRIPTIONS/x", ""]


@pytest.mark.parametrize("pattern", FLAGGED)
def test_a_pattern_that_begins_with_flags_is_pythons(pattern: str) -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "string", "pattern": pattern}), BYTES)
    for text in TRIED:
        found = re.search(pattern, text) is not None
        assert constraint.matches(json.dumps(text)) == found, text
        assert finds(pattern, text) in (found, None)


def test_keys_may_have_a_pattern_with_flags() -> None:
    schema = {"patternProperties": {"(?i)^x-": {"const": 1}}, "additionalProperties": False}
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    assert constraint.matches('{"X-a": 1, "x-b": 1}')
    assert not constraint.matches('{"X-a": 2}')
    assert not constraint.matches('{"y": 1}')


@pytest.mark.parametrize("pattern", [r"(?i)^(?<n>A)\z", r"^(?i)A$", r"(?i:^a)$", r"(?i)^\x{41}$"])
def test_flags_hold_beside_what_python_does_not_have(pattern: str) -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "string", "pattern": pattern}), BYTES)
    assert [
        text for text in ("a", "A", "b", "aa", "a\n") if constraint.matches(json.dumps(text))
    ] == [
        "a",
        "A",
    ]


def test_flags_that_are_wrong_are_refused_where_they_stand() -> None:
    for pattern, error in (("(?i)^(?<n>a", gw.SourceError), ("a(?m)$", gw.UnsupportedError)):
        with pytest.raises(error) as caught:
            gw.compile(gw.JsonSchema({"type": "string", "pattern": pattern}), BYTES)
        assert "/pattern" in str(caught.value)
