"""Layers that share tensors: each has the columns that it was given, whoever writes behind them."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import pytest
import torch
from torch import Tensor

from guideway.models.growing import ROOM, GrowingLayer

ROWS, HEADS, SIZES = 2, 3, (4, 5)


def columns(count: int, chance: random.Random) -> tuple[Tensor, Tensor]:
    keys, values = (torch.full((ROWS, HEADS, count, size), chance.random()) for size in SIZES)
    return keys, values


def joined(left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    keys, values = (torch.cat(pair, 2) for pair in zip(left, right, strict=True))
    return keys, values


def place_of(layer: GrowingLayer) -> int:
    assert layer.keys is not None
    return layer.keys.data_ptr()


def check(layer: GrowingLayer, expected: tuple[Tensor, Tensor]) -> None:
    for found, wanted in zip((layer.keys, layer.values), expected, strict=True):
        assert found is not None
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("seed", range(40))
def test_layers_are_what_copies_of_all_columns_would_be(seed: int) -> None:
    chance = random.Random(seed)
    first = columns(chance.randrange(1, 6), chance)
    layers = [(GrowingLayer(*first), first)]
    for _ in range(60):
        place = chance.randrange(len(layers))
        layer, expected = layers[place]
        match chance.choice(["update", "update", "crop", "copy", "drop"]):
            case "update":
                new = columns(chance.choice([1, 1, 3, ROOM + 1]), chance)
                expected = joined(expected, new)
                for found, wanted in zip(layer.update(*new), expected, strict=True):
                    assert torch.equal(found, wanted)
            case "crop":
                left = chance.randrange(1, layer.get_seq_length() + 1)
                layer = layer.crop_to(left)
                expected = (expected[0][:, :, :left], expected[1][:, :, :left])
            case "copy":
                layers.append((layer.copy(), expected))
            case _ if len(layers) > 1:
                del layers[place]
                continue
            case _:
                pass
        layers[place] = layer, expected
        for each, wanted in layers:
            check(each, wanted)


def test_only_the_first_that_writes_on_does_not_copy() -> None:
    chance = random.Random(0)
    layer = GrowingLayer(*columns(8, chance))
    layer.update(*columns(1, chance))  # makes room
    place = place_of(layer)
    first, second, later = layer.copy(), layer.copy(), layer.copy()
    first.update(*columns(2, chance))
    second.update(*columns(2, chance))
    assert place_of(first) == place != place_of(second)
    first = first.crop_to(10)  # a column that nobody else reads
    first.update(*columns(ROOM // 2, chance))
    assert place_of(first) == place
    first = first.crop_to(8)  # others read the ninth column
    first.update(*columns(1, chance))
    later.update(*columns(1, chance))
    assert place not in (place_of(first), place_of(later))


def test_threads_write_behind_a_text_that_they_share() -> None:
    chance = random.Random(1)
    text = columns(8, chance)
    whole = GrowingLayer(*text)
    new = [columns(1, chance) for _ in range(8)]
    begin = threading.Barrier(len(new))
    whole.update(*new[0])

    def run(n: int) -> GrowingLayer:
        layer = whole.copy()
        begin.wait()
        for _ in range(50):
            layer.update(*new[n])
        return layer

    with ThreadPoolExecutor(len(new)) as pool:
        for each, layer in zip(new, pool.map(run, range(len(new))), strict=True):
            check(layer, reduce(joined, [new[0], *[each] * 50], text))
