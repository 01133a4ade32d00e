"""Times of a model's forwards, measured once: what a simulation of a server needs.

A forward costs what its tokens cost, however they are spread over rows (`curve`), and a little for
each earlier token that a new one looks at, less where a row reads many at once.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

import guideway as gw

BATCHES: Final = (1, 2, 4, 8, 16, 32)
CHUNKS: Final = (64, 128, 256, 512)
PAST: Final = 256  # tokens before a step, to measure what looking at them costs
SAVED: Final = Path(__file__).parent / "steps.json"


@dataclass(frozen=True, slots=True)
class Steps:
    curve: tuple[tuple[int, float], ...]  # tokens of a forward without earlier ones, and seconds
    read: float  # seconds for each pair of a token that is read and an earlier one
    decode: float  # seconds for each earlier token of a row that decodes one token
    cache: int  # bytes for each token
    about: str  # the model and the machine

    def seconds(
        self, read: int, rows: int, read_pairs: float = 0, decode_pairs: float = 0
    ) -> float:
        """The time of a forward that reads tokens of prompts and decodes one token of some rows."""
        tokens, times = zip(*self.curve, strict=True)
        count = read + rows
        base = float(np.interp(count, tokens, times))
        if count > tokens[-1]:
            base *= count / tokens[-1]
        return base + self.read * read_pairs + self.decode * decode_pairs

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Steps":
        fields = json.loads(path.read_text(encoding="utf-8"))
        return cls(**fields | {"curve": tuple(map(tuple, fields["curve"]))})


def measure(model: gw.Model, about: str, rounds: int = 3) -> Steps:
    """Time forwards of a model: processor time of this thread, the least of some rounds."""
    backend: Any = model.language_model

    def decode(rows: int, past: int) -> Callable[[], object]:
        cache = backend.select(backend.prefill([[5] * past])[0], [0] * rows)
        tokens = torch.full((rows, 1), 5, device=backend.device)
        return lambda: backend.extend(cache, tokens)

    def read(chunk: int, past: int) -> Callable[[], object]:
        if not past:
            return lambda: backend.prefill([[5] * chunk])
        cache, _ = backend.prefill([[5] * past])
        tokens = torch.full((1, chunk), 5, device=backend.device)
        return lambda: backend.extend(cache, tokens)

    def least(forward: Callable[[int, int], Callable[[], object]], count: int, past: int) -> float:
        """The least time of `rounds` forwards, each after a new cache; one more warms up."""
        times: list[float] = []
        for _ in range(rounds + 1):
            function = forward(count, past)
            begun = time.thread_time_ns()
            function()
            times.append((time.thread_time_ns() - begun) / 1e9)
        return min(times[1:])

    def slope(forward: Callable[[int, int], Callable[[], object]], count: int) -> float:
        """Seconds for each pair of a new token and an earlier one."""
        longer = least(forward, count, 3 * PAST) - least(forward, count, PAST)
        return max(0.0, longer / (count * 2 * PAST))

    curve = {rows: least(decode, rows, 1) for rows in BATCHES}
    whole = {chunk: least(read, chunk, 0) for chunk in CHUNKS}
    pairs, steps = slope(read, CHUNKS[0]), slope(decode, BATCHES[-2])
    curve |= {chunk: took - pairs * chunk**2 / 2 for chunk, took in whole.items()}
    cache = gw.memory(model, context=PAST).kv_cache // PAST
    return Steps(tuple(sorted(curve.items())), pairs, steps, cache, about)
