"""`Vocabulary`, given its tokens."""

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError, ModelError
from guideway.vocabulary.vocabulary import Vocabulary

TOKENS = st.lists(st.one_of(st.none(), st.binary(max_size=3)), max_size=12)


def test_end_ids_and_special_tokens_never_stand_in_a_text_whatever_their_spelling() -> None:
    tokens = [b"a", b"</s>", b"stop", None, b"<x>"]
    vocabulary = Vocabulary(tokens, eos_ids=list(np.array([1, 3])), special={"<x>": 4})
    assert vocabulary.tokens == (b"a", None, b"stop", None, None)
    assert vocabulary.eos_ids == {1, 3}
    assert vocabulary.special == {"</s>": 1, "<end 3>": 3, "<x>": 4}
    assert vocabulary.trie.token_ids.tolist() == [0, 2]


def test_width_may_exceed_the_tokens_and_an_end_id_may_lie_there() -> None:
    vocabulary = Vocabulary([b"a"], eos_ids={5}, special={"<y>": 4}, width=8)
    assert vocabulary.width == 8
    assert vocabulary.eos_ids == {5}
    assert len(vocabulary.tokens) == 1


@pytest.mark.parametrize(("arguments", "message"), [
    ({"tokens": [b"a", "b"]}, "token 1 is 'b' of type str: it must be bytes"),
    ({"tokens": [b"a", 3]}, "token 1 is 3"),
    ({"tokens": [b"a"], "eos_ids": [1]}, "end id must be a whole number from 0 to 0, not 1"),
    ({"tokens": [b"a", b"b"], "eos_ids": [True]}, "from 0 to 1, not True"),
    ({"tokens": [b"a", b"b"], "width": 1}, "width must be at least the number of tokens, 2, not 1"),
    ({"tokens": [b"a"], "width": 2.0}, "tokens, 1, not 2.0"),
    ({"tokens": [b"a"], "lead": " "}, "lead must be bytes, not ' '"),
    ({"tokens": [b"a"], "special": {"<x>": 9}},
     "special token '<x>' must be a whole number from 0 to 0, not 9"),
    ({"tokens": [b"a"], "special": None}, "special must be a dict from names to ids, not None"),
    ({"tokens": [b"a"], "special": {"\ud800": 0}}, "must be texts, not '\\ud800'"),
    ({"tokens": [b"a"], "loss": None}, "loss must be a str, not None"),
    ({"tokens": b"ab"}, "tokens must be a list"),
    ({"tokens": [b"a"], "eos_ids": "0"}, "eos_ids must be a list"),
])  # fmt: skip
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as error:
        Vocabulary(**arguments)
    assert message in str(error.value)


def test_a_width_beyond_what_rows_can_have_is_refused() -> None:
    with pytest.raises(LimitError, match="width must be at most 16777216") as error:
        Vocabulary([b"a"], width=10**8)
    assert (error.value.limit, error.value.given, error.value.needed) == ("width", 10**8, 1 << 24)
    assert Vocabulary([b"a"], width=1 << 24).width == 1 << 24


@given(TOKENS)
def test_spellable_bytes_and_closure_agree_with_brute_force(tokens: list[bytes | None]) -> None:
    vocabulary = Vocabulary(tokens)
    occurring = {byte for token in tokens if token for byte in token}
    assert {byte for byte in range(256) if vocabulary.spellable >> byte & 1} == occurring
    assert vocabulary.closed == all(bytes([byte]) in tokens for byte in occurring)


@given(TOKENS, TOKENS)
def test_vocabularies_are_equal_exactly_when_their_contents_are(
    left: list[bytes | None], right: list[bytes | None]
) -> None:
    one, other, again = Vocabulary(left), Vocabulary(right), Vocabulary(left)
    assert (one == other) == (one.tokens == other.tokens)
    assert (one, hash(one)) == (again, hash(again))


def test_every_part_of_the_content_counts_for_equality() -> None:
    plain = Vocabulary([b"a", b"b"])
    others = [
        Vocabulary([b"a", b"b"], eos_ids={1}),
        Vocabulary([b"a", None]),
        Vocabulary([b"ab", None]),
        Vocabulary([b"a", b"b"], width=3),
        Vocabulary([b"a", b"b"], lead=b" "),
        Vocabulary([b"a", b"b"], special={"b": 1}),
        Vocabulary([b"a", b"b"], loss="it lowers the case"),
    ]
    assert len({plain, *others}) == 8
    assert plain != "no vocabulary"
    assert not others[-1].lossless
    assert plain.lossless


def test_a_vocabulary_cannot_be_changed_and_survives_copying() -> None:
    vocabulary = Vocabulary([b"a"], eos_ids={0})
    with pytest.raises(dataclasses.FrozenInstanceError):
        vocabulary.width = 3  # pyright: ignore[reportAttributeAccessIssue]
    assert copy.deepcopy(vocabulary) == vocabulary
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    assert repr(vocabulary) == "Vocabulary(1 tokens, width 1, end ids [0])"


def test_a_tokenizer_file_is_a_path_or_bytes():
    source: Any = 5
    with pytest.raises(ModelError, match="path or the bytes of the file, not 5"):
        Vocabulary.from_tokenizer_json(source)
