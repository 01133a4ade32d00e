"""Kernels and Python see the same fields of a record, wherever they lie."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from guideway.automaton.jit.records import Record, dtype, field_of, i32, kind_of
from guideway.automaton.jit.statements import Translation
from written_kernels import compiled, module_of

RECORDS = """
from typing import Annotated


class Link(Record):
    small: u8
    far: i64
    next: i32
    leads: Annotated[Rows[u64], 4]


class Inner(Record):
    depth: i32
    count: i64


class Chain(Record):
    first: i64
    links: Table[Link]
    numbers: Table[i64]
    inside: Inner
    rows: Rows[Rows[i32]]
    other: Rows[Inner]


@inner
def walk(chain: Chain) -> int:
    total, place = 0, chain.first
    while place >= 0:
        link = chain.links[place]
        total += link.small + link.far
        link.far = -1
        link.small += 255
        link.leads[3] |= np.uint64(1) << np.uint64(place)
        place = link.next
    chain.inside.count += 1
    chain.inside.depth, chain.links.used = 7, 2
    _add(chain.numbers, 5)
    return total * 1000 + chain.rows[1][2] + int(exists(chain.other))


@inner
def _add(numbers: Table[i64], number: int) -> None:
    numbers[numbers.used] = number
    numbers.used += 1


@inner
def second_of(numbers: WholeInts, place: int) -> int:
    pair = Pair.within(numbers, place)
    pair.one += 1
    return pair.two


class Pair(Record):
    one: i32
    two: i32


@inner
def sum_of(pairs: Whole[Pair]) -> int:
    total = 0
    for place in range(len(pairs)):
        total += pairs[place].one * pairs[place].two
    return total


@inner
def wrong(chain: Chain) -> int:
    return chain.missing


@inner
def unlike(chain: Chain) -> int:
    link = chain.links[0]
    link = chain.inside
    return link.depth
"""


def test_a_kernel_reads_and_writes_fields_where_python_does(tmp_path: Path) -> None:
    module = module_of(RECORDS, tmp_path)
    links = np.zeros(3, dtype(module.Link))
    for place, each in enumerate(((3, 1 << 40, 2), (9, 9, 9), (4, -5, -1))):
        links["small"][place], links["far"][place], links["next"][place] = each
    numbers = np.zeros(2, np.int64)
    inner = [np.arange(3, dtype=np.int32) * factor for factor in (1, 10)]
    rows = np.array([row.ctypes.data for row in inner], np.int64)
    chain = module.Chain(rows=rows.ctypes.data)
    chain.links.rows, chain.numbers.rows = links.ctypes.data, numbers.ctypes.data
    chain.numbers.used, chain.inside.count = 1, 41
    kernel = compiled(module.walk)
    assert kernel(chain) == (3 + (1 << 40) + 4 - 5) * 1000 + 20
    assert links["far"].tolist() == [-1, 9, -1]
    assert links["small"].tolist() == [2, 9, 3]
    assert links["leads"].tolist() == [[0, 0, 0, 1], [0] * 4, [0, 0, 0, 4]]
    assert (chain.inside.count, chain.inside.depth, chain.links.used) == (42, 7, 2)
    assert (numbers.tolist(), chain.numbers.used) == ([0, 5], 2)
    chain.other = 1
    assert kernel(chain) % 2


def test_a_record_can_lie_within_an_array_of_numbers(tmp_path: Path) -> None:
    module, numbers = module_of(RECORDS, tmp_path), np.array([7, 1, 2, 3], np.int32)
    assert compiled(module.second_of)(numbers, 2) == 3
    assert numbers.tolist() == [7, 1, 3, 3]
    assert compiled(module.sum_of)(numbers.view(dtype(module.Pair))) == 7 * 1 + 3 * 3


def test_numpy_and_c_place_fields_alike(tmp_path: Path) -> None:
    module = module_of(RECORDS, tmp_path)
    kind = dtype(module.Link)
    assert kind.itemsize == ctypes.sizeof(module.Link) == 56
    assert kind.fields is not None
    places = {name: place for name, (_, place, *_) in kind.fields.items()}
    assert places == {"small": 0, "far": 8, "next": 16, "leads": 24}
    offset, item = field_of(module.Chain, "links.rows")
    assert (offset, item) == (8, module.Link)
    assert field_of(module.Chain, "rows")[0] == module.Chain.rows.offset


@pytest.mark.parametrize(("name", "said"), [("wrong", "missing"), ("unlike", "nothing is both")])
def test_unknown_fields_and_mixed_records_are_refused(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=said):
        Translation(getattr(module_of(RECORDS, tmp_path), name))


def test_only_numbers_arrays_and_records_are_fields() -> None:
    assert kind_of(i32) == "int32"
    with pytest.raises(TypeError, match="no number, array or record"):
        kind_of(str)


def test_only_kernels_find_records_within_numbers() -> None:
    with pytest.raises(NotImplementedError, match="Record"):
        Record.within([1, 2], 0)
