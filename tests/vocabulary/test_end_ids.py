"""Which ids end a text: files and callers that disagree."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import PreTokenizer

from guideway.errors import ModelError, UnsupportedError
from guideway.vocabulary.vocabulary import Vocabulary
from small_tokenizers import added, byte_level

SPECIAL = ("<|endoftext|>", "<|im_end|>", "<|end|>")
ADDED = [*(added(name, 20 + n) for n, name in enumerate(SPECIAL))]
TEXT = byte_level(added_tokens=[*ADDED, added("<think>", 23, special=False)])


def folder(path: Path, **files: Any) -> Path:
    """A tokenizer with the configurations beside it, each an object or the text of its file."""
    (path / "tokenizer.json").write_bytes(TEXT)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (path / f"{name}.json").write_text(text)
    return path


def fast(**parts: Any) -> Any:
    """What a fast tokenizer of transformers looks like from here."""
    return SimpleNamespace(backend_tokenizer=Tokenizer.from_buffer(TEXT), **parts)


@pytest.mark.parametrize(("eos", "expected"), [
    ("<|im_end|>", {21}),
    (21, {21}),
    (["<|im_end|>", 20], {20, 21}),
    ([20, 21, "<think>"], {20, 21, 23}),
    ([], set()),
    ("!", {10}),
])  # fmt: skip
def test_a_caller_names_tokens_or_ids_or_several(eos: Any, expected: set[int]) -> None:
    vocabulary = Vocabulary.from_tokenizer_json(TEXT, eos=eos)
    assert vocabulary.eos_ids == expected
    assert all(vocabulary.tokens[i] is None for i in expected)
    special = {name: 20 + n for n, name in enumerate(SPECIAL)}
    more = {10: {"!": 10}, 23: {"<think>": 23}}
    assert vocabulary.special == special | more.get(max(expected, default=0), {})


@pytest.mark.parametrize(("eos", "said"), [
    ("<|im-end|>", "eos names the token '<|im-end|>', but the vocabulary has no such token; "
                   "did you mean '<|im_end|>'?"),
    ("zzz", "eos names the token 'zzz', but the vocabulary has no such token"),
    (1.5, "a token's name, an id, or a list of them, not 1.5"),
    ("nope" * 10_000, "eos names the token 'nopenope"),
])  # fmt: skip
def test_what_names_no_end_token_is_refused_in_few_words(eos: Any, said: str) -> None:
    with pytest.raises(ModelError) as error:
        Vocabulary.from_tokenizer_json(TEXT, eos=eos)
    assert said in str(error.value)
    assert len(str(error.value)) < 150
    assert said.endswith("?") or "did you mean" not in str(error.value)


@pytest.mark.parametrize(("files", "expected"), [
    ({}, {20, 21}),
    ({"generation_config": {"eos_token_id": [20, 22]},
      "tokenizer_config": {"eos_token": {"content": "<|im_end|>", "special": True}}}, {20, 21, 22}),
    ({"tokenizer_config": {"eos_token": "<|end|>"}, "generation_config": {}}, {22}),
    ({"tokenizer_config": {"eos_token": None}}, {20, 21}),
])  # fmt: skip
def test_configurations_name_ends_and_rule_out_the_well_known_ones(
    files: Any, expected: set[int], tmp_path: Path
) -> None:
    assert Vocabulary.from_tokenizer_json(folder(tmp_path, **files)).eos_ids == expected
    assert Vocabulary.from_tokenizer_json(TEXT).eos_ids == {20, 21}


@pytest.mark.parametrize(("files", "said"), [
    ({"tokenizer_config": {"eos_token": "</s>"}},
     r"tokenizer_config\.json, eos_token names the token '</s>'"),
    ({"generation_config": [1]},
     r"generation_config\.json must contain a JSON object, not a list"),
    ({"generation_config": "{"}, r"generation_config\.json is not valid JSON"),
    ({"generation_config": "[" * 100_000}, r"generation_config\.json is not valid JSON"),
])  # fmt: skip
def test_broken_configurations_are_named(files: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=said):
        Vocabulary.from_tokenizer_json(folder(tmp_path, **files))
    assert Vocabulary.from_tokenizer_json(tmp_path, eos=20).eos_ids == {20}


def test_a_configuration_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path, generation_config={})
    read_bytes = Path.read_bytes

    def closed(path: Path) -> bytes:
        if path.name == "generation_config.json":
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", closed)
    with pytest.raises(ModelError, match=r"config\.json cannot be read: Permission denied"):
        Vocabulary.from_tokenizer_json(tmp_path)


Messages = list[dict[str, str]]


def template(render: Callable[[Messages], str]) -> dict[str, Any]:
    def apply_chat_template(messages: Messages, *, tokenize: bool) -> str:
        assert not tokenize
        return render(messages)

    return {"chat_template": "… <|im_end|> …", "apply_chat_template": apply_chat_template}


def chat_ml(messages: Messages) -> str:
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|end|>\n" for m in messages)


def fail(messages: Messages) -> str:
    raise ValueError(f"a system message must come first, not {messages[0]['role']}")


@pytest.mark.parametrize(("parts", "generation", "expected"), [
    ({"eos_token_id": 20, **template(chat_ml)}, None, {20, 22}),
    ({"eos_token_id": 20, **template(chat_ml)}, [21], {20, 21, 22}),
    ({"eos_token_id": 20, "chat_template": None}, None, {20}),
    ({"eos_token_id": None}, None, set()),
    # What closes a reply with nothing, or shows none, adds no end.
    ({"eos_token_id": 20, **template(lambda texts: "\n".join(m["content"] for m in texts))}, None,
     {20}),
    ({"eos_token_id": 20, **template(lambda texts: "<|im_end|>" * len(texts))}, None, {20}),
    # What fails is searched for well-known ends.
    ({"eos_token_id": 20, **template(fail)}, None, {20, 21}),
])  # fmt: skip
def test_tokenizer_generation_config_and_chat_template_are_united(
    parts: Any, generation: Any, expected: set[int]
) -> None:
    config = generation and SimpleNamespace(eos_token_id=generation)
    found = Vocabulary.from_transformers(fast(**parts), generation_config=config)
    assert found.eos_ids == expected


def test_other_tokenizers_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match="SimpleNamespace is not a fast transformers tokenizer"):
        Vocabulary.from_transformers(SimpleNamespace(eos_token_id=1))
    tokenizer = fast(eos_token_id=20)
    program = SimpleNamespace(pre_tokenize=lambda text: text)
    tokenizer.backend_tokenizer.pre_tokenizer = PreTokenizer.custom(program)
    with pytest.raises(UnsupportedError, match="the pre_tokenizer of the tokenizer is custom code"):
        Vocabulary.from_transformers(tokenizer)


def test_a_tokenizer_of_transformers_has_the_table_of_its_file() -> None:
    read = Vocabulary.from_tokenizer_json(TEXT, eos=20, width=32)
    assert Vocabulary.from_transformers(fast(eos_token_id=20), width=32) == read
