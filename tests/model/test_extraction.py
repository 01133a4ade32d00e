"""The main job on the real model: ten types out of ten texts, greedily and at temperature 1.

The share of fields that are right is a ratchet: not below what `tests/benchmarks/extraction` has
committed. It has some play, since machines add float32 up in different orders (number of threads,
instruction set, size of the batch), and at a near tie a greedy text then goes another way.

All of it takes 70 seconds on one core (2.3 GHz, the model's share is 60), so CI takes two of
the ten; `pytest -m slow tests/model` runs all.
"""

import json
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest

from benchmarks.extraction.scoring import agreement
from benchmarks.extraction.tasks import HERE, MAX_NEW_TOKENS, Task, read_tasks
from guideway.sampling.settings import Sampling

if TYPE_CHECKING:
    from guideway.api.model import Model
    from guideway.generation.row.result import Result

pytestmark = pytest.mark.model

TASKS: Final = read_tasks()
SETTINGS: Final = {
    "greedy": Sampling(max_new_tokens=MAX_NEW_TOKENS),
    "temperature 1": Sampling(max_new_tokens=MAX_NEW_TOKENS // 2, temperature=1.0, seed=0),
}
PLAY: Final = 0.08  # of all fields: what one text of the ten may lose


SOME: Final = [task for task in TASKS if task.name in ("letter", "flight")]  # short ones
Answers: TypeAlias = "dict[tuple[str, str], Result]"


@pytest.fixture(scope="module")
def some(built_in: "Model") -> "Answers":
    return answers_of(built_in, SOME)


def answers_of(built_in: "Model", tasks: list[Task]) -> "Answers":
    """All as one batch: each row has its own text, type and settings."""
    rows = [(task, name) for name in SETTINGS for task in tasks]
    results = built_in.generate(
        [task.prompt(built_in.tokenizer) for task, _ in rows],
        [task.type for task, _ in rows],
        sampling=[SETTINGS[name] for _, name in rows],
    )
    return {(task.name, name): r for (task, name), r in zip(rows, results, strict=True)}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("task", SOME, ids=lambda task: task.name)
def test_every_answer_is_an_object_of_its_type(some: "Answers", task: Task, settings: str) -> None:
    check(some[task.name, settings], task, settings)


@pytest.mark.slow
def test_every_answer_to_all_is_an_object_and_no_fewer_fields_are_right_than_before(
    built_in: "Model",
) -> None:
    answers = answers_of(built_in, TASKS)
    for (name, settings), result in answers.items():
        check(result, next(task for task in TASKS if task.name == name), settings)
    counts = [agreement(answers[task.name, "greedy"].text, task.expected) for task in TASKS]
    share = sum(right for right, _ in counts) / sum(leaves for _, leaves in counts)
    results = json.loads((HERE / "results.json").read_text("utf-8"))
    baseline = results["engines"]["guideway, greedy"]
    assert share >= baseline["agreeing"] / baseline["leaves"] - PLAY


def check(result: "Result", task: Task, settings: str) -> None:
    assert result.error is None
    assert result.finish_reason in {"stop", "length"}
    assert isinstance(result.value, task.type)
    assert result.value == task.type.model_validate_json(result.text)
    assert len(result.tokens) <= SETTINGS[settings].max_new_tokens
