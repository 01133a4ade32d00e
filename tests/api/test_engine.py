"""`Engine`: each request gets what `Model.generate` gives, and nothing of it touches others."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest
import torch
from pydantic import BaseModel, Field, field_validator

import guideway as gw
import small_models
from guideway.api.engine import EngineStats
from guideway.api.model import Model
from guideway.constraint.compiled import CompiledConstraint
from guideway.generation.row.cursor import Held
from guideway.generation.speculation import Speculation
from guideway.models.fake import FakeModel


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=150)


def loaded(name: str, *arguments: Any) -> Model:
    backend = small_models.tiny(*arguments)
    return Model(backend, backend.tokenizer, name=name)


BASE, OTHER = loaded("base"), loaded("other", "llama", 3)
GUIDED = BASE + 0.5 * (OTHER - BASE)
MARKED = BASE.watermarked(gw.Watermark(key=3, delta=4.0))
GUMBEL = BASE.watermarked(gw.Watermark(scheme="gumbel", key=1))
EXIT = BASE + 0.2 * BASE.exit_at(1)
BYTES = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], eos_ids={256})
FAKE = Model(FakeModel.random(BYTES), name="fake")
SYSTEM = "You take persons out of texts, and say how old they are and what they are called. "

REQUESTS: list[tuple[str, Any, dict[str, Any]]] = [
    (f"{SYSTEM}Ann is 3.", Person, {"max_new_tokens": 60}),
    (f"{SYSTEM}Bob?", Person, {"max_new_tokens": 40, "temperature": 1.0, "seed": 4}),
    (f"{SYSTEM}Yes or no?", gw.Choice(["yes", "no"]), {}),
    ("Free: ", None, {"max_new_tokens": 12, "repetition_penalty": 1.4}),
    (f"{SYSTEM}A word", gw.Regex("[a-z]+!"), {"max_new_tokens": 9, "top_k": 20, "seed": 1}),
    (f"{SYSTEM}More", gw.Text(), {"max_new_tokens": 30, "temperature": 1, "seed": 2, "stop": "a"}),
    ("x", int, {"max_new_tokens": 4, "min_p": 0.05, "seed": 9, "trace": 2}),
    ("", float, {"max_new_tokens": 5}),
]  # fmt: skip


@pytest.fixture(name="paged")
def _paged(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paged caches where they can be, as on a GPU."""
    if getattr(request, "param", True):
        monkeypatch.setattr("guideway.api.engine.BATCHED", frozenset())


@pytest.fixture(name="engine")
def _engine() -> Iterator[gw.Engine]:
    with gw.Engine(BASE, max_batch=4) as engine:
        yield engine


def same(ours: gw.Result, theirs: gw.Result) -> None:
    for name in ("value", "text", "tokens", "finish_reason", "seed", "error", "shortened"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)
    assert ours.log_z == pytest.approx(theirs.log_z, abs=1e-2)


@pytest.mark.usefixtures("paged")
@pytest.mark.parametrize("paged", [True, False], indirect=True)
@pytest.mark.parametrize("model", [BASE, GUIDED, MARKED, FAKE, EXIT], ids=str)
def test_a_request_gets_what_generate_gives(model: Model):
    asked = [each for each in REQUESTS if model is not FAKE or each[0]]
    with gw.Engine(model, max_batch=3) as engine:
        futures = [engine.submit(prompt, source, **more) for prompt, source, more in asked]
        for (prompt, source, more), future in zip(asked, futures, strict=True):
            same(future.result(60), model.generate(prompt, source, **more))


@pytest.mark.usefixtures("paged")
def test_requests_have_expressions_and_drafts_of_their_own(
    engine: gw.Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        Speculation, "_length", lambda self, rows, odds, drafting=0: max(map(len, odds))
    )
    hows = [(BASE, "off"), (GUIDED, "forced"), (MARKED, OTHER), (FAKE, "off"), (EXIT, OTHER)]
    asked = [(*how, *REQUESTS[place]) for place, how in enumerate([*hows, (BASE, OTHER)])]
    futures = [
        engine.submit(prompt, source, model=model, speculate=speculate, **more)
        for model, speculate, prompt, source, more in asked
    ]
    for (model, speculate, prompt, source, more), future in zip(asked, futures, strict=True):
        result = future.result(60)
        same(result, model.generate(prompt, source, **more))
        assert speculate != "off" or not result.stats.drafted
    assert engine.stats.drafted
    with pytest.raises(gw.SourceError):
        engine.submit("a", speculate="often").result(60)


@pytest.mark.parametrize(("prompt", "source", "more", "error"), [
    ("a", gw.Regex("("), {}, gw.SourceError),
    ("a", gw.Regex("a{30}"), {"max_new_tokens": 2}, gw.LimitError),
    ("a", int, {"temprature": 1}, gw.UnsupportedError),
    ("a", int, {"num_beams": 2}, gw.UnsupportedError),
    ("a", int, {"n": 2, "seed": 1}, gw.UnsupportedError),
    (["a", "b"], int, {}, gw.UnsupportedError),
    (3, int, {}, gw.SourceError),
    ("a", int, {"model": "base"}, gw.SourceError),
    ("a " * 600, None, {}, gw.LimitError),
    ("a", None, {"model": GUMBEL}, gw.UnsupportedError),
])  # fmt: skip
def test_a_wrong_request_fails_alone(
    engine: gw.Engine, prompt: Any, source: Any, more: dict[str, Any], error: type[Exception]
):
    prompt_, source_, more_ = REQUESTS[0]
    before = engine.submit(prompt_, source_, **more_)
    with pytest.raises(error):
        engine.submit(prompt, source, **more).result(60)
    same(before.result(60), BASE.generate(prompt_, source_, **more_))


def slow() -> Model:
    """A model that never ends a text by itself, and takes its time."""

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        time.sleep(0.005)
        row = torch.zeros(257)
        row[97] = 1.0
        return row

    return Model(FakeModel(BYTES, logits))


def wait_for(true: Any) -> None:
    for _ in range(2000):
        if true():
            return
        time.sleep(0.005)
    raise AssertionError("it never came true")


def test_cancelling_works_at_any_time_and_makes_room():
    with gw.Engine(slow(), max_batch=1) as engine:
        first = engine.submit("a", None, max_new_tokens=100_000)
        waiting = engine.submit("b", None, max_new_tokens=100_000)
        last = engine.submit("c", None, max_new_tokens=3)
        assert waiting.cancel()
        wait_for(lambda: engine._running)
        assert not last.done()
        assert first.cancel()
        assert last.result(60).text == "aaa"
        assert not last.cancel()
        with pytest.raises(CancelledError):
            first.result()


@pytest.mark.usefixtures("paged")
def test_cancelling_frees_the_pages():
    with gw.Engine(BASE, max_batch=2) as engine:
        futures = [engine.submit(SYSTEM, None, max_new_tokens=300) for _ in range(4)]
        wait_for(lambda: engine._running)
        for future in futures:
            future.cancel()
        assert engine.submit("a", gw.Choice(["yes", "no"])).result(60).value in ("yes", "no")
        ((pages, rows),) = engine._paged.values()
        assert not rows._rows
        assert not pages._processor.scheduler.active_requests


class Late:
    """A method that takes as long as the test wants, where it is `due`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, due: Any) -> None:
        self.go, self.begun, method = threading.Event(), threading.Event(), getattr(owner, name)

        def late(*given: Any) -> Any:
            if due(given[0]):
                self.begun.set()
                assert self.go.wait(60)
            return method(*given)

        monkeypatch.setattr(owner, name, late)


def late_mask(monkeypatch: pytest.MonkeyPatch, after: bytes) -> Late:
    def due(held: Held) -> bool:
        return held._constraint.forced_bytes(held._state, 9) == after

    return Late(monkeypatch, Held, "row", due)


def beside(model: Model, late: Late, others: Any, wanted: Any, *asked: Any, **how: Any) -> Any:
    """What a late request gets after others, which do not wait for it."""
    with gw.Engine(model) as engine:
        held = engine.submit(*asked, speculate="off", **how)
        assert late.begun.wait(60)
        futures = [engine.submit(prompt, source, **more) for prompt, source, more in others]
        for future, want in zip(futures, wanted, strict=True):
            same(future.result(60), want)
        assert not held.done()
        late.go.set()
        found = held.result(60)
        same(engine.submit(*asked, speculate="off", **how).result(60), found)
    return found


@pytest.mark.usefixtures("paged")
@pytest.mark.parametrize("model", [BASE, FAKE], ids=str)
@pytest.mark.parametrize("after", [b"abcd", b"cd"])
def test_a_late_mask_holds_its_own_row_only(
    monkeypatch: pytest.MonkeyPatch, model: Model, after: bytes
):
    others = REQUESTS[1:4]
    wanted = [model.generate(prompt, source, **more) for prompt, source, more in others]
    late = late_mask(monkeypatch, after)
    assert beside(model, late, others, wanted, "a", gw.Regex("abcd")).text == "abcd"


@pytest.mark.parametrize("model", [BASE, FAKE], ids=str)
def test_a_token_beyond_the_budget_holds_its_own_row_only(
    monkeypatch: pytest.MonkeyPatch, model: Model
):
    """The mask of what still fits takes as long as the test wants."""
    others = [("x", gw.Regex("[ab]{4,9}"), {"max_new_tokens": 20}), *REQUESTS[1:2]]
    wanted = [model.generate(prompt, source, **more) for prompt, source, more in others]
    settings = {"logit_bias": {model.vocabulary.tokens.index(b"a"): 1e4}, "max_new_tokens": 5}
    asked = "x", gw.Regex("a*bbb")
    alone = model.generate(*asked, speculate="off", **settings)
    late = Late(monkeypatch, CompiledConstraint, "mask_without", lambda constraint: True)
    found = beside(model, late, others, wanted, *asked, **settings)
    same(found, alone)
    assert (found.finish_reason, found.shortened) == ("length", True)


def test_a_late_row_can_be_cancelled(monkeypatch: pytest.MonkeyPatch):
    late = late_mask(monkeypatch, b"abcd")
    with gw.Engine(FAKE) as engine:
        held = engine.submit("a", gw.Regex("abcd"))
        assert late.begun.wait(60)
        assert held.cancel()
        assert engine.submit("a", gw.Regex("!!")).result(60).text == "!!"
        late.go.set()


def test_an_engine_counts_what_it_does(engine: gw.Engine):
    assert engine.stats == EngineStats()
    with pytest.raises(gw.SourceError):
        engine.submit("a", gw.Regex("(")).result(60)
    results = [
        engine.submit(prompt, source, speculate="off", **more).result(60)
        for prompt, source, more in REQUESTS
    ]
    together = [engine.submit(f"{SYSTEM}{n}", max_new_tokens=9) for n in range(4)]
    results += [future.result(60) for future in together]
    wait_for(lambda: engine.stats.finished == len(results))
    stats = engine.stats
    assert (stats.running, stats.waiting) == (0, 0)
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "drafted", "accepted"):
        assert getattr(stats, name) == sum(getattr(each.stats, name) for each in results), name
    for name in ("queue_time", "time_to_first_token", "time_per_output_token"):
        total = sum(getattr(each.stats, name) for each in results)
        assert getattr(stats, name) == pytest.approx(total / len(results)), name
    assert all(0 < each.stats.queue_time <= each.stats.time_to_first_token for each in results)
    assert stats.cached_tokens > 0
    assert 0 < stats.forwards < sum(each.stats.forwards for each in results)
    assert stats.tokens_per_forward == stats.completion_tokens / stats.forwards
    assert stats.tokens_per_second > 0


def test_compiling_holds_up_nobody(monkeypatch: pytest.MonkeyPatch):
    from guideway.api import jobs

    compiling = Late(monkeypatch, jobs, "compile_source", lambda given: given == gw.Regex("slow"))
    with gw.Engine(FAKE) as engine:
        late = engine.submit("a", gw.Regex("slow"))
        assert engine.submit("a", gw.Choice(["yes", "no"])).result(60).value in ("yes", "no")
        assert not late.done()
        compiling.go.set()
        assert late.result(60).text == "slow"


class Even(BaseModel):
    number: int = Field(ge=0, le=99)

    @field_validator("number")
    @classmethod
    def _even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("odd")
        return number


@pytest.mark.parametrize("retries", [0, 1, 6])
def test_values_that_are_refused_are_asked_for_again(engine: gw.Engine, retries: int):
    for seed in range(4):
        more = {"max_new_tokens": 12, "temperature": 1.0, "seed": seed, "retries": retries}
        wanted = BASE.generate("n: ", Even, on_invalid="return", **more)
        found = engine.submit("n: ", Even, on_invalid="return", **more).result(60)
        assert (found.value, found.text) == (wanted.value, wanted.text)
        if wanted.error is not None:
            with pytest.raises(gw.InvalidValueError) as raised:
                engine.submit("n: ", Even, **more).result(60)
            assert raised.value.result.text == wanted.text


async def parts(engine: gw.Engine, prompt: str, source: Any, **more: Any) -> list[gw.Part]:
    return [part async for part in engine.astream(prompt, source, **more)]


def test_a_stream_has_the_parts_of_a_text():
    async def every(engine: gw.Engine) -> Any:
        return await asyncio.gather(*(parts(engine, p, s, **more) for p, s, more in REQUESTS[:4]))

    with gw.Engine(BASE) as engine:
        streams = asyncio.run(every(engine))
    for (prompt, source, more), found in zip(REQUESTS, streams, strict=False):
        wanted = [*BASE.stream(prompt, source, **more)]
        assert [part.delta for part in found] == [part.delta for part in wanted]
        assert [part.value for part in found] == [part.value for part in wanted]
        same(found[-1].result, wanted[-1].result)


def test_the_parts_of_a_stream_have_the_steps_of_the_trace():
    with gw.Engine(FAKE) as engine:
        for source, most in ((int, 6), (None, 40)):
            more = {"max_new_tokens": most, "temperature": 1.0, "seed": 3}
            for found in (
                asyncio.run(parts(engine, "n: ", source, trace=2, **more)),
                [*FAKE.stream("n: ", source, trace=2, **more)],
            ):
                steps = [step for part in found for step in part.steps]
                assert found[-1].result is not None
                assert tuple(steps) == found[-1].result.trace
                assert len(steps) >= len(found[-1].result.tokens) > 1
            assert not any(part.steps for part in FAKE.stream("n: ", source, **more))


def test_a_stream_that_is_dropped_ends_its_request():
    async def some(engine: gw.Engine) -> None:
        stream = engine.astream("a", None, max_new_tokens=100_000)
        assert (await anext(stream)).delta == "a"
        await stream.aclose()

    async def fails(engine: gw.Engine) -> None:
        with pytest.raises(gw.UnsupportedError):
            await anext(engine.astream("a", int, retries=1))
        with pytest.raises(gw.SourceError):
            await anext(engine.astream("a", gw.Regex("(")))

    with gw.Engine(slow()) as engine:
        asyncio.run(some(engine))
        wait_for(lambda: not engine._running)
        asyncio.run(fails(engine))


def test_after_an_error_of_a_step_the_engine_goes_on():
    """A classifier raises what no library expects."""
    broken = FAKE + gw.classifier(lambda texts: [1 / 0], alpha=1, top=2)
    with gw.Engine(FAKE) as engine:
        late = engine.submit("a", gw.Regex("[a-z]{3}"), model=broken)
        with pytest.raises((ZeroDivisionError, gw.GuidewayError)):
            late.result(60)
        assert engine.submit("a", gw.Regex("!!")).result(60).text == "!!"


def test_a_closed_engine_takes_nothing_more():
    before = {*threading.enumerate()}
    engine = gw.Engine(FAKE)
    last = engine.submit("a", int, max_new_tokens=3)
    engine.close()
    assert last.done()
    wait_for(lambda: {*threading.enumerate()} <= before)
    with pytest.raises(gw.ModelError, match="closed"):
        engine.submit("a")
    engine.close()


def test_closing_can_cancel_and_does_after_an_error():
    endless = {"max_new_tokens": 100_000}
    futures = list[Future[Any]]()

    def failing() -> None:
        with gw.Engine(slow()) as engine:
            futures.append(engine.submit("a", None, **endless))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    other = gw.Engine(slow())
    futures.append(other.submit("a", None, **endless))
    other.close(cancel=True)
    assert all(future.cancelled() for future in futures)


@pytest.mark.parametrize(("model", "count"), [(3, 4), (BASE, 0), (BASE, "4"), (None, 1)])
def test_wrong_arguments_of_an_engine_are_refused(model: Any, count: Any):
    with pytest.raises(gw.SourceError):
        gw.Engine(model, max_batch=count)
