"""Times of a model's forwards, measured once: what a simulation of a server needs.

A forward costs what its tokens cost, however they are spread over rows (`curve`), and a little for
each earlier token that a new one looks at, less where a row reads many at once.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

if TYPE_CHECKING:
    import guideway as gw

BATCHES: Final = (1, 2, 4, 8, 16, 32)
CHUNKS: Final = (64, 128, 256, 512)
PAST: Final = 256  # tokens before a step, to measure what looking at them costs
SAVED: Final = Path(__file__).parent / "steps.json"


@final
@dataclass(frozen=True, slots=True)
class Steps:
    """Times of one model on one machine."""

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
        """Write the times as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Steps":
        """Read times that `save` wrote."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        return cls(**fields | {"curve": tuple(map(tuple, fields["curve"]))})


def measure(model: "gw.Model", about: str, rounds: int = 3) -> Steps:
    """Time forwards of a model: processor time of this thread, the least of some rounds."""
    import torch

    import guideway as gw

    backend: Any = model.language_model

    def decode(rows: int, past: int) -> float:
        def prepared() -> Callable[[], object]:
            cache, _ = backend.prefill([[5] * past])
            cache = backend.select(cache, [0] * rows)
            tokens = torch.full((rows, 1), 5, device=backend.device)
            return lambda: backend.extend(cache, tokens)

        return _least(prepared, rounds)

    def read(chunk: int, past: int) -> float:
        def prepared() -> Callable[[], object]:
            if not past:
                return lambda: backend.prefill([[5] * chunk])
            cache, _ = backend.prefill([[5] * past])
            tokens = torch.full((1, chunk), 5, device=backend.device)
            return lambda: backend.extend(cache, tokens)

        return _least(prepared, rounds)

    short = {rows: decode(rows, 1) for rows in BATCHES}
    whole = {chunk: read(chunk, 0) for chunk in CHUNKS}
    some, rows = CHUNKS[0], BATCHES[-2]
    pairs = max(0.0, (read(some, 3 * PAST) - read(some, PAST)) / (some * 2 * PAST))
    steps = max(0.0, (decode(rows, 3 * PAST) - decode(rows, PAST)) / (rows * 2 * PAST))
    curve = short | {chunk: took - pairs * chunk**2 / 2 for chunk, took in whole.items()}
    return Steps(
        tuple(sorted(curve.items())),
        pairs,
        steps,
        gw.memory(model, context=PAST).kv_cache // PAST,
        about,
    )


def _least(prepared: Callable[[], Callable[[], object]], rounds: int) -> float:
    """The least time of `rounds` calls, each of a fresh function, and one to warm up."""
    times: list[float] = []
    for _ in range(rounds + 1):
        function = prepared()
        begun = time.thread_time_ns()
        function()
        times.append((time.thread_time_ns() - begun) / 1e9)
    return min(times[1:])
