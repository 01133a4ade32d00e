"""Benchmark `cold`: CPU time to a first mask in a new process, without and with cached kernels.

Each figure is of a process of its own, with an empty cache folder and then with the one that this
filled. The vocabulary has the 256 bytes as tokens: reading a tokenizer is not measured.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import guideway
from benchmarks.report import Line, show
from guideway.cli.console import busy
from guideway.cli.options import AsJson

SOURCES: Final = {
    "JSON Schema": "gw.JsonSchema({'type': 'object', 'properties': {'name': {'type': 'string'}}})",
    "regex": r"gw.Regex(r'\d{4}-\d\d-\d\d')",
    "Lark": r"gw.Lark('start: /\\w+/ (\",\" start)?\n%ignore \" \"')",
}
TIMES: Final = ("import, s", "kernels, s", "first mask, s")
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


def cold(as_json: AsJson = False) -> None:
    """A first mask in a new process: with an empty cache of kernels, and with a filled one."""
    with busy("measuring"):
        lines = [line for source in SOURCES for line in measure(source)]
    show(lines, as_json=as_json)


def measure(source: str) -> list[Line]:
    """Seconds of CPU time of two processes: to import, to compile or load kernels, the rest."""
    program = PROGRAM.format(source=SOURCES[source])
    root = Path(guideway.__file__).parent.parent
    _printed([sys.executable, "-m", "compileall", "-q", str(root)], dict(os.environ))  # as pip does
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "GUIDEWAY_CACHE": folder, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", program]
        return [
            {"source": source, "cache": cache}
            | dict(zip(TIMES, json.loads(_printed(command, environment)), strict=True))
            for cache in ("empty", "filled")
        ]


def _printed(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout
