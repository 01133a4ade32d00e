"""The bounded dictionary against a list of what was asked for last."""

from hypothesis import given
from hypothesis import strategies as st

from guideway.constraint.compile import Remembered


class TokenMaskCache:
    left_behind = 4


class Sized:
    def __init__(self, room: int, mask_cache: TokenMaskCache | None = None) -> None:
        self.room, self.mask_cache = room, mask_cache

    def size(self) -> int:
        return self.room


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=40))
def test_the_last_ones_asked_for_are_kept_within_both_bounds(calls: list[tuple[int, int]]) -> None:
    memory: Remembered = Remembered(most=3, most_bytes=10)
    model: list[tuple[int, int]] = []  # the most recent last
    hits = 0
    for key, size in calls:
        kept = dict(model)
        found = memory.get(key)
        assert (found.room if found else None) == kept.get(key)
        if found is None:
            memory.put(key, Sized(size))
            kept[key] = size
        else:
            hits += 1
        model = [item for item in model if item[0] != key] + [(key, kept[key])]
        while len(model) > 1 and (len(model) > 3 or sum(size for _, size in model) > 10):
            del model[0]
        assert len(memory) == len(model)
        assert memory.bytes() == sum(size for _, size in model)
    assert (memory.hits, memory.misses) == (hits, len(calls) - hits)


def test_what_grew_is_noticed_when_it_was_asked_for_a_few_times() -> None:
    memory: Remembered = Remembered(most=2, most_bytes=10)
    grown = Sized(1)
    memory.put("a", Sized(1))
    memory.put("b", grown)
    grown.room = 100
    assert memory.get("b") is grown
    assert len(memory) == 2
    assert memory.get("b") is grown
    assert memory.get("a") is None
    assert memory.bytes() == 100


def test_cleared_it_counts_anew() -> None:
    memory: Remembered = Remembered(most=2, most_bytes=10)
    memory.put("a", Sized(1))
    memory.get("a")
    memory.clear()
    assert (len(memory), memory.bytes(), memory.hits, memory.misses) == (0, 0, 0, 0)
    assert memory.get("a") is None


def test_putting_again_replaces() -> None:
    memory: Remembered = Remembered(most=2, most_bytes=10)
    memory.put("a", Sized(1))
    memory.put("a", Sized(2))
    assert memory.bytes() == 2


def test_mask_caches_that_are_left_behind_count_once() -> None:
    memory: Remembered = Remembered(most=9, most_bytes=10)
    old, older = TokenMaskCache(), TokenMaskCache()
    for key in "abc":
        memory.put(key, Sized(1, old))
    assert (len(memory), memory.bytes()) == (3, 7)
    memory.put("d", Sized(1, older))
    assert (len(memory), memory.bytes()) == (2, 10)
