"""A fake model whose logits lie on a device, how often the host waits for one, and noisy rows."""

import contextlib
import math
import warnings
from collections.abc import Generator, Sequence
from typing import Any

import torch
from torch import Tensor

from guideway.models.fake import FakeModel


class Elsewhere:
    """What a fake says, brought to a device: the same numbers, bit for bit, wherever it is."""

    def __init__(self, inner: FakeModel, device: torch.device) -> None:
        self.inner, self.device = inner, device
        self.vocabulary, self.context, self.layers = inner.vocabulary, inner.context, inner.layers

    def prefill(self, prompts: Sequence[Sequence[int]]) -> tuple[Any, Tensor]:
        return self._brought(*self.inner.prefill(prompts))

    def extend(self, cache: Any, tokens: Tensor) -> tuple[Any, Tensor]:
        return self._brought(*self.inner.extend(cache, self._fetched(tokens)))

    def prefill_varied(
        self, prompts: Any, adapters: Any, exits: Any, states: list[Tensor] | None = None
    ) -> tuple[Any, Tensor]:
        made = self.inner.prefill_varied(prompts, adapters, exits, states)
        return self._brought(*made, states)

    def extend_varied(
        self, cache: Any, tokens: Tensor, exits: Any, states: list[Tensor] | None = None
    ) -> tuple[Any, Tensor]:
        made = self.inner.extend_varied(cache, self._fetched(tokens), exits, states)
        return self._brought(*made, states)

    def select(self, cache: Any, rows: Sequence[int]) -> Any:
        return self.inner.select(cache, rows)

    def _brought(
        self, cache: Any, logits: Tensor, states: list[Tensor] | None = None
    ) -> tuple[Any, Tensor]:
        if states is not None:
            states[:] = [each.to(self.device) for each in states]
        return cache, logits.to(self.device)

    def _fetched(self, tokens: Tensor) -> Tensor:
        assert tokens.device.type == self.device.type, "tokens come where the model is"
        return tokens.cpu()


@contextlib.contextmanager
def waits() -> Generator[list[str]]:
    """Where the host waits for the GPU while this is open, once for each time.

    torch knows of copies to and from pageable memory, and of whatever asks for a number.
    """
    found = list[str]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
            found += [
                f"{each.filename}:{each.lineno}"
                for each in caught
                if "synchronizing CUDA operation" in str(each.message)
            ]


def noise(*size: int, seed: int = 0, spread: float = 3.0) -> Tensor:
    """Logits, of which a tenth are −∞."""
    made = torch.Generator().manual_seed(seed)
    row = torch.randn(*size, generator=made) * spread
    return row.masked_fill(torch.rand(*size, generator=made) < 0.1, -math.inf)


def same(found: Tensor, expected: Tensor) -> None:
    """The same set of tokens, and the same numbers but for rounding."""
    found = found.cpu()
    assert found.dtype == expected.dtype
    assert torch.equal(found == -math.inf, expected == -math.inf)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
