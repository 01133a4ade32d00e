"""Inner kernels mean in LLVM what they mean in Python: the oracle is Python on the same source."""

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guideway.automaton.jit.operands import Intrinsic
from guideway.automaton.jit.statements import Translation
from written_kernels import HEAD, compiled, module_of

EDGES = (0, 1, -1, 2, -2, 7, -8, 63, 64, 1000, -1001, (1 << 40) + 5, -(1 << 40) - 3)


def plain(text: str) -> dict[str, Any]:
    """The same, its functions left to Python."""
    names: dict[str, Any] = {}
    same = "\ninner = once = lambda function: function\nfence = lambda: None\n"
    exec(HEAD + same + text, names)
    return names


ARITHMETIC = """
@inner
def reckon(what: int, a: int, b: int) -> int:
    if what == 0:
        return a + b - 3 * a
    if what == 1:
        return a // b
    if what == 2:
        return a % b
    if what == 3:
        return (a & b) | (a ^ ~b)
    if what == 4:
        return (a >> (b & 15)) + ((a & 0xFFFF) << (b & 15))
    if what == 5:
        return min(a, b, 5) - max(a, b) + ~THREE + BELOW
    if what == 6:
        return -a if a < b else (a == b) + (a != b) if a != 7 else 1 << 40
    if what == 7:
        return (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (not a) + 32 * bool(b)
    if what == 8:
        return a // -7 + a % -7 + a // 5 + a % 5
    found = int(YES and a > 0) + 2 * int(a > 0 or b > 0)
    return found + 4 * int(0 < a <= b < 100) + 8 * (a in (0, b))
"""


def test_numbers_are_reckoned_with_as_python_does(tmp_path: Path) -> None:
    kernel = compiled(module_of(ARITHMETIC, tmp_path).reckon)
    oracle = plain(ARITHMETIC)["reckon"]
    for what, a, b in itertools.product(range(10), EDGES, EDGES):
        expected = 0 if what in (1, 2) and b == 0 else oracle(what, a, b)
        assert kernel(what, a, b) == expected, (what, a, b)


class Writer:
    """Programs at random, whose numbers stay small."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def number(self, depth: int) -> str:
        one, other = (self.number(depth - 1) if depth else self.leaf() for _ in range(2))
        forms = (
            *(f"({one} + {other})", f"({one} - {other})", f"(~{one})", f"(-{one})"),
            *(f"(({one} & 255) * ({other} & 255))", f"(({one} & 4095) << ({other} & 7))"),
            *(f"({one} >> ({other} & 7))", f"({one} // (({other} & 7) + 1))"),
            *(f"({one} % -(({other} & 7) + 1))", f"({one} {self.random.choice('&|^')} {other})"),
            f"({one} if {self.truth(depth)} else {other})",
            f"{self.random.choice(('min', 'max', 'helper'))}({one}, {other})",
            f"(({self.truth(depth)}) + {other})",
        )
        return self.random.choice(forms)

    def leaf(self) -> str:
        return self.random.choice(("a", "b", "c", "THREE", "BELOW", "11", "-1", "0"))

    def truth(self, depth: int) -> str:
        one, other = (self.number(depth - 1) if depth else self.leaf() for _ in range(2))
        compared = f"{one} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {other}"
        if not depth:
            return compared
        more = self.truth(depth - 1)
        forms = (
            *(compared, f"not {compared}", f"({compared}) and {more}", f"({compared} or {more})"),
            f"{self.leaf()} < {one} <= {self.leaf()}",
            f"{one} {self.random.choice(('in', 'not in'))} (a, 3, -1)",
            f"odd({one})",
        )
        return self.random.choice(forms)

    def block(self, depth: int, indent: str, in_loop: bool) -> list[str]:
        lines = list[str]()
        for _ in range(self.random.randint(1, 3)):
            lines += [indent + line for line in self.statement(depth, in_loop)]
        return lines

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        variable = self.random.choice("abc")
        kind = self.random.randint(0, 9 if depth else 4)
        if kind == 4 and in_loop:
            leave = self.random.choice(("break", "continue", "return a, b"))
            return [f"if {self.truth(1)}:", f"    {leave}"]
        if kind <= 5:
            simple = ["a, b = b, a", f"{variable} += c & 15"]
            simple[kind & 1 :] = [f"a, c = two({self.number(1)}, {variable})"]
            return simple if kind < 2 else [f"{variable} = ({self.number(2)} & 0xFFFF) - 0x7000"]
        if kind <= 7:
            other = self.block(depth - 1, "    ", in_loop)
            return [
                f"if {self.truth(2)}:",
                *self.block(depth - 1, "    ", in_loop),
                *(["else:", *other] if self.random.random() < 0.5 else []),
            ]
        self.loops += 1
        name = f"n{self.loops}"
        if kind == 8:
            limits = self.random.choice(("b & 7", "c & 3, 9", "7, a & 3, -2", "2, c & 31, 5"))
            return [
                f"for {name} in range({limits}):",
                *self.block(depth - 1, "    ", True),
                f"    c = (c ^ {name}) & 0xFFFF",
            ]
        return [
            f"{name} = 0",
            f"while {name} < 5 and {self.truth(1)}:",
            f"    {name} += 1",
            *self.block(depth - 1, "    ", True),
        ]


HELPERS = """
@once
def helper(a: int, b: int) -> int:
    return a + 2 * b & 0xFFF


@inner
def odd(a: int) -> bool:
    return a & 1 != 0


@inner
def two(a: int, b: int) -> tuple[int, int]:
    return (b & 0xFFF, a & 0xFF) if a < b else (a & 0xFFF, 5)
"""


@pytest.mark.parametrize("seed", range(8))
def test_programs_at_random_do_what_python_does(seed: int, tmp_path: Path) -> None:
    writer, text, count = Writer(seed), HELPERS, 25
    for number in range(count):
        body = "\n".join(writer.block(3, "    ", False))
        text += f"\n@inner\ndef f{number}(a: int, b: int) -> tuple[int, int]:\n    c = a ^ b\n"
        text += f"{body}\n    return a + c, b\n"
    text += "\n@inner\ndef run(what: int, a: int, b: int) -> int:\n"
    for number in range(count):
        text += f"    if what == {number}:\n        a, b = f{number}(a, b)\n"
    text += "    return (a << 32) + b\n"
    kernel, oracle = compiled(module_of(text, tmp_path, f"random{seed}").run), plain(text)["run"]
    for what, a, b in itertools.product(range(count), EDGES[:10], EDGES[:10]):
        assert kernel(what, a, b) == oracle(what, a, b), (what, a, b)


ARRAYS = """
class Arrays(Record):
    small: Rows[u8]
    shorts: Rows[u16]
    again: Rows[i32]
    far: Rows[i64]
    wide: Rows[u32]
    bits: Rows[u64]


@inner
def arrays(context: Arrays, ints: WholeInts, words: Words, sets: Sets) -> int:
    small, shorts, again = context.small, context.shorts, context.again
    far, wide, bits = context.far, context.wide, context.bits
    small[0], shorts[0], again[0] = 257, 65537, (1 << 32) - 2
    far[0] = wide[0] = -1
    fence()
    total = small[0] + shorts[0] + again[0] + far[0] + len(ints)
    wide[0] >>= 1
    small[1] -= 1
    words[0] |= np.uint32(1) << np.uint32(31)
    words[1] = ~(np.uint32(1) << np.uint32(4))
    sets[0] = ~np.uint64(0) if total > 0 else np.uint64(0)
    sets[0] >>= np.uint64(1)
    sets[1] = np.uint64(words[0]) + np.uint64(1)
    different = np.uint32(0)
    for index in range(2):
        different |= words[index] ^ wide[index]
    bits[0] = different
    ints[len(ints) - 1] = lowest_bit(np.int64(sets[1] & ~np.uint64(1)) & -256)
    return total + int(np.int64(sets[0] > sets[1])) + int(words[0] < 5)
"""


def test_arrays_keep_as_much_of_a_number_as_they_have_room_for(tmp_path: Path) -> None:
    names = ("small", "shorts", "again", "far", "wide", "bits")
    kinds = (np.uint8, np.uint16, np.int32, np.int64, np.uint32, np.uint64)
    arrays = {name: np.zeros(4, kind) for name, kind in zip(names, kinds, strict=True)}
    module = module_of(ARRAYS, tmp_path)
    context = module.Arrays(**{name: array.ctypes.data for name, array in arrays.items()})
    ints, words, sets = np.zeros(3, np.int32), np.zeros(2, np.uint32), np.zeros(2, np.uint64)
    assert compiled(module.arrays)(context, ints, words, sets) == (1 + 1 - 2 - 1 + 3) + 1
    found = [int(arrays[name][0]) for name in ("small", "shorts", "again", "far")]
    assert (*found, arrays["small"][1]) == (1, 1, -2, -1, 255)
    assert arrays["wide"][0] == 0x7FFFFFFF
    assert words.tolist() == [1 << 31, (1 << 32) - 17]
    assert sets.tolist() == [(1 << 63) - 1, (1 << 31) + 1]
    assert arrays["bits"][0] == ((1 << 31) ^ 0x7FFFFFFF) | ((1 << 32) - 17)
    assert ints.tolist() == [0, 0, 31]


CALLS = """
@inner
def note(context: Numbers, number: int) -> int:
    context[0] = context[0] * 10 + number
    return number


@inner
def order(context: Numbers, a: int) -> int:
    if note(context, a) > 1 and note(context, 2) > 5 or note(context, 3) == a:
        note(context, 4)
    both = note(context, a) > 1 and note(context, 5) > 1
    chain = note(context, 1) < note(context, a) < note(context, 9)
    chosen = note(context, 6) if a == 3 else note(context, 7)
    context[note(context, 1)] += note(context, 8)
    return int(both and chain and chosen == 6)


@inner
def nothing(context: Numbers) -> None:
    if context[0] > 3:
        return
    while True:
        context[0] += 1
        if context[0] == 3:
            break
"""


@pytest.mark.parametrize("a", range(5))
def test_what_does_not_matter_is_not_looked_at(a: int, tmp_path: Path) -> None:
    module, oracle = module_of(CALLS, tmp_path), plain(CALLS)
    context, expected = np.array([0, a], np.int64), [0, a]
    assert compiled(module.order)(context, a) == oracle["order"](expected, a)
    assert context.tolist() == expected
    context[0] = a
    if a != 3:
        compiled(module.nothing)(context)
        assert context[0] == max(a, 3)


CHECKS = """
@inner
def half(a: int) -> int:
    return a // 2 if a % 2 == 0 else -a


@inner
def halves(a: int) -> tuple[int, int]:
    both = 0
    for part in range(a, a + 4, 2):
        both += checked(half(part))
    return both, 7


@inner
def run(a: int, b: int) -> int:
    if b > 0 and checked(half(b)) > 2:
        return checked(half(a)) + checked(half(b)) * 100
    one, other = halves(a if a < 100 else checked(half(a)))
    return one * 10 + other
"""


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (8, 20, 4 + 1000), (7, 20, -7), (8, 21, -21), (7, 2, -70), (8, 4, 97), (8, -3, 97),
        (200, 0, (50 + 51) * 10 + 7), (103, 0, -103), (1, 0, -10),
    ],
)  # fmt: skip
def test_a_negative_number_ends_the_kernel_that_checks_it(
    a: int, b: int, found: int, tmp_path: Path
) -> None:
    assert compiled(module_of(CHECKS, tmp_path).run)(a, b) == found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return a + np.uint64(1) + np.uint64(a)", "signed number and an unsigned"),
        ("x = a\n    x = np.uint64(1)\n    return a", "signed number and an unsigned"),
        ("return np.uint64(a)", "is no int64"),
        ("return int(np.uint64(a))", "say np.int64"),
        ("return -np.uint64(a)", "has no sign"),
        ("return np.uint64(a) // 2", "only signed numbers"),
        ("return a and 3", "no truth value"),
        ("return a in (min(a, 2), 3)", "names and constants"),
        ("return missing", "missing"),
        ("return len(a)", "'len' is not known"),
        ("return a.missing", "int6"),
        ("return [a][0]", "'[a]' is not known"),
        ("return a ** 2", "Pow"),
        ("with a:\n        return a", "not known to kernels"),
        ("for x in (a, 2):\n        a += x\n    return a", "only ranges"),
        ("for x in range(0, 9, a):\n        a += x\n    return a", "steps is a constant"),
        ("if a:\n        return 1", "does not always return"),
        ("return a, a", "zip"),
        ("a, b = 1, 2, 3\n    return a", "zip"),
        ("while a:\n        x = y\n        y = a\n    return x", "y is no number"),
    ],
)
def test_what_kernels_cannot_say_is_refused_with_its_place(
    body: str, said: str, tmp_path: Path
) -> None:
    text = f"\n@inner\ndef wrong(a: int) -> int:\n    {body}\n"
    wrong = module_of(text, tmp_path).wrong
    with pytest.raises(TypeError) as refused:
        Translation(wrong)
    assert said in str(refused.value)
    assert f"{tmp_path / 'written.py'}:" in str(refused.value)


def test_only_kernels_call_them(tmp_path: Path) -> None:
    module = module_of(HELPERS, tmp_path)
    with pytest.raises(NotImplementedError, match=r"written\.helper"):
        module.helper(1, 2)
    with pytest.raises(NotImplementedError, match="some"):
        Intrinsic("some")(1)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    kernel = compiled(module_of(ARITHMETIC, tmp_path).reckon)
    assert kernel(np.int32(0), np.int64(-5), np.uint8(7)) == -5 + 7 + 15
