"""Classes of keys: each key that is no name is in exactly one, and that is told by its patterns."""

import re
from itertools import combinations

import pytest

import guideway as gw
from guideway.json_schema import key_classes as json_keysets
from guideway.json_schema.formulas import FALSE, Atom, Matching
from guideway.json_schema.key_classes import Keysets, any_of_strings, strings_with
from guideway.json_schema.spelling import Spelling
from guideway.language.regular import contains
from guideway.regex.parser import parse_regex

PATTERNS = ("^a", "b$", "^c", "^[ab]{2}$")
KEYS = ("", "a", "ab", "b", "cab", "cb", "cc", "d", "ba", "\u00e9")
GROUPS = [group for size in (1, 2, 3) for group in combinations(PATTERNS, size)]


@pytest.mark.parametrize("most", [1, 1 << 14])
def test_every_key_is_in_the_class_of_the_languages_it_is_in(monkeypatch, most: int) -> None:
    monkeypatch.setattr(json_keysets, "_REMEMBERED", most)
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


def test_patterns_that_no_key_has_two_of_are_classes_of_their_own() -> None:
    spelling = Spelling(plain=True)
    languages = [
        strings_with(parse_regex(f"^k{n}:", "ecma"), spelling)
        for n in range(json_keysets.MOST_CLASSES + 1)
    ]
    keysets = Keysets(spelling)
    *classes, others = keysets.classes([Matching(keys, FALSE) for keys in languages])
    assert [(part.content, part.inside) for part in classes] == [
        (keys, frozenset((keys,))) for keys in reversed(languages)
    ]
    for key, held in ((b"k7:", False), (b"k7", True), (b"k:", True), (b"k256:x", False)):
        assert contains(keysets.content(others), key) == held


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
