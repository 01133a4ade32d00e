"""Ten extractions by the built-in model, greedily, one task at a time.

    PYTHONPATH=tests python -m benchmarks.extraction.run

Prints sums and writes `results.json`, the baseline of `tests/model/test_extraction.py`.

`valid`: the answer is an object of the type. `agreeing`: leaves that agree with the key (`scoring`
says how). `seconds`: compiling and generating, the model being loaded. `cpu_seconds`: the same in
processor seconds.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import guideway as gw
from benchmarks.extraction.scoring import agreement, is_valid
from benchmarks.extraction.tasks import HERE, MAX_NEW_TOKENS, Task, read_tasks
from benchmarks.report import table
from guideway.models.builtin import NAME

RESULTS: Final = HERE / "results.json"
LIBRARIES: Final = ("torch", "transformers", "pydantic", "numpy")


def figures(tasks: list[Task], model: Any) -> dict[str, Any]:
    """What is written down of greedy answers: each task, and sums."""
    began, cpu = time.perf_counter(), time.process_time()
    settings = {"max_new_tokens": MAX_NEW_TOKENS}
    texts = [
        model.generate(task.prompt(model.tokenizer), task.type, **settings).text for task in tasks
    ]
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    each: dict[str, dict[str, Any]] = {}
    for task, text in zip(tasks, texts, strict=True):
        agreeing, leaves = agreement(text, task.expected)
        tokens = len(model.tokenizer.encode(text, add_special_tokens=False))
        found = {"agreeing": agreeing, "leaves": leaves, "tokens": tokens, "text": text}
        each[task.name] = {"valid": is_valid(text, task.type), **found}
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
    """Measure, print the sums, and write the results."""
    model, tasks = gw.load(NAME, device="cpu"), read_tasks()
    found = figures(tasks, model)
    results = {**machine(), "engines": {"guideway, greedy": found}}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(table([{key: found[key] for key in found if key != "tasks"}]) + "\n")


if __name__ == "__main__":
    main()
