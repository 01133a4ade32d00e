"""Compiling the sources of strangers: first in a process of its own, which may be ended.

    check ─▶ a thread ─▶ template (warm, waits) ─ fork ─▶ child: compile, answer, end

The template process loads what compiling needs, once. It forks for each new source, and the child
compiles it with `settings.BUDGET`, in limited processor time and memory. Only what a child could
compile is compiled by the server itself. Children run beside one another with a low priority, so
that an expensive source delays neither other sources nor texts. On Windows, where processes do not
fork, the fuel of the budget is the only limit.
"""

import asyncio
import contextlib
import hashlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Final

from guideway.errors import GuidewayError, LimitError, ModelError
from guideway.sources.sources import Regex, Source
from guideway.vocabulary.vocabulary import Vocabulary

FORKS: Final = hasattr(os, "fork")
KEPT: Final = 4096  # sources whose outcome is known
BESIDE: Final = 8  # sources that are compiled at once
CODE: Final = "import sys; from guideway.server.compiling import main; main(int(sys.argv[1]))"
NICENESS: Final = 5
START: Final = 120.0  # seconds until a template is ready
PATIENCE: Final = 60.0  # seconds that a child may take on a busy machine


def main(number: int) -> None:
    """Fork for each pipe that comes through the socket of that number, until it is closed."""
    from guideway.constraint.caches import warmup

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
    control = socket.socket(fileno=number)
    with Connection(os.dup(number)) as pipe:
        vocabulary = pipe.recv()
        warmup()
        tried(Regex("a"), vocabulary)  # builds what all constraints of a vocabulary share
        pipe.send(True)
    while found := socket.recv_fds(control, 1, 1)[1]:
        if os.fork() == 0:
            control.close()
            _answer(Connection(found[0]), vocabulary)
        os.close(found[0])


def tried(source: Source, vocabulary: Vocabulary) -> GuidewayError | None:
    """The error of compiling a source, None without one."""
    from guideway.constraint.compile import compile as compile_source
    from guideway.server.settings import BUDGET

    try:
        constraint = compile_source(source, vocabulary, budget=BUDGET)
        constraint.mask(constraint.start())
    except GuidewayError as error:
        return error
    return None


def _answer(pipe: "Connection[Any, Any]", vocabulary: Vocabulary) -> None:
    """Compile the source that comes through a pipe, send the error or None, and end."""
    answered = threading.Lock()

    def send(answer: GuidewayError | None) -> None:
        answered.acquire()  # for good: one answer only
        pipe.send(answer)
        os._exit(0)

    try:
        os.nice(NICENESS)
        source, seconds, memory = pipe.recv()
        # Ends the process even where no other thread can run.
        signal.setitimer(signal.ITIMER_PROF, 2 * seconds + 1)
        threading.Thread(target=_watch, args=(seconds, memory, send), daemon=True).start()
        began = time.process_time()
        error = tried(source, vocabulary)
        send(error if time.process_time() - began <= seconds else _too_long(seconds))
    except BaseException:  # noqa: BLE001  the template's loop must not go on here
        traceback.print_exc()
    finally:
        os._exit(1)


def _watch(seconds: float, memory: int, send: Callable[[LimitError], None]) -> None:
    """Send an error when this process has taken too much time, or more memory than it has now."""
    import resource

    def peak() -> int:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024

    most, began, until = peak() + memory, time.process_time(), time.perf_counter() + PATIENCE
    while peak() <= most:
        if time.process_time() - began > seconds or time.perf_counter() > until:
            send(_too_long(seconds))
        time.sleep(0.01)
    send(_refused(f"{memory >> 20} MiB", "memory"))


def _is_transient(error: GuidewayError | None) -> bool:
    """Return True if another try may find the machine less busy."""
    slow = isinstance(error, LimitError) and error.limit == "time"
    return slow or isinstance(error, ModelError)


def _too_long(seconds: float) -> LimitError:
    return _refused(f"{seconds:g} seconds", "time")


def _refused(most: str, limit: str) -> LimitError:
    return LimitError(f"the source takes more than {most} to compile: simplify it", limit=limit)


class _Template:
    """A process that forks for each source."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Start the process, and wait until it is ready."""
        self._control, theirs = socket.socketpair()
        with theirs:
            # Not `multiprocessing`, which would run the user's main module again.
            self.process = subprocess.Popen(
                [sys.executable, "-c", CODE, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        self._lock = threading.Lock()
        with Connection(os.dup(self._control.fileno())) as pipe:
            ready = False
            with contextlib.suppress(EOFError, OSError):
                pipe.send(vocabulary)
                ready = pipe.poll(START) and pipe.recv()
        if not ready:
            self.end()
            raise ModelError("the process that compiles sources does not start")

    def fork(self) -> "Connection[Any, Any]":
        """A pipe to a new child; OSError if the process has ended."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        return Connection(ours.detach())

    def end(self) -> None:
        self._control.close()
        self.process.kill()
        self.process.wait()


class Compilers:
    """Tries sources in other processes before the server compiles them.

    Attributes:
        killed: how many sources took too much time or memory.
    """

    def __init__(self, vocabulary: Vocabulary, *, seconds: float, memory: int) -> None:
        """Start a process with the first source, or by `start`."""
        self.vocabulary, self.seconds, self.memory, self.killed = vocabulary, seconds, memory, 0
        self._threads = ThreadPoolExecutor(BESIDE, "guideway-compilers")
        self._template: _Template | None = None
        self._lock = threading.Lock()
        self._known = OrderedDict[bytes, asyncio.Future[GuidewayError | None]]()
        self._waiting = Counter[bytes]()  # requests for each source

    def start(self) -> None:
        """Start the process, so that the first source does not wait for it."""
        if FORKS:
            self._threads.submit(self._ready)

    async def check(self, source: Source) -> bool:
        """Return if the source compiles within the limits: True if that was known.

        A source that waits for its turn is forgotten when all its requests have been cancelled.

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
        error = await self._outcome(key, self._known[key])
        if _is_transient(error):
            self._known.pop(key, None)
        if error is not None:
            raise error.with_traceback(None)  # else each time makes the traceback longer
        return known

    async def _outcome(
        self, key: bytes, future: "asyncio.Future[GuidewayError | None]"
    ) -> GuidewayError | None:
        self._waiting[key] += 1
        try:
            return await asyncio.shield(future)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                if not future.done() and self._known.get(key) is future:
                    del self._known[key]
                    future.cancel()

    def _try(self, source: Source) -> GuidewayError | None:
        try:
            return self._in_child(source) if FORKS else tried(source, self.vocabulary)
        except ModelError as error:
            return error

    def _in_child(self, source: Source) -> GuidewayError | None:
        for _ in range(2):  # again if somebody ends the process
            began = time.perf_counter()
            with contextlib.suppress(EOFError, OSError), self._ready().fork() as pipe:
                pipe.send((source, self.seconds, self.memory))
                answer = pipe.recv()
                self.killed += isinstance(answer, LimitError) and answer.limit in ("time", "memory")
                return answer
            if time.perf_counter() - began > self.seconds:
                self.killed += 1
                return _too_long(self.seconds)
        raise ModelError("the process that compiled the source was ended: try again")

    def _ready(self) -> _Template:
        """The template; a new one if it has ended."""
        with self._lock:
            if self._template is not None and self._template.process.poll() is not None:
                self._template.end()
                self._template = None
            if self._template is None:
                self._template = _Template(self.vocabulary)
            return self._template

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            if self._template is not None:
                self._template.end()
