"""Ten extractions by the built-in model, held by guideway and not held.

    PYTHONPATH=tests python -m benchmarks.extraction.run

Each gets the same prompt to the letter and the same number of tokens, one task at a time; one more
row is guideway with all ten in one batch. Prints a table and writes `results.json`, whose greedy
row is the baseline of `tests/model/test_extraction.py`.

`valid`: the answer is an object of the type. `fields`: the share of leaves that agree with the key
(`scoring` says how). `seconds`: compiling and generating, the model being loaded. `cpu`: the same
in processor seconds.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import guideway as gw
from benchmarks.extraction.scoring import agreement, is_valid
from benchmarks.extraction.tasks import HERE, MAX_NEW_TOKENS, Task, read_tasks
from benchmarks.report import table
from guideway.models.builtin import NAME

RESULTS: Final = HERE / "results.json"
LIBRARIES: Final = ("torch", "transformers", "pydantic", "numpy")


def each_alone(model: Any, tasks: list[Task], *, held: bool, **settings: Any) -> list[Any]:
    """The results of the tasks, one after the other, with a constraint or without."""
    return [
        model.generate(
            task.prompt(model.tokenizer),
            task.type if held else None,
            max_new_tokens=MAX_NEW_TOKENS,
            **settings,
        )
        for task in tasks
    ]


def one_batch(model: Any, tasks: list[Task]) -> list[Any]:
    """The results of all tasks at once, each row with its own constraint."""
    return model.generate(
        [task.prompt(model.tokenizer) for task in tasks],
        [task.type for task in tasks],
        max_new_tokens=MAX_NEW_TOKENS,
    )


def figures(tasks: list[Task], work: Callable[[], list[Any]], tokenizer: Any) -> dict[str, Any]:
    """What is written down of one way: each task, and sums."""
    began, cpu = time.perf_counter(), time.process_time()
    results = work()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    each: dict[str, dict[str, Any]] = {}
    for task, result in zip(tasks, results, strict=True):
        agreeing, leaves = agreement(result.text, task.expected)
        each[task.name] = {
            "valid": is_valid(result.text, task.type),
            "agreeing": agreeing,
            "leaves": leaves,
            "tokens": len(tokenizer.encode(result.text, add_special_tokens=False)),
            "text": result.text,
        }
    counts = ("valid", "agreeing", "leaves", "tokens")
    sums = {name: sum(row[name] for row in each.values()) for name in counts}
    return {**sums, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "tasks": each}


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


def main() -> None:
    """Run all ways, print the table, write the results."""
    model, tasks = gw.load(NAME, device="cpu"), read_tasks()
    one_batch(model, tasks[:1])  # first forwards are slow
    alone, draw = partial(each_alone, model, tasks), {"temperature": 1.0, "seed": 0}
    ways: dict[str, Callable[[], list[Any]]] = {
        "guideway, greedy": partial(alone, held=True),
        "guideway, temperature 1": partial(alone, held=True, **draw),
        "unconstrained, greedy": partial(alone, held=False),
        "unconstrained, temperature 1": partial(alone, held=False, **draw),
        "guideway, greedy, one batch": partial(one_batch, model, tasks),
    }
    engines = {name: figures(tasks, work, model.tokenizer) for name, work in ways.items()}
    results = {**machine(), "engines": engines}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    lines = [
        {
            "engine": name,
            "valid": f"{row['valid']}/{len(tasks)}",
            "fields": f"{row['agreeing'] / row['leaves']:.1%}",
            "seconds": row["seconds"],
            "cpu": row["cpu_seconds"],
            "tokens": row["tokens"],
        }
        for name, row in engines.items()
    ]
    sys.stdout.write(table(lines) + "\n")


if __name__ == "__main__":
    main()
