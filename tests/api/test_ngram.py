from pathlib import Path
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.models.ngram import NgramModel
from real_tokenizers import tokenizer_folder
from small_models import tokenizer

LETTERS = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<end>"], eos_ids={256})
TEXTS = ["The cat sat on the mat.", "The dog sat on the log.", "A cat is not a dog."] * 3


def gpt2() -> Any:
    return tokenizer(tokenizer_folder("gpt2"))


def test_it_says_what_it_read_and_ends():
    model = gw.ngram(TEXTS, gpt2(), order=6)
    result = model.generate("The dog sat", max_new_tokens=20)
    assert (result.text, result.finish_reason) == (" on the log.", "stop")


def test_the_tokens_of_a_text_are_those_of_the_tokenizer():
    few = gw.ngram(TEXTS, gpt2())
    many = gw.ngram(TEXTS * 400, gpt2())  # more than one call of the tokenizer
    encoded = [gpt2().encode(text) for text in TEXTS]
    for model, texts in ((few, encoded), (many, encoded * 400)):
        alone = NgramModel.train(texts, model.vocabulary)
        prompts = [[50256], encoded[0], encoded[1][:3]]
        assert torch.equal(model.language_model.prefill(prompts)[1], alone.prefill(prompts)[1])


def test_it_takes_vocabulary_and_width_of_a_model():
    wide = gw.Vocabulary(LETTERS.tokens, eos_ids={256}, width=300)
    letters = gw.ngram(["ab"], wide)
    model = gw.ngram(iter(["ab", "ac"]), letters, order=2)
    assert model.vocabulary == wide
    _, logits = model.language_model.prefill([[97]])
    assert logits.shape == (1, 300)
    assert logits.argsort()[0, -3:].sort().values.tolist() == [98, 99, 256]


def test_a_saved_model_is_read_by_its_path_and_shown_by_its_name(tmp_path: Path):
    model = gw.ngram(TEXTS, gpt2(), order=5)
    model.language_model.save(tmp_path / "cats.ngram")
    again = gw.ngram(tmp_path / "cats.ngram", gpt2())
    assert again.language_model.order == 5
    assert again.generate("A cat").text == model.generate("A cat").text
    guided = gw.ngram(TEXTS, LETTERS) + 0.5 * gw.ngram(TEXTS, LETTERS, name="cats")
    assert repr(guided) == "Model(ngram + 0.5*cats)"


@pytest.mark.parametrize(("texts", "message"), [
    ("one text", "texts is 'one text': it must be a list of texts"),
    (3, "texts is 3: it must be a list of texts"),
    (["a", 3], "text 1 must be a str, not 3"),
    (["a\ud800"], "text 0 contains a lone surrogate"),
])  # fmt: skip
def test_texts_that_are_none_are_refused(texts: Any, message: str):
    with pytest.raises(gw.SourceError, match=message):
        gw.ngram(texts, LETTERS)


def test_an_order_that_is_no_count_is_refused():
    for order, error in ((True, gw.SourceError), (0, gw.LimitError)):
        with pytest.raises(error, match=f"order is {order}"):
            gw.ngram(["a"], LETTERS, order=order)
