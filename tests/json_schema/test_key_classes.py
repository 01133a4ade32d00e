"""Classes of keys: each key that is no name is in exactly one, and that is told by its patterns."""

import json
import re
from itertools import combinations, product

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
    vocabulary = gw.Vocabulary([*(bytes([n]) for n in range(256)), None], {256})
    with pytest.raises(gw.LimitError, match="key patterns overlap in more than 1024 ways"):
        gw.compile(source, vocabulary)


def test_keys_that_must_match_many_patterns_are_one_class() -> None:
    """Classes of nine patterns are 512; those of keys that match none of them say nothing."""
    names = [{"propertyNames": {"pattern": letter}} for letter in "abcdefghi"]
    vocabulary = gw.Vocabulary([*(bytes([n]) for n in range(256)), None], {256})
    made = gw.compile(gw.JsonSchema({"type": "object", "allOf": names}), vocabulary)
    for text, holds in (('{"ihgfedcba":1}', True), ('{"abcdefgh":1}', False), ("{}", True)):
        state, allowed = made.start(), True
        for byte in text.encode():
            allowed = bool(made.mask(state)[byte // 32] >> (byte % 32) & 1)
            if not allowed:
                break
            state = made.advance(state, byte)
        assert (allowed and made.accepts(state)) == made.matches(text) == holds


def test_nine_patterns_that_may_meet_are_read() -> None:
    patterns = ["block.b.*", "form.*.*.*", "view.*.*.*", "contact.f.*", "editor.e.*",
                "field.*.*.*", "storage.*.*", "workflow.*", "user.role.*"]  # fmt: skip
    objects = {name: {"properties": {f"a{n}": {"type": "string"}}, "type": "object"}
               for n, name in enumerate(patterns)}  # fmt: skip
    vocabulary = gw.Vocabulary([*(bytes([n]) for n in range(256)), None], {256})
    made = gw.compile(gw.JsonSchema({"type": "object", "patternProperties": objects}), vocabulary)
    good, bad = '{"user.role.x":{"a8":"","a0":1}}', '{"user.role.x":{"a8":1'
    state = made.start()
    for byte in good.encode():
        state = made.advance(state, byte)
    assert made.accepts(state)
    state = made.start()
    for byte in bad[:-1].encode():
        state = made.advance(state, byte)
    with pytest.raises(gw.TokenRejected):
        made.advance(state, ord("1"))


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
    ] == ["a", "A"]


def test_flags_that_are_wrong_are_refused_where_they_stand() -> None:
    for pattern, error in (("(?i)^(?<n>a", gw.SourceError), ("a(?m)$", gw.UnsupportedError)):
        with pytest.raises(error) as caught:
            gw.compile(gw.JsonSchema({"type": "string", "pattern": pattern}), BYTES)
        assert "/pattern" in str(caught.value)
