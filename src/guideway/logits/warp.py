"""Temperature and the filters on rows of logits, in order.

Each row has its own settings and order. A stage leaves rows that do not have it as they are, so the
stages of each order run one after another; inactive ones are skipped.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.logits import filters

COLDEST: Final = 1e-20  # beyond these two, float32 logits would overflow, or −∞ become NaN
HOTTEST: Final = 1e20
MOST: Final = 1 << 31  # tokens, more than any vocabulary has

Watch: TypeAlias = Callable[[str, Tensor], None]


@dataclass(frozen=True, slots=True)
class Moment:
    """Inputs of a step: `coins` in [0, 1) for XTC, `ceilings` in bits for mirostat."""

    coins: Float[Tensor, "batch"]
    ceilings: Float[Tensor, "batch"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage, which leaves rows without a parameter of it as they are.

    Attributes:
        run: maps rows and the moment to rows.
        numbers: the parameters of the rows that `run` reads.
        kind: what else determines the computation.
    """

    name: str
    run: Callable[[Tensor, Moment], Tensor]
    numbers: tuple[Tensor, ...] = ()
    kind: tuple[Hashable, ...] = ()


@dataclass(frozen=True, slots=True)
class Warps:
    """The stages of a batch, one order of them after another."""

    stages: tuple[Stage, ...]

    @classmethod
    def of(
        cls,
        settings: Sequence[tuple[Sequence[str], Mapping[str, Any]]],
        device: torch.device,
        exempt: Sequence[int] = (),
    ) -> "Warps":
        """The stages of rows, from the order and active parameters of each."""
        ids = torch.tensor(exempt, dtype=torch.int64, device=device)
        stages = list[Stage]()
        for order in dict.fromkeys(tuple(order) for order, _ in settings):
            for name in order:
                column = [on.get(name) if tuple(own) == order else None for own, on in settings]
                if any(value is not None for value in column):
                    stages.append(MAKERS[name](name, column, device, ids))
        return cls(tuple(stages))


@dataclass(frozen=True, slots=True)
class Warped:
    """Rows after all stages."""

    row: Float[Tensor, "batch vocabulary"]
    before: Float[Tensor, "batch vocabulary"] | None  # rows before mirostat, None without it


def warp(
    row: Float[Tensor, "batch vocabulary"],
    warps: Warps,
    moment: Moment | None = None,
    watch: Watch | None = None,
) -> Warped:
    """Apply all stages to rows of logits; the input is not changed.

    `watch` gets the name and rows of each stage.

    >>> order = ("temperature", "top_k")
    >>> settings = Warps.of([(order, {"temperature": 0.5, "top_k": 2})], torch.device("cpu"))
    >>> warp(torch.tensor([[1.0, 3.0, 2.0]]), settings).row.tolist()
    [[-inf, 6.0, 4.0]]
    """
    if moment is None:
        nothing = row.new_empty(len(row))  # and nobody reads it
        moment = Moment(nothing, nothing)
    before: Tensor | None = None
    for stage in warps.stages:
        if stage.name == "mirostat":
            (mode,) = stage.numbers
            before = row if before is None else torch.where(mode[:, None] > 0, row, before)
        row = stage.run(row, moment)
        if watch is not None:
            watch(stage.name, row)
    return Warped(row, before)


Column: TypeAlias = Sequence[Any]  # the parameter of a stage in each row, None where it is off
Maker: TypeAlias = Callable[[str, Column, torch.device, Tensor], Stage]


def _numbers(
    column: Column, off: float, device: torch.device, kind: torch.dtype = torch.float32
) -> Float[Tensor, "batch"]:
    filled = [off if value is None else value for value in column]
    return torch.tensor(filled, dtype=kind, device=device)


def _filter(
    function: Callable[[Tensor, Tensor], Tensor], off: float, kind: torch.dtype = torch.float32
) -> Maker:
    """The stage of a filter with one number a row."""

    def make(name: str, column: Column, device: torch.device, exempt: Tensor) -> Stage:
        parameter = _numbers(column, off, device, kind)
        return Stage(name, lambda row, moment: function(row, parameter), numbers=(parameter,))

    return make


def _temperature(name: str, column: Column, device: torch.device, exempt: Tensor) -> Stage:
    heats = [1.0 if value is None else min(max(value, COLDEST), HOTTEST) for value in column]
    divisor = _numbers(heats, 1.0, device)[:, None]
    return Stage(name, lambda row, moment: filters.temperature(row, divisor), numbers=(divisor,))


def _top_k(name: str, column: Column, device: torch.device, exempt: Tensor) -> Stage:
    counts = [0 if value is None else min(value, MOST) for value in column]
    most = max(counts)
    k = torch.tensor(counts, dtype=torch.int64, device=device)
    return Stage(
        name, lambda row, moment: filters.top_k(row, k, most=most), numbers=(k,), kind=(most,)
    )


def _xtc(name: str, column: Column, device: torch.device, exempt: Tensor) -> Stage:
    chance = _numbers([value and value[0] for value in column], 0.0, device)
    given = [value[1] for value in column if value is not None]
    threshold = _numbers([value and value[1] for value in column], math.inf, device)
    most = MOST if min(given) <= 1 / MOST else int(1 / min(given)) + 1 + len(exempt)

    def run(row: Tensor, moment: Moment) -> Tensor:
        tossed = threshold.masked_fill(moment.coins >= chance, math.inf)
        tokens = torch.arange(row.shape[1], device=row.device)[None]
        return filters.xtc(row, tossed, torch.isin(tokens, exempt), most=most)

    return Stage(name, run, numbers=(chance, threshold), kind=(most,))


def _mirostat(name: str, column: Column, device: torch.device, exempt: Tensor) -> Stage:
    mode = torch.tensor([value or 0 for value in column], device=device)

    def run(row: Tensor, moment: Moment) -> Tensor:
        if 1 in column:
            row = filters.mirostat_by_rank(row, moment.ceilings.masked_fill(mode != 1, math.inf))
        if 2 in column:
            row = filters.mirostat(row, moment.ceilings.masked_fill(mode != 2, math.inf))
        return row

    return Stage(name, run, numbers=(mode,), kind=(1 in column, 2 in column))


MAKERS: Final[Mapping[str, Maker]] = {
    "temperature": _temperature,
    "top_k": _top_k,
    "top_p": _filter(filters.top_p, 1.0, torch.float64),
    "min_p": _filter(filters.min_p, 0.0),
    "typical_p": _filter(filters.typical, 1.0, torch.float64),
    "epsilon_cutoff": _filter(filters.epsilon, 0.0),
    "eta_cutoff": _filter(filters.eta, 0.0),
    "top_h": _filter(filters.top_h, math.inf),
    "top_n_sigma": _filter(filters.top_n_sigma, math.inf),
    "xtc": _xtc,
    "mirostat": _mirostat,
}
