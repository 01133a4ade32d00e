"""Classes of keys: each key that is no name is in exactly one, and that is told by its patterns."""

import json
import re
from itertools import combinations, product
from typing import Any

import pytest

import guideway as gw
from guideway.json_schema.formulas import FALSE, Atom, Matching
from guideway.json_schema.key_classes import Keysets, any_of_strings, strings_with, surely_apart
from guideway.json_schema.spelling import Spelling
from guideway.language.derivative import Derivatives
from guideway.language.expr import both
from guideway.language.regular import contains
from guideway.regex.parser import parse_regex
from random_walks import BYTES

PATTERNS = ("^a", "b$", "^c", "^[ab]{2}$")
KEYS = ("", "a", "ab", "b", "cab", "cb", "cc", "d", "ba", "\u00e9")
GROUPS = [group for size in (1, 2, 3) for group in combinations(PATTERNS, size)]


def test_every_key_is_in_the_class_of_the_languages_it_is_in() -> None:
    spelling = Spelling(plain=False)
    for first, second in combinations(GROUPS, 2):
        languages = {
            any_of_strings(strings_with(parse_regex(p, "ecma"), spelling) for p in group): group
            for group in (first, second)
        }
        keysets = Keysets(spelling)
        atoms: list[Atom] = [Matching(keys, FALSE) for keys in languages]
        classes = keysets.classes(atoms)
        for key in KEYS:
            inside = {
                keys
                for keys, group in languages.items()
                if any(re.search(pattern, key) for pattern in group)
            }
            holding = [
                part for part in classes if contains(keysets.content(part), spelling.write(key))
            ]
            assert [part.inside for part in holding] == [inside]
            assert [part for part in classes if keysets.is_of(key, part, languages)] == holding


def test_patterns_that_overlap_in_too_many_ways_are_refused() -> None:
    source = gw.JsonSchema(
        {"patternProperties": {letter: {"minimum": n} for n, letter in enumerate("abcdefghijk")}}
    )
    with pytest.raises(gw.LimitError, match="key patterns overlap in more than 1024 ways"):
        gw.compile(source, BYTES)


def test_nine_patterns_that_may_meet_are_read() -> None:
    patterns = ["block.b.*", "form.*.*.*", "view.*.*.*", "contact.f.*", "editor.e.*",
                "field.*.*.*", "storage.*.*", "workflow.*", "user.role.*"]  # fmt: skip
    parts = [{"properties": {f"a{n}": {"type": "string"}}} for n in range(9)]
    schema = {"type": "object", "patternProperties": dict(zip(patterns, parts, strict=True))}
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    state = constraint.start()
    for byte in b'{"user.role.x":{"a8":':
        state = constraint.advance(state, byte)
    with pytest.raises(gw.TokenRejected):
        constraint.advance(state, ord("1"))
    for byte in b'"","a0":1}}':
        state = constraint.advance(state, byte)
    assert constraint.accepts(state)


# Whether keys with patterns can be the same: asked of plain text, answered for every spelling.

PATTERNS_PATTERNS = (
    *("^a", "a$", "^x-", "^[a-z]+$", "^\\\\", '^"', "\\n", "^.{2}$", "^\\u00e9$", "^[^a]*$"),
    *("^contacts:[0-3]:name$", "^contacts:[0-3]:mail$", "^\\d+$", "^(ab|cd)$", "/"),
)


@pytest.mark.untraced
@pytest.mark.parametrize("plain", [True, False])
def test_patterns_are_apart_only_if_no_string_has_both(plain: bool) -> None:
    spelling = Spelling(plain=plain)
    apart = 0
    for first, second in product(PATTERNS_PATTERNS, PATTERNS_PATTERNS):
        one, other = (strings_with(parse_regex(p, "ecma"), spelling) for p in (first, second))
        if surely_apart(one, other):
            apart += 1
            shared = both(one, other)
            assert not Derivatives(shared).alive(shared)
    assert apart > 60


TRIED = ["yes", "No", "yeſ", "ab", "AB", "a\nb", "aB", "é", "'a'", "'a\"", "/SUBSCRIPTIONS/x", ""]
TRIED += ["a", "A", "b", "aa", "a\n"]


@pytest.mark.parametrize(("pattern", "python"), [
    *((one, one) for one in (
        r"(?i)^/subscriptions/[^/]+$", r"(?i)^(yes|no)$", "(?u)^(?=.*B)[a-z]", "(?is)A.B",
        r"(?m)^b$", r"(?i)(?m)^B$", r"(?a)^\w+$", r"(?u)^(['\"])\w*\1$", "(?x) a # any a",
    )),
    (r"(?i)^(?<n>A)\z", r"(?i)^A\Z"), (r"^(?i)A$", r"(?i)^A\Z"), (r"(?i:^a)$", r"(?i)^A\Z"),
    (r"(?i)^\x{41}$", r"(?i)^A\Z"),
])  # fmt: skip
def test_a_pattern_with_flags_is_pythons(pattern: str, python: str) -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "string", "pattern": pattern}), BYTES)
    for text in TRIED:
        assert constraint.matches(json.dumps(text)) == bool(re.search(python, text)), text


def test_keys_may_have_a_pattern_with_flags() -> None:
    schema = {"patternProperties": {"(?i)^x-": {"const": 1}}, "additionalProperties": False}
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    texts = ('{"X-a": 1, "x-b": 1}', '{"X-a": 2}', '{"y": 1}')
    assert [constraint.matches(text) for text in texts] == [True, False, False]


@pytest.mark.parametrize(("pattern", "error"), [
    ("(?i)^(?<n>a", gw.SourceError), ("a(?m)$", gw.UnsupportedError),
])  # fmt: skip
def test_flags_that_are_wrong_are_refused_where_they_stand(pattern: str, error: Any) -> None:
    with pytest.raises(error, match="/pattern"):
        gw.compile(gw.JsonSchema({"type": "string", "pattern": pattern}), BYTES)
