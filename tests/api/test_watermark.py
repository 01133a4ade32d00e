"""`gw.Watermark`: settings, detection from texts and tokens, constraints replayed, entropies."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import guideway as gw
from guideway.api.watermark import modulus, spikes, weights
from guideway.generation.ensemble.prompt import PromptReader
from guideway.models.fake import FakeModel
from real_tokenizers import tokenizer_folder

BYTES = gw.Vocabulary([*(bytes([b]) for b in range(128)), b"ab", b"<end>"], {129})
MARK = gw.Watermark(key="secret", gamma=0.5)
BASE = gw.Model(FakeModel.random(BYTES), name="base")
MARKED = BASE.watermarked(MARK)


COMPUTED = [
    lambda: MARKED + BASE, lambda: BASE - MARKED, lambda: 2 * MARKED, lambda: -MARKED,
    lambda: MARKED / 2, lambda: MARKED.maximum(BASE), lambda: BASE.minimum(MARKED),
    lambda: MARKED.nucleus(0.9), lambda: MARKED.plausible(0.1), MARKED.normalized,
    lambda: MARKED.temperature(0.5), lambda: MARKED.prompted("x"),
    lambda: gw.cfg(MARKED, BASE, 1.5), lambda: gw.contrast(BASE, MARKED),
]  # fmt: skip


@pytest.mark.parametrize("made", COMPUTED)
def test_nothing_is_computed_with_a_watermarked_model(made: Any) -> None:
    with pytest.raises(gw.UnsupportedError, match="for the whole expression") as caught:
        made()
    assert caught.value.feature == "arithmetic on a watermarked model"


def test_a_watermark_stands_around_an_expression_and_its_key_is_never_shown() -> None:
    both = (BASE + 0.5 * gw.Model(FakeModel.random(BYTES, 1), name="other")).watermarked(MARK)
    assert repr(both) == "Model((base + 0.5*other).watermarked(left, gamma=0.5, delta=2))"
    assert "secret" not in f"{both} {both!r} {MARK!r} {MARK.settings!r}"
    assert str(both).splitlines()[1:] == ["leaves: base, other", "per token: 2 forwards"]
    early = BASE.watermarked(gw.Watermark(key="k", stage="logits"))
    assert repr(early).endswith("delta=2, stage='logits'))")
    assert repr(BASE.watermarked(gw.Watermark(key=1, scheme="gumbel"))).endswith("(gumbel))")
    other = gw.Watermark(key="other")
    assert MARKED.watermarked(other) == BASE.watermarked(other) != MARKED
    assert len({MARKED, BASE, BASE.watermarked(MARK)}) == 2
    assert MARKED.choose("x", ["a", "b"]) == BASE.choose("x", ["a", "b"])
    with pytest.raises(gw.SourceError, match=r"must be a guideway\.Watermark"):
        BASE.watermarked("secret")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"key": ""}, "the key"),
        ({"key": 1.5}, "the key"),
        ({"key": True}, "the key"),
        ({"gamma": 0}, "gamma"),
        ({"gamma": 1.0}, "gamma"),
        ({"delta": -1}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"scheme": "right"}, "scheme is 'right'"),
        ({"stage": "end"}, "stage"),
        ({"among": "some"}, "among"),
        ({"context": 0}, "context"),
        ({"context": 65}, "context"),
        ({"scheme": "unigram", "context": 1}, "context"),
        ({"scheme": "synthid", "depth": 0}, "depth"),
        ({"scheme": "gumbel", "stage": "logits"}, "is for green lists"),
        ({"scheme": "gumbel", "gamma": 0.5}, "gamma is for green lists only, not for gumbel"),
        ({"scheme": "synthid", "delta": 2.0}, "delta is for green lists only, not for synthid"),
        ({"scheme": "left", "depth": 3}, "depth is for synthid only, not for left"),
        ({"key": "\ud800"}, "lone surrogate"),
    ],
    ids=str,
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(gw.SourceError, match=match):
        gw.Watermark(**{"key": "k"} | settings)
    with pytest.raises(gw.SourceError, match="repeated"):
        MARK.detect([1], repeated="never")


def test_texts_and_tokens_are_told_apart_and_neither_is_needed_twice() -> None:
    one = MARKED.generate("x", seed=3, min_new_tokens=60, max_new_tokens=60)
    tokens = MARK.detect(one.tokens)
    assert (tokens.encoded, tokens.tokens) == (False, 60)
    assert tokens.p < 1e-3
    text = MARK.detect(one.text, BYTES)
    assert text.encoded
    # "a" and "b" may have been drawn one by one, and are encoded as "ab".
    assert text.tokens <= 60
    assert text == MARK.detect(one.text, MARKED)
    assert MARK.detect([*one.tokens, 129], BYTES).tokens == 60
    assert MARK.detect("", BYTES).counted == 0
    assert MARK.detect([3, 129, 500, 7], BYTES).counted == 1  # ends and unknown ids do not count
    assert tokens.window.p <= 1
    assert MARK.detect(one.tokens, repeated="all").repeated == 0


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(gw.SourceError, match="a text needs tokenizer="):
        MARK.detect("text")
    wrongs = 5, ["a"], [True], [-1], [2**70], [1.0], None, b"text", bytearray(b"t"), {1}, iter([1])
    for wrong in (*wrongs, torch.tensor([[1, 2]]), np.array([1.5])):
        with pytest.raises(gw.SourceError, match="a text or a list of token ids"):
            MARK.detect(wrong, BYTES)
    with pytest.raises(gw.SourceError, match="give tokenizer="):
        MARK.detect([1], constraint=gw.Regex("a"))
    with pytest.raises(gw.ModelError):
        MARK.detect("text", object())
    gumbel = gw.Watermark(key="k", scheme="gumbel")
    with pytest.raises(gw.UnsupportedError, match="not gumbel"):
        gumbel.detect([1, 2], BYTES, model=BASE)


def test_token_ids_come_in_a_list_an_array_or_a_tensor() -> None:
    expected = MARK.detect([1, 2, 3, 4])
    for given in ((1, 2, 3, 4), np.array([1, 2, 3, 4]), torch.tensor([1, 2, 3, 4]), range(1, 5)):
        assert MARK.detect(given) == expected
    assert MARK.detect([np.int64(n) for n in range(1, 5)]) == expected
    assert MARK.detect([]) == MARK.detect(np.zeros(0, np.int64)) != expected


def test_vocabularies_that_do_not_go_together_are_refused_and_wider_ones_are_read() -> None:
    wide = gw.Vocabulary([*BYTES.tokens, *[None] * 70], {129}, width=240)
    source = gw.Regex("([a-d][x-z]){12}")
    one = gw.Model(FakeModel.random(wide)).watermarked(MARK).generate("x", source, seed=2)
    assert MARK.detect(one.tokens, wide, source) == MARK.detect(one.tokens, BYTES, source)
    other = gw.Vocabulary([*(bytes([b]) for b in range(128)), b"<end>"], {128})
    wider = gw.Vocabulary([*BYTES.tokens], {129}, width=160)
    of_other = gw.compile(gw.Regex("[ab]*"), other)
    with pytest.raises(gw.SourceError, match="compiled for another vocabulary"):
        MARK.detect("aba", BYTES, of_other)
    assert MARK.detect("aca", wider, gw.compile(gw.Regex("[abc]*"), BYTES)).counted == 2
    assert MARK.detect([97, 99, 97], None, gw.Regex("[abc]*"), model=BASE).tokens == 3
    model = gw.Model(FakeModel.random(other))
    with pytest.raises(gw.ModelError, match="another vocabulary"):
        MARK.detect([1, 2], BYTES, model=model)
    with pytest.raises(gw.ModelError, match=r"guideway\.Model, not str"):
        MARK.detect([1, 2], BYTES, model="model")
    with pytest.raises(gw.SourceError, match="token 500 is not one of the model's 130 tokens"):
        MARK.detect([1, 500], model=BASE)
    for prompt in (None, 5):
        with pytest.raises(gw.SourceError, match="a prompt must be a text"):
            MARK.detect([1, 2], BYTES, model=BASE, prompt=prompt)
    with pytest.raises(gw.SourceError, match="a single prompt, not a list of 2"):
        MARK.detect([1, 2], BYTES, model=BASE, prompt=["a", "b"])
    assert MARK.detect("abc", model=BASE, prompt="x").encoded


def test_a_text_outside_the_language_is_refused_where_it_leaves_it() -> None:
    source = gw.Regex("[ab]{3}-[0-9]")
    for constraint in (source, gw.compile(source, BYTES)):
        with pytest.raises(gw.SourceError, match=r"leaves it after 'ab'.*token 1") as caught:
            MARK.detect("ab9-1", BYTES, constraint)
        assert caught.value.place == "token 1"
        with pytest.raises(gw.SourceError, match="ends too early after 'aba-'"):
            MARK.detect("aba-", BYTES, constraint)
    assert MARK.detect("aba-1", BYTES, source).exempt == 1
    long = "x" * 90
    with pytest.raises(gw.SourceError, match=r"…x{40}'"):
        MARK.detect(long, BYTES, gw.Regex("x*y"))
    # What stands between a prompt and a reply belongs to neither, and is passed over.
    assert MARK.detect([32, *b"aba-1"], BYTES, source).tokens == 6


def test_a_point_mass_weighs_nothing_and_other_tokens_by_their_spike_entropy() -> None:
    table = torch.zeros(130, 130)
    table[5, 6] = 90.0  # after 5 comes 6
    model = gw.Model(FakeModel.table(BYTES, table))
    text = [5, 6, 5, 6, 7]
    found = weights(model, "a", text, None, MARK.settings)
    assert found[[1, 3]].tolist() == [0.0, 0.0]
    factor = modulus(0.5, 2.0)
    assert factor == pytest.approx(0.7616, abs=1e-4)
    assert 1 / (1 + factor) == pytest.approx(0.5677, abs=1e-4)
    flat = 129 * (1 / 129) / (1 + factor / 129)  # all that is text
    assert found[[0, 2, 4]] == pytest.approx([flat - 0.5677] * 3, abs=1e-3)
    weighed = MARK.detect(text, BYTES, model=model, prompt="a")
    plain = MARK.detect(text, BYTES)
    assert (weighed.z, plain.weighted_z) == (plain.z, None)
    assert weighed.weighted_z is not None


def test_entropies_are_of_what_the_constraint_allows_and_of_whole_expressions() -> None:
    source = gw.Regex("(ab|ba){30}")
    marked = BASE.watermarked(MARK)
    one = marked.generate("x", source, seed=1)
    found = MARK.detect(one.tokens, BYTES, source, model=marked, prompt="x")
    assert found.exempt > 0
    assert found.weighted_p is not None
    guided = BASE + gw.classifier(lambda texts: [0.5 for _ in texts], alpha=1, top=4)
    text = list(b"some words")
    assert spikes(guided, "x", text, None, 0.7) == pytest.approx(
        spikes(BASE, "x", text, None, 0.7), abs=1.0
    )
    pair = BASE + gw.gedi(BASE, gw.Model(FakeModel.random(BYTES, 7)))
    assert len(spikes(pair, "x", text * 14, None, 0.7)) == 140
    assert spikes(BASE, "x", [], None, 0.7) == []
    assert modulus(0.25, math.inf) == 3.0


def test_a_tokenizer_is_a_file_a_folder_or_one_of_transformers() -> None:
    from transformers import AutoTokenizer

    folder = tokenizer_folder("smollm2")
    loaded = AutoTokenizer.from_pretrained(folder)
    text = "A lighthouse is a tower.\n\nIts light is seen from far away."
    each = [MARK.detect(text, one) for one in (folder, f"{folder}/tokenizer.json", loaded)]
    assert each[0] == each[1] == each[2]
    assert each[0].tokens == len(loaded.encode(text))
    assert PromptReader(BYTES).vocabulary is BYTES


@pytest.mark.model
def test_a_text_of_the_real_model_is_found_again_by_its_tokens_and_by_its_text(
    built_in: gw.Model,
) -> None:
    mark = gw.Watermark(key="round trip", gamma=0.5, delta=4.0)
    prompts = ["The lighthouse was built in", "My grandmother's recipe for soup:"]
    size = {"min_new_tokens": 48, "max_new_tokens": 48}
    found = built_in.watermarked(mark).generate(prompts, temperature=1.0, seed=2, **size)
    for one in found:
        by_tokens, by_text = mark.detect(one.tokens), mark.detect(one.text, built_in)
        assert by_tokens.z > 4
        assert by_text.z > 3.5
        assert abs(gw.Watermark(key="other", gamma=0.5).detect(one.tokens).z) < 4
    weighed = mark.detect(found[0].tokens, built_in, model=built_in, prompt=prompts[0])
    assert (weighed.weighted_z or 0) > 4
