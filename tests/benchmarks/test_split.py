"""The simulated servers: laws, closed forms, and the page's charts."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from benchmarks.commands import run
from benchmarks.plans import NETWORK, Plan, Request, load_of, plans, saturation, simulate, widest
from benchmarks.steps import SAVED, Steps, measure
from small_models import model

STEPS = Steps(((1, 0.1), (10, 0.1), (100, 1.0), (1000, 9.0)), 0.0, 0.0, 1000, "a model")
PAIRS = Steps(STEPS.curve, 1e-4, 1e-3, 1000, "a model")
PLANS = plans(3, (4, 20), 20)


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["split", *arguments])
    return int(done.value.code or 0)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_a_request_alone_takes_the_times_of_its_steps(plan: Plan) -> None:
    (request,) = simulate(plan, PAIRS, [Request(5.0, 100, 4)])
    size = plan.chunk or 100
    reading = sum(
        PAIRS.seconds(size, 0, size * (at + size / 2)) for at in range(0, 100, size)
    )  # 100 is a multiple of each chunk
    assert request.first == pytest.approx(reading)
    decoding = [PAIRS.seconds(0, 1, 0, past) for past in (101, 102, 103)]
    if plan.readers:
        decoding[0] += 100 * PAIRS.cache / NETWORK
    assert request.gaps == pytest.approx(decoding)


@given(
    plan=st.sampled_from(PLANS),
    requests=st.lists(
        st.tuples(st.floats(0, 20), st.integers(1, 60), st.integers(1, 9)), min_size=1, max_size=12
    ),
)
def test_every_request_gets_its_tokens_one_after_the_other(
    plan: Plan, requests: list[tuple[float, int, int]]
) -> None:
    served = simulate(plan, PAIRS, [Request(*each) for each in requests])
    assert sorted((each.arrival, each.prompt, each.output) for each in served) == sorted(requests)
    for each in served:
        assert each.read == each.prompt
        assert len(each.times) == each.output
        assert each.times == sorted(each.times)
        assert each.first >= PAIRS.seconds(1, 0) - 1e-9


def test_prompts_that_queue_wait_as_long_as_in_an_m_d_1_queue() -> None:
    requests = load_of(0.8, 1, 1, 40_000)
    for each in requests:
        each.prompt = 100
    waits = [each.first - 1.0 for each in simulate(Plan(1), STEPS, requests)]
    assert np.mean(waits) == pytest.approx(0.8 / (2 * (1 - 0.8)), rel=0.05)  # Pollaczek, Khinchine


def test_what_is_efficient_and_what_is_in_time_follows_from_the_curve() -> None:
    assert saturation(STEPS) == 10  # 100 tokens a second, of 111 at most
    assert saturation(STEPS, 0.95) == 1000
    assert widest(STEPS, 4, 50, 0.5) == 50
    assert widest(STEPS, 4, 50, 0.05) == 0
    assert STEPS.seconds(2000, 0) == pytest.approx(18.0)


def test_step_times_of_a_model_are_measured_and_saved(tmp_path: Path) -> None:
    steps = measure(gw.Model(model("llama")), "a small one", rounds=1)
    assert [tokens for tokens, _ in steps.curve] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert steps.cache == 2 * 2 * 2 * 8 * 4
    steps.save(tmp_path / "times.json")
    assert Steps.load(tmp_path / "times.json") == steps


def test_the_command_prints_each_plan_and_the_best_one(tmp_path: Path, capsys) -> None:
    few = ("--requests", "40", "--workers", "3")
    assert left(*few, "--plots", str(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == Steps.load(SAVED).about
    assert [line.split("  ")[0] for line in lines[2:11]] == [
        "whole", *(f"chunked {n}" for n in (16, 32, 64, 128, 256, 512)), "apart 1:2", "apart 2:1"
    ]  # fmt: skip
    drawn = {path.stem: ElementTree.parse(path) for path in tmp_path.iterdir()}
    points = {name: len(chart.findall("{*}circle")) for name, chart in drawn.items()}
    assert points == {"tokens-of-a-forward": 10, "chunk-size": 2 * 11, "split": 4 * 9}
    assert left(*few, "--json") == 0
    assert f"best: {json.loads(capsys.readouterr().out)['best']}" == lines[11]
