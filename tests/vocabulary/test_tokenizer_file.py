"""tokenizer.json files read as JSON, against the tokenizers library's own view of them."""

import json
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonical_tokenizers import TOKENIZERS
from guideway.errors import LimitError, ModelError
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.tokenizer_json import read_file
from guideway.vocabulary.vocabulary import Vocabulary
from real_tokenizers import NAMES, real_vocabulary, tokenizer_folder
from small_tokenizers import added, bpe, byte_level, sentencepiece, tokenizer, unigram, word_piece

OLD_METASPACE = {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}
NESTED = {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [OLD_METASPACE]}]}
SMALL = {
    "byte level": byte_level(),
    "sentencepiece": sentencepiece(),
    "unigram": unigram(),
    "unigram without an unknown token": unigram(added_tokens=[]),
    "word piece": word_piece(),
    "empty": tokenizer(bpe({}), decoder={"type": "Fuse"}),
    "gaps": tokenizer(bpe({"a": 0, "b": 5})),
    "an unknown token that is no piece": tokenizer(bpe({"a": 0}, unk_token="?")),
    "an older Metaspace": unigram(decoder=NESTED, pre_tokenizer=OLD_METASPACE),
    "words without a type": tokenizer({"vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}),
    **TOKENIZERS,
}


def without_type(text: bytes) -> bytes:
    document = json.loads(text)
    del document["model"]["type"]
    return json.dumps(document).encode()


def same(text: bytes) -> None:
    ours, theirs = read_file(text), Backend.load(text, "it")
    for field in fields(Backend):
        if field.name not in {"tokenizer", "normalizer", "pre_tokenizer", "decoder"}:
            assert getattr(ours, field.name) == getattr(theirs, field.name), field.name


@pytest.mark.parametrize("name", SMALL)
def test_a_file_says_what_the_library_says(name: str) -> None:
    same(SMALL[name])
    if name in ("byte level", "unigram", "word piece"):  # told by what they have
        same(without_type(SMALL[name]))


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(0, 9), max_size=6),
    st.lists(st.tuples(st.text("abcde", max_size=2), st.integers(0, 12)), max_size=6),
)
def test_added_tokens_have_the_ids_that_the_library_gives_them(
    vocab: dict[str, int], tokens: list[tuple[str, int]]
) -> None:
    distinct = {number: piece for piece, number in vocab.items()}
    model = bpe({piece: number for number, piece in distinct.items()})
    same(tokenizer(model, added_tokens=[added(text, number) for text, number in tokens]))


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize(
    "name",
    [name if name == "gpt2" else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_real_vocabularies_are_the_same_without_the_library(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tokenizer_folder(name)
    found = Vocabulary.from_tokenizer_json(folder)
    monkeypatch.undo()
    assert found == real_vocabulary(name)


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("content", [
    *(b"", b"{", b"\xff", b"[]", b"[" * 100_000),
    b'{"model": 1}',
    b'{"model": {"type": "BPE"}}',
    b'{"model": {"type": "New", "vocab": {}}}',
    b'{"model": {"type": "BPE", "vocab": {"a": -1}}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0.5}}}',
    b'{"model": {"type": "BPE", "vocab": {"\\ud800": 0}}}',
    b'{"model": {"type": "Unigram", "vocab": ["a"]}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0}}, "added_tokens": [{"id": 1}]}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0}}, "decoder": {"kind": "Fuse"}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0}}, "decoder": {"type": "Metaspace"}}',
])  # fmt: skip
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes) -> None:
    with pytest.raises(ModelError, match=r"the text given is not a valid tokenizer\.json"):
        Vocabulary.from_tokenizer_json(content)


@pytest.mark.usefixtures("without_library")
def test_an_absurd_id_is_refused() -> None:
    with pytest.raises(LimitError, match="has the id 3999999999"):
        Vocabulary.from_tokenizer_json(tokenizer(bpe({"a": 3_999_999_999})))
