"""Concurrent calls of `agenerate` share forwards, and each gets what it gets alone."""

import asyncio
import threading
import time
from typing import Any

import pytest

import guideway as gw
from guideway.generation.loop import shared
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], eos_ids={256})


class Gate:
    """A model that counts its forwards, and the rows of each; the first one waits for `open`."""

    def __init__(self) -> None:
        fake = FakeModel.random(BYTES)
        self.rows, self.opened, self.reached = list[int](), threading.Event(), threading.Event()
        self.failing: Exception | None = None
        self._prefill, self._extend = fake.prefill, fake.extend
        fake.prefill, fake.extend = self.prefill, self.extend  # type: ignore[method-assign]
        self.model = gw.Model(fake)

    def prefill(self, prompts: Any, *more: Any) -> Any:
        return self.count(len(prompts), self._prefill, prompts, *more)

    def extend(self, cache: Any, tokens: Any, *more: Any) -> Any:
        return self.count(len(tokens), self._extend, cache, tokens, *more)

    def count(self, rows: int, run: Any, *arguments: Any) -> Any:
        self.rows.append(rows)
        self.reached.set()
        assert self.opened.wait(60)
        if self.failing is not None:
            raise self.failing
        return run(*arguments)

    def close(self) -> None:
        """From now on the first forward waits."""
        self.rows.clear()
        self.opened.clear()
        self.reached.clear()


CALLS: list[tuple[Any, Any, dict[str, Any]]] = [
    ("a", gw.Regex("[a-z]{20}"), {"seed": 1, "temperature": 1.0}),
    ("bc", gw.JsonSchema({"items": {"type": "integer"}}), {"max_new_tokens": 20}),
    (["d", "e"], None, {"max_new_tokens": 15, "temperature": 1.0, "seed": 4}),
    ("f", gw.Choice(["yes", "no"]), {"num_return_sequences": 2, "seed": 3}),
]


async def start(gate: Gate, *calls: Any) -> list["asyncio.Task[Any]"]:
    """Tasks of these calls; all of them wait for a step when this returns."""
    tasks = [
        asyncio.create_task(gate.model.agenerate(prompt, source, speculate="off", **more))
        for prompt, source, more in calls
    ]
    running = shared(gate.model._ensemble)
    for _ in range(1000):
        if len(running._calls) == len(tasks) and gate.reached.is_set():
            return tasks
        await asyncio.sleep(0.01)
    raise AssertionError("the calls do not run")


def alone(gate: Gate) -> list[Any]:
    """The results of all calls, one after the other."""
    gate.opened.set()
    return [
        gate.model.generate(prompt, source, speculate="off", **more)
        for prompt, source, more in CALLS
    ]


async def together(gate: Gate, *calls: Any, cancelled: int | None = None) -> list[Any]:
    """What calls give or raise that run at once."""
    tasks = await start(gate, *calls)
    if cancelled is not None:
        tasks[cancelled].cancel()
    gate.opened.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_calls_that_run_at_once_share_forwards(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("guideway.generation.scheduling.PATIENCE", 60)
    gate = Gate()
    wanted = alone(gate)
    before = len(gate.rows)
    gate.close()
    found = asyncio.run(together(gate, *CALLS))
    assert found == wanted
    assert len(gate.rows) <= 22 + 3 < before  # the longest, the others' prompts, and their joining
    assert max(gate.rows) == 6
    whole = shared(gate.model._ensemble)
    assert not any((whole._calls, whole._batches._running))


@pytest.mark.parametrize("place", range(3))
def test_a_cancelled_call_leaves_the_others(place: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("guideway.generation.scheduling.PATIENCE", 60)
    gate = Gate()
    wanted = alone(gate)
    gate.close()
    found = asyncio.run(together(gate, *CALLS[:3], cancelled=place))
    for number, result in enumerate(found):
        if number == place:
            assert isinstance(result, asyncio.CancelledError)
        else:
            assert result == wanted[number]
    assert not shared(gate.model._ensemble)._batches._running
    assert max(gate.rows[6:]) <= 4 - (1 + (place == 2))


@pytest.mark.parametrize("error", [gw.ModelError("gone"), ZeroDivisionError()], ids=repr)
def test_an_error_of_a_step_is_raised_by_every_call(error: Exception):
    gate = Gate()

    async def run() -> list[Any]:
        tasks = await start(gate, *CALLS[:2])
        gate.failing = error
        gate.opened.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(each) for each in asyncio.run(run())] == [type(error)] * 2
    gate.failing = None
    assert gate.model.generate("a", gw.Regex("ab")).text == "ab"


def test_drafts_are_read_for_all_and_no_thread_is_left():
    before = threading.active_count()
    gate = Gate()
    gate.opened.set()
    source = gw.Regex("abcdefgh[xy]{3}")

    async def run() -> list[Any]:
        return await asyncio.gather(*(gate.model.agenerate(f"{n}", source) for n in range(3)))

    results = asyncio.run(run())
    assert {each.text[:8] for each in results} == {"abcdefgh"}
    assert sum(each.stats.accepted for each in results) > 0
    wanted = [gate.model.generate(f"{n}", source).text for n in range(3)]
    assert [each.text for each in results] == wanted
    for _ in range(500):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before
