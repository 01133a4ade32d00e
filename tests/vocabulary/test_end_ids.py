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

ADDED = [
    added("<|endoftext|>", 20),
    added("<|im_end|>", 21),
    added("<|end|>", 22),
    added("<think>", 23, special=False),
]
TEXT = byte_level(added_tokens=ADDED)


def folder(path: Path, **files: Any) -> Path:
    (path / "tokenizer.json").write_bytes(TEXT)
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


def fast(**parts: Any) -> Any:
    """What a fast tokenizer of transformers looks like from here."""
    return SimpleNamespace(backend_tokenizer=Tokenizer.from_buffer(TEXT), **parts)


def template(render: Callable[[list[dict[str, str]]], str]) -> dict[str, Any]:
    def apply_chat_template(messages: list[dict[str, str]], *, tokenize: bool) -> str:
        assert not tokenize
        return render(messages)

    return {"chat_template": "… <|im_end|> …", "apply_chat_template": apply_chat_template}


def chat_ml(messages: list[dict[str, str]]) -> str:
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|end|>\n" for m in messages)


@pytest.mark.parametrize(("eos", "expected"), [
    ("<|im_end|>", {21}),
    (21, {21}),
    (["<|im_end|>", 20], {20, 21}),
    ([], set()),
    ("!", {10}),
])  # fmt: skip
def test_a_caller_names_tokens_or_ids_or_several(eos: Any, expected: set[int]) -> None:
    vocabulary = Vocabulary.from_tokenizer_json(TEXT, eos=eos)
    assert vocabulary.eos_ids == expected
    assert all(vocabulary.tokens[i] is None for i in expected)


def test_an_unknown_end_token_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ModelError) as error:
        Vocabulary.from_tokenizer_json(TEXT, eos="<|im-end|>")
    assert "eos names the token '<|im-end|>', but the vocabulary has no such token" in str(
        error.value
    )
    assert "did you mean '<|im_end|>'?" in str(error.value)
    with pytest.raises(ModelError, match=r"has no such token$"):
        Vocabulary.from_tokenizer_json(TEXT, eos="zzz")


def test_what_names_no_end_token_is_refused_in_few_words() -> None:
    with pytest.raises(ModelError, match=r"a token's name, an id, or a list of them, not 1\.5"):
        Vocabulary.from_tokenizer_json(TEXT, eos=1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="eos names the token 'nopenope") as error:
        Vocabulary.from_tokenizer_json(TEXT, eos="nope" * 10_000)
    assert len(str(error.value)) < 150


def test_without_configuration_every_well_known_end_token_ends_a_text(tmp_path: Path) -> None:
    assert Vocabulary.from_tokenizer_json(TEXT).eos_ids == {20, 21}
    assert Vocabulary.from_tokenizer_json(folder(tmp_path)).eos_ids == {20, 21}


def test_both_configuration_files_beside_the_tokenizer_are_united(tmp_path: Path) -> None:
    folder(
        tmp_path,
        generation_config={"eos_token_id": [20, 22]},
        tokenizer_config={"eos_token": {"content": "<|im_end|>", "special": True}},
    )
    assert Vocabulary.from_tokenizer_json(tmp_path).eos_ids == {20, 21, 22}


def test_a_configuration_that_names_one_end_rules_out_the_well_known_ones(tmp_path: Path) -> None:
    folder(tmp_path, tokenizer_config={"eos_token": "<|end|>"}, generation_config={})
    assert Vocabulary.from_tokenizer_json(tmp_path).eos_ids == {22}


def test_configurations_that_name_nothing_leave_the_well_known_ones(tmp_path: Path) -> None:
    folder(tmp_path, tokenizer_config={"eos_token": None})
    assert Vocabulary.from_tokenizer_json(tmp_path).eos_ids == {20, 21}


def test_a_configuration_that_names_no_token_of_the_file_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, tokenizer_config={"eos_token": "</s>"})
    with pytest.raises(
        ModelError, match=r"tokenizer_config\.json, eos_token names the token '</s>'"
    ):
        Vocabulary.from_tokenizer_json(tmp_path)
    assert Vocabulary.from_tokenizer_json(tmp_path, eos=20).eos_ids == {20}


def test_broken_configurations_are_named(tmp_path: Path) -> None:
    folder(tmp_path, generation_config=[1])
    with pytest.raises(
        ModelError, match=r"generation_config\.json must contain a JSON object, not a list"
    ):
        Vocabulary.from_tokenizer_json(tmp_path)
    (tmp_path / "generation_config.json").write_text("{")
    with pytest.raises(ModelError, match=r"generation_config\.json is not valid JSON"):
        Vocabulary.from_tokenizer_json(tmp_path)
    (tmp_path / "generation_config.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match=r"generation_config\.json is not valid JSON"):
        Vocabulary.from_tokenizer_json(tmp_path)


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


def test_tokenizer_generation_config_and_chat_template_are_united() -> None:
    tokenizer = fast(eos_token_id=20, **template(chat_ml))
    generation = SimpleNamespace(eos_token_id=[21])
    assert Vocabulary.from_transformers(tokenizer).eos_ids == {20, 22}
    united = Vocabulary.from_transformers(tokenizer, generation_config=generation)
    assert united.eos_ids == {20, 21, 22}


def test_without_a_chat_template_the_tokenizer_alone_is_asked() -> None:
    assert Vocabulary.from_transformers(fast(eos_token_id=20, chat_template=None)).eos_ids == {20}
    assert Vocabulary.from_transformers(fast(eos_token_id=None)).eos_ids == frozenset()


def test_a_template_that_closes_a_reply_with_nothing_adds_no_end() -> None:
    def plain(messages: list[dict[str, str]]) -> str:
        return "".join(f"{m['content']}\n" for m in messages)

    assert Vocabulary.from_transformers(fast(eos_token_id=20, **template(plain))).eos_ids == {20}


def test_a_template_that_shows_no_reply_adds_no_end() -> None:
    def mute(messages: list[dict[str, str]]) -> str:
        return "<|im_end|>" * len(messages)

    assert Vocabulary.from_transformers(fast(eos_token_id=20, **template(mute))).eos_ids == {20}


def test_a_template_that_fails_is_searched_for_well_known_ends() -> None:
    def fail(messages: list[dict[str, str]]) -> str:
        raise ValueError(f"a system message must come first, not {messages[0]['role']}")

    assert Vocabulary.from_transformers(fast(eos_token_id=20, **template(fail))).eos_ids == {20, 21}


def test_a_slow_tokenizer_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="SimpleNamespace is not a fast transformers tokenizer"):
        Vocabulary.from_transformers(SimpleNamespace(eos_token_id=1))


def test_a_tokenizer_with_a_part_that_is_a_program_is_refused_by_name() -> None:
    tokenizer = fast(eos_token_id=20)
    program = SimpleNamespace(pre_tokenize=lambda text: text)
    tokenizer.backend_tokenizer.pre_tokenizer = PreTokenizer.custom(program)
    with pytest.raises(UnsupportedError, match="the pre_tokenizer of the tokenizer is custom code"):
        Vocabulary.from_transformers(tokenizer)


def test_a_tokenizer_of_transformers_has_the_table_of_its_file() -> None:
    read = Vocabulary.from_tokenizer_json(TEXT, eos=20, width=32)
    assert Vocabulary.from_transformers(fast(eos_token_id=20), width=32) == read


def test_several_ends_are_all_kept_out_of_texts() -> None:
    vocabulary = Vocabulary.from_tokenizer_json(TEXT, eos=[20, 21, "<think>"])
    assert [vocabulary.tokens[i] for i in (20, 21, 23)] == [None, None, None]
    assert vocabulary.special == {
        "<|endoftext|>": 20,
        "<|im_end|>": 21,
        "<|end|>": 22,
        "<think>": 23,
    }
