"""Traces: each stage as it was, small, and only where asked for."""

import json
import math
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.generation.row.trace import Recorder
from guideway.models.fake import FakeModel

FRUIT = [0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05]
WORDS = gw.Vocabulary([b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"\xc3", b"<eos>"], eos_ids={8})


def fruit() -> gw.Model:
    row = [math.log(p) for p in FRUIT] + [-math.inf, -math.inf]
    return gw.Model(FakeModel(WORDS, lambda prefix: row), name="fruit")


def test_each_stage_is_told_with_its_tokens_its_entropy_and_how_far_it_moved():
    result = fruit().generate(
        "a", gw.Regex("[dfg]"), trace=3, temperature=1.0, top_p=0.6, seed=1, max_new_tokens=1
    )
    [step] = result.trace
    assert [stage.name for stage in step.stages] == ["fruit", "constraint", "top_p"]
    model, constraint, nucleus = step.stages
    assert [each.text for each in model.top] == ["a", "b", "c"]
    assert [each.probability for each in model.top] == pytest.approx([0.3, 0.2, 0.15])
    assert model.entropy == pytest.approx(1.80821, abs=1e-4)
    assert model.moved is None
    assert constraint.moved == pytest.approx(-math.log(0.25))
    assert [each.probability for each in constraint.top] == pytest.approx([0.4, 0.4, 0.2])
    assert [each.text for each in nucleus.top] == ["d", "f"]
    assert nucleus.moved == pytest.approx(-math.log(0.8), abs=1e-5)
    assert step.mass_removed == pytest.approx(0.75)
    assert step.text == result.text
    assert step.logprob == pytest.approx(math.log(0.1), abs=1e-5)
    assert str(step).splitlines()[0].startswith(f"'{step.text}'  log p -2.303, removed 75.0%")


def flat(p: tuple[float, ...] = (1.0,) * 9) -> gw.Model:
    return gw.Model(FakeModel(WORDS, lambda prefix: [math.log(each) for each in p]), name="flat")


UNLIKE = flat((0.1, 0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05))
EXPRESSIONS = [
    fruit(),
    2 * fruit(),
    -UNLIKE,
    fruit() + 0.5 * UNLIKE,
    fruit().nucleus(0.6),
    fruit().nucleus(0.6, "pre_mask"),
    gw.contrast(fruit(), UNLIKE),
    gw.dexperts(fruit(), UNLIKE),
    gw.maximum(fruit(), UNLIKE.plausible(0.5)),
    gw.minimum(fruit(), UNLIKE),
    fruit() + gw.classifier({"d": 1}, alpha=2, top=2),
    fruit() + gw.gedi(fruit(), UNLIKE, alpha=2),
    gw.maximum(fruit() + gw.classifier({"d": 1}, alpha=2), UNLIKE),
]


@pytest.mark.parametrize("model", EXPRESSIONS, ids=repr)
def test_the_constraint_is_a_stage_of_its_own_that_moved_by_what_it_removed(model):
    for letters in ("dfg", "ab", None):
        source = None if letters is None else gw.Regex(f"[{letters}]")
        [step] = model.generate("a", source, trace=9, max_new_tokens=1, temperature=1.0).trace
        names = [stage.name for stage in step.stages]
        assert names.count("constraint") == 1
        assert len(set(names)) == len(names)
        stage = step.stages[names.index("constraint")]
        if letters is None:  # ids that are no text are nobody's, which is no constraint
            assert step.mass_removed == 0
        else:
            assert stage.moved == pytest.approx(-math.log1p(-step.mass_removed), abs=1e-5)
            assert {each.text for each in stage.top} <= set(letters)
        assert all(not math.isnan(stage.entropy) for stage in step.stages)
        shares = [each.probability for each in stage.top]
        entropy = -sum(share * math.log(share) for share in shares)
        assert stage.entropy == pytest.approx(entropy, abs=1e-5)


def test_terms_and_classifiers_are_stages_and_of_tied_tokens_the_first_are_shown():
    guided = fruit() + 0.5 * flat() + gw.classifier({"d": 1}, alpha=2)
    step = guided.generate("a", gw.Regex("[ab]"), trace=3, max_new_tokens=1).trace[0]
    assert [stage.name for stage in step.stages][:3] == ["+ 1*fruit", "+ 0.5*flat", "constraint"]
    assert step.stages[3].name.startswith("classifier(")
    step = flat().generate("a", gw.Regex("[b-g]"), trace=3, max_new_tokens=1).trace[0]
    assert [[each.text for each in s.top] for s in step.stages] == [[*"abc"], [*"bcd"]]


def test_stages_are_told_once_where_a_temperature_overflows():
    model = gw.Model(FakeModel(WORDS, lambda prefix: [1e25, 5e24, *[0.0] * 7]), name="huge")
    settings = {"temperature": 1e-20, "top_k": 3, "repetition_penalty": 1.1, "seed": 1}
    [step] = model.generate("a", trace=2, max_new_tokens=1, **settings).trace
    names = ["huge", "constraint", "repetition_penalty", "temperature", "top_k"]
    assert [stage.name for stage in step.stages] == names
    assert [(stage.entropy, stage.top[0].text) for stage in step.stages] == [(0, "a")] * 5


def test_a_token_that_a_limit_refused_is_not_in_the_trace():
    model = gw.Model(FakeModel(WORDS, lambda prefix: [2.0, 1.0, 0.0, 0, 0, 0, 0, 0, -9.0]))
    result = model.generate("a", gw.Regex("(aaa|b)c?"), max_new_tokens=2, trace=9, top_p=0.5)
    first, second = result.trace  # "a" is likelier, and its rest would not fit
    assert result.text == first.text + second.text == "bc"
    assert [stage.name for stage in first.stages] == ["model", "constraint", "top_p"]
    assert [each.text for each in first.stages[1].top] == ["b"]
    assert first.stages[1].moved == pytest.approx(-math.log1p(-first.mass_removed), abs=1e-5)


def test_a_trace_is_kept_where_it_is_asked_for_by_a_count():
    settings = gw.Sampling(max_new_tokens=2)
    assert fruit().generate("a", sampling=settings).trace is None
    result = fruit().generate("a", sampling=settings, trace=1)
    assert [step.text for step in result.trace] == ["a", "a"]
    assert "removed 0.0%" in str(result.trace[0])  # no negative zero
    assert str(result.stats.mass_removed) == "0.0"
    *_, last = fruit().stream("a", max_new_tokens=2, trace=1)
    assert last.result.trace == result.trace
    for bad in (-1, "yes", 1.5, None):
        for call in (fruit().generate, fruit().stream):
            with pytest.raises(gw.SourceError, match="trace is"):
                call("a", trace=bad)
    assert len(fruit().generate("a", trace=True, max_new_tokens=1).trace[0].stages[0].top) == 5


def test_a_step_tells_the_state_of_the_constraint_and_whether_it_left_a_choice():
    steps = fruit().generate("a", gw.Regex("ab(ab)*[cd]"), seed=3, trace=1).trace
    assert [step.forced for step in steps[:2]] == [True, True]
    assert steps[0].state.forced == b"ab"
    choices = {"": "a", "a": "b", "b": "acd"}
    for before, step in zip(["", *(each.text for each in steps[:-1])], steps, strict=True):
        assert step.state.allowed == len(choices[before])
        assert step.forced == (len(choices[before]) == 1)
        assert not step.state.accepts
    again = fruit().generate("a", gw.Regex("a*"), max_new_tokens=4, trace=1).trace
    assert [step.state.number for step in again] == [0] * len(again)  # a loop
    assert again[0].state.accepts
    free = fruit().generate("a", max_new_tokens=1, trace=1).trace[0]
    assert (free.state, free.forced) == (None, False)


def test_drafted_tokens_are_those_that_took_no_forward():
    result = fruit().generate("a", gw.Regex("abcdefg[ab]"), trace=1, seed=1)
    drafted = sum(step.drafted for step in result.trace)
    assert drafted == result.stats.accepted > 0
    assert drafted == len(result.tokens) - result.stats.forwards
    plain = fruit().generate("a", gw.Regex("abcdefg[ab]"), trace=1, seed=1, speculate="off")
    assert not any(step.drafted for step in plain.trace)


@pytest.mark.parametrize("source", [None, gw.Regex("[a-g]*")])
def test_colours_are_those_that_detection_counts(source):
    mark = gw.Watermark(key=7, gamma=0.5, delta=1.0)
    settings = {"seed": 1, "trace": 1, "max_new_tokens": 60, "temperature": 1.0}
    result = flat().watermarked(mark).generate("a", source, **settings)
    found = mark.detect(result.tokens, flat(), source)
    colours = [step.green for step in result.trace if step.token not in WORDS.eos_ids]
    seen = set[tuple[int, int]]()
    counted = 0
    for n, colour in enumerate(colours):
        if colour is not None and (pair := result.tokens[n - 1 : n + 1]) not in seen:
            seen.add(pair)
            counted += colour
    assert counted == round(found.green_fraction * found.counted)
    assert len(seen) == found.counted
    assert flat().generate("a", trace=1, max_new_tokens=1).trace[0].green is None


def recorded(most: int, token: int, *rows: torch.Tensor, log_allowed: float = 0.0) -> Any:
    """The step of some stages, one after the other."""
    recorder = Recorder(WORDS, most)
    for number, row in enumerate(rows):
        recorder.watch(f"stage {number}", row)
    return recorder.step(0, token, -1.0, log_allowed)


FLAT, NOTHING = torch.zeros(1, 9), torch.full((1, 9), -math.inf)


def test_what_leaves_nothing_is_told_without_nan_and_a_record_is_json():
    _, nothing, something = recorded(3, 0, FLAT, NOTHING, FLAT).stages
    assert (nothing.top, nothing.entropy, nothing.moved) == ((), 0, math.inf)
    assert something.moved == math.inf
    names = [each.text for each in recorded(9, 8, FLAT).stages[0].top]
    assert sorted(names) == sorted([*"abcdefg", "\\xc3", "<eos>"])
    record = recorded(3, 7, FLAT, NOTHING, log_allowed=-math.inf).record
    read = json.loads(json.dumps(record, allow_nan=False))
    assert (read["mass_removed"], read["text"]) == (1, "\\xc3")
    assert [stage["moved"] for stage in read["stages"]] == [None, None]
    first = {"token": 0, "text": "a", "probability": pytest.approx(1 / 9)}
    assert read["stages"][0]["top"][0] == first
