"""Watermarks in the loop: every kind, with filters, constraints and searches, on toy models."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import guideway as gw
from guideway.api.watermark import Watermark
from guideway.models.fake import FakeModel

WORDS = gw.Vocabulary([*(f"<{n:03}>".encode() for n in range(300)), b"<end>"], eos_ids={300})
BYTES = gw.Vocabulary([*(bytes([b]) for b in range(128)), b"ab", b'":', b"<end>"], {130})
FLAT = gw.Model(FakeModel.table(WORDS, torch.zeros(301, 301)))
KINDS: list[dict[str, Any]] = [
    {"scheme": "left"}, {"scheme": "left", "delta": math.inf}, {"scheme": "left", "context": 3},
    {"scheme": "left", "stage": "logits"}, {"scheme": "min"}, {"scheme": "self"},
    {"scheme": "unigram"}, {"scheme": "synthid"}, {"scheme": "gumbel"},
    {"scheme": "left", "among": "vocabulary"},
]  # fmt: skip
NAMES = [" ".join(map(str, kind.values())) for kind in KINDS]
LIST = gw.Regex(r"([a-c]{2}-(yes|no|maybe)-[0-9]{3};){4}")


def half(kind: dict[str, Any]) -> dict[str, Any]:
    """Half of all tokens green, where there are green tokens."""
    return kind if kind.get("scheme") in ("synthid", "gumbel") else {"gamma": 0.5, **kind}


def texts(model: gw.Model, count: int, size: int, **settings: Any) -> list[Any]:
    each = [
        gw.Sampling(seed=n, min_new_tokens=size, max_new_tokens=size, **settings)
        for n in range(count)
    ]
    return model.generate(["<000>"] * count, sampling=each)


@pytest.mark.parametrize(("stage", "rate"), [("filtered", 0.8808), ("logits", 0.9457)])
def test_a_uniform_model_draws_green_tokens_as_often_as_the_formula_says(
    stage: Any, rate: float
) -> None:
    mark = Watermark(key="k", gamma=0.5, delta=2.0, stage=stage)
    found = texts(FLAT.watermarked(mark), 20, 101, temperature=0.7)
    each = [mark.detect(one.tokens) for one in found]
    counted = sum(one.counted for one in each)
    greens = sum(one.green_fraction * one.counted for one in each)
    assert greens / counted == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / counted))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_every_kind_is_found_by_its_key_and_by_no_other(kind: dict[str, Any]) -> None:
    mark = Watermark(key="right", **half(kind))
    wrong = Watermark(key="wrong", **half(kind))
    for one in texts(FLAT.watermarked(mark), 2, 80, temperature=1.0, top_k=100):
        assert mark.detect(one.tokens).p < 1e-4
        assert wrong.detect(one.tokens).p > 1e-3
        assert mark.detect(one.text, WORDS).tokens == 80


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_marked_texts_are_those_of_the_constraint(kind: dict[str, Any]) -> None:
    mark = Watermark(key=3, **half(kind))
    model = gw.Model(FakeModel.random(BYTES, 1)).watermarked(mark)
    for one in model.generate(["x", "y"], LIST, temperature=0.9, seed=4, top_k=20, top_p=0.9):
        assert one.finish_reason == "stop"
        found = mark.detect(one.tokens, BYTES, LIST)
        assert gw.compile(LIST, BYTES).matches(one.text)
        assert found.exempt >= 4 * 3  # "-", "-" and ";" are forced, and rests of words
    if "delta" in kind:  # a hard one draws green tokens alone, greedily too
        for settings in ({}, {"seed": 0}, {"seed": 1}):
            one = model.generate("x", LIST, **settings)
            assert mark.detect(one.tokens, BYTES, LIST).green_fraction == 1.0


def test_forced_positions_are_drawn_as_without_a_mark_and_are_no_context() -> None:
    source = gw.Regex(r"[a-h](----)[a-h]")
    mark = Watermark(key="f", gamma=0.5, delta=math.inf)
    model = gw.Model(FakeModel.table(BYTES, torch.zeros(131, 131))).watermarked(mark)
    each = model.generate(["x"] * 40, source, sampling=[gw.Sampling(seed=n) for n in range(40)])
    for one in each:
        found = mark.detect(one.tokens, BYTES, source)
        assert (found.counted, found.exempt, found.green_fraction) == (1, 4, 1.0)
    seen = {(one.text[0], one.text[-1]) for one in each}
    # The last letter is one of four by the first letter, not by the dash before it.
    for first in {pair[0] for pair in seen}:
        assert len({last for one, last in seen if one == first}) <= 4
    assert len({last for _, last in seen}) > 4


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[-2]], ids=["left inf", "gumbel"])
def test_texts_end_as_often_whatever_the_key(kind: dict[str, Any]) -> None:
    table = torch.zeros(301, 301)
    table[:, 300] = math.log(30.0)  # an end has 1/11
    model = gw.Model(FakeModel.table(WORDS, table))
    lengths = list[int]()
    for key in range(4):
        mark = Watermark(key=key, **half(kind))
        each = [gw.Sampling(seed=100 * key + n, temperature=1.0) for n in range(20)]
        found = model.watermarked(mark).generate(["<000>"] * 20, sampling=each)
        lengths += [len(one.tokens) for one in found]
    # Geometric, with mean 10 and deviation 10.5.
    assert np.mean(lengths) == pytest.approx(10, abs=4 * 10.5 / math.sqrt(80))


def test_a_repeated_context_is_drawn_by_the_seed_so_that_texts_do_not_run_in_circles() -> None:
    two = gw.Vocabulary([b"a", b"b", b"<end>"], eos_ids={2})
    model = gw.Model(FakeModel.table(two, torch.zeros(3, 3)))
    mark = Watermark(key="g", scheme="gumbel", context=2)
    size = {"min_new_tokens": 60, "max_new_tokens": 60, "temperature": 1.0}
    settings = [gw.Sampling(seed=n, **size) for n in (1, 2)]
    one, other = model.watermarked(mark).generate(["a", "a"], sampling=settings)
    assert one.tokens[20:] != other.tokens[20:]
    assert mark.detect(one.tokens).counted <= 4  # contexts of two letters


def test_marks_need_a_draw_where_they_are_in_it() -> None:
    for kind in ("gumbel", "synthid"):
        marked = FLAT.watermarked(Watermark(key=1, scheme=kind))
        with pytest.raises(gw.UnsupportedError, match=f"a {kind} watermark needs random draws"):
            marked.generate("<000>", max_new_tokens=3)
    gumbel = FLAT.watermarked(Watermark(key=1, scheme="gumbel"))
    with pytest.raises(gw.UnsupportedError, match="does not work with a search"):
        gumbel.generate("<000>", max_new_tokens=3, num_beams=2, do_sample=True)


def test_beams_look_for_green_tokens_too() -> None:
    mark = Watermark(key="b", gamma=0.5, delta=4.0)
    model = gw.Model(FakeModel.random(BYTES, 2)).watermarked(mark)
    one = model.generate("x", LIST, num_beams=3)
    assert mark.detect(one.tokens, BYTES, LIST).green_fraction > 0.8
    free = gw.Model(FakeModel.random(WORDS, 3)).watermarked(mark)
    found = free.generate("<000>", num_beams=2, min_new_tokens=30, max_new_tokens=30)
    assert mark.detect(found.tokens).green_fraction > 0.8


def test_a_trace_tells_what_the_mark_did_and_probabilities_are_those_without_it() -> None:
    mark = Watermark(key="t", gamma=0.5, delta=5.0)
    settings: dict[str, Any] = {"trace": 3, "seed": 1, "top_k": 9, "max_new_tokens": 3}
    one = FLAT.watermarked(mark).generate("<000>", temperature=0.8, **settings)
    assert [stage.name for stage in one.trace[1].stages][-1] == "watermark"
    assert one.trace[1].stages[-1].moved > 0.1
    assert one.trace[0].stages[-1].moved == 0  # the first token has no context
    assert one.logprobs == pytest.approx([-math.log(301)] * len(one.tokens), abs=1e-4)
    early = FLAT.watermarked(Watermark(key="t", stage="logits")).generate("<000>", **settings)
    names = [stage.name for stage in early.trace[1].stages]
    assert names.index("watermark") < names.index("top_k")


def test_a_row_is_marked_alike_whatever_the_batch_around_it() -> None:
    mark = Watermark(key="r", scheme="self", gamma=0.5)
    model = gw.Model(FakeModel.random(BYTES, 5)).watermarked(mark)
    settings = gw.Sampling(seed=8, temperature=1.0, max_new_tokens=24)
    alone = model.generate("x", sampling=settings)
    _, among = model.generate(["yy", "x"], [LIST, None], sampling=[gw.Sampling(), settings])
    assert alone.tokens == among.tokens


@pytest.mark.parametrize(
    "search",
    [{"num_beams": 3}, {"num_beams": 2, "do_sample": True},
     {"stochastic_beams": True, "num_beams": 3},
     {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0},
     {"best_of": 3, "temperature": 1.0}, {"exactness": "smc", "particles": 8, "temperature": 1.0},
     {"exactness": "asap", "temperature": 1.0}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[5], KINDS[7]], ids=["left", "self", "synthid"])
def test_what_searches_find_with_a_mark_is_of_the_constraint(
    search: dict[str, Any], kind: dict[str, Any]
) -> None:
    if kind.get("scheme") == "synthid" and not gw.Sampling(**search).samples:
        return  # refused: nothing is drawn
    mark = Watermark(key="s", **half(kind))
    source = gw.Regex(r"[ab]{2}-(yes|no)-[0-9];")
    small = gw.Vocabulary([*(bytes([b]) for b in b"abyesno-;0123456789"), b"ye", b"<end>"], {20})
    model = gw.Model(FakeModel.random(small, 1)).watermarked(mark)
    one = model.generate("a", source, seed=1, **search)
    assert gw.compile(source, small).matches(one.text)
    assert mark.detect(one.tokens, small, source).exempt >= 3


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_no_kind_makes_nan_of_extreme_logits_or_draws_what_is_not_allowed(
    kind: dict[str, Any],
) -> None:
    noise = torch.Generator().manual_seed(7)
    worst = torch.tensor([-math.inf, -3e38, -1e30, 0.0, 0.0, 5.0, 1e30, 3e38])
    table = worst[torch.randint(0, 8, (131, 131), generator=noise)]
    table[:, torch.tensor([*b"abcyesnomaybe-;0123456789", 130])] = 1.0  # what is needed is there
    table[::2, torch.tensor([*b"by;07"])] = 3e38
    mark = Watermark(key="w", **half(kind))
    model = gw.Model(FakeModel.table(BYTES, table)).watermarked(mark)
    # Each heat with other filters; over all kinds, each heat with each of them.
    filters: list[dict[str, Any]] = [{}, {"top_k": 4}, {"top_p": 0.5}]
    for place, heat in enumerate((0.7, 1e-30, 1e5), KINDS.index(kind)):
        one = model.generate("x", LIST, temperature=heat, seed=2, **filters[place % 3])
        assert gw.compile(LIST, BYTES).matches(one.text)
        assert all(math.isfinite(each) for each in one.logprobs)
