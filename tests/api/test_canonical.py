"""`canonical=True`: what is generated is what the tokenizer gives for its text."""

from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import guideway as gw
from canonical_tokenizers import library, vocabulary
from guideway.api.model import Model
from guideway.models.fake import FakeModel
from real_tokenizers import real_vocabulary, tokenizer_folder

SOURCES = [
    None,
    gw.Regex("[ab]{2,5}( ab?)*'s"),
    gw.Gbnf('root ::= "a" ("b" | " " root)'),
    gw.JsonSchema({"type": "array", "items": {"enum": ["a", "ab"]}}, whitespace="compact"),
]
HOWS: list[dict[str, Any]] = [
    {},
    {"temperature": 1.5, "seed": 0, "num_return_sequences": 4},
    {"num_beams": 3},
    {"stochastic_beams": True, "num_beams": 3, "seed": 0, "num_return_sequences": 3},
    {"best_of": 3, "seed": 1},
    *({"exactness": how, "seed": 2} for how in ("rejection", "asap", "smc")),
]


def model(name: str) -> gw.Model:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=library(name), eos_token="<end>")
    return gw.Model(FakeModel.random(vocabulary(name), 3), tokenizer)


@pytest.mark.parametrize("source", SOURCES, ids=str)
@pytest.mark.parametrize("how", HOWS, ids=str)
def test_any_way_of_choosing_gives_the_tokens_of_the_text(source: Any, how: Any) -> None:
    own = model("gpt2" if not isinstance(source, gw.JsonSchema) else "gpt2 json")
    found = own.generate("a", source, canonical=True, max_new_tokens=12, **how)
    for result in found if isinstance(found, list) else [found]:
        assert is_canonical(own, result)
        assert result.log_z < 0


def is_canonical(own: gw.Model, result: gw.Result, before: str = "") -> bool:
    encoded = own.tokenizer.encode(before + result.text, add_special_tokens=False)
    return list(result.tokens) == encoded


def test_free_text_is_cut_at_its_limit_where_its_tokens_are_canonical() -> None:
    own = model("gpt2")
    for seed in range(8):
        result = own.generate("a", canonical=True, max_new_tokens=5, seed=seed, min_new_tokens=5)
        assert (len(result.tokens), result.finish_reason) == (5, "length")
        assert result.value == result.text
        assert is_canonical(own, result)
        healed = own.generate("sa", "bb", heal=True, canonical=True, seed=seed)
        assert healed.text == "bb"
        assert is_canonical(own, healed, "a")  # the prompt's end is encoded with the text


def test_with_a_watermark_and_in_an_expression_it_holds_as_well() -> None:
    own = model("gpt2")
    other = gw.Model(FakeModel.random(vocabulary("gpt2"), 5), own.tokenizer)
    guided = (own + 0.5 * (other - own)).watermarked(gw.Watermark(key=3))
    *_, last = guided.stream("a", canonical=True, max_new_tokens=8, seed=1)
    assert last.result is not None
    assert is_canonical(own, last.result)


SLOWER = [
    pytest.param(prompt, source, marks=pytest.mark.slow)
    for prompt in ("日本", "東京", "한국", "👨\u200d👩", "é", "a")
    for source in (None, gw.Regex("[a-z]{1,4}"))
]


@pytest.mark.parametrize(("prompt", "source"), [("日本", gw.Regex("[ab]")), *SLOWER], ids=str)
def test_a_prompt_that_ends_within_no_character_is_healed(prompt: str, source: Any) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder("gpt2"))
    own = gw.Model(FakeModel.random(real_vocabulary("gpt2"), 3), tokenizer)
    result = own.generate(prompt, source, heal=True, canonical=True, max_new_tokens=6, seed=1)
    written = tokenizer.decode(result.tokens)
    assert written.endswith(result.text)
    assert list(result.tokens) == tokenizer.encode(written, add_special_tokens=False)
    assert (prompt + result.text).endswith(written)


def test_without_a_tokenizer_or_a_truth_value_it_is_refused() -> None:
    plain = gw.Model(FakeModel.random(vocabulary("gpt2")))
    with pytest.raises(gw.UnsupportedError, match="this model has none"):
        plain.generate("a", canonical=True)
    with pytest.raises(gw.SourceError, match="canonical is 1: it must be True or False"):
        plain.generate("a", canonical=1)  # pyright: ignore[reportArgumentType]


@pytest.mark.model
@pytest.mark.slow
def test_the_built_in_model_writes_what_its_tokenizer_gives(built_in: Model) -> None:
    person = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    sources = [None, gw.Regex("[a-z ,']{3,20}\\."), person, gw.Gbnf('root ::= "it" ("\'s" | root)')]
    found = built_in.generate(
        ["Once"] * 4, sources, canonical=True, max_new_tokens=8, temperature=1.5, seed=3
    )
    found += [
        built_in.generate("http:", gw.Regex("[a-z ']{3,9}\\."), canonical=True, **how)
        for how in ({"penalty_alpha": 0.6, "top_k": 3}, {"num_beams": 2})
    ]
    assert all(is_canonical(built_in, result) for result in found)
