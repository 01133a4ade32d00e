"""`guideway bench`: the benchmarks of a checkout, which no wheel has."""

import sys
from importlib import import_module
from pathlib import Path

import typer

from guideway.errors import UnsupportedError

ROOT = Path(__file__).resolve().parents[3]


def bench(context: typer.Context) -> None:
    """Run a benchmark of a checkout (`pip install -e .`); `--help` lists them."""
    tests = ROOT / "tests"
    if not (tests / "benchmarks" / "commands.py").is_file():
        raise UnsupportedError(
            "the benchmarks are in the repository, not in the package: clone it, and install it "
            "there with pip install -e .",
            feature="benchmarks outside of a checkout",
        )
    sys.path.insert(0, str(tests))
    import_module("benchmarks.commands").run(context.args)
