"""A really running `guideway serve`, in a process of its own, over a tiny model of random weights.

What the process holds is read from /proc, so the tests of it are for Linux.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "


def small_folder(folder: Path) -> Path:
    """A folder with a model whose tokens are bytes and some pairs."""
    from small_models import tiny

    made = tiny(context=4096)
    made.module.save_pretrained(folder)
    made.tokenizer.chat_template = TEMPLATE
    made.tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Held:
    """What a server and its compiler hold.

    Attributes:
        memory: bytes that the processes have in memory, by process.
        files, threads, children: counts of all processes.
    """

    memory: tuple[int, ...]
    files: int
    threads: int
    children: int


class Running:
    """A server that has started."""

    def __init__(self, model: str, *options: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port: int = taken.getsockname()[1]
        command = [sys.executable, "-m", "guideway", "serve", model, "--name", "small"]
        command += ["--port", str(self.port), "--log-level", "warning", *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.log = Path(tempfile.mkdtemp()) / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log)
        self.address = f"http://127.0.0.1:{self.port}"
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.address}/health").status_code == 200:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"the server does not start: {self.stop()}")

    def stop(self) -> str:
        """End the server; what it wrote to standard error."""
        self.process.kill()
        self.process.wait()
        return self.log.read_text()

    def post(self, *, timeout: float = 120, **body: object) -> httpx.Response:
        """Ask for a chat completion."""
        return httpx.post(f"{self.address}/v1/chat/completions", json=body, timeout=timeout)

    @property
    def compiler(self) -> int:
        """The process that forks for each source."""
        (found,) = children(self.process.pid)
        return found

    def held(self) -> Held:
        """What the processes hold now."""
        processes = descendants(self.process.pid)
        return Held(
            tuple(map(memory, processes)),
            sum(len([*Path(f"/proc/{each}/fd").iterdir()]) for each in processes),
            sum(len([*Path(f"/proc/{each}/task").iterdir()]) for each in processes),
            len(processes) - 1,
        )


@contextlib.contextmanager
def running(model: str, *options: str) -> Iterator[Running]:
    found = Running(model, *options)
    try:
        yield found
    finally:
        found.stop()


def children(process: int) -> list[int]:
    """The processes that a process has started, and that have not ended."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


def descendants(process: int) -> Sequence[int]:
    return [process, *(each for child in children(process) for each in descendants(child))]


def memory(process: int) -> int:
    """Bytes in memory that are not of files."""
    told = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+) kB", told)
    assert found is not None
    return int(found[1]) * 1024


def ended(process: int) -> bool:
    """Return True if a process has ended."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True


def eventually(check: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until a function returns True."""
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until, check
        time.sleep(0.05)
