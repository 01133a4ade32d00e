"""Best-of-n: every judge against what sorting by hand gives, with all that it combines with."""

import json
import math
from typing import Any

import pytest
import torch
from pydantic import BaseModel, field_validator

import guideway as gw
from guideway.api.best import Candidates, best
from guideway.generation.row.request import Stats
from guideway.models.fake import FakeModel

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
ASCII = gw.Vocabulary([bytes([byte]) for byte in range(128)] + [b"<end>"], eos_ids={128})
MODEL = gw.Model(FakeModel.random(BITS, 4))
SOURCE = gw.Regex("[01]{2,6}")


def texts(results: list[gw.Result]) -> list[str]:
    return [result.text for result in results]


SETTINGS: dict[str, Any] = {"temperature": 1.3, "seed": 1}


def test_one_result_comes_of_one_prompt_and_as_many_as_asked_for_of_each_in_a_batch():
    settings = {"best_of": 6, **SETTINGS}
    one = MODEL.generate("0", SOURCE, **settings)
    assert isinstance(one, gw.Result)
    two, other = (
        MODEL.generate(prompt, SOURCE, num_return_sequences=2, **settings) for prompt in "01"
    )
    assert texts(two)[:1] == [one.text]
    batch = MODEL.generate(["0", "1"], SOURCE, num_return_sequences=2, **settings)
    assert texts(batch) == texts(two) + texts(other)
    beside = [gw.Sampling(**settings), gw.Sampling(), gw.Sampling(num_beams=2)]
    alone = [MODEL.generate("0", SOURCE, sampling=each).text for each in beside]
    assert texts(MODEL.generate(["0"] * 3, SOURCE, sampling=beside)) == alone


@pytest.mark.parametrize("power", [None, 0, 1, 0.6])
def test_log_probabilities_are_those_by_which_beams_are_ranked(power: float | None):
    """An end id that was drawn counts, in the sum and in the length."""
    many = {"best_of": 20, "num_return_sequences": 20, "seed": 1}
    result = MODEL.generate("0", SOURCE, length_penalty=power, **many)
    assert [each.score for each in result] == sorted((each.score for each in result), reverse=True)
    beams = {"num_beams": 200, "num_return_sequences": 124}
    found = MODEL.generate("0", SOURCE, length_penalty=power or 0, **beams)
    scores = {each.text: each.score for each in found}
    assert len({each.text for each in result}) > 5
    for each in result:
        assert each.score == pytest.approx(scores[each.text], abs=1e-5)


def test_a_function_ranks_and_ties_go_by_log_probability():
    settings = {"best_of": 8, "num_return_sequences": 8, **SETTINGS}
    own = {each.text: each.score for each in MODEL.generate("0", SOURCE, **settings)}
    asked = list[str]()

    def ones(text: str) -> int:
        asked.append(text)
        return text.count("1")

    found = MODEL.generate("0", SOURCE, best_by=ones, **settings)
    drawn = MODEL.generate("0", SOURCE, num_return_sequences=8, **SETTINGS)
    wanted = sorted(texts(drawn), key=lambda text: (-text.count("1"), -own[text]))
    assert texts(found) == wanted
    assert [each.score for each in found] == [text.count("1") for text in wanted]
    assert len(asked) == len(set(asked))  # each different text once


class Judge:
    """log P of a class that likes ones; notes what it is asked."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def log_probs(self, texts: list[str]) -> torch.Tensor:
        self.calls.append(texts)
        return torch.tensor([-0.5 * text.count("0") for text in texts])


@pytest.mark.parametrize("alpha", [None, 2.0, -1.0, 0.0])
def test_a_classifier_judges_whole_texts_of_all_prompts_in_one_batch(alpha: float | None):
    judge = Judge()
    by = judge if alpha is None else gw.classifier(judge, alpha=alpha)
    settings = {"best_of": 6, "temperature": 1.3, "seed": 1, "num_return_sequences": 6}
    results = MODEL.generate(["0", "1"], SOURCE, best_by=by, **settings)
    weight = 1.0 if alpha is None else alpha
    for result in results:
        assert result.score == pytest.approx(-0.5 * weight * result.text.count("0"))
    for own in (results[:6], results[6:]):
        assert [r.score for r in own] == sorted((r.score for r in own), reverse=True)
    assert len(judge.calls) == (0 if alpha == 0 else 1)
    assert all(len(call) == len(set(call)) for call in judge.calls)


def test_a_classifier_may_read_the_prompt_and_reads_no_window():
    judge = Judge()
    by = gw.classifier(judge, alpha=1, prompt=True)
    result = MODEL.generate("0110", SOURCE, best_of=2, seed=1, best_by=by)
    assert all(text.startswith("0110") for text in judge.calls[0])
    assert result.score == -0.5 * (2 + result.text.count("0"))
    with pytest.raises(gw.UnsupportedError, match="has window=3: remove the window"):
        MODEL.generate("0", best_of=2, seed=1, best_by=gw.classifier(judge, alpha=1, window=3))


STATS = Stats(0.0, 0.0, 0.0, 0.0, 0.0, 0)


def result(value: Any, score: float, error: str = "", ended: Any = "stop") -> gw.Result:
    text = json.dumps(value) if value is not None else ""
    refused = gw.GuidewayError(error) if error else None
    return gw.Result(value, text, (), (), ended, refused, STATS, score=score)


def ranked(results: list[gw.Result], by: Any = "majority") -> list[tuple[Any, float | None]]:
    sampling = gw.Sampling(best_of=len(results), best_by=by, seed=0)
    return [(r.value, r.score) for r in best([Candidates(results, sampling, len(results))])[0]]


def test_the_majority_is_of_values_and_one_text_of_each_comes_first():
    same = {"a": [1, 2], "b": None}
    turned = {"b": None, "a": [1.0, 2]}
    given = [result(7, -1.0), result(same, -5.0), result(7, -2.0), result(turned, -4.0)]
    given += [result(True, -0.5), result(1, -9.0), result(same, -6.0)]
    order = [(turned, 3), (7, 2), (True, 1), (1, 1), (same, 3), (same, 3), (7, 2)]
    assert ranked(given) == [(value, count / 7) for value, count in order]
    # Ties go by log probability.
    assert ranked([result("a", -3.0), result("b", -2.0), result("c", -2.5)])[0] == ("b", 1 / 3)
    assert ranked([result([1], -3.0), result([1, 1], -4.0), result([1, 1], -9.0)])[0][0] == [1, 1]


@pytest.mark.parametrize("by", [None, "logprob", "majority", lambda text: 1.0])
def test_what_has_no_value_comes_last(by: Any):
    good = result(1, -50.0)
    given = [result(None, -1.0, "refused"), result(None, -0.5, ended="interrupted"), good]
    order = ranked(given, by)
    assert order[0][0] == 1
    assert [score for _, score in order[1:]] == [-math.inf, -math.inf]


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def refuse(cls, n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n


def test_texts_that_a_validator_refuses_are_ranked_last_and_may_be_drawn_again():
    def row(prefix: tuple[int, ...]) -> list[float]:
        return [0.3 if chr(byte) in "13579" else 0.0 for byte in range(128)] + [3.0]

    model = gw.Model(FakeModel(ASCII, row))
    settings = {"best_of": 4, "num_return_sequences": 4, "temperature": 1.0, "max_new_tokens": 12}
    results = model.generate("x", Even, seed=5, on_invalid="return", **settings)
    refused = [each.error is not None for each in results]
    assert refused == sorted(refused)
    assert {True, False} == set(refused)
    again = model.generate("x", Even, seed=5, retries=40, **settings)
    assert not any(each.error for each in again)
    assert [each.score for each in again] == sorted((each.score for each in again), reverse=True)


def test_a_judge_that_gives_no_number_is_named():
    def raises(text: str) -> float:
        raise KeyError(text)

    short = gw.classifier(lambda texts: [0.5] * 9, alpha=1)
    for judge, message in [
        (raises, "the function .*raises raised KeyError for '[01]+'"),
        (short, "numbers of shape"),
    ]:
        with pytest.raises(gw.ModelError, match=message):
            MODEL.generate("0", SOURCE, best_of=8, seed=1, best_by=judge)


@pytest.mark.parametrize("exactness", ["rejection", "asap", "smc"])
def test_the_texts_may_be_drawn_by_every_mode_of_exactness(exactness: str):
    settings = {"exactness": exactness, "seed": 3}
    free = MODEL.generate("0", SOURCE, num_return_sequences=5, **settings)
    chosen = MODEL.generate("0", SOURCE, best_of=5, num_return_sequences=2, best_by=len, **settings)
    longest = sorted((len(each.text) for each in free), reverse=True)
    assert [each.score for each in chosen] == [len(each.text) for each in chosen] == longest[:2]


def test_one_text_is_the_best_of_one_and_streams_have_no_judge():
    greedy = MODEL.generate("0", SOURCE, best_of=1, best_by=len)
    assert (greedy.text, greedy.score) == (MODEL.generate("0", SOURCE).text, len(greedy.text))
    with pytest.raises(gw.UnsupportedError, match="stream takes one prompt"):
        next(MODEL.stream("0", SOURCE, best_of=1))


@pytest.mark.parametrize("settings", [
    {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0},
    {"penalty_alpha": 0.2, "top_k": 12},
    {"num_beams": 3},
])  # fmt: skip
def test_texts_of_searches_that_draw_nothing_are_asked_again_by_drawing(settings: dict[str, Any]):
    def row(prefix: tuple[int, ...]) -> list[float]:
        return [0.5 if chr(byte) in "13579" else 0.0 for byte in range(128)] + [9.0]

    model = gw.Model(FakeModel(ASCII, row, states=lambda prefix: [1.0, float(prefix[-1])]))
    with pytest.raises(gw.InvalidValueError, match="odd"):
        model.generate("x", Even, max_new_tokens=12, **settings)
    again = model.generate("x", Even, max_new_tokens=12, retries=40, **settings)
    assert again.error is None
    assert again.value.n % 2 == 0


def test_an_interrupted_judge_loses_no_text():
    asked = list[str]()

    def judge(text: str) -> float:
        asked.append(text)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return float(len(asked))

    model = gw.Model(FakeModel.random(ASCII, 2))
    settings: dict[str, Any] = {"temperature": 1.0, "seed": 1, "max_new_tokens": 8}
    with pytest.raises(gw.GenerationInterrupted) as caught:
        model.generate("x", best_of=4, best_by=judge, num_return_sequences=4, **settings)
    by_model = model.generate("x", best_of=4, num_return_sequences=4, **settings)
    assert caught.value.results == by_model
    assert len(asked) == 3
