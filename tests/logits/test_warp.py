import math
from typing import Any

import pytest
import torch

from guideway.logits.warp import Moment, Warps, warp
from guideway.sampling.settings import ORDERS

pytestmark = pytest.mark.usefixtures("form")

CPU = torch.device("cpu")
ORDER = ORDERS["transformers"]


def warped(row: torch.Tensor, settings: list[dict[str, Any]]) -> torch.Tensor:
    return warp(row, Warps.of([(ORDER, each) for each in settings], CPU)).row


def rows(count: int, width: int, *, scale: float = 3.0, seed: int = 0) -> torch.Tensor:
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=noise) * scale


def test_every_row_of_a_batch_has_its_own_settings():
    on = {"temperature": 0.5, "top_k": 7}, {"top_p": 0.6}, {"temperature": 2.0, "min_p": 0.3}
    settings: list[dict[str, Any]] = [{}, *on]
    row = rows(4, 2000)
    before = row.clone()
    together = warped(row, settings)
    for place, each in enumerate(settings):
        single = warped(row[place : place + 1], [each])
        assert torch.equal(together[place], single[0])
    assert torch.equal(row, before)
    assert torch.equal(warped(row, [{"top_k": 10**30}] * 4), row)  # all tokens


@pytest.mark.parametrize("temperature", [5e-324, 1e-40, 1e39, 1e300])
def test_no_temperature_makes_a_masked_token_possible_or_the_others_impossible(temperature: float):
    row = torch.tensor([[-2.0, -math.inf, -1.0, 3.0]])
    heated = warped(row, [{"temperature": temperature}])
    assert heated.isneginf().tolist() == [[False, True, False, False]]
    assert heated.argmax() == 3
    assert not heated.isnan().any()


def test_rows_may_have_orders_of_their_own():
    row = torch.tensor([[0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05]]).log().repeat(3, 1)
    on = {"temperature": 2.0, "top_p": 0.6}
    first, last = ("temperature", "top_p"), ("top_p", "temperature")
    settings = Warps.of([(last, on), (first, on), (last, {})], CPU)
    after = warp(row, settings)
    together = after.row
    assert after.before is None
    assert (together > -math.inf).sum(1).tolist() == [3, 4, 7]
    assert torch.equal(together[2], row[2])
    assert together[0].softmax(0)[0] == pytest.approx(0.3963, abs=5e-5)
    assert together[1].softmax(0)[0] == pytest.approx(0.3225, abs=5e-5)


def test_every_stage_that_is_on_is_seen_and_no_other():
    seen: list[tuple[str, int]] = []
    on = {"temperature": 0.5, "top_k": 4, "min_p": 0.1, "xtc": (0.5, 0.1), "mirostat": 2}
    settings = Warps.of([(ORDER, on), (ORDER, {"top_h": 0.9}), (("top_p",), {})], CPU)
    row = rows(3, 30)
    moment = Moment(torch.tensor([0.1, 0.9, 0.0]), torch.tensor([3.0, 3.0, 3.0]))
    after = warp(row, settings, moment, lambda name, rows: seen.append((name, len(rows))))
    names = ["temperature", "top_h", "top_k", "min_p", "xtc", "mirostat"]
    assert seen == [(name, 3) for name in names]
    assert torch.equal(after.row[2], row[2])
    assert after.before is not None
    assert torch.equal(after.before[1], after.row[1])


def test_what_mirostat_finds_is_noted_for_rows_of_every_order():
    on = {"mirostat": 2}
    settings = Warps.of([(ORDER, on), (("mirostat",), on)], CPU)
    row = rows(2, 30)
    after = warp(row, settings, Moment(torch.ones(2), torch.tensor([2.0, 2.0])))
    assert torch.equal(after.before, row)
    assert (after.row == -math.inf).any(1).all()
