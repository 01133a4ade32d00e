"""What results say where something goes wrong: refused values, failed rows, Ctrl-C, cancelling."""

import asyncio
import gc
import math
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from pydantic import ValidationError

import guideway as gw
from fake_answers import BYTES, Even, telling
from guideway.api.running import AT_ONCE
from guideway.models.fake import FakeModel

ODD, EVEN = '{"number":3}', '{"number":4}'


def test_a_value_that_a_validator_refuses_is_raised_or_returned_with_its_cause():
    with pytest.raises(gw.InvalidValueError, match="odd") as caught:
        telling({"x": ODD}).generate("x", Even)
    error = caught.value
    assert isinstance(error.__cause__, ValidationError)
    assert (error.result.text, error.result.value, error.row) == (ODD, None, None)
    assert error.result.error is error
    result = telling({"x": ODD}).generate("x", Even, on_invalid="return")
    assert (result.text, result.finish_reason) == (ODD, "stop")
    with pytest.raises(gw.InvalidValueError, match="odd") as caught:
        result.unwrap()
    assert caught.value is result.error
    assert telling({"x": EVEN}).generate("x", Even).unwrap() == Even(number=4)


def test_a_stream_raises_it_in_place_of_the_last_part():
    parts = telling({"x": ODD}).stream("x", Even)
    seen = list[gw.Part]()
    with pytest.raises(gw.InvalidValueError, match="odd") as caught:
        seen.extend(parts)
    assert not any(part.result for part in seen)
    assert caught.value.result.text == ODD
    *_, last = telling({"x": ODD}).stream("x", Even, on_invalid="return")
    assert last.result is not None
    assert last.result.error.result is last.result


def test_in_a_batch_the_error_names_the_row():
    model = telling({"a": EVEN, "b": ODD, "c": ODD})
    with pytest.raises(gw.InvalidValueError, match=r"^row 1: the value is refused") as caught:
        model.generate(["a", "b", "c"], Even)
    assert (caught.value.row, caught.value.result.text) == (1, ODD)
    hows: list[dict[str, Any]] = [{"on_invalid": "return"}, {"on_error": "return"}]
    for how in hows:
        results = model.generate(["a", "b", "c"], Even, **how)
        assert results[0].value == Even(number=4)
        assert [result.error and result.error.row for result in results] == [None, 1, 2]


WRONG: dict[str, tuple[Any, Any, type[gw.GuidewayError]]] = {
    "a source": ("b", gw.Regex("("), gw.SourceError),
    "no text": ("b", gw.Regex("a") & gw.Regex("b"), gw.UnsatisfiableError),
    "too long": ("b", gw.Regex("a{99}"), gw.LimitError),
    "chat without a template": ([{"role": "user", "content": "b"}], int, gw.ModelError),
    "a dead end": ("dead", gw.Regex("q"), gw.DeadEndError),
    "not a number": ("nan", None, gw.ModelError),
}
SEARCHED: list[dict[str, Any]] = [{}, {"num_beams": 2}, {"exactness": "rejection", "seed": 1}]


def failing() -> gw.Model:
    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        row = torch.zeros(BYTES.width)
        text = bytes(token for token in prefix if token < 256)
        row[ord("q")] = -math.inf
        row[ord("z")] = 9.0
        return row * math.nan if text.startswith(b"nan") and len(text) > 4 else row

    return gw.Model(FakeModel(BYTES, logits))


@pytest.mark.parametrize("how", SEARCHED, ids=str)
@pytest.mark.parametrize("name", WRONG)
def test_a_row_that_fails_is_named_or_leaves_the_others_alone(name: str, how: dict[str, Any]):
    prompt, source, kind = WRONG[name]
    asked = ["a", prompt, "c"], [gw.Regex("[xz]{3}"), source, None]
    settings = {**how, "max_new_tokens": 9}
    with pytest.raises(kind, match=r"^row 1: ") as caught:
        failing().generate(*asked, **settings)
    assert caught.value.row == 1
    first, wrong, third = failing().generate(*asked, **settings, on_error="return")
    alone = failing().generate(["a", "c"], [asked[1][0], None], **settings)
    assert [first.text, third.text] == [each.text for each in alone]
    assert (first.finish_reason, wrong.finish_reason, wrong.value) == ("stop", "error", None)
    assert isinstance(wrong.error, kind)
    assert wrong.error.row == 1
    with pytest.raises(kind):
        wrong.unwrap()


def test_samples_of_a_prompt_that_fails_leave_those_of_others():
    settings = {"num_return_sequences": 3, "seed": 1, "max_new_tokens": 5, "on_error": "return"}
    results = failing().generate(["nan", "b"], gw.Regex("[ab]{4}"), **settings)
    assert [result.finish_reason for result in results] == ["error"] * 3 + ["stop"] * 3


def test_ctrl_c_is_a_keyboard_interrupt_with_what_there_is():
    model = telling({"a": EVEN, "b": '{"numb!', "c": ODD})
    with pytest.raises(KeyboardInterrupt) as caught:
        model.generate(["a", "b", "c"], Even, batch_size=2, speculate="off")
    assert isinstance(caught.value, gw.GenerationInterrupted)
    first, second = caught.value.results
    assert (second.text, second.value, second.finish_reason) == ('{"numb', None, "interrupted")
    assert first.text == EVEN[:6]  # they run side by side
    with pytest.raises(gw.InvalidValueError, match="interrupted"):
        second.unwrap()
    with pytest.raises(gw.GenerationInterrupted) as caught:  # results of earlier batches are whole
        telling({"a": EVEN, "b": "!"}).generate(["a", "b"], Even, batch_size=1)
    assert [result.value for result in caught.value.results] == [Even(number=4), None]
    parts = telling({"x": "12!"}).stream("x")
    assert [next(parts).text, next(parts).text] == ["1", "12"]
    with pytest.raises(gw.GenerationInterrupted) as caught:
        next(parts)
    assert [result.text for result in caught.value.results] == ["12"]


def test_before_anything_runs_there_are_no_results(monkeypatch: pytest.MonkeyPatch):
    def interrupt(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("guideway.api.jobs.compile_source", interrupt)
    with pytest.raises(gw.GenerationInterrupted) as caught:
        telling({"a": "1"}).generate("a", int)
    assert caught.value.results == []


def test_an_interrupt_while_asking_again_keeps_what_was_said_first():
    calls = list[int]()

    def logits(prefix: tuple[int, ...]) -> list[float]:
        calls.append(len(prefix))
        if len(calls) == len(ODD) + 3:
            raise KeyboardInterrupt
        row = [0.0] * BYTES.width
        row[(ODD.encode() + b"\0")[len(prefix) - 1]] = 50.0
        return row

    with pytest.raises(gw.GenerationInterrupted) as caught:
        gw.Model(FakeModel(BYTES, logits)).generate("x", Even, retries=2)
    (result,) = caught.value.results
    assert (result.text, type(result.error)) == (ODD, gw.InvalidValueError)


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_leaving_a_stream_ends_it_and_frees_the_cache(leave: str, monkeypatch: pytest.MonkeyPatch):
    class Kept:
        def __init__(self, rows: Any) -> None:
            self.rows = rows

    fake = FakeModel(BYTES, lambda prefix: [1.0] * 256 + [0.0])
    extended = fake.extend

    def extend(cache: Any, tokens: Any) -> Any:
        longer, logits = extended(cache.rows if isinstance(cache, Kept) else cache, tokens)
        kept = Kept(longer)
        caches.append(weakref.ref(kept))
        return kept, logits

    caches = list[weakref.ref[Any]]()
    monkeypatch.setattr(fake, "extend", extend)
    parts: Any = gw.Model(fake).stream("x", max_new_tokens=50)
    for _ in range(4):
        next(parts)
    gc.collect()
    assert any(cache() is not None for cache in caches)
    if leave == "close":
        parts.close()
    else:
        del parts
    gc.collect()
    assert not any(cache() is not None for cache in caches)
    assert len(caches) == 3


def waiting(steps: int) -> tuple[gw.Model, list[int], threading.Event, threading.Event]:
    """A model that waits for the second event in a step; then the first is set."""
    calls, reached, go = list[int](), threading.Event(), threading.Event()

    def logits(prefix: tuple[int, ...]) -> list[float]:
        calls.append(len(prefix))
        if len(calls) == steps:
            reached.set()
            assert go.wait(30)
        return [1.0] * 256 + [0.0]

    return gw.Model(FakeModel(BYTES, logits)), calls, reached, go


async def cancelled(make: Callable[[gw.Model], Any], steps: int) -> list[int]:
    model, calls, reached, go = waiting(steps)
    task = asyncio.ensure_future(make(model))
    assert await asyncio.to_thread(reached.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for the thread
    return calls


def endless(*prompts: str, **how: Any) -> Callable[[gw.Model], Any]:
    """A call of a model that takes long, unless it is cancelled."""
    given = {"max_new_tokens": 200, "speculate": "off", **how}
    return lambda model: model.agenerate([*prompts] if len(prompts) > 1 else prompts[0], **given)


async def streamed(model: gw.Model) -> list[gw.Part]:
    parts = model.astream("x", max_new_tokens=200, speculate="off")
    return [part async for part in parts]


@pytest.mark.parametrize(("make", "steps", "more"), [
    (endless("x", retries=3), 5, 0),
    (endless("x", retries=3, num_beams=2), 5, 2),  # a step is one row, or two beams
    (endless("x", "y", "z", max_new_tokens=4, batch_size=1), 3, 0),
    (streamed, 4, 0),
])  # fmt: skip
def test_what_is_cancelled_stops_at_the_next_step(make: Any, steps: int, more: int):
    assert steps <= len(asyncio.run(cancelled(make, steps))) <= steps + more


def test_leaving_an_async_stream_ends_it():
    model, calls, _, go = waiting(1000)
    go.set()

    async def some() -> None:
        async for part in model.astream("x", max_new_tokens=200):
            if len(part.text) == 3:
                break

    asyncio.run(some())
    assert len(calls) == 3


@pytest.mark.parametrize("size", [1, 2, 3, 7, None])
def test_batches_change_no_result(size: int | None):
    model = gw.Model(FakeModel.random(BYTES))
    prompts = [f"p{n}" for n in range(7)]
    settings = [
        gw.Sampling(seed=n, max_new_tokens=9, num_return_sequences=1 + n % 2) for n in range(6)
    ]
    settings.append(gw.Sampling(num_beams=2, num_return_sequences=2, max_new_tokens=5))
    together = model.generate(prompts, gw.Regex("[a-z]{2,5}"), sampling=settings)
    parted = model.generate(prompts, gw.Regex("[a-z]{2,5}"), sampling=settings, batch_size=size)
    assert [each.tokens for each in parted] == [each.tokens for each in together]


def test_a_long_list_runs_in_batches_by_itself(monkeypatch: pytest.MonkeyPatch):
    sizes = list[int]()
    fake = FakeModel(BYTES, lambda prefix: [1.0] * 257)
    read = fake.prefill

    def prefill(prompts: Any) -> Any:
        sizes.append(len(prompts))
        return read(prompts)

    monkeypatch.setattr(fake, "prefill", prefill)
    model = gw.Model(fake)
    results = model.generate([str(n) for n in range(150)], max_new_tokens=1)
    assert len(results) == 150
    assert sizes == [AT_ONCE, AT_ONCE, 150 - 2 * AT_ONCE]
    sizes.clear()
    settings: dict[str, Any] = {"num_return_sequences": 40, "seed": 0, "max_new_tokens": 1}
    model.generate(["a", "b", "c"], **settings)
    model.generate(["a", "b", "c"], batch_size=3, **settings)
    assert sizes == [1, 1, 1, 3]  # prompts that are equal are read once


def test_progress_counts_the_rows_that_are_done():
    seen = list[tuple[int, int]]()
    model = telling({"a": "1", "b": "123", "c": "12", "d": "4"})
    settings = [gw.Sampling()] * 3 + [gw.Sampling(num_beams=2)]
    model.generate([*"abcd"], int, sampling=settings, progress=lambda *n: seen.append(n))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    seen.clear()
    failing().generate(
        ["a", "b"], [gw.Regex("("), "x"], on_error="return", progress=lambda *n: seen.append(n)
    )
    assert seen == [(1, 2), (2, 2)]


def test_progress_may_be_a_bar(capsys: pytest.CaptureFixture[str]):
    telling({"a": "1", "b": "2"}).generate(["a", "b"], int, progress=True)
    shown = capsys.readouterr()
    assert "2/2" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(("name", "given"), [
    ("on_invalid", "ignore"),
    ("on_error", None),
    ("batch_size", 0),
    ("batch_size", True),
    ("batch_size", 2.0),
    ("progress", "yes"),
    ("retries", -1),
    ("retries", None),
])  # fmt: skip
def test_wrong_ways_to_run_are_refused_before_anything_runs(name: str, given: Any):
    model = gw.Model(FakeModel(BYTES, lambda prefix: pytest.fail("asked")))
    with pytest.raises(gw.SourceError, match=f"^{name} is "):
        model.generate(["a"], int, **{name: given})


def test_results_and_parts_are_pickled():
    model = telling({"a": EVEN, "b": ODD})
    results = model.generate(["a", "b"], Even, on_invalid="return", trace=True)
    again = pickle.loads(pickle.dumps(results))
    assert again[0] == results[0]
    assert str(again[1].error) == str(results[1].error)
    assert again[1].error.result is again[1]
    parts = [*model.stream("a", Even)]
    assert pickle.loads(pickle.dumps(parts)) == parts
    with pytest.raises(gw.InvalidValueError) as caught:
        model.generate("b", Even)
    assert pickle.loads(pickle.dumps(caught.value)).result.text == ODD
