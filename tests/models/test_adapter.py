import pytest
import torch

import guideway as gw
from guideway.models.adapter import Adapter


def tensors(down: tuple[int, ...], up: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {"a.lora_A.weight": torch.ones(down), "a.lora_B.weight": torch.ones(up)}


def test_the_prefix_of_peft_is_left_out():
    named = {f"base_model.model.{key}": value for key, value in tensors((2, 3), (4, 2)).items()}
    pair = Adapter.of("pirate", named, scale=0.5).pairs["a"]
    assert (pair.down.shape, pair.up.shape, pair.scale) == ((2, 3), (4, 2), 0.5)


def test_it_is_printed_by_its_size():
    more = {f"b{key}": value for key, value in tensors((1, 3), (4, 1)).items()}
    assert repr(Adapter.of("x", {**tensors((2, 3), (4, 2)), **more})) == (
        "Adapter('x', 2 modules, rank 1 to 2)"
    )


@pytest.mark.parametrize(("given", "message"), [
    ({}, "has no tensors"),
    ({"a.lora_A.weight": torch.ones(2, 3)}, "only one of lora_A and lora_B for module 'a'"),
    (tensors((2, 3), (4, 3)), r"lora_A has shape \(2, 3\) and lora_B \(4, 3\)"),
    (tensors((2,), (4, 2)), r"lora_A has shape \(2,\)"),
    (tensors((2, 3), (4,)), r"lora_B \(4,\)"),
    (tensors((0, 3), (4, 0)), r"lora_A has shape \(0, 3\)"),
])  # fmt: skip
def test_tensors_that_are_no_pairs_are_refused(given: dict[str, torch.Tensor], message: str):
    with pytest.raises(gw.ModelError, match=message):
        Adapter.of("pirate", given)


def test_a_tensor_of_another_kind_is_refused_by_name():
    with pytest.raises(gw.UnsupportedError, match=r"'a\.lora_embedding_A'"):
        Adapter.of("pirate", {"a.lora_embedding_A": torch.ones(2, 3)})
