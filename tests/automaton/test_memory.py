"""Caches are counted while they are in use."""

import gc
import threading

from guideway.automaton.token_tries import Held, total, track, tracked


class Held7:
    def held(self) -> Held:
        return Held(rows=7, row_bytes=70, states=1, state_bytes=2, hits=3, misses=4)

    def forget(self) -> None: ...


def test_a_cache_is_tracked_as_long_as_somebody_uses_it() -> None:
    before = len(tracked())
    cache = Held7()
    track(cache)
    track(cache)
    assert cache in tracked()
    assert len(tracked()) == before + 1
    del cache
    gc.collect()
    assert len(tracked()) == before


def test_sums_are_made_of_each_part() -> None:
    held = Held7().held()
    assert total([held, held]) == held + held == Held(14, 140, 2, 4, 6, 8)
    assert held.bytes == 72
    assert total([]) == Held()


def test_threads_may_come_and_go_with_caches() -> None:
    def work() -> None:
        for _ in range(200):
            track(Held7())
            tracked()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not any(isinstance(cache, Held7) for cache in tracked())
