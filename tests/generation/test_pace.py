"""The hint about threads: said once, for slow steps in a row, without a real clock."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import guideway as gw
from guideway.generation.ensemble import pace
from guideway.generation.ensemble.pace import Pace, usable_cores
from guideway.models.fake import FakeModel


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_said", set[str]())


def watched(times: list[float], threads: int = 4, cores: int = 8, tokens: int = 1) -> list[str]:
    """The warnings of steps that take these times."""

    watch = Pace(threads=lambda: threads, cores=lambda: cores)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in times:
            watch.note(tokens, each)
    assert all(each.category is gw.GuidewayWarning for each in caught)
    return [str(each.message) for each in caught]


def test_three_steps_five_times_as_slow_are_a_sign():
    (message,) = watched([0.01] * 8 + [0.06] * 9)
    assert "takes 6 times as long as before" in message
    assert "OMP_NUM_THREADS=2" in message


@pytest.mark.parametrize(
    "times",
    [
        [0.01] * 8 + [0.06, 0.06, 0.01] * 9,  # not three in a row
        [0.01] * 7 + [0.06] * 9,  # nothing is usual yet
        [0.01] * 8 + [0.04] * 9,  # not five times
        [1e-5] * 8 + [1e-3] * 9,  # of no account
        [0.01 * 1.05**n for n in range(100)],  # texts grow
    ],
    ids=["single steps", "at the beginning", "a little", "microseconds", "growth"],
)
def test_other_times_are_none(times: list[float]):
    assert not watched(times)


def test_it_is_said_once():
    assert watched([0.01] * 8 + [0.06] * 3)
    assert not watched([0.01] * 8 + [0.06] * 3)


def test_one_thread_is_not_advised_to_be_fewer():
    (message,) = watched([0.01] * 8 + [0.06] * 9, threads=1)
    assert "OMP_NUM_THREADS" not in message


def test_more_threads_than_cores_are_a_sign():
    (message,) = watched([0.01] * 20, threads=8, cores=2)
    assert "torch uses 8 threads, and this process has 2 cores" in message
    assert "OMP_NUM_THREADS=2" in message


def test_a_hint_that_is_turned_into_an_error_ends_nothing():
    watch = Pace(threads=lambda: 8, cores=lambda: 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.note(1, 0.0)


@pytest.mark.parametrize(
    ("written", "cores"),
    [("100000 100000", 1), ("150000 100000", 2), ("max 100000", None), (None, None)],
)
def test_a_quota_of_a_container_counts(written: str | None, cores: int | None, tmp_path: Path):
    quota = tmp_path / "cpu.max"
    if written is not None:
        quota.write_text(written)
    all_of_them = usable_cores(tmp_path / "none")
    assert all_of_them >= 1
    assert usable_cores(quota) == min(all_of_them, cores or all_of_them)


def test_a_generation_is_watched(
    monkeypatch: pytest.MonkeyPatch,
):
    times = iter([0.01] * 10 + [1.0] * 90)
    note = Pace.note
    monkeypatch.setattr(Pace, "note", lambda self, tokens, _: note(self, tokens, next(times)))
    vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], {2})
    model = gw.Model(FakeModel(vocabulary, lambda prefix: [1.0, 0.0, -9.0]))
    with pytest.warns(gw.GuidewayWarning, match="times as long"):
        model.generate(["a", "b"], max_new_tokens=30, speculate="off")


RELEASED = """
import os, time, torch
import guideway as gw
from guideway.generation.ensemble.pace import release_threads
from guideway.models.fake import FakeModel

def workers():
    held, rows = {*os.listdir("/proc/self/task")}, torch.ones(500, 500)
    product = rows @ rows
    return product, {*os.listdir("/proc/self/task")} - held

def gone(threads):
    until = time.monotonic() + 60
    while threads & {*os.listdir("/proc/self/task")}:
        assert time.monotonic() < until
        time.sleep(0.01)

model = gw.Model(FakeModel.random(gw.Vocabulary([b"a", b"<eos>"], {1})))
before, first = workers()
release_threads()
assert first
gone(first)
again, second = workers()
assert torch.equal(before, again) and second
with gw.Engine(model) as engine:
    engine.submit("a", max_new_tokens=2).result()
    gone(second)
"""


@pytest.mark.skipif(pace._pause() is None, reason="torch does not use GNU's OpenMP here")
def test_a_thread_that_leaves_forwards_to_an_engine_has_no_workers() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", RELEASED], check=True, env=environment)
