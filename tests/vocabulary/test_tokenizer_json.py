"""Reading tokenizer.json files: one test for each way in which such readers have gone wrong."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from tokenizers import Tokenizer

from guideway.errors import LimitError, ModelError, UnsupportedError
from guideway.vocabulary.backend import no_panic
from guideway.vocabulary.vocabulary import Vocabulary
from small_tokenizers import (
    BYTE_LEVEL,
    LLAMA_DECODER,
    LLAMA_NORMALIZER,
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


def read(text: bytes, **settings: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer_json(text, **settings)


def spelling(vocabulary: Vocabulary, text: bytes, source: str) -> list[bytes | None]:
    """What the tokens of `source` spell, one by one."""
    ids = Tokenizer.from_buffer(text).encode(source, add_special_tokens=False).ids
    return [vocabulary.tokens[i] for i in ids]


def test_byte_level_pieces_are_bytes() -> None:
    vocabulary = read(byte_level())
    assert spelling(vocabulary, byte_level(), "he w\n\0é") == [
        b"he",
        b" w",
        b"\n",
        b"\0",
        b"\xc3",
        b"\xa9",
    ]
    assert vocabulary.lead == b""


def test_pieces_that_hold_parts_of_a_character_keep_their_bytes() -> None:
    vocabulary = read(byte_level())
    assert len(vocabulary.ids(b"\xc3")) == 1
    assert vocabulary.closed


def test_a_byte_level_decoder_inside_a_sequence_is_found() -> None:
    nested = {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [BYTE_LEVEL]}]}
    assert read(byte_level(decoder=nested)) == read(byte_level())


def test_without_a_decoder_the_pre_tokenizer_says_that_pieces_are_bytes() -> None:
    inner = {"type": "Sequence", "pretokenizers": [BYTE_LEVEL]}
    assert read(byte_level(decoder=None, pre_tokenizer=inner)) == read(byte_level())


def test_a_byte_level_normaliser_is_taken_into_account() -> None:
    text = byte_level(pre_tokenizer=None, normalizer={"type": "ByteLevel"})
    assert read(text) == read(byte_level())


def test_a_prefix_space_that_encoding_adds_and_decoding_leaves_is_no_lead() -> None:
    text = byte_level(pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True})
    assert read(text).lead == b""
    assert spelling(read(text), text, "wow") == [b" w", b"o", b"w"]


def test_sentencepiece_marks_are_spaces_and_fallback_pieces_are_bytes() -> None:
    vocabulary = read(sentencepiece())
    assert spelling(vocabulary, sentencepiece(), "he w\nzé") == [
        b" ",
        b"he",
        b" w",
        b"\n",
        b"z",
        "é".encode(),
    ]
    assert vocabulary.lead == b" "
    assert vocabulary.closed
    assert len(vocabulary.ids(b"a")) == 2  # the letter, and the byte as fallback


def test_raw_sentencepiece_pieces_are_refused_since_no_space_could_be_generated() -> None:
    raw = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    with pytest.raises(ModelError, match="its decoder does not turn them back"):
        read(sentencepiece(decoder=raw))


def test_fallback_pieces_are_bytes_even_where_the_decoder_forgets_them() -> None:
    forgetful = {"type": "Sequence", "decoders": [REPLACE_MARK, {"type": "Fuse"}, STRIP]}
    with pytest.raises(ModelError, match=r"decodes its tokens for .* to"):
        read(sentencepiece(decoder=forgetful))


def test_a_byte_level_mark_in_a_sentencepiece_vocabulary_is_a_character() -> None:
    vocabulary = read(sentencepiece())
    assert len(vocabulary.ids("ĉ".encode())) == 1


def test_the_first_space_that_metaspace_strips_is_the_lead_unless_it_never_prepends() -> None:
    assert read(unigram("always")).lead == b" "
    assert read(unigram("first")).lead == b" "
    assert read(unigram("never")).lead == b""
    assert spelling(read(unigram()), unigram(), "he") == [b" ", b"he"]
    assert spelling(read(unigram("never")), unigram("never"), "he") == [b"he"]


def test_without_a_decoder_metaspace_of_the_pre_tokenizer_counts() -> None:
    assert read(unigram(decoder=None)) == read(unigram())


def test_ids_of_one_piece_in_a_unigram_list_are_all_kept() -> None:
    assert len(read(unigram()).ids(b"he")) == 2


def test_the_unknown_token_is_no_text() -> None:
    vocabulary = read(unigram(added_tokens=[]))
    assert vocabulary.special == {"<unk>": 0, "</s>": 1}
    assert vocabulary.tokens[0] is None


def test_white_space_that_the_pre_tokenizer_drops_is_not_compared() -> None:
    dropping = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
    assert read(unigram(pre_tokenizer=dropping)) == read(unigram())


def test_word_pieces_are_spelled_as_decoding_shows_them_and_called_lossy() -> None:
    vocabulary = read(word_piece())
    assert vocabulary.tokens[:4] == (None, None, b" hello", b" wor")
    assert vocabulary.tokens[4:8] == (b"ld", b"s", b".", b"!")
    assert vocabulary.lead == b" "
    assert not vocabulary.lossless
    assert "a space before every word" in vocabulary.loss
    assert read(word_piece(cleanup=False)).tokens[6] == b" ."


def test_words_joined_by_spaces_are_lossy_too() -> None:
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "b": 2}, "unk_token": "[UNK]"}
    vocabulary = read(tokenizer(model, pre_tokenizer={"type": "Whitespace"}))
    assert vocabulary.tokens == (None, b" a", b" b")
    assert vocabulary.lead == b" "
    assert not vocabulary.lossless


@pytest.mark.parametrize("decoder", [
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "Sequence", "decoders": [REPLACE_MARK, STRIP]},
    {"type": "Sequence", "decoders": [{"type": "Fuse"}, {**STRIP, "stop": 1}]},
    {"type": "Replace", "pattern": {"Regex": "▁+"}, "content": " "},
    {"type": "Sequence", "decoders": [BYTE_LEVEL, REPLACE_MARK]},
    {"type": "Sequence", "decoders": [{"type": "Fuse"}, METASPACE]},
    {"type": "Sequence",
     "decoders": [{"type": "Fuse"}, {**REPLACE_MARK, "pattern": {"String": "ab"}}]},
    {"type": "Sequence",
     "decoders": [{"type": "Fuse"}, {"type": "WordPiece", "prefix": "##", "cleanup": False}]},
])  # fmt: skip
def test_a_decoder_whose_tokens_are_no_bytes_is_refused_by_name(decoder: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match="no bytes of its own") as error:
        read(sentencepiece(decoder=decoder))
    assert error.value.feature in json.dumps(decoder)
    assert error.value.place == "/decoder"


def test_special_tokens_are_no_text_and_other_added_tokens_are() -> None:
    tokens = [
        added("<|im_end|>", 20),
        added("<tool_call>", 21, special=False),
        added("\n\n", 22, special=False),
        added("<|reserved|>", 23),
    ]
    vocabulary = read(byte_level(added_tokens=tokens))
    assert vocabulary.tokens[20:] == (None, b"<tool_call>", b"\n\n", None)
    assert vocabulary.special == {"<|im_end|>": 20, "<|reserved|>": 23}


def test_an_added_token_is_its_literal_text_even_in_the_alphabet_of_bytes() -> None:
    # "Ġé" would be the bytes 20 E9 as a piece; text is matched with it as it stands.
    tokens = [added("Ġé", 20, special=False), added("he", 17, special=False)]
    vocabulary = read(byte_level(added_tokens=tokens))
    assert vocabulary.tokens[20] == "Ġé".encode()
    assert vocabulary.tokens[18] == b"he"  # a piece of the model as well: spelled like one


def test_an_added_token_with_marks_of_spaces_spells_spaces() -> None:
    tokens = [added("<unk>", 0), added("▁▁", 277, special=False)]
    assert read(sentencepiece(added_tokens=tokens)).tokens[277] == b"  "


def test_a_piece_outside_the_alphabet_of_bytes_stands_for_itself() -> None:
    text = byte_level(added_tokens=[added("→ ", 20, special=False)])
    assert read(text).tokens[20] == "→ ".encode()
    odd = tokenizer(bpe({"a": 0, "→ ": 1}), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
    assert read(odd).tokens == (b"a", "→ ".encode())


def test_texts_in_which_an_added_token_swallows_white_space_prove_nothing() -> None:
    tokens = [added("the", 20, special=False, rstrip=True)]
    assert read(byte_level(added_tokens=tokens)).tokens[20] == b"the"


def test_gaps_in_the_numbering_are_ids_without_spelling() -> None:
    vocabulary = read(tokenizer(bpe({"a": 0, "b": 5}), decoder={"type": "Fuse"}))
    assert vocabulary.tokens == (b"a", None, None, None, None, b"b")


def test_tokens_of_more_than_a_thousand_bytes_are_read() -> None:
    long = "ab" * 1000
    text = byte_level(added_tokens=[added(long, 20, special=False)])
    assert read(text).ids(long.encode()) == [20]


def test_tokens_beyond_what_a_trie_holds_are_refused_before_they_are_tried() -> None:
    text = byte_level(added_tokens=[added("ab" * 500_000, 20, special=False)])
    began = process_time()
    with pytest.raises(LimitError, match="a token has 1000000 bytes; tokens of up to 65535"):
        read(text)
    assert process_time() - began < 5  # the trials of such a token took more than 20 s


def test_an_empty_tokenizer_is_a_vocabulary_without_tokens() -> None:
    assert read(tokenizer(bpe({}), decoder={"type": "Fuse"})).tokens == ()


def test_an_absurd_id_is_refused_instead_of_filling_the_memory() -> None:
    with pytest.raises(LimitError, match="has the id 3999999999"):
        read(tokenizer(bpe({"a": 3_999_999_999})))


def test_the_width_of_the_logits_may_exceed_the_tokens_but_not_be_a_placeholder() -> None:
    assert read(byte_level(), width=64).width == 64
    with pytest.raises(ModelError, match="width must be at least the number of tokens, 20, not 3"):
        read(byte_level(), width=3)


def test_a_normaliser_is_applied_before_comparing() -> None:
    assert read(byte_level(normalizer={"type": "Lowercase"})) == read(byte_level())


def test_a_tokenizer_set_to_truncate_and_pad_is_read_all_the_same() -> None:
    truncation = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    padding = {
        "strategy": {"Fixed": 16},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "a",
    }
    assert read(byte_level(truncation=truncation, padding=padding)) == read(byte_level())


def test_a_tokenizer_that_encodes_other_texts_than_it_says_is_refused() -> None:
    losing = {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, METASPACE],
    }
    text = tokenizer(
        {
            "type": "Unigram",
            "unk_id": None,
            "vocab": [[piece, -1.0] for piece in "▁0123456789"],
            "byte_fallback": False,
        },
        pre_tokenizer=losing,
        decoder=METASPACE,
    )
    with pytest.raises(ModelError) as error:
        read(text)
    assert "its tokens for '0123456789' spell b' 0 1 2" in str(error.value)
    assert "but must spell b'0123456789'" in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b'{"model": 1}', b"\xff", b"[]"])
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a valid tokenizer\.json"):
        Vocabulary.from_tokenizer_json(tmp_path)
    with pytest.raises(ModelError, match="the text given is not a valid tokenizer"):
        read(content)


@pytest.mark.parametrize("parts", [
    {"model": bpe({"a": 0, "b": 1, "ab": 2}, ["a b", "a b", "ab ab"])},
    {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
])  # fmt: skip
def test_a_file_on_which_the_library_panics_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="the tokenizers library crashes on the text given"):
        read(tokenizer(parts.pop("model", bpe({"a": 0})), **parts))


def test_other_ends_of_the_process_are_not_held_up() -> None:
    with pytest.raises(KeyboardInterrupt), no_panic("a file"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 100_000])
def test_what_is_no_name_of_a_file_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="cannot be read") as error:
        Vocabulary.from_tokenizer_json(name)
    assert len(str(error.value).encode()) <= 502  # the mark of a cut has three bytes


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nothing\.json cannot be read: No such file"):
        Vocabulary.from_tokenizer_json(str(tmp_path / "nothing.json"))


def test_a_file_may_be_given_by_its_path_or_its_folder(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(sentencepiece())
    by_path = Vocabulary.from_tokenizer_json(str(tmp_path / "tokenizer.json"))
    assert by_path == Vocabulary.from_tokenizer_json(tmp_path) == read(sentencepiece())


def test_the_llama_parts_are_as_the_library_writes_them() -> None:
    made = json.loads(Tokenizer.from_buffer(sentencepiece()).to_str())
    assert made["normalizer"] == LLAMA_NORMALIZER
    assert made["decoder"] == LLAMA_DECODER
