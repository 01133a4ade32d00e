"""Classes of keys: each key that is no name is in exactly one, and that is told by its patterns."""

import re
from itertools import combinations

import pytest

from fairlead.lowering import json_keysets
from fairlead.lowering.json_atoms import Matching
from fairlead.lowering.json_formulas import FALSE, Atom
from fairlead.lowering.json_keysets import Keysets
from fairlead.lowering.json_patterns import any_of_strings, strings_with
from fairlead.lowering.json_text import Spelling
from fairlead.lowering.regular import contains
from fairlead.syntax.regex import parse_regex

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
