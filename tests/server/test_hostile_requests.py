"""Hostile requests between good ones, to a server in a process of its own.

Each hostile request gets a 4xx that says what is wrong, or no answer where HTTP itself is broken.
Good ones get the same bytes as from a quiet server, and in the end the server holds no more than in
the beginning. Every night, a thousand of each:

    python -m pytest --no-cov -m slow tests/server/test_hostile_requests.py
"""

import asyncio
import json
import os
import random
import sys
from collections import Counter

import httpx
import pytest

from guideway.api.engine import COMPILERS
from guideway.generation.scheduling import THREADS as MASKS
from guideway.server.compiling import BESIDE
from server.hostile import (
    EXPLODING,
    GOOD,
    HELD,
    HOSTILE,
    Answer,
    Request,
    encoded,
    good,
    lasting,
    send,
    whole,
)
from server.running import Held, Running, eventually
from server.served import TALK

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
AT_ONCE = 16
# Two main threads, the engine's, the one that reads results, and pools that keep their threads:
# masks, compiling in the engine, sources to try, and asyncio's own.
THREADS = 4 + MASKS + COMPILERS + BESIDE + min(32, (os.cpu_count() or 1) + 4)


def run(server: Running, requests: list[Request], at_once: int = AT_ONCE) -> list[Answer]:
    """Send requests, so many at once; the answers in order."""

    async def every() -> list[Answer]:
        turns = asyncio.Semaphore(at_once)

        async def one(request: Request) -> Answer:
            async with turns:
                return await send(server.port, request)

        return await asyncio.gather(*map(one, requests))

    return asyncio.run(every())


def wrong(request: Request, answer: Answer) -> str | None:
    """What is wrong with the answer to a hostile request."""
    if not request.ends:
        return None
    if answer.status not in request.answers:
        return (
            f"{request.kind}: {answer.status} {answer.body[:300]} for {request.sent[0][0][:500]!r}"
        )
    if answer.status >= 400 and answer.headers.get("content-type") == "application/json":
        error = json.loads(answer.body)["error"]
        told = f"{error['message']} {error['param']}"
        if request.named not in told or len(told) < 10:
            return f"{request.kind}: {told} does not name {request.named!r}"
    return None


def mixed(server: Running, hostile: list[Request], count: int) -> None:
    """Send hostile requests between `count` good ones, and compare with a quiet server."""
    quiet = [lasting(each.body) for each in run(server, [good(n) for n in range(len(GOOD))], 1)]
    dice = random.Random(1)
    requests = [*hostile, *map(good, range(count))]
    order = dice.sample(range(len(requests)), len(requests))
    answers = dict(zip(order, run(server, [requests[place] for place in order]), strict=True))
    found = [wrong(request, answers[n]) for n, request in enumerate(hostile)]
    problems = [each for each in found if each is not None]
    for number in range(count):
        answer = answers[len(hostile) + number]
        if answer.status != 200 or lasting(answer.body) != quiet[number % len(GOOD)]:
            problems.append(f"good {number % len(GOOD)}: {answer.status} {answer.body[:500]}")
    told = Counter(each.split(":")[0] for each in problems)
    assert not problems, f"{told}\n" + "\n".join(problems[:40])


def settled(server: Running) -> Held:
    """What the server holds when all requests have left."""
    eventually(lambda: httpx.get(f"{server.address}/health").json()["open"] == 0)
    eventually(lambda: server.held().children == 1)
    return server.held()


def check_nothing_left(before: Held, after: Held) -> None:
    assert after.files <= before.files + 1  # the pipe of a child that has just ended
    assert after.threads <= THREADS
    for old, new in zip(before.memory, after.memory, strict=True):
        assert new <= 1.1 * old, (before, after)


def test_some_hostile_requests_between_good_ones(server: Running) -> None:
    dice = random.Random(0)
    mixed(server, [dice.choice(each) for each in HOSTILE.values()], 40)
    settled(server)


@pytest.mark.slow
def test_a_thousand_hostile_requests_between_good_ones(server: Running) -> None:
    dice = random.Random(0)
    mixed(server, thousand(dice), 500)  # fills what is kept
    before = settled(server)
    mixed(server, thousand(dice), 1000)
    check_nothing_left(before, settled(server))


def thousand(dice: random.Random) -> list[Request]:
    made = [dice.choice(dice.choice([*HOSTILE.values()])) for _ in range(900)]
    return made + [costly(fields) for fields in (EXPLODING * 9)[:60]] + HELD * 10


def costly(fields: dict[str, object]) -> Request:
    """A source that is refused, or that is served within the limits."""
    body = json.dumps({"messages": TALK, "max_tokens": 20, **fields}).encode()
    return whole("costly", encoded(body), {200, 400})
