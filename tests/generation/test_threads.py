"""Threads of a CPU: a warning if they are too many, and their end."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

import guideway as gw
from guideway.generation.ensemble import threads
from guideway.generation.ensemble.threads import usable_cores
from guideway.models.fake import FakeModel


def heard(monkeypatch: pytest.MonkeyPatch, cores: int, how: str) -> list[str]:
    """The warnings of two generations by a torch of 8 threads."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(threads, "usable_cores", lambda: cores)
    threads.check_threads.cache_clear()
    vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], {2})
    model = gw.Model(FakeModel(vocabulary, lambda prefix: [1.0, 0.0, -9.0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(how)
        for _ in range(2):
            model.generate("a", max_new_tokens=3, speculate="off")
    return [str(each.message) for each in caught]


def test_more_threads_than_cores_are_said_once(monkeypatch: pytest.MonkeyPatch):
    (message,) = heard(monkeypatch, 2, "always")
    assert "torch uses 8 threads, and this process has 2 cores" in message
    assert "OMP_NUM_THREADS=2" in message
    assert not heard(monkeypatch, 8, "always")
    assert not heard(monkeypatch, 2, "error")  # an error ends nothing


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


RELEASED = """
import os, time, torch
import guideway as gw
from guideway.generation.ensemble.threads import release_threads
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


@pytest.mark.skipif(threads._pause() is None, reason="torch does not use GNU's OpenMP here")
def test_a_thread_that_leaves_forwards_to_an_engine_has_no_workers() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", RELEASED], check=True, env=environment)
