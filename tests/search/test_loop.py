"""The loop over searches: batches of them, limits, what is refused."""

import math
from typing import Any

import pytest

import guideway as gw
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from guideway.sampling.settings import Sampling
from guideway.search.loop import Searching
from whole_batches import search

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})


def interrupted(model: FakeModel, request: Request) -> list[Result]:
    """The completions of a search whose model raises `KeyboardInterrupt`."""
    searching = Searching(Ensemble.of(model), [request])
    with pytest.raises(KeyboardInterrupt):
        searching.run()
    return searching.completions[0]


def test_searches_and_drawn_rows_stand_in_one_batch_each_within_its_limits():
    noise = FakeModel.random(BITS, 3)
    states = {"states": lambda prefix: [1.0, float(prefix[-1]), float(len(prefix))]}
    model = gw.Model(FakeModel(BITS, lambda prefix: noise.prefill([prefix])[1][0], **states))
    prompts, pattern = ["01", "1", "0", "10"], gw.Regex("(0{7}|1{5})*11")
    settings = [
        gw.Sampling(num_beams=4, num_return_sequences=2, max_new_tokens=9),
        gw.Sampling(max_new_tokens=9),
        gw.Sampling(num_beams=2, max_new_tokens=9),
        gw.Sampling(penalty_alpha=0.6, max_new_tokens=9, min_new_tokens=3),
    ]
    together = model.generate(prompts, pattern, sampling=settings)
    alone = [
        model.generate(prompt, pattern, sampling=each)
        for prompt, each in zip(prompts, settings, strict=True)
    ]
    assert [r.text for r in together] == [r.text for r in (*alone[0], *alone[1:])]
    assert together[2].score is None
    assert together[3].score == alone[2].score
    assert {r.finish_reason for r in together} <= {"stop", "length"}
    assert together[4].text in {"000000011", "1111111"}


def test_a_search_gives_no_more_than_there_is_and_the_models_own_probabilities():
    given = {"num_beams": 5, "num_return_sequences": 5, "length_penalty": 0}
    model = gw.Model(FakeModel.random(BITS, 2))
    texts = [each.text for each in model.generate("0", gw.Regex("0|11"), **given)]
    assert sorted(texts) == ["0", "11"]
    done = search(FakeModel.random(BITS, 2), gw.Regex("[01]{3}"), **given)[0]
    assert done.score == pytest.approx(math.fsum((*done.logprobs, done.log_end)), abs=1e-5)
    assert all(log < 0 for log in done.log_allowed)
    with pytest.raises(gw.UnsupportedError, match=r"trace does not work with a search \(beams\)"):
        model.generate("0", num_beams=2, trace=True)
    with pytest.raises(gw.UnsupportedError, match="stream takes one prompt"):
        next(model.stream("0", num_beams=2))


EMPTY: dict[str, dict[str, Any]] = {
    "score": {"num_beams": 2},
    "weight": {"num_beams": 2, "stochastic_beams": True, "seed": 1},
    "attempts": {"exactness": "rejection", "seed": 1, "num_return_sequences": 3},
    "seed": {"exactness": "asap", "seed": 1, "num_return_sequences": 3},
    "population": {"exactness": "smc", "seed": 1, "num_return_sequences": 3},
    "text": {"penalty_alpha": 0.5},
}


@pytest.mark.parametrize("told", EMPTY)
def test_a_text_that_can_only_be_empty_and_has_no_end_id_is_what_is_found(told: str):
    endless = gw.Vocabulary([b"0", b"1"], eos_ids=set())
    model = FakeModel(endless, lambda prefix: [0.0, 0.0])
    found = search(model, gw.Regex(""), **EMPTY[told])
    assert [done.tokens for done in found] == [()] * EMPTY[told].get("num_return_sequences", 1)
    assert all(getattr(done, told) is not None for done in found)
    assert found[0].finish_reason == "stop"
    if told == "population":
        assert found[0].population is not None
        assert found[0].population.log_evidence == 0
        assert found[0].population.effective_sample_size == pytest.approx(8)
        with pytest.raises(gw.DeadEndError, match="the critic leave nothing"):
            search(model, gw.Regex(""), exactness="smc", seed=1, critic=lambda text: -math.inf)


@pytest.mark.parametrize("told", EMPTY)
def test_an_interrupted_search_gives_what_it_has(told: str):
    calls = iter(range(1000))

    def logits(prefix: tuple[int, ...]) -> list[float]:
        if next(calls) > 5 and len(prefix) > 3:
            raise KeyboardInterrupt
        return [0.0, 1.0, -9.0]

    model = FakeModel(BITS, logits, states=lambda prefix: [1.0, float(len(prefix))])
    sampling = Sampling.of({"max_new_tokens": 9} | EMPTY[told])
    found = interrupted(model, Request((0,), gw.compile(gw.Regex("[01]{5}"), BITS), sampling))
    # What rejection draws by then may be a whole text.
    ends = {"stop", "interrupted"} if told in ("seed", "attempts") else {"interrupted"}
    assert {done.finish_reason for done in found} <= ends
    assert found[0].tokens
    assert all(done.weight is None for done in found)

    def nothing(prefix: tuple[int, ...]) -> list[float]:
        raise KeyboardInterrupt

    found = interrupted(FakeModel(BITS, nothing), Request((0,), sampling=Sampling.of(EMPTY[told])))
    assert {done.finish_reason for done in found} == {"interrupted"}
    assert found[0].score is None or found[0].score == found[0].score
