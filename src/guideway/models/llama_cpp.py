"""A .gguf file run by llama.cpp, as a `LanguageModel` (the extra "llama-cpp").

- Weights stay as the file packs them, mapped into memory. Logits are float32, on the CPU.
- A row of a cache is its tokens, and a sequence of llama.cpp's memory that begins with them. A row
  that leaves its sequence gets a copy of it, which shares keys and values.
- Attention looks at all keys in the context, so sequences that were not used for a while are
  parked: copied out of it, and back when a row needs them.
- A row whose sequence was lost in an error is read again.
- A context that is full is replaced by one of twice the size.
"""

import ctypes
import logging
from collections import deque
from collections.abc import Collection, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any, Final, TypeAlias, cast
from weakref import WeakSet, finalize

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.errors import LimitError, ModelError, brief
from guideway.extras import require
from guideway.models.llama_cpp_tokenizer import LlamaCppTokenizer, Weights

logger: Final = logging.getLogger(__name__)
BATCH: Final = 512  # tokens that llama.cpp reads at once; interrupts come between batches
CELLS: Final = 4096  # tokens that a new context has room for
ROWS: Final = 256  # sequences of a context, llama.cpp's own limit
STATES: Final = 16  # the same for recurrent models, whose memory is for all sequences at once
LATE: Final = 64  # forwards after which an unused sequence is parked
LEAST: Final = 16  # common tokens of prompts that are worth a forward of their own
_heard: Final = deque[str](maxlen=4)  # the last lines that llama.cpp logged


@cache
def _loaded() -> tuple[Any, Any]:
    """The module `llama_cpp`, and the callback that logs for llama.cpp, which must live."""
    library: Any = import_module("llama_cpp")

    def log(_level: int, text: bytes, _data: object) -> None:
        _heard.append(text.decode(errors="replace").strip())
        logger.debug("%s", _heard[-1])

    callback = library.llama_log_callback(log)
    library.llama_log_set(callback, None)
    return library, callback


class _Context:
    """A `llama_context`, freed when nothing refers to it, and before its weights."""

    def __init__(self, weights: Weights, settings: Any, cells: int) -> None:
        library, settings.n_ctx = weights.library, cells
        pointer = library.llama_init_from_model(weights.pointer, settings)
        if not pointer:
            raise LimitError(
                f"llama.cpp cannot get the memory for a context of {cells:,} tokens",
                limit="memory",
                needed=cells,
            )
        self.pointer, self.cells = pointer, cells
        self.memory = library.llama_get_memory(pointer)
        self.close = finalize(self, _free, weights, pointer)


def _free(weights: Weights, context: Any) -> None:
    weights.library.llama_free(context)


class _Sequence:
    """Keys and values of `length` tokens, which the texts of `rows` begin.

    `number` is that in the context, or None if they are in `state` (parked) or nowhere (lost).
    """

    __slots__ = ("__weakref__", "_freed", "length", "number", "rows", "state", "used")

    def __init__(self, number: int | None, freed: deque[int]) -> None:
        self.number, self.length, self.used, self._freed = number, 0, 0, freed
        self.state: Any = None
        self.rows: WeakSet[Row] = WeakSet()

    def __del__(self) -> None:
        if self.number is not None:
            self._freed.append(self.number)


class Row:
    """A text that was read: all of its tokens, and a sequence that begins with them."""

    __slots__ = ("__weakref__", "sequence", "tokens")

    def __init__(self, tokens: tuple[int, ...], sequence: _Sequence) -> None:
        self.tokens, self.sequence = tokens, sequence
        sequence.rows.add(self)


LlamaCppCache: TypeAlias = tuple[Row, ...]


class _Batch:
    """A `llama_batch` over arrays of numpy."""

    def __init__(self, library: Any) -> None:
        self.token, self.place, self.sequence, counts = np.ones((4, BATCH), np.int32)
        self.wanted = np.zeros(BATCH, np.int8)
        self._kept = counts, self.sequence.ctypes.data + 4 * np.arange(BATCH, dtype=np.uintp)
        ids = ctypes.POINTER(ctypes.c_int32)
        self.struct = library.llama_batch(
            token=self.token.ctypes.data_as(ids),
            pos=self.place.ctypes.data_as(ids),
            n_seq_id=counts.ctypes.data_as(ids),
            seq_id=self._kept[1].ctypes.data_as(ctypes.POINTER(ids)),
            logits=self.wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )


class LlamaCppModel:
    """A model that llama.cpp runs. Threads may share one: it runs one forward at a time.

    Attributes:
        path: the file.
        tokenizer: the file's tokenizer and chat template.
        vocabulary: the tokens as bytes, as llama.cpp itself writes them.
        device: of the logits, the CPU.
        context: the greatest number of tokens that the model was made for.
        crops: True if its cache can forget the last tokens: it has no recurrent layers.
    """

    def __init__(
        self, path: str | Path, *, device: str | torch.device | None = None, exact: bool = False
    ) -> None:
        """Open a file.

        Args:
            path: the .gguf file.
            device: "cpu", or "cuda" for all layers on a GPU. Default: a GPU, if there is one and
                llama.cpp was built for it.
            exact: attention in float32. By default, keys and values are float16.

        Raises:
            ModelError: llama-cpp-python is not installed, or llama.cpp cannot read the file.
        """
        require("llama-cpp", 'backend="llama.cpp"')
        self._library = library = _loaded()[0]
        self.path, self._place, self._exact = Path(path).expanduser(), device, exact
        self._weights = self._opened(self.path, device)
        pointer, self.device = self._weights.pointer, torch.device("cpu")
        kinds = library.llama_model_is_recurrent, library.llama_model_is_hybrid
        self.crops = not any(is_kind(pointer) for is_kind in kinds)
        self.context: int | None = library.llama_model_n_ctx_train(pointer) or None
        self.tokenizer = LlamaCppTokenizer(self._weights)
        self.vocabulary = self.tokenizer.vocabulary()
        self._rows = ROWS if self.crops else STATES
        self._lock, self._now, self._batch = RLock(), 0, _Batch(library)
        self._freed, self._free = deque[int](), [*range(self._rows)]
        self._live: WeakSet[_Sequence] = WeakSet()
        self._context = _Context(self._weights, self._settings(), CELLS)
        (one,), _ = self.prefill([[0]])  # reads all of the weights once
        (two,), _ = self.extend((one,), torch.zeros(1, 1, dtype=torch.int64))
        sizes = self._state_size(two.sequence), self._state_size(self.prefill([[0]])[0][0].sequence)
        self._token_bytes = sizes[0] - sizes[1]
        self._row_bytes = sizes[1] - self._token_bytes

    def close(self) -> None:
        """Free the model now; it cannot be used afterwards."""
        with self._lock:
            self._context.close()
            self._weights.close()

    def __reduce__(self) -> Any:
        """Pickle the path; the file is opened again."""
        return partial(LlamaCppModel, self.path, device=self._place, exact=self._exact), ()

    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[LlamaCppCache, Float[Tensor, "batch vocabulary"]]:
        """Cache of the prompts and logits after each; their common beginning is read once."""
        if not all(len(prompt) for prompt in prompts):
            raise ModelError("a prompt is empty: the model needs at least one token")
        texts = [tuple(prompt) for prompt in prompts]
        pairs = enumerate(zip(min(texts), max(texts), strict=False))  # these differ first
        shortest = min(map(len, texts)) - 1
        common = min(next((n for n, (a, b) in pairs if a != b), shortest), shortest)
        with self._lock:
            base: Row = Row((), _Sequence(None, self._freed))
            if common >= LEAST and len(texts) > 1:
                ((base,), _) = self._read([base], [texts[0][:common]], every=False)
            new = [text[len(base.tokens) :] for text in texts]
            cache, logits = self._read([base] * len(texts), new, every=False)
        return cache, logits

    def extend(
        self, cache: LlamaCppCache, tokens: Int[Tensor, "batch new"]
    ) -> tuple[LlamaCppCache, Float[Tensor, "batch new vocabulary"]]:
        new = cast("list[list[int]]", tokens.tolist())  # pyright: ignore[reportUnknownMemberType]
        with self._lock:
            longer, logits = self._read(cache, new, every=True)
        return longer, logits.view(*tokens.shape, -1)

    def append(
        self, cache: LlamaCppCache, tokens: Sequence[Sequence[int]], exits: Sequence[int]
    ) -> tuple[LlamaCppCache, Float[Tensor, "heads batch vocabulary"]]:
        with self._lock:
            longer, logits = self._read(cache, tokens, every=False)
        return longer, logits[None]

    def select(self, cache: LlamaCppCache, rows: Sequence[int]) -> LlamaCppCache:
        return tuple(cache[row] for row in rows)

    def version(self) -> int:
        """Always the same: its weights do not change."""
        return 0

    def crop(self, cache: LlamaCppCache, counts: Sequence[int]) -> LlamaCppCache:
        pairs = zip(cache, counts, strict=True)
        with self._lock:  # another thread may look at the rows of the same sequence
            return tuple(Row(row.tokens[: len(row.tokens) - n], row.sequence) for row, n in pairs)

    def concat(self, caches: Sequence[LlamaCppCache]) -> LlamaCppCache:
        return tuple(row for cache in caches for row in cache)

    def nbytes(self, cache: LlamaCppCache) -> int:
        """The bytes of keys and values; those that rows share count for each."""
        return sum(self._row_bytes + len(row.tokens) * self._token_bytes for row in cache)

    def _opened(self, path: Path, device: str | torch.device | None) -> Weights:
        library, settings = self._library, self._library.llama_model_default_params()
        kind = None if device is None else str(device)
        if kind not in (None, "cpu", "cuda"):
            raise ModelError(
                f'device is {brief(kind)}: with backend="llama.cpp" it must be "cpu", "cuda" or '
                "None; CUDA_VISIBLE_DEVICES chooses a GPU"
            )
        if kind == "cuda" and not library.llama_supports_gpu_offload():
            raise ModelError(
                'device is "cuda", and this build of llama-cpp-python runs on the CPU only: '
                'install it again with CMAKE_ARGS="-DGGML_CUDA=on"'
            )
        settings.n_gpu_layers = 0 if kind == "cpu" else -1
        if not path.is_file():
            raise ModelError(f"there is no file {str(path)!r}")
        pointer = library.llama_model_load_from_file(str(path).encode(), settings)
        if not pointer:
            raise ModelError(f"llama.cpp cannot load {path}: {' '.join(_heard)}")
        weights = Weights(library, pointer)
        if library.llama_model_has_encoder(pointer):
            raise ModelError(f"{path} is not a causal language model")
        return weights

    def _settings(self) -> Any:
        settings = self._library.llama_context_default_params()
        settings.n_batch = settings.n_ubatch = BATCH
        settings.n_seq_max, settings.kv_unified = self._rows, True
        settings.n_threads = settings.n_threads_batch = torch.get_num_threads()
        if self._exact:
            settings.type_k = settings.type_v = self._library.GGML_TYPE_F32
        if (
            self._exact
            or str(self._place) == "cpu"
            or not self._library.llama_supports_gpu_offload()
        ):
            # Slow for few tokens on a CPU: 2.7 times as long for 16 after 2,000 (AVX2).
            settings.flash_attn_type = self._library.LLAMA_FLASH_ATTN_TYPE_DISABLED
        return settings

    def _read(
        self, cache: Sequence[Row], new: Sequence[Sequence[int]], *, every: bool
    ) -> tuple[LlamaCppCache, Float[Tensor, "some vocabulary"]]:
        """The longer rows, and the logits after each new token or after the last of each row."""
        if len(cache) > self._rows:
            raise LimitError(
                f"llama.cpp reads at most {self._rows} rows at once, and there are {len(cache)}",
                limit="rows",
                given=len(cache),
                needed=self._rows,
            )
        self._now += 1
        busy = {row.sequence for row in cache}
        taken = list[_Sequence]()
        try:
            self._park([each for each in self._live - busy if self._now - each.used > LATE])
            for row in cache:
                taken.append(self._fitting(row, busy, taken))
                busy.add(taken[-1])
            logits = self._forward(cache, taken, new, busy, every=every)
        except BaseException:  # an interrupt, too: nobody knows what these sequences hold
            for each in taken:
                self._lose(each)
            raise
        longer = list[Row]()
        for row, sequence, more in zip(cache, taken, new, strict=True):
            text = (*row.tokens, *more)
            sequence.length, sequence.used = len(text), self._now
            longer.append(Row(text, sequence))
        return tuple(longer), logits

    def _fitting(self, row: Row, busy: Collection[_Sequence], taken: list[_Sequence]) -> _Sequence:
        """A sequence, not in `taken`, that holds a beginning of the row, or nothing."""
        own, length = row.sequence, len(row.tokens)
        if own.state is not None:
            self._restore(own, busy)
        if own.number is None or (own.length > length and not self.crops):
            return self._new(busy)  # and the row is read again
        shorter = all(len(other.tokens) <= length for other in own.rows)
        if own not in taken and (shorter if self.crops else len(own.rows) == 1):
            self._cut(own, length)
            return own
        made = self._new(busy)
        memory = self._context.memory
        self._library.llama_memory_seq_cp(memory, own.number, made.number, 0, length)
        made.length = length
        return made

    def _forward(
        self,
        cache: Sequence[Row],
        taken: Sequence[_Sequence],
        new: Sequence[Sequence[int]],
        busy: Collection[_Sequence],
        *,
        every: bool,
    ) -> Float[Tensor, "some vocabulary"]:
        """Read the tokens of rows that their sequences lack, and the new tokens."""
        texts = [
            [*row.tokens[each.length :], *more]
            for row, each, more in zip(cache, taken, new, strict=True)
        ]
        counts = np.fromiter(map(len, texts), np.int64, len(texts))
        token = np.fromiter((t for text in texts for t in text), np.int32, counts.sum())
        ends = counts.cumsum()
        place = np.arange(len(token)) - np.repeat(ends - counts, counts)
        place += np.repeat([each.length for each in taken], counts)
        sequence = np.repeat([each.number or 0 for each in taken], counts)
        wanted = np.zeros(len(token), np.int8)
        for end, more in zip(ends, new, strict=True):
            wanted[end - (len(more) if every else 1) : end] = 1
        logits = np.empty((int(wanted.sum()), self.vocabulary.width), np.float32)
        done, batch = 0, self._batch
        for begin in range(0, len(token), BATCH):
            part = slice(begin, begin + BATCH)
            size = len(token[part])
            batch.token[:size], batch.place[:size] = token[part], place[part]
            batch.sequence[:size], batch.wanted[:size] = sequence[part], wanted[part]
            batch.struct.n_tokens = size
            self._decode(busy)
            count = int(wanted[part].sum())
            if count:
                found = self._library.llama_get_logits(self._context.pointer)
                logits[done : done + count] = np.ctypeslib.as_array(
                    found, (count, self.vocabulary.width)
                )
            done += count
        return torch.from_numpy(logits)  # pyright: ignore[reportUnknownMemberType]

    def _decode(self, busy: Collection[_Sequence]) -> None:
        """Read the batch; make room in the context as long as there is none."""
        self._weights.pointer  # noqa: B018  raises if it is closed
        while status := self._library.llama_decode(self._context.pointer, self._batch.struct):
            if status != 1:  # 1: no room
                raise ModelError(f"llama.cpp cannot run the model: llama_decode returned {status}")
            if idle := self._live.difference(busy):
                self._park(idle)
            else:
                self._grow()

    # Sequences

    def _new(self, busy: Collection[_Sequence]) -> _Sequence:
        """An empty sequence."""
        made = _Sequence(self._number(busy), self._freed)
        self._live.add(made)
        return made

    def _number(self, busy: Collection[_Sequence]) -> int:
        """A free number."""
        while self._freed:
            self._release(self._freed.popleft())
        if not self._free:
            self._park(self._live.difference(busy))
        if not self._free:
            raise LimitError(
                f"llama.cpp has {self._rows} sequences, and all of them are in use",
                limit="rows",
                given=self._rows,
            )
        return self._free.pop()

    def _release(self, number: int) -> None:
        self._library.llama_memory_seq_rm(self._context.memory, number, -1, -1)
        self._free.append(number)

    def _cut(self, sequence: _Sequence, length: int) -> None:
        if sequence.length > length:
            memory = self._context.memory
            self._library.llama_memory_seq_rm(memory, sequence.number, length, -1)
            sequence.length = length

    def _park(self, sequences: Collection[_Sequence]) -> None:
        """Copy sequences out of the context, without tokens that no row needs."""
        for each in sequences:
            if each.number is None:
                continue
            if self.crops:
                self._cut(each, max((len(row.tokens) for row in each.rows), default=0))
            if each.length:
                size = self._state_size(each)
                each.state = (ctypes.c_uint8 * size)()
                context = self._context.pointer
                self._library.llama_state_seq_get_data(context, each.state, size, each.number)
            self._release(each.number)
            each.number = None
            self._live.discard(each)

    def _restore(self, sequence: _Sequence, busy: Collection[_Sequence]) -> None:
        """Copy a sequence back; if there is no room for it, its rows are read again."""
        number, state = self._number(busy), sequence.state
        held = sum(each.length for each in self._live)  # at most: sequences share cells
        if held + sequence.length > self._context.cells:
            self._park(self._live.difference(busy))
        sequence.state = None
        context = self._context.pointer
        if self._library.llama_state_seq_set_data(context, state, len(state), number):
            sequence.number = number
            self._live.add(sequence)
        else:
            self._release(number)

    def _lose(self, sequence: _Sequence) -> None:
        if sequence.number is not None:
            self._freed.append(sequence.number)
            sequence.number = None
            self._live.discard(sequence)

    def _state_size(self, sequence: _Sequence) -> int:
        return self._library.llama_state_seq_get_size(self._context.pointer, sequence.number)

    def _grow(self) -> None:
        """A context of twice the size, with all sequences of the old one."""
        library, old = self._library, self._context
        made = _Context(self._weights, self._settings(), 2 * old.cells)
        size = library.llama_state_get_size(old.pointer)
        state = (ctypes.c_uint8 * size)()
        library.llama_state_get_data(old.pointer, state, size)
        if not library.llama_state_set_data(made.pointer, state, size):
            raise ModelError("llama.cpp cannot copy the sequences into a larger context")
        self._context = made
        old.close()
