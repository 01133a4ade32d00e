"""Reading tokenizer.json files: a case for each way in which such readers have gone wrong."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from tokenizers import Tokenizer

from guideway.errors import GuidewayError, LimitError, ModelError, UnsupportedError
from guideway.vocabulary.backend import no_panic
from guideway.vocabulary.vocabulary import Vocabulary
from small_tokenizers import (
    BYTE_LEVEL,
    REPLACE_MARK,
    STRIP,
    added,
    bpe,
    byte_level,
    sentencepiece,
    tokenizer,
    unigram,
    word_piece,
)

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
FUSE = {"type": "Fuse"}
LETTERS = bpe({"a": 0})


def decoders(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": [*parts]}


def splitters(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*parts]}


def with_text(text: str, number: int = 20, **flags: bool) -> list[dict[str, Any]]:
    return [added(text, number, special=False, **flags)]


def read(text: bytes, **settings: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer_json(text, **settings)


TRUNCATION = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
    "pad_type_id": 0, "pad_token": "a",
}  # fmt: skip


@pytest.mark.parametrize(("text", "plain"), [
    (byte_level(decoder=decoders(decoders(BYTE_LEVEL))), byte_level()),
    (byte_level(decoder=None, pre_tokenizer=splitters(BYTE_LEVEL)), byte_level()),
    (byte_level(pre_tokenizer=None, normalizer={"type": "ByteLevel"}), byte_level()),
    (byte_level(normalizer={"type": "Lowercase"}), byte_level()),  # what is compared is lowered
    (byte_level(truncation=TRUNCATION, padding=PADDING), byte_level()),
    (unigram(decoder=None), unigram()),  # Metaspace of the pre-tokenizer counts
    (unigram(pre_tokenizer=splitters({"type": "WhitespaceSplit"}, METASPACE)), unigram()),
])  # fmt: skip
def test_what_changes_no_spelling_is_read_all_the_same(text: bytes, plain: bytes) -> None:
    assert read(text) == read(plain)


PREFIXED = byte_level(pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True})


@pytest.mark.parametrize(("text", "source", "spelled", "lead"), [
    (byte_level(), "he w\n\0é", [b"he", b" w", b"\n", b"\0", b"\xc3", b"\xa9"], b""),
    (PREFIXED, "wow", [b" w", b"o", b"w"], b""),  # decoding leaves it, so that it is no lead
    (sentencepiece(), "he w\nzé", [b" ", b"he", b" w", b"\n", b"z", "é".encode()], b" "),
    (unigram("always"), "he", [b" ", b"he"], b" "),
    (unigram("first"), "he", [b" ", b"he"], b" "),
    (unigram("never"), "he", [b"he"], b""),
])  # fmt: skip
def test_tokens_spell_what_is_encoded_with_them(
    text: bytes, source: str, spelled: list[bytes], lead: bytes
) -> None:
    vocabulary = read(text)
    ids = Tokenizer.from_buffer(text).encode(source, add_special_tokens=False).ids
    assert [vocabulary.tokens[i] for i in ids] == spelled
    assert vocabulary.lead == lead


@pytest.mark.parametrize(("text", "spelling", "count"), [
    (sentencepiece(), b"a", 2),  # a fallback piece is a byte beside the piece
    (sentencepiece(), "ĉ".encode(), 1),  # no mark of a byte here
    (unigram(), b"he", 2),
    (byte_level(), b"\xc3", 1),
])  # fmt: skip
def test_several_tokens_may_have_one_spelling(text: bytes, spelling: bytes, count: int) -> None:
    assert len(read(text).ids(spelling)) == count


SPECIAL = [added("<|im_end|>", 20), *with_text("<tool_call>", 21), *with_text("\n\n", 22)]
# "Ġé" would be the bytes 20 E9 as a piece; "he" is a piece of the model as well.
LITERAL = [*with_text("Ġé"), *with_text("he", 17)]
ODD = tokenizer(bpe({"a": 0, "→ ": 1}), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
MARKS = sentencepiece(added_tokens=[added("<unk>", 0), *with_text("▁▁", 277)])
LONG = "ab" * 1000


@pytest.mark.parametrize(("text", "first", "tokens"), [
    (word_piece(), 0, (None, None, b" hello", b" wor", b"ld", b"s", b".", b"!")),
    (word_piece(cleanup=False), 6, (b" .",)),
    (unigram(added_tokens=[]), 0, (None, None)),  # the unknown token
    (byte_level(added_tokens=SPECIAL), 20, (None, b"<tool_call>", b"\n\n")),
    (byte_level(added_tokens=LITERAL), 18, (b"he", b" w", "Ġé".encode())),
    (byte_level(added_tokens=with_text("→ ")), 20, ("→ ".encode(),)),
    (byte_level(added_tokens=with_text("the", rstrip=True)), 20, (b"the",)),  # it swallows spaces
    (byte_level(added_tokens=with_text(LONG)), 20, (LONG.encode(),)),
    (MARKS, 277, (b"  ",)),
    (ODD, 0, (b"a", "→ ".encode())),
    (tokenizer(bpe({"a": 0, "b": 5}), decoder=FUSE), 0, (b"a", None, None, None, None, b"b")),
    (tokenizer(bpe({}), decoder=FUSE), 0, ()),
])  # fmt: skip
def test_each_token_has_its_spelling(text: bytes, first: int, tokens: tuple[bytes, ...]) -> None:
    assert read(text).tokens[first : first + len(tokens)] == tokens


def test_words_joined_by_spaces_are_lossy() -> None:
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "b": 2}, "unk_token": "[UNK]"}
    words = read(tokenizer(model, pre_tokenizer={"type": "Whitespace"}))
    assert words.tokens == (None, b" a", b" b")
    for vocabulary in (words, read(word_piece())):
        assert vocabulary.lead == b" "
        assert not vocabulary.lossless
    assert "a space before every word" in read(word_piece()).loss


@pytest.mark.parametrize("decoder", [
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    decoders(REPLACE_MARK, STRIP),
    decoders(FUSE, {**STRIP, "stop": 1}),
    {"type": "Replace", "pattern": {"Regex": "▁+"}, "content": " "},
    decoders(BYTE_LEVEL, REPLACE_MARK),
    decoders(FUSE, METASPACE),
    decoders(FUSE, {**REPLACE_MARK, "pattern": {"String": "ab"}}),
    decoders(FUSE, {"type": "WordPiece", "prefix": "##", "cleanup": False}),
])  # fmt: skip
def test_a_decoder_whose_tokens_are_no_bytes_is_refused_by_name(decoder: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match="no bytes of its own") as error:
        read(sentencepiece(decoder=decoder))
    assert error.value.feature in json.dumps(decoder)
    assert error.value.place == "/decoder"


DIGITS = tokenizer(
    {"type": "Unigram", "unk_id": None, "vocab": [[piece, -1.0] for piece in "▁0123456789"],
     "byte_fallback": False},
    pre_tokenizer=splitters({"type": "Digits", "individual_digits": True}, METASPACE),
    decoder=METASPACE,
)  # fmt: skip
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}


@pytest.mark.parametrize(("text", "error", "said"), [
    # Raw pieces, of which no space could be generated, and bytes that the decoder forgets.
    (sentencepiece(decoder=decoders({"type": "ByteFallback"}, FUSE)), ModelError,
     "its decoder does not turn them back"),
    (sentencepiece(decoder=decoders(REPLACE_MARK, FUSE, STRIP)), ModelError,
     "decodes its tokens for .* to"),
    (DIGITS, ModelError,
     "its tokens for '0123456789' spell b' 0 1 2.* but must spell b'0123456789'"),
    (tokenizer(bpe({"a": 0, "b": 1, "ab": 2}, ["a b", "a b", "ab ab"])), ModelError,
     "the tokenizers library crashes on the text given"),
    (tokenizer(LETTERS, normalizer=PRECOMPILED), ModelError,
     "the tokenizers library crashes on the text given"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused(text: bytes, error: type[GuidewayError], said: str) -> None:
    with pytest.raises(error, match=said):
        read(text)


def test_tokens_beyond_what_a_trie_holds_are_refused_before_they_are_tried() -> None:
    began = process_time()
    with pytest.raises(LimitError, match="a token has 1000000 bytes; tokens of up to 65535"):
        read(byte_level(added_tokens=with_text("ab" * 500_000)))
    assert process_time() - began < 5  # the trials of such a token took more than 20 s


def test_the_width_of_the_logits_may_exceed_the_tokens_but_not_be_a_placeholder() -> None:
    assert read(byte_level(), width=64).width == 64
    with pytest.raises(ModelError, match="width must be at least the number of tokens, 20, not 3"):
        read(byte_level(), width=3)


def test_a_file_that_is_no_tokenizer_is_refused_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b"{")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a valid tokenizer\.json"):
        Vocabulary.from_tokenizer_json(tmp_path)


def test_other_ends_of_the_process_are_not_held_up() -> None:
    with pytest.raises(KeyboardInterrupt), no_panic("a file"):
        raise KeyboardInterrupt


@pytest.mark.parametrize(("name", "said"), [("x" * 100_000, ""), ("no.json", ": No such file")])
def test_what_is_no_name_of_a_file_is_refused(name: str, said: str) -> None:
    with pytest.raises(ModelError, match=f"cannot be read{said}") as error:
        Vocabulary.from_tokenizer_json(name)
    assert len(str(error.value).encode()) <= 502  # the mark of a cut has three bytes


def test_a_file_may_be_given_by_its_path_or_its_folder(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(sentencepiece())
    by_path = Vocabulary.from_tokenizer_json(str(tmp_path / "tokenizer.json"))
    assert by_path == Vocabulary.from_tokenizer_json(tmp_path) == read(sentencepiece())
