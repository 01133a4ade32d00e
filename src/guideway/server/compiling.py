"""Compiling the sources of strangers: first in a process that can be killed.

A worker compiles each new source with `Budget.untrusted()`, in limited time and memory. Only what
it could compile is compiled by the server itself. A source that takes too long costs the worker.
"""

import asyncio
import hashlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client, Listener
from typing import Final, final

from guideway.errors import GuidewayError, LimitError
from guideway.sources.sources import Regex, Source
from guideway.vocabulary.vocabulary import Vocabulary

KEPT: Final = 4096  # sources whose outcome is known
CODE: Final = "import sys; from guideway.server.compiling import main; main(sys.argv[1])"
SECRET: Final = "GUIDEWAY_COMPILER"
TOO_LARGE: Final = 77  # exit status
START: Final = 60.0  # seconds until a new worker is ready


def main(address: str) -> None:
    """Compile what comes through the pipe at `address`; answer None or the error."""
    from guideway.constraint.caches import clear_cache, warmup
    from guideway.constraint.compile import compile as compile_source
    from guideway.language.budget import Budget

    pipe = Client(address, authkey=bytes.fromhex(os.environ.pop(SECRET)))
    vocabulary, memory = pipe.recv()
    warmup()
    compile_source(Regex("a"), vocabulary)  # builds what all constraints of a vocabulary share
    threading.Thread(target=_watch, args=(memory,), daemon=True).start()
    pipe.send(None)
    while True:
        try:
            source = pipe.recv()
        except EOFError:  # the server has ended
            return
        try:
            constraint = compile_source(source, vocabulary, budget=Budget.untrusted())
            constraint.mask(constraint.start())
            answer = None
        except GuidewayError as error:
            answer = error
        clear_cache()
        pipe.send(answer)


def _watch(memory: int) -> None:
    """End this process when it has taken `memory` bytes more than it has now."""
    try:
        import resource
    except ImportError:  # Windows: the time is the only limit
        return

    def peak() -> int:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024

    most = peak() + memory
    while peak() <= most:
        time.sleep(0.02)
    os._exit(TOO_LARGE)


@final
class _Worker:
    """A process that compiles one source after another."""

    def __init__(self, vocabulary: Vocabulary, memory: int) -> None:
        secret = os.urandom(16)
        with Listener(authkey=secret) as listener:
            # Not `multiprocessing`, which would run the user's main module again.
            self.process = subprocess.Popen(
                [sys.executable, "-c", CODE, str(listener.address)],
                env={**os.environ, SECRET: secret.hex()},
            )
            self.pipe = listener.accept()
        self.pipe.send((vocabulary, memory))
        self.ready = False

    def ask(self, source: Source, seconds: float) -> GuidewayError | None:
        """The error of a source; TimeoutError or EOFError if the process is lost."""
        if not self.ready:
            if not self.pipe.poll(START):
                raise TimeoutError
            self.pipe.recv()
            self.ready = True
        self.pipe.send(source)
        if not self.pipe.poll(seconds):
            raise TimeoutError
        return self.pipe.recv()

    def kill(self) -> int:
        """End the process at once; its exit status."""
        self.process.kill()
        self.pipe.close()
        return self.process.wait()


@final
class Compilers:
    """Processes that try sources before the server compiles them.

    Attributes:
        killed: processes that were killed because of a source.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, seconds: float, memory: int, count: int = 2
    ) -> None:
        """Start `count` processes."""
        self.vocabulary, self.seconds, self.memory, self.killed = vocabulary, seconds, memory, 0
        self._threads = ThreadPoolExecutor(count, "guideway-compilers")
        self._own = threading.local()
        self._workers = list[_Worker]()
        self._known = OrderedDict[bytes, asyncio.Future[GuidewayError | None]]()

    async def check(self, source: Source) -> bool:
        """Return if the source compiles within the limits: True if that was known.

        Raises:
            GuidewayError: it does not; the error says why.
        """
        key = hashlib.blake2b(pickle.dumps(source), digest_size=16).digest()
        known = key in self._known
        if not known:
            loop = asyncio.get_running_loop()
            self._known[key] = loop.run_in_executor(self._threads, self._try, source)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        error = await asyncio.shield(self._known[key])
        if isinstance(error, LimitError) and error.limit == "time":
            self._known.pop(key, None)  # another try may find the machine less busy
        if error is not None:
            raise error
        return known

    def _try(self, source: Source) -> GuidewayError | None:
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = _Worker(self.vocabulary, self.memory)
            self._workers.append(worker)
        try:
            return worker.ask(source, self.seconds)
        except (TimeoutError, EOFError, OSError):
            self.killed += 1
            self._own.worker = None
            self._workers.remove(worker)
            large = worker.kill() == TOO_LARGE
            most = f"{self.memory >> 20} MiB" if large else f"{self.seconds:g} seconds"
            return LimitError(
                f"the source takes more than {most} to compile: simplify it",
                limit="memory" if large else "time",
            )

    def close(self) -> None:
        """End all processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in [*self._workers]:
            worker.kill()
        self._workers.clear()
