"""Benchmark `tables`: what a constraint costs in each step of a loop on a GPU.

The loop is a stand-in model's forward, the mask, the most probable token, the next state. Four of
them take turns, and the figures are medians:

    free      the forward and its most probable token, no constraint
    tables    `constraint.tables()` on the device; on a GPU the step is one CUDA graph, as the free
              one is, and nothing crosses the bus
    masks     packed masks of the CPU, copied at each step while the forward runs, and the tokens
              copied back

The stand-in is the matrix products of a Llama of that size, in bfloat16, and no attention: its
step is shorter than a model's, so that shares are greater than they would be. Texts that have ended
begin anew. Rows are alike, and so are the texts where sums do not depend on the row.
"""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Annotated, Any, Final, cast

import numpy as np
import torch
import typer
from torch import Tensor
from torch.nn.functional import linear, rms_norm, silu

import guideway as gw
from benchmarks.report import Batches, Line, Rounds, in_turns, show
from guideway.cli.console import busy
from guideway.cli.options import AsJson
from guideway.constraint.compiled import CompiledConstraint
from guideway.generation.captured import Charts, graphed
from guideway.logits.mask import apply_mask, device_of, unpack, upload

BATCHES: Final = (1, 32, 256)
LLAMA3: Final = 128_256
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "home": {
            "type": "object",
            "properties": {
                "street": {"type": "string", "maxLength": 12},
                "kind": {"enum": ["house", "flat", None]},
            },
            "required": ["street", "kind"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"enum": ["a", "bc", 7]}, "maxItems": 3},
        "adult": {"type": "boolean"},
    },
    "required": ["name", "home", "tags", "adult"],
    "additionalProperties": False,
}
Loop = Callable[[], Any]


def tables(
    batch: Batches = None,
    device: Annotated[str, typer.Option(help="Where the loop runs: cpu or cuda.")] = "cpu",
    width: Annotated[int, typer.Option(help="Tokens of the vocabulary.", min=300)] = LLAMA3,
    layers: Annotated[int, typer.Option(help="Blocks of the stand-in.", min=1)] = 16,
    hidden: Annotated[int, typer.Option(help="Its width.", min=4)] = 2048,
    steps: Annotated[int, typer.Option(help="Steps of each measurement.", min=1)] = 32,
    rounds: Rounds = 15,
    as_json: AsJson = False,
) -> None:
    """A constraint in each step of a loop on a GPU: as tables, and as masks from the CPU.

    The stand-in of the default size has a billion weights.
    """
    place = device_of(device)
    with busy("measuring"), torch.inference_mode():
        constraint = compiled(made_vocabulary(width))
        forward = Forward(width, layers, hidden, place)
        lines = [
            line
            for rows in batch or BATCHES
            for line in measure(constraint, forward, rows, steps, rounds)
        ]
    show(lines, as_json=as_json)


def made_vocabulary(width: int) -> gw.Vocabulary:
    """All bytes, then words of letters, digits and what JSON is written with; an end id last."""
    chance = Random(0)
    letters, marks = "etaoinshrdlu0123456789", [*'{}[]":, ', '":', '",', '":"', '","', "},", "\n"]
    spellings = dict.fromkeys(bytes([byte]) for byte in range(256))
    while len(spellings) < width - 1:
        word = "".join(chance.choices(letters, k=chance.randint(2, 8)))
        around = chance.choices(marks, k=2) if chance.random() < 0.1 else ["", ""]
        spellings[(around[0] + word + around[1]).encode()] = None
    return gw.Vocabulary([*spellings, b"<end>"], eos_ids={width - 1})


def compiled(vocabulary: gw.Vocabulary) -> CompiledConstraint:
    schema = gw.JsonSchema(
        json.dumps(SCHEMA), key_order="declared", whitespace="compact", spelling="plain"
    )
    return gw.compile(schema, vocabulary)


class Forward:
    """The matrix products of a Llama, with random weights: tokens to logits."""

    def __init__(self, width: int, layers: int, hidden: int, device: torch.device) -> None:
        noise = torch.Generator(device).manual_seed(0)

        def weight(outputs: int, inputs: int) -> Tensor:
            kind = {"device": device, "dtype": torch.bfloat16}
            return torch.randn(outputs, inputs, generator=noise, **kind).mul_(inputs**-0.5)

        # Queries with a quarter as many keys and values, and what they give; gate and up; down.
        shapes = ((hidden + hidden // 2, hidden), (hidden, hidden))
        inner = ((8 * hidden, hidden), (hidden, 4 * hidden))
        self._blocks = [[weight(*shape) for shape in (*shapes, *inner)] for _ in range(layers)]
        self._embedding, self._head = weight(width, hidden), weight(width, hidden)
        self._hidden = hidden
        self.device, self.width = device, width

    def __call__(self, tokens: Tensor) -> Tensor:
        state = self._embedding[tokens]
        for mixed, out, inner, down in self._blocks:
            heads = linear(rms_norm(state, (self._hidden,)), mixed)
            state = state + linear(heads[:, : self._hidden], out)
            gate, up = linear(rms_norm(state, (self._hidden,)), inner).chunk(2, 1)
            state = state + linear(silu(gate) * up, down)
        return linear(rms_norm(state, (self._hidden,)), self._head).float()


def on_device(
    constraint: CompiledConstraint, rows: int, device: torch.device, *, anew: bool
) -> Charts:
    """Tables on a device, all rows at the start; with `anew`, ended texts begin once more."""
    made = constraint.tables()
    if anew and constraint.vocabulary.eos_ids:
        following = made.next_state
        following = np.where(following == len(following) - 1, made.start, following)
        made = replace(made, next_state=following.astype(np.int32))
    held = Charts([made] * rows, rows, device)
    held.load([made] * rows)
    held.move([made] * rows, [()] * rows)
    return held


def measure(
    constraint: CompiledConstraint, forward: Forward, rows: int, steps: int, rounds: int
) -> list[Line]:
    fresh = partial(torch.ones, rows, dtype=torch.int64, device=forward.device)
    held = on_device(constraint, rows, forward.device, anew=True)
    loops = {
        "free": captured(partial(_free, forward, fresh()), forward.device),
        "tables": captured(partial(_tables, forward, fresh(), held), forward.device),
        "masks": Masks(constraint, forward, rows),
    }
    works = {name: partial(_seconds, loop, steps, forward.device) for name, loop in loops.items()}
    times = in_turns(works, rounds, warm=2)
    found = {name: 1e6 * statistics.median(each) for name, each in times.items()}
    free = found["free"]
    return [
        {
            "rows": rows,
            "loop": name,
            "step, µs": each,
            "constraint, µs": each - free,
            "share, %": 100 * (each / free - 1),
        }
        for name, each in found.items()
    ]


def captured(step: Loop, device: torch.device) -> Loop:
    """The step as one CUDA graph; as it is on a CPU."""
    if device.type != "cuda":
        return step
    replay = graphed(step, device)

    def run(held: Loop = step) -> None:  # without the step, its tables would be freed
        replay()

    return run


def _free(forward: Forward, tokens: Tensor) -> None:
    tokens.copy_(forward(tokens).argmax(1))


def _tables(forward: Forward, tokens: Tensor, held: Charts) -> None:
    logits, allowed = forward(tokens), held.masks.index_select(0, held.state)
    tokens.copy_(apply_mask(logits, unpack(allowed, logits.shape[1])).argmax(1))
    held.follow(tokens)


class Masks:
    """A loop that asks the CPU at each step."""

    def __init__(self, constraint: CompiledConstraint, forward: Forward, rows: int) -> None:
        self._constraint, self._device = constraint, forward.device
        self._states: list[Any] = [constraint.start()] * rows
        self._tokens = torch.ones(rows, dtype=torch.int64, device=forward.device)
        self._logits = torch.zeros(rows, forward.width, device=forward.device)
        self._forward = captured(lambda: self._logits.copy_(forward(self._tokens)), forward.device)

    def __call__(self) -> None:
        self._forward()
        vocabulary = self._constraint.vocabulary
        rows = [self._constraint.mask(state) for state in self._states]
        allowed = unpack(upload(rows, vocabulary.width, self._device), vocabulary.width)
        self._tokens.copy_(apply_mask(self._logits, allowed).argmax(1))
        chosen = cast("list[int]", self._tokens.tolist())  # pyright: ignore[reportUnknownMemberType]
        self._states = [
            self._constraint.start()
            if token in vocabulary.eos_ids
            else self._constraint.advance(state, token)
            for state, token in zip(self._states, chosen, strict=True)
        ]


def _seconds(loop: Loop, steps: int, device: torch.device) -> float:
    """Seconds of a step, of so many without a stop between them."""
    begun = time.perf_counter()
    for _ in range(steps):
        loop()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return (time.perf_counter() - begun) / steps
