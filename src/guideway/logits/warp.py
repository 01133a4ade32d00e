"""Temperature and the filters on rows of logits, in order.

Each row has its own settings and order; rows with the same order run together, and inactive stages
are skipped.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.logits import filters

COLDEST: Final = 1e-20  # beyond these two, float32 logits would overflow, or −∞ become NaN
HOTTEST: Final = 1e20
MOST: Final = 1 << 31  # tokens, more than any vocabulary has

Watch: TypeAlias = Callable[[str, Tensor], None]


@final
@dataclass(frozen=True, slots=True)
class Moment:
    """Inputs of a step: `coins` in [0, 1) for XTC, `ceilings` in bits for mirostat."""

    coins: Float[Tensor, "batch"]
    ceilings: Float[Tensor, "batch"]

    def of_rows(self, rows: Int[Tensor, "rows"]) -> "Moment":
        return Moment(self.coins[rows], self.ceilings[rows])


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of some rows.

    Attributes:
        run: maps rows and the moment to rows.
        numbers: the parameters of the rows that `run` reads.
        kind: what else determines the computation.
    """

    name: str
    run: Callable[[Tensor, Moment], Tensor]
    numbers: tuple[Tensor, ...] = ()
    kind: tuple[Hashable, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Rows with the same order of stages; `rows` is None for the whole batch."""

    rows: Int[Tensor, "rows"] | None
    stages: tuple[Stage, ...]


@final
@dataclass(frozen=True, slots=True)
class Warps:
    """The stages of a batch, in groups of rows that run together."""

    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls,
        settings: Sequence[tuple[Sequence[str], Mapping[str, Any]]],
        device: torch.device,
        exempt: Sequence[int] = (),
    ) -> "Warps":
        """The stages of rows, from the order and active parameters of each."""
        orders: dict[tuple[str, ...], list[int]] = {}
        for row, (order, _) in enumerate(settings):
            orders.setdefault(tuple(order), []).append(row)
        ids = torch.tensor(exempt, dtype=torch.int64, device=device)
        groups = list[Group]()
        for order, rows in orders.items():
            stages = list[Stage]()
            for name in order:
                column = [settings[row][1].get(name) for row in rows]
                if any(value is not None for value in column):
                    stages.append(MAKERS[name](name, column, device, ids))
            whole = len(rows) == len(settings)
            if stages:
                which = None if whole else torch.tensor(rows, device=device)
                groups.append(Group(which, tuple(stages)))
        return cls(tuple(groups))


@final
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
    for group in warps.groups:
        rows = group.rows
        if rows is None:
            return _through(group, row, moment, watch)
        part = None if watch is None else _of_whole(watch, row, rows)
        after = _through(group, row[rows], moment.of_rows(rows), part)
        if after.before is not None:
            before = (row if before is None else before).index_copy(0, rows, after.before)
        row = row.index_copy(0, rows, after.row)
    return Warped(row, before)


def _of_whole(watch: Watch, row: Tensor, rows: Tensor) -> Watch:
    """A watcher that gets full batches from parts."""
    return lambda name, part: watch(name, row.index_copy(0, rows, part))


def _through(group: Group, row: Tensor, moment: Moment, watch: Watch | None) -> Warped:
    """The rows of a group after all its stages."""
    before: Tensor | None = None
    for stage in group.stages:
        if stage.name == "mirostat":
            before = row
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
    return Stage(name, lambda row, moment: row / divisor, numbers=(divisor,))


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
