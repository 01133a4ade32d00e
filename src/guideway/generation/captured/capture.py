"""How a step is captured, so that the host launches it at once: a CUDA graph.

A captured step does its work in place: it reads and writes the same memory each time, and does not
hold it. A step runs three times before it is captured, because what is allocated or compiled once
must not be; so the contents of its memory are of no use afterwards.
"""

import os
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, cast

import torch

Work: TypeAlias = Callable[..., object]
WARM: Final = 3


class Strategy(NamedTuple):
    """How steps are captured: as one launch; `fuse` compiles what follows the forward first."""

    capture: Callable[[Work, torch.device], Work]
    fuse: Callable[[Work], Work]


def graphed(work: Work, device: torch.device) -> Work:
    """A CUDA graph of `work`."""
    beside: Any = torch.cuda.Stream(device)
    current = torch.cuda.current_stream(device)
    beside.wait_stream(current)
    with torch.cuda.stream(beside):
        for _ in range(WARM):
            work()
    current.wait_stream(beside)
    # Graphs of one stream run one after the other, so they can share memory for what lies between.
    place = device, current.cuda_stream
    if place not in _pools:
        _pools[place] = torch.cuda.graph_pool_handle()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=_pools[place], capture_error_mode="thread_local"):
        work()
    return graph.replay


def fused(work: Work) -> Work:
    """The function compiled by torch, which warns that it leaves out our caches of constants."""
    compiled = cast("Any", torch).compile(work, dynamic=False)

    def quiet(*rows: Any) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Dynamo detected a call to a .*lru_cache")
            compiled(*rows)

    return quiet


_pools: Final = dict[Any, Any]()
STRATEGIES: Final[dict[str, Strategy]] = {"cuda": Strategy(graphed, fused)}
"""By the type of the device; on others, steps run one by one."""


def strategy(device: torch.device) -> Strategy | None:
    """The strategy on a device, None if steps are not captured there or GUIDEWAY_CAPTURE is off."""
    return None if os.environ.get("GUIDEWAY_CAPTURE") == "off" else STRATEGIES.get(device.type)
