"""Ten extractions by the built-in model: held by guideway, not held at all, and held by Outlines.

    PYTHONPATH=tests python -m benchmarks.extraction.run
    PYTHONPATH=tests python -m benchmarks.extraction.run --outlines-python ../outlines/bin/python

Every engine gets the same weights (float32), the same prompt to the letter and the same number of
tokens, one task at a time; one more row is guideway with all ten in one batch. Prints a table and
writes `results.json`, whose greedy row is the baseline of `tests/model/test_extraction.py`.

Outlines is no dependency of the project. It goes into an environment of its own:

    python3 -m venv ../outlines
    ../outlines/bin/pip install torch==2.13.0 transformers==5.23.0 "outlines[transformers]==1.3.3"

What the columns mean: `valid`, the answer is an object of the type; `fields`, leaves that agree
with the key (`scoring` says how); `seconds`, compiling and generating, the model being loaded;
`cpu`, the same in processor seconds, which depend less on what else the machine does; `tokens`,
what the tokenizer makes of the answers.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

import guideway as gw
from benchmarks.extraction.scoring import agreement, is_valid
from benchmarks.extraction.tasks import HERE, MAX_NEW_TOKENS, Task, read_tasks
from guideway.models.builtin import NAME, builtin_folder

RESULTS: Final = HERE / "results.json"
TESTS: Final = HERE.parent.parent
LIBRARIES: Final = ("torch", "transformers", "pydantic", "numpy")


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine made of one task; `error` says why there is no text."""

    text: str
    seconds: float
    cpu_seconds: float
    error: str | None = None


Engine = Callable[[Task], Answer]


def guideway_engine(model: Any, *, held: bool, **settings: Any) -> Engine:
    """The built-in model with or without a constraint."""

    def answer(task: Task) -> Answer:
        began, cpu = time.perf_counter(), time.process_time()
        result = model.generate(
            task.prompt(model.tokenizer),
            task.type if held else None,
            max_new_tokens=MAX_NEW_TOKENS,
            **settings,
        )
        return Answer(result.text, time.perf_counter() - began, time.process_time() - cpu)

    return answer


def outlines_engine(python: str, model: Any, limit: float) -> Engine:
    """Outlines in a process for each task, given up after `limit` seconds."""
    command = [python, "-m", "benchmarks.extraction.outlines_engine"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "HF_HUB_OFFLINE": "1"}

    def answer(task: Task) -> Answer:
        job = {
            "folder": str(builtin_folder()),
            "task": task.name,
            "prompt": task.prompt(model.tokenizer),
            "max_new_tokens": MAX_NEW_TOKENS,
        }
        try:
            done = subprocess.run(
                command,
                input=json.dumps(job),
                env=environment,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer("", limit, limit, f"no answer within {limit:.0f} s")
        if done.returncode:
            return Answer("", 0.0, 0.0, done.stderr.strip().split("\n")[-1][:300])
        return Answer(**json.loads(done.stdout))

    return answer


def outlines_version(python: str) -> str:
    """The release of Outlines in another environment."""
    asked = "import importlib.metadata as m; print(m.version('outlines'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def run(engine: Engine, tasks: list[Task], tokenizer: Any, name: str) -> dict[str, Any]:
    """All tasks on one engine, each with its figures, and the sums."""
    each: dict[str, dict[str, Any]] = {}
    for task in tasks:
        sys.stderr.write(f"{name}: {task.name}\n")
        each[task.name] = figures(task, engine(task), tokenizer)
    return {**summed(each), "tasks": each}


def figures(task: Task, answer: Answer, tokenizer: Any) -> dict[str, Any]:
    """What is written down of one answer."""
    agreeing, leaves = agreement(answer.text, task.expected)
    return {
        "valid": is_valid(answer.text, task.type),
        "agreeing": agreeing,
        "leaves": leaves,
        "tokens": len(tokenizer.encode(answer.text, add_special_tokens=False)),
        **asdict(answer),
    }


def summed(each: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The sums over all tasks."""
    names = ("valid", "agreeing", "leaves", "tokens", "seconds", "cpu_seconds")
    return {name: round(sum(row[name] for row in each.values()), 1) for name in names}


def run_batch(model: Any, tasks: list[Task]) -> dict[str, Any]:
    """All tasks at once, each row with its own constraint."""
    began, cpu = time.perf_counter(), time.process_time()
    results = model.generate(
        [task.prompt(model.tokenizer) for task in tasks],
        [task.type for task in tasks],
        max_new_tokens=MAX_NEW_TOKENS,
    )
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    answers = [Answer(result.text, 0.0, 0.0) for result in results]
    each = {
        task.name: figures(task, answer, model.tokenizer)
        for task, answer in zip(tasks, answers, strict=True)
    }
    return {**summed(each), "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1)}


def machine() -> dict[str, Any]:
    """Where and with what the figures were taken."""
    import torch

    described = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(described, cwd=HERE, capture_output=True, text=True, check=False)
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").split("\n") if cpuinfo.is_file() else []
    cpus = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "cpu": cpus[0] if cpus else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "model": NAME,
        "max_new_tokens": MAX_NEW_TOKENS,
    }


def table(engines: dict[str, dict[str, Any]]) -> str:
    """The sums as a table."""
    lines = [
        "| engine | valid | fields | seconds | cpu | tokens |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, row in engines.items():
        share = row["agreeing"] / row["leaves"]
        lines.append(
            f"| {name} | {row['valid']:.0f}/10 | {share:.1%} | {row['seconds']:.1f} "
            f"| {row['cpu_seconds']:.1f} | {row['tokens']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all engines, print the table, write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--outlines-python", help="python of an environment with Outlines")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one task of Outlines")
    arguments = parser.parse_args()
    model, tasks = gw.load(NAME, device="cpu"), read_tasks()
    model.generate(
        tasks[0].prompt(model.tokenizer), None, max_new_tokens=1
    )  # first forwards are slow
    draw = {"temperature": 1.0, "seed": 0}
    made: dict[str, Engine] = {
        "guideway, greedy": guideway_engine(model, held=True),
        "guideway, temperature 1": guideway_engine(model, held=True, **draw),
        "unconstrained, greedy": guideway_engine(model, held=False),
        "unconstrained, temperature 1": guideway_engine(model, held=False, **draw),
    }
    if arguments.outlines_python:
        python = str(Path(arguments.outlines_python).absolute())
        name = f"Outlines {outlines_version(python)}, greedy"
        made[name] = outlines_engine(python, model, arguments.limit)
    engines = {name: run(engine, tasks, model.tokenizer, name) for name, engine in made.items()}
    engines["guideway, greedy, one batch"] = run_batch(model, tasks)
    results = {**machine(), "engines": engines}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(table(engines))


if __name__ == "__main__":
    main()
