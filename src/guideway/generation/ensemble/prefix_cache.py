"""The prefix cache: what a model has read, for later prompts that begin the same way.

A chat's next turn begins with all of the talk so far, and many prompts share a system message. A
prompt is compared with every text that is kept; the longest common beginning is not read again.
Texts are kept until their memory exceeds a limit; the least recently used ones go first.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from guideway.constraint.caches import PrefixInfo, clear_too
from guideway.models.protocol import CroppingModel

MOST_BYTES: Final = 1 << 29
LEAST: Final = 16  # tokens; to read fewer again costs no more than a further forward


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that a model has read with an adapter: its tokens, and a cache of one row."""

    model: Callable[[], CroppingModel[Any] | None]
    version: Hashable
    adapter: Any
    tokens: NDArray[np.int64]
    cache: Any
    nbytes: int


class PrefixCache:
    """Texts that models have read, bounded in memory. Threads may share one.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> model = FakeModel.random(Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2}))
        >>> cache, _ = model.prefill([[0, 1] * 20])
        >>> prefixes = PrefixCache(most_bytes=1 << 20)
        >>> prefixes.keep(model, None, [0, 1] * 20, cache)
        >>> cache, length = prefixes.find(model, None, [0, 1] * 15 + [1])
        >>> length, len(cache[0].prefix)
        (30, 30)
    """

    def __init__(self, most_bytes: int) -> None:
        """An empty cache."""
        self._most, self._lock = most_bytes, threading.Lock()
        self._texts = OrderedDict[int, _Text]()  # the least recently used one first
        self._numbers = count()
        self._hits = self._misses = self._tokens = 0
        clear_too(self)

    def find(
        self, model: CroppingModel[Any], adapter: Any, tokens: Sequence[int]
    ) -> tuple[Any, int] | None:
        """A cache of one row with the longest known beginning of `tokens`, and its length.

        It is shorter than `tokens`, so that logits after them can be had; None if it is too short
        to be useful.
        """
        wanted, version = np.array(tokens[:-1], np.int64), model.version()
        best: tuple[int, int, _Text] | None = None
        with self._lock:
            for number, text in [*self._texts.items()]:
                own = text.model()
                if own is None or (own is model and text.version != version):
                    del self._texts[number]
                elif own is model and text.adapter is adapter:
                    length = _common(text.tokens, wanted)
                    if length >= LEAST and (best is None or length > best[0]):
                        best = length, number, text
            if best is None:
                self._misses += 1
                return None
            self._texts.move_to_end(best[1])
            self._hits += 1
            self._tokens += best[0]
        length, _, text = best
        return model.crop(model.select(text.cache, [0]), [len(text.tokens) - length]), length

    def keep(
        self,
        model: CroppingModel[Any],
        adapter: Any,
        tokens: Sequence[int],
        cache: Any,
        row: int = 0,
        rows: int = 1,
    ) -> None:
        """Keep one row of a cache of `rows`, instead of texts that begin this one."""
        if len(tokens) < LEAST or model.nbytes(cache) > self._most * rows:
            return
        cache = model.select(cache, [row])
        ids, version, size = np.array(tokens, np.int64), model.version(), model.nbytes(cache)
        with self._lock:
            for number, text in [*self._texts.items()]:
                same = text.model() is model and text.adapter is adapter
                if same and _common(text.tokens, ids) == len(text.tokens):
                    del self._texts[number]
            self._texts[next(self._numbers)] = _Text(ref(model), version, adapter, ids, cache, size)
            while self._bytes() > self._most:
                self._texts.popitem(last=False)

    def info(self) -> PrefixInfo:
        """The number and size of the texts, and the hits and misses."""
        with self._lock:
            return PrefixInfo(
                texts=len(self._texts),
                bytes=self._bytes(),
                most_bytes=self._most,
                hits=self._hits,
                misses=self._misses,
                tokens=self._tokens,
            )

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._texts.clear()

    def _bytes(self) -> int:
        return sum(text.nbytes for text in self._texts.values())


def _common(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The length of the common beginning."""
    shorter = min(len(left), len(right))
    unequal = left[:shorter] != right[:shorter]
    return int(unequal.argmax()) if unequal.any() else shorter


SHARED: Final = PrefixCache(MOST_BYTES)
