import pytest
import torch

import guideway as gw
from guideway.models.adapter import Adapter
from guideway.models.fake import FakeModel

THREE = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})


def test_logits_of_another_width_and_empty_prompts_are_refused():
    with pytest.raises(gw.ModelError, match=r"shape \(2, 3\)"):
        FakeModel.table(THREE, torch.zeros(2, 3))
    with pytest.raises(gw.ModelError, match=r"gave \(2,\) logits for \(0,\)"):
        FakeModel(THREE, lambda prefix: [0, 0]).prefill([[0]])
    with pytest.raises(gw.ModelError, match="empty"):
        FakeModel.random(THREE).prefill([[]])


def test_random_logits_are_decided_by_seed_and_prefix():
    def logits(seed: int, prefix: list[int]) -> list[float]:
        return FakeModel.random(THREE, seed).prefill([prefix])[1][0].tolist()

    assert logits(1, [0, 1]) == logits(1, [0, 1])
    assert logits(1, [0, 1]) != logits(2, [0, 1])
    assert logits(1, [0, 1]) != logits(1, [1, 0])


def test_an_exit_or_an_adapter_that_the_fake_does_not_have_is_refused():
    model = FakeModel(THREE, lambda _: [0, 0, 0], exits=[lambda _: [1, 0, 0]])
    for count in (0, 2):
        with pytest.raises(gw.ModelError, match=f"no exit after block {count}: .* 1 to 1"):
            model.prefill_varied([[0]], [None], [count])
    with pytest.raises(gw.ModelError, match=r"no adapter 'pirate'; it knows \[\]"):
        model.prefill_varied([[0]], [Adapter("pirate", {})], [])
