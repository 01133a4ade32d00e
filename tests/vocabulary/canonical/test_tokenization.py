"""What of a tokenizer's configuration is followed, and what is refused by name."""

import json
from dataclasses import replace
from typing import Any

import pytest

import guideway as gw
from canonical_tokenizers import TOKENIZERS, vocabulary
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.canonical.splitting import Characters
from guideway.vocabulary.canonical.tokenization import read_tokenization
from guideway.vocabulary.canonical.tokens import CanonicalAutomaton
from small_tokenizers import added, bpe, tokenizer


def changed(part: str, value: Any, name: str = "gpt2") -> Backend:
    whole = json.loads(TOKENIZERS[name])
    place = whole
    *path, last = part.split(".")
    for key in path:
        place = place[key]
    place[last] = value
    return Backend.load(json.dumps(whole).encode(), name)


DIGITS = {"type": "Digits", "individual_digits": True}
PLAIN = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


@pytest.mark.parametrize(("part", "value", "what"), [
    ("model.dropout", 0.5, "dropout to 0.5"),
    ("normalizer", {"type": "Lowercase"}, "Lowercase"),
    ("pre_tokenizer", {"type": "Whitespace"}, "Whitespace"),
    ("pre_tokenizer.add_prefix_space", True, "'add_prefix_space': True"),
    ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [PLAIN, DIGITS]}, "Digits"),
    ("added_tokens", [added("<end>", 16, single_word=True)], "depends on the text beside"),
    ("added_tokens", [added("a'", 16, special=False, lstrip=True)], "depends on the text beside"),
])  # fmt: skip
def test_what_is_not_followed_is_refused_by_name(part: str, value: Any, what: str) -> None:
    with pytest.raises(gw.UnsupportedError, match="canonical tokens are not supported") as caught:
        read_tokenization(changed(part, value))
    assert what in str(caught.value)


def test_a_pattern_that_leaves_characters_out_is_refused() -> None:
    split = {"type": "Split", "pattern": {"Regex": "[ab]"}, "behavior": "Removed", "invert": True}
    parts = [split, {**PLAIN, "use_regex": False}]
    own = changed("pre_tokenizer", {"type": "Sequence", "pretokenizers": parts})
    with pytest.raises(gw.UnsupportedError, match=r"leaves '.*' out of all pieces"):
        CanonicalAutomaton.of(own, vocabulary("gpt2").tokens)


def test_a_tokenizer_that_does_something_else_is_refused() -> None:
    read = read_tokenization(changed("model.merges", []))
    with pytest.raises(gw.UnsupportedError, match="do not follow from its configuration"):
        CanonicalAutomaton(
            replace(read, tokenizer=changed("normalizer", None)), vocabulary("gpt2").tokens
        )


def test_characters_that_are_lost_or_changed_have_no_sort() -> None:
    kept = Characters([["[a-z]"]], {" ": "▁"}, lambda text: text.replace("x", "y"))
    assert [kept.sort(char) < 0 for char in ("a", " ", "▁", "x", "\U00020000")] == [
        *(False, False, True, True, False)
    ]
    assert kept.atoms(kept.sort("a")) == (1,)
    assert kept.atoms(kept.sort("é")) == (0,)


def test_pieces_of_characters_that_are_no_tokens_are_no_pieces() -> None:
    model = bpe({"a": 0, "ab": 1, "<0x62>": 2}, [], byte_fallback=True)
    own = read_tokenization(Backend.load(tokenizer(model), "one"))
    assert own.pieces == {0, 2}
    assert own.fallback == {2}
