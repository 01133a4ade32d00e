"""Results of the built-in model that never hide anything."""

import asyncio
import signal
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

import guideway as gw

pytestmark = pytest.mark.model
TEXT = "Who is it? Maria Lopez, 34 years old, is a doctor in Valencia.\n"


class Summary(BaseModel):
    summary: str


class Person(BaseModel):
    name: str
    age: int


class Checked(Person):
    @field_validator("age")
    @classmethod
    def check(cls, age: int) -> int:
        raise ValueError("the text has another age")


@pytest.mark.parametrize(
    ("prompt", "type_", "how"),
    [(TEXT, Summary, {}), (TEXT, Person, {}), (TEXT, Person, {"num_beams": 2})],
    ids=["summary", "person", "beams"],
)
def test_every_budget_gives_the_text_of_a_large_one_or_says_that_it_does_not(
    built_in: gw.Model, prompt: str, type_: type[BaseModel], how: dict[str, Any]
):
    source: Any = gw.source(type_, whitespace="compact")
    ample = built_in.generate(prompt, source, max_new_tokens=20, **how)
    cut = 0
    for most in (12, len(ample.tokens) - 1):
        result = built_in.generate(prompt, source, max_new_tokens=most, **how)
        assert result.value == type_.model_validate_json(result.text)
        assert result.shortened == (result.finish_reason == "length")
        assert result.shortened or result.text == ample.text
        cut += result.shortened
    assert cut


def test_ctrl_c_ends_a_loop_over_items(built_in: gw.Model):
    # A shell starts programs in the background with SIGINT ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = list[str]()

    def loop() -> None:
        for item in ("Once", "Twice"):
            built_in.generate(
                [item, "upon a time"],
                max_new_tokens=6,
                batch_size=1,
                progress=lambda done, total: signal.raise_signal(signal.SIGINT),
            )
            done.append(item)

    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            loop()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not done
    (result,) = caught.value.results
    assert len(result.tokens) == 6


def test_a_cancelled_task_computes_one_step_more_at_most(
    built_in: gw.Model, monkeypatch: pytest.MonkeyPatch
):
    backend, steps = built_in.language_model, list[int]()
    extend = backend.extend

    def counted(cache: Any, tokens: Any) -> Any:
        steps.append(1)
        return extend(cache, tokens)

    monkeypatch.setattr(backend, "extend", counted)

    async def run() -> int:
        task = asyncio.create_task(built_in.agenerate("Once upon a time", max_new_tokens=500))
        while len(steps) < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        before = len(steps)
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.get_running_loop().shutdown_default_executor()
        return len(steps) - before

    assert asyncio.run(run()) <= 1


def test_a_refused_value_is_raised_with_its_text(built_in: gw.Model):
    source: Any = gw.source(Checked, whitespace="compact")
    with pytest.raises(gw.InvalidValueError, match="another age") as caught:
        built_in.generate(TEXT, source)
    assert Person.model_validate_json(caught.value.result.text)
    returned = built_in.generate(TEXT, source, on_invalid="return")
    with pytest.raises(gw.InvalidValueError):
        returned.unwrap()
