"""Prompts and joints on real tokenizers, and on one that puts a space in front of everything."""

import json
import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer
from transformers.models.auto.tokenization_auto import AutoTokenizer
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

import guideway as gw
from guideway.generation.ensemble.prompt import Prompt, PromptReader, _added_tokens
from guideway.generation.ensemble.views import LastToken, Rewritten, System, read
from real_tokenizers import tokenizer_folder
from small_tokenizers import sentencepiece

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA2 = (
    "{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]"
    "{% else %} {{ m['content'] }} </s>{% endif %}{% endfor %}"
)
THINKING = (
    "{% for m in messages %}{{ m['role'] }}.{% if m['role'] == 'assistant' %}think.{% endif %}"
    "{{ m['content'] }}!{% endfor %}{% if add_generation_prompt %}assistant.{% endif %}"
)
STRICT = (
    "{% if messages[-1]['role'] != 'user' %}{{ raise_exception('user speaks last') }}{% endif %}"
    "{{ messages[-1]['content'] }}"
)
USER = [{"role": "user", "content": "Hi"}]


@cache
def prepending() -> Any:
    """A tokenizer like Llama 2's: "a b" is "▁a▁b", and the first space is not in the text."""
    backend = Tokenizer.from_str(sentencepiece().decode())
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


@cache
def real(name: str) -> Any:
    folder: Path = tokenizer_folder(name)
    return AutoTokenizer.from_pretrained(folder)


@cache
def vocabulary_of(tokenizer: Any, template: str | None) -> gw.Vocabulary:
    """Read once: a large one takes most of a second."""
    assert tokenizer.chat_template == template
    return gw.Vocabulary.from_transformers(tokenizer)


def reader(tokenizer: Any, template: str | None = None) -> PromptReader:
    tokenizer.chat_template = template
    return PromptReader(vocabulary_of(tokenizer, template), tokenizer)


def spelled(tokenizer: Any, tokens: tuple[int, ...]) -> bytes:
    vocabulary = vocabulary_of(tokenizer, tokenizer.chat_template)
    return b"".join(vocabulary.tokens[token] or b"" for token in tokens)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen2.5", "gemma3", "smollm2"])
def test_a_text_is_read_as_its_own_tokenizer_reads_it(name: str):
    text = "Hello, world:  \n1 2"
    read = reader(real(name)).read(text)
    assert list(read.tokens) == real(name).encode(text)
    assert read.joint == b""


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen2.5", "gemma3", "smollm2"])
@pytest.mark.parametrize("choice", ["positive", " negative", "3.14", "two words", "<|im_end|>"])
def test_a_continuation_is_spelled_exactly_and_as_the_tokenizer_would(name: str, choice: str):
    mine = reader(real(name))
    tokens = mine.continuation(mine.read("Sentiment:"), choice)
    assert spelled(real(name), tokens) == choice.encode()
    if choice != "<|im_end|>":  # which tokenizers may read as a special token
        assert list(tokens) == real(name).encode(choice, add_special_tokens=False)


def test_a_prepended_space_is_the_joint_of_an_empty_prompt_only():
    mine = reader(prepending())
    assert mine.read("") == Prompt((1,), b" ")
    assert mine.read("a").joint == b""
    assert spelled(prepending(), mine.continuation(mine.read("a"), "yes")) == b"yes"
    assert spelled(prepending(), mine.continuation(mine.read(""), "yes")) == b" yes"


def test_a_template_that_writes_a_space_before_the_reply_makes_it_the_joint():
    mine = reader(prepending(), LLAMA2)
    read = mine.read([{"role": "user", "content": "hi"}])
    assert read.joint == b" "
    assert spelled(prepending(), read.tokens) == b" [INST] hi [/INST]"
    assert spelled(prepending(), mine.continuation(read, "yes")) == b" yes"


def test_what_a_template_writes_into_a_reply_is_no_joint_and_one_that_refuses_it_has_none():
    for template in (CHATML, THINKING, STRICT):
        assert reader(real("gpt2"), template).read(USER).joint == b""


def test_messages_that_the_template_refuses_are_the_callers_fault():
    with pytest.raises(gw.SourceError, match="refuses the messages: user speaks last"):
        reader(real("gpt2"), STRICT).read([{"role": "assistant", "content": "Hi"}])


def test_a_chat_without_a_template_is_refused():
    with pytest.raises(gw.ModelError, match="no chat template"):
        reader(real("gpt2")).read(USER)


def test_an_empty_prompt_begins_as_the_tokenizer_begins_a_text():
    assert reader(real("gemma3")).read("").tokens == (2,)  # <bos>, which it puts before each text
    assert reader(real("gpt2")).read("").tokens == (50_256,)  # <|endoftext|>, which it names


def test_special_tokens_after_a_text_are_left_out():
    tokenizer = prepending()

    class Closing:
        """Like tokenizers that put an end id behind every text."""

        chat_template = None
        bos_token_id = 1

        def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
            plain = tokenizer.encode(text, add_special_tokens=False)
            return [1, *plain, 2] if add_special_tokens else plain

    mine = PromptReader(gw.Vocabulary.from_transformers(tokenizer), Closing())
    assert mine.read("a").tokens == (1, *tokenizer.encode("a", add_special_tokens=False))


def test_without_a_tokenizer_the_fewest_tokens_spell_a_text():
    vocabulary = gw.Vocabulary([b"a", b"ab", b"b", b"bb", b"<eos>"], eos_ids={4})
    mine = PromptReader(vocabulary)
    assert mine.read("abb").tokens in {(1, 2), (0, 3)}
    assert mine.continuation(mine.read("a"), "bb") == (3,)
    assert mine.read("").tokens == (4,)
    with pytest.raises(gw.ModelError, match="no tokens for b'axb'"):
        mine.read("axb")
    with pytest.raises(gw.ModelError, match="no token to begin a text with"):
        PromptReader(gw.Vocabulary([b"a"])).read("")


@pytest.mark.parametrize("tokenizer", [None, real("gpt2")])
def test_a_lone_surrogate_is_refused_in_prompts_and_continuations(tokenizer: Any):
    vocabulary = gw.Vocabulary([b"a", b"<eos>"], eos_ids={1})
    read = reader(tokenizer) if tokenizer else PromptReader(vocabulary)
    with pytest.raises(gw.SourceError, match="surrogate"):
        read.read("a\udfff")
    with pytest.raises(gw.SourceError, match="surrogate"):
        read.continuation(read.read("a"), "\ud800")
    with pytest.raises(gw.SourceError, match="the content at /1/content contains a lone surrogate"):
        read.read([*USER, {"role": "user", "content": "\ud800"}])


VIEWS = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})


class Bytewise:
    """A tokenizer of bytes with a chat template."""

    chat_template = "there is one"
    bos_token_id = None

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return list(text.encode())

    def apply_chat_template(self, messages: Any, *, tokenize: Any, **more: Any) -> str:
        lines = [f"{each['role']}: {each['content']}\n" for each in messages]
        return "".join(lines) + ("assistant: " if more["add_generation_prompt"] else "")


KIND = System("Be kind.")


@pytest.mark.parametrize(
    ("prompt", "views", "seen"),
    [
        ("there", [System("hi ")], b"hi there"),
        ("c", [System("b"), System("a")], b"abc"),  # the one that was added last comes first
        ("there", [Rewritten(str.upper)], b"THERE"),
        ("ab", [LastToken(), Rewritten(lambda text: text + "!")], b"!"),
        (USER, [KIND], b"system: Be kind.\nuser: Hi\nassistant: "),
        (
            [{"role": "system", "content": "Be short."}, *USER],
            [KIND],
            b"system: Be kind.\n\nBe short.\nuser: Hi\nassistant: ",
        ),
        (USER, [Rewritten(lambda chat: [*chat, *chat])], b"user: Hi\nuser: Hi\nassistant: "),
    ],
)
def test_a_leaf_sees_the_prompt_through_its_views(prompt: Any, views: list[Any], seen: bytes):
    tokenizer = None if isinstance(prompt, str) else Bytewise()
    assert bytes(read(prompt, views, PromptReader(VIEWS, tokenizer)).tokens) == seen


@pytest.mark.parametrize("made", [None, 3, [], [1], b"x"])
def test_a_view_that_makes_no_prompt_is_refused(made: Any):
    with pytest.raises(gw.SourceError, match="a prompt was made into"):
        read("a", [Rewritten(lambda prompt: made)], PromptReader(VIEWS))


TOOLED = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}:"
    "{{ m.content or '' }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %};{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def test_templates_get_the_tools_and_replies_that_called_some():
    tokenizer = real("gpt2")
    mine = reader(tokenizer, TOOLED)
    tool = {"type": "function", "function": {"name": "f"}}
    plain, told = mine.read(USER), mine.with_tools([tool]).read(USER)
    assert told.tokens[-len(plain.tokens) :] == plain.tokens
    shown = spelled(tokenizer, told.tokens[: -len(plain.tokens)])
    assert shown == b'[{"type": "function", "function": {"name": "f"}}]'
    call = {"type": "function", "function": {"name": "f", "arguments": {}}}
    calls = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "3"}]
    went_on = mine.read([*USER, *calls])
    written = f"assistant:[{json.dumps(call)}];tool:3;"
    assert written.encode() in spelled(tokenizer, went_on.tokens)
    assert read(USER, [], mine, tools=[tool]) == told


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen2.5", "gemma3", "smollm2"])
def test_chats_have_the_tokens_of_their_whole_text(name: str):
    tokenizer, chance = real(name), random.Random(name)
    names = [each.content for each in tokenizer.added_tokens_decoder.values()][-20:]
    words = [" ", "\n", "  \n", "Hi", " you", "é", "<|", "|>", "<", "1,2", "\t"]
    mine = PromptReader(vocabulary_of(tokenizer, tokenizer.chat_template), tokenizer)
    for _ in range(200):
        text = "".join(chance.choice(chance.choice([names, words])) for _ in range(12))
        assert list(mine._encode_chat(text)) == tokenizer.encode(text, add_special_tokens=False)


def test_a_next_turn_reads_its_new_words_only(monkeypatch: pytest.MonkeyPatch):
    tokenizer, read = real("smollm2"), list[str]()
    mine = reader(tokenizer, CHATML)
    mine.read(USER)
    usual = mine.tokenizer.encode

    def encode(text: str, **more: Any) -> list[int]:
        read.append(text)
        return usual(text, **more)

    monkeypatch.setattr(tokenizer, "encode", encode)
    turns = [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Well?"}]
    mine.read([*USER, *turns])
    assert not any("Hi" in text for text in read)
    assert any("Well?" in text for text in read)


def test_a_tokenizer_whose_added_tokens_join_reads_whole_chats():
    joins = AddedToken("<a>", normalized=False, lstrip=True)  # it takes the space before it
    assert _added_tokens(SimpleNamespace(added_tokens_decoder={0: joins})) is None
    assert _added_tokens(None) is None
