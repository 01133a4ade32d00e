"""Guidance by classifiers through `generate`, with constraints, batches and settings."""

import itertools
import math
import re
from collections import Counter

import pytest
import torch

import guideway as gw
from guideway.models.fake import FakeModel

ASCII = gw.Vocabulary([bytes([byte]) for byte in range(128)] + [b"<end>"], eos_ids={128})
TOY = gw.Vocabulary([b"a", b"b", b"c", b"<end>"], eos_ids={3})


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


def test_a_text_without_any_choice_asks_nothing():
    judge = Judge()
    model = gw.Model(FakeModel.random(ASCII)) + gw.classifier(judge, alpha=-5)
    assert model.generate("x", gw.Choice(["only this"])).text == "only this"
    assert judge.calls == []


def test_samples_have_the_distribution_of_bayes_rule():
    """A χ² over all texts of three letters: p(x | class) by enumeration of the masked model."""
    noise = torch.Generator().manual_seed(4)
    table = torch.randn(4, 4, generator=noise)
    of_class = {
        "".join(x): torch.rand(1, generator=noise).item()
        for x in itertools.product("abc", repeat=3)
    }
    steps = table[:, :3].double().log_softmax(1)  # after the mask

    def chance(text: str) -> float:
        tokens = [0, *["abc".index(letter) for letter in text]]  # the prompt is "a"
        return math.exp(sum(float(steps[i, j]) for i, j in itertools.pairwise(tokens)))

    def future(texts: list[str]) -> list[float]:
        ends = [[x for x in of_class if x.startswith(text)] for text in texts]
        return [
            math.fsum(chance(x) * of_class[x] for x in some) / math.fsum(map(chance, some))
            for some in ends
        ]

    model = gw.Model(FakeModel.table(TOY, table)) + gw.classifier(future, alpha=1)
    count = 1000
    drawn = model.generate(
        "a", gw.Regex("[abc]{3}"), temperature=1, seed=0, num_return_sequences=count
    )
    found = Counter(result.text for result in drawn)
    evidence = math.fsum(chance(x) * of_class[x] for x in of_class)
    expected = {x: count * chance(x) * of_class[x] / evidence for x in of_class}
    chi_squared = sum((found[x] - expected[x]) ** 2 / expected[x] for x in of_class)
    assert chi_squared < 54.1  # 26 degrees of freedom, 0.1 %
    plain = {x: count * chance(x) for x in of_class}
    assert sum((found[x] - plain[x]) ** 2 / plain[x] for x in of_class) > 54.1


def test_a_row_has_the_same_text_whatever_the_batch_around_it():
    model = gw.Model(FakeModel.random(ASCII)) + gw.classifier(
        Judge(), alpha=3, top=20, entropy=0.5, every=2, window=4, rest="keep"
    )
    sources = [gw.Regex("[a-f]{8}"), None, gw.Regex("x+y"), gw.Choice(["aa", "b"])]
    settings = {"temperature": 0.8, "seed": 5, "max_new_tokens": 12}
    together = model.generate(["p", "q", "r", "s"], sources, **settings)
    for prompt, source, result in zip("pqrs", sources, together, strict=True):
        assert model.generate(prompt, source, **settings).text == result.text


def test_the_prompt_is_read_where_that_is_asked_for():
    for prompt in (False, True):
        judge = Judge()
        model = gw.Model(FakeModel.random(ASCII)) + gw.classifier(judge, alpha=1, prompt=prompt)
        model.generate("Say: ", gw.Choice(["yes", "no"]))
        assert set(judge.calls[0]) == ({"Say: y", "Say: n"} if prompt else {"y", "n"})


def test_log_probabilities_are_those_of_the_model_without_the_classifier():
    base = gw.Model(FakeModel.random(ASCII))
    guided = base + gw.classifier(Judge(), alpha=9)
    result = guided.generate("x", gw.Regex("[abc]{4}"))
    logits = base.language_model.prefill([list(b"x" + result.text.encode()[:n]) for n in range(4)])[
        1
    ]
    tokens = torch.tensor(list(result.text.encode()))
    expected = logits.log_softmax(1).gather(1, tokens[:, None])[:, 0]
    assert result.logprobs == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_classifier_that_fails_is_named_by_generate():
    guided = gw.Model(FakeModel.random(ASCII)) + gw.classifier(lambda texts: [2.0], alpha=1)
    with pytest.raises(
        gw.ModelError, match=r"the classifier <lambda> gave numbers of shape \(1,\)"
    ):
        guided.generate("x", gw.Regex("[abc]"))


def test_what_stands_between_prompt_and_text_is_judged_by_no_call():
    judge = Judge()
    spelled = [b"a", b"b", b" ", b"<end>"]
    vocabulary = gw.Vocabulary(spelled, eos_ids={3}, lead=b" ")
    model = gw.Model(FakeModel.random(vocabulary)) + gw.classifier(judge, alpha=2)
    chosen = model.choose("", ["ab", "ba", "bb"])
    assert math.isclose(sum(chosen.values()), 1)
    model.generate("", gw.Choice(["ab", "ba", "bb"]), seed=1)
    assert not any(text.startswith(" ") for texts in judge.calls for text in texts)
