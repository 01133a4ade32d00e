"""Values as hashable ones: equal exactly where JSON Schema calls them equal."""

import pytest

from guideway.json_schema.formulas import read_exact

PAIRS = [
    ('{"a":1,"b":[0,-0]}', '{"b": [0.0, 0e5], "a": 10e-1}', True),
    ('{"a":100}', '{"a":1e2}', True),
    ('{"a":-1.50}', '{"a":-15e-1}', True),
    ('{"a":"1"}', '{"a":1}', False),
    ('{"a":true}', '{"a":1}', False),
    ('[null,"\\u0061"]', '[null,"a"]', True),
    ("[1,2]", "[2,1]", False),
    ("[[]]", "[{}]", False),
]


@pytest.mark.untraced
@pytest.mark.parametrize("depth", [0, 98, 150, 3_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("left", "right", "equal"), PAIRS)
def test_equal_values_have_equal_forms_however_deep(left, right, equal, depth):
    first, second = (
        read_exact(("[" * depth + text + "]" * depth).encode()) for text in (left, right)
    )
    assert (first == second) is equal
    assert not equal or hash(first) == hash(second)


def test_many_small_values_are_no_deep_one():
    wide = b"[" + b",".join([b"[1]"] * 500) + b"]"
    assert read_exact(wide) == read_exact(wide.replace(b"1", b"1.0"))
