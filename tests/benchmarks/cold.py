"""Benchmark `cold`: CPU time to a first mask in a new process, without and with cached kernels.

Each figure is of a process of its own, with an empty cache folder and then with the one that this
filled. The vocabulary has the 256 bytes as tokens: reading a tokenizer is not measured.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

import guideway
from guideway.cli.console import busy, print_json, print_line
from guideway.cli.options import AsJson

SOURCES: Final = {
    "JSON Schema": "gw.JsonSchema({'type': 'object', 'properties': {'name': {'type': 'string'}}})",
    "regex": r"gw.Regex(r'\d{4}-\d\d-\d\d')",
    "Lark": r"gw.Lark('start: /\\w+/ (\",\" start)?\n%ignore \" \"')",
}
PROGRAM: Final = """
from time import process_time
times = [process_time()]
import guideway as gw
vocabulary = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<end>"], eos_ids={{256}})
times.append(process_time())
import guideway.automaton.kernels.entry
times.append(process_time())
constraint = gw.compile({source}, vocabulary)
constraint.mask(constraint.start())
times.append(process_time())
print([later - before for before, later in zip(times, times[1:])])
"""
HEAD: Final = f"{'source':14}{'cache':>8}{'import, s':>11}{'kernels, s':>12}{'first mask, s':>15}"


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """Seconds of CPU time of one process: to import, to compile or load kernels, the rest."""

    source: str
    cache: str
    imported: float
    kernels: float
    first_mask: float


def cold(as_json: AsJson = False) -> None:
    """A first mask in a new process: with an empty cache of kernels, and with a filled one."""
    with busy("measuring"):
        figures = [figure for source in SOURCES for figure in measure(source)]
    if as_json:
        print_json([asdict(figure) for figure in figures])
        return
    print_line(HEAD)
    for each in figures:
        times = f"{each.imported:11.2f}{each.kernels:12.2f}{each.first_mask:15.2f}"
        print_line(f"{each.source:14}{each.cache:>8}{times}")


def measure(source: str) -> list[Figure]:
    """The figures of one source."""
    program = PROGRAM.format(source=SOURCES[source])
    root = Path(guideway.__file__).parent.parent
    _printed([sys.executable, "-m", "compileall", "-q", str(root)], dict(os.environ))  # as pip does
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "GUIDEWAY_CACHE": folder, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", program]
        return [
            Figure(source, cache, *json.loads(_printed(command, environment)))
            for cache in ("empty", "filled")
        ]


def _printed(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout
