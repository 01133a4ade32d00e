"""The tables of five real tokenizers, against what the `tokenizers` library does with them."""

import random
import unicodedata
from functools import cache

import pytest
from tokenizers import Tokenizer

from guideway.vocabulary.vocabulary import Vocabulary
from real_tokenizers import NAMES, real_vocabulary, tokenizer_folder


@cache
def library(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(tokenizer_folder(name) / "tokenizer.json"))


def random_text(chance: random.Random) -> str:
    """A text of words, white space and any characters there are."""
    pools = (
        range(0x20, 0x7F),
        range(0x20, 0x7F),
        (*range(0x20), 0x20, 0x20, 0x20, 0xA, 0xA, 0x7F),
        range(0x80, 0x800),
        range(0x900, 0xE00),
        range(0x3040, 0x30FF),
        range(0x4E00, 0x9FFF),
        range(0xE000, 0x10000),
        range(0x1F300, 0x1F700),
        range(0x10000, 0x110000),
    )
    return "".join(
        chr(point)
        for _ in range(chance.randint(1, 8))
        for point in chance.choices(chance.choice(pools), k=chance.randint(1, 12))
    )


def spellable_text(text: str, vocabulary: Vocabulary) -> str:
    return "".join(
        character
        for character in text
        if all(vocabulary.spellable >> byte & 1 for byte in character.encode())
    )


@pytest.mark.untraced
@pytest.mark.parametrize("name", NAMES)
def test_the_tokens_of_two_thousand_random_texts_spell_them(name: str) -> None:
    vocabulary, tokenizer = real_vocabulary(name), library(name)
    chance = random.Random(7)
    for _ in range(2000):
        text = spellable_text(random_text(chance), vocabulary)
        meant = unicodedata.normalize("NFC", text) if name == "qwen2.5" else text
        meant = meant.replace("▁", " ") if name == "gemma3" else meant
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert b"".join(vocabulary.tokens[i] or b"?" for i in ids) == meant.encode()


@pytest.mark.parametrize("name", NAMES)
def test_every_token_of_whole_characters_decodes_to_its_bytes(name: str) -> None:
    vocabulary, tokenizer = real_vocabulary(name), library(name)
    parts = 0
    for i, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        decoded = tokenizer.decode([i], skip_special_tokens=False)
        if decoded.encode() != token:
            # A part of a character: the library shows it as a replacement character.
            assert "\ufffd" in decoded
            assert "\ufffd" in token.decode(errors="replace")
            parts += 1
    assert parts > 100


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_special_tokens_are_no_text(name: str) -> None:
    vocabulary, tokenizer = real_vocabulary(name), library(name)
    special = {
        token.content: i
        for i, token in tokenizer.get_added_tokens_decoder().items()
        if token.special
    }
    assert vocabulary.special == special
    silent = {i for i, token in enumerate(vocabulary.tokens) if token is None}
    assert silent == set(special.values())
    assert silent.isdisjoint(vocabulary.trie.token_ids.tolist())
    assert len(vocabulary.trie.token_ids) == len(vocabulary.tokens) - len(silent)


# Six are control characters; F1 and F2 begin characters of planes 4 to 11; the rest occur nowhere.
LACKING = {"smollm2": bytes.fromhex("0406131416 1d c0c1 f1f2 f5f6f7f8f9fafbfcfdfeff")}


@pytest.mark.parametrize(("name", "end"), [
    ("llama3", "<|end_of_text|>"),
    ("qwen2.5", "<|im_end|>"),
    ("gemma3", "<end_of_turn>"),
    ("gpt2", "<|endoftext|>"),
    ("smollm2", "<|im_end|>"),
])  # fmt: skip
def test_every_real_vocabulary_is_closed_leads_with_nothing_and_has_its_end(
    name: str, end: str
) -> None:
    vocabulary = real_vocabulary(name)
    assert vocabulary.closed
    assert vocabulary.lossless
    assert vocabulary.lead == b""
    assert vocabulary.eos_ids == {vocabulary.special[end]}  # by the configuration beside the file
    missing = bytes(byte for byte in range(256) if not vocabulary.spellable >> byte & 1)
    assert missing == LACKING.get(name, b"")


def test_added_tokens_that_are_not_special_are_text_whatever_they_look_like() -> None:
    gemma, qwen = real_vocabulary("gemma3"), real_vocabulary("qwen2.5")
    texts = (*("\n" * n for n in range(1, 32)), *(" " * n for n in range(2, 32)))
    for text in (*texts, "<unused5>", "[multimodal]", "<mask>", "</h1>"):
        (token,) = library("gemma3").encode(text, add_special_tokens=False).ids
        assert gemma.tokens[token] == text.encode()
    (call,) = library("qwen2.5").encode("<tool_call>", add_special_tokens=False).ids
    assert qwen.tokens[call] == b"<tool_call>"


def test_a_literal_byte_mark_in_a_sentencepiece_vocabulary_is_that_character() -> None:
    gemma = real_vocabulary("gemma3")
    for character in "ĉĠĊ":
        ids = library("gemma3").encode(character, add_special_tokens=False).ids
        assert b"".join(gemma.tokens[i] or b"" for i in ids) == character.encode()
    # One spelling may belong to a byte and to a piece.
    assert [len(gemma.ids(text)) for text in ("ĉ".encode(), b"a", b" ")] == [1, 2, 2]


@pytest.mark.untraced
def test_a_tokenizer_that_transformers_loaded_has_the_same_table_and_the_end_of_its_chat() -> None:
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder("smollm2"))
    read = real_vocabulary("smollm2")
    assert Vocabulary.from_transformers(tokenizer, width=read.width) == read
    tokenizer.eos_token = "<|endoftext|>"  # the chat template goes on ending turns with another
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.eos_ids == {read.special["<|endoftext|>"], read.special["<|im_end|>"]}
