"""Guidance by classifiers through `generate`, with constraints, batches and settings."""

import math
import re

import pytest
import torch

import guideway as gw
from guideway.models.fake import FakeModel

ASCII = gw.Vocabulary([bytes([byte]) for byte in range(128)] + [b"<end>"], eos_ids={128})


class Judge:
    """A function of texts that notes what it is asked: the share of letters that are an a."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[float]:
        self.calls.append(texts)
        return [(1 + text.count("a")) / (2 + len(text)) for text in texts]


def test_guided_texts_are_in_the_language_and_only_beginnings_of_it_are_judged():
    judge = Judge()
    model = gw.Model(FakeModel.random(ASCII)) + gw.classifier(judge, alpha=40)
    source = gw.Regex("([abc]{2}-){2}[abc]!")
    results = model.generate(["x", "y"], source, temperature=1, seed=3, num_return_sequences=3)
    for result in results:
        assert re.fullmatch("([abc]{2}-){2}[abc]!", result.text)
        assert result.text.count("a") >= 4  # 5/3 without the classifier
    beginning = re.compile("[abc]{0,2}|[abc]{2}-[abc]{0,2}|([abc]{2}-){2}[abc]?")
    assert all(beginning.fullmatch(text) for texts in judge.calls for text in texts)
    assert len(judge.calls) == 5  # the dashes and the end have no alternative
    assert max(map(len, judge.calls)) <= 6 * 3


def test_the_prompt_is_read_where_that_is_asked_for():
    for prompt in (False, True):
        judge = Judge()
        model = gw.Model(FakeModel.random(ASCII)) + gw.classifier(judge, alpha=1, prompt=prompt)
        model.generate("Say: ", gw.Choice(["yes", "no"]))
        assert set(judge.calls[0]) == ({"Say: y", "Say: n"} if prompt else {"y", "n"})


def test_log_probabilities_are_those_of_the_model_without_the_classifier():
    base = gw.Model(FakeModel.random(ASCII))
    result = (base + gw.classifier(Judge(), alpha=9)).generate("x", gw.Regex("[abc]{4}"))
    text = list(result.text.encode())
    _, logits = base.language_model.prefill([[ord("x"), *text[:n]] for n in range(4)])
    expected = logits.log_softmax(1).gather(1, torch.tensor(text)[:, None])[:, 0]
    assert result.logprobs == pytest.approx(expected.tolist(), abs=1e-5)


def test_what_stands_between_prompt_and_text_is_judged_by_no_call():
    judge = Judge()
    spelled = [b"a", b"b", b" ", b"<end>"]
    vocabulary = gw.Vocabulary(spelled, eos_ids={3}, lead=b" ")
    model = gw.Model(FakeModel.random(vocabulary)) + gw.classifier(judge, alpha=2)
    chosen = model.choose("", ["ab", "ba", "bb"])
    assert math.isclose(sum(chosen.values()), 1)
    model.generate("", gw.Choice(["ab", "ba", "bb"]), seed=1)
    assert not any(text.startswith(" ") for texts in judge.calls for text in texts)
