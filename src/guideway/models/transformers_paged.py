"""`Pages` of transformers' own continuous batching: paged cache, shared prefixes, chunked prefill.

transformers schedules the texts, allocates blocks and lays a batch out as one row of tokens. The
forward and the choice of tokens are ours, so its processors, sampling and thread are not used:

    add_request ─▶ prepare_next_batch ─▶ get_model_kwargs ─▶ forward ─▶ output_ids ─▶ update_batch

Several models share the blocks of the first: each has a paged cache of its own with as many blocks,
and reads at the same block ids. A prefix that texts share is then shared for all models.

These names of transformers are not stable; `tests/models/test_transformers_paged.py`
checks each of them. A model is used only if its logits agree with those of a plain forward.
"""

import inspect
import logging
from collections.abc import Container, Sequence
from typing import Any, Final, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import UnsupportedError
from guideway.models.protocol import (
    NO_DRAFT,
    Choose,
    Draft,
    Drafted,
    Due,
    LanguageModel,
    Tokens,
    undrafted,
)
from guideway.models.transformers import TransformersModel

PAGE: Final = 32  # tokens of a block; only whole blocks are shared
CHUNK: Final = 256  # tokens that a forward reads at most
MEMORY: Final = 1 << 30  # bytes of the caches, if the memory of the device is not known
SHARE: Final = 0.5  # of the free memory of a GPU
PROBE: Final = 2 * PAGE + 8  # tokens
CLOSE: Final = 0.05  # greatest mean difference of logits in the probe, in standard deviations

Arguments: TypeAlias = dict[str, Any]


class TransformersPages:
    """Texts that transformers models read in continuous batches.

    Attributes:
        capacity: the greatest number of tokens of one text.
    """

    def __init__(
        self,
        models: Sequence[TransformersModel],
        *,
        rows: int,
        chunk: int = CHUNK,
        blocks: int | None = None,
    ) -> None:
        """Allocate the caches.

        Args:
            models: the models, which must be on one device and have one dtype.
            rows: the greatest number of texts of a forward; others wait.
            chunk: the greatest number of tokens of a forward.
            blocks: number of blocks of `PAGE` tokens; None for what fits into memory.

        Raises:
            UnsupportedError: a model does not run there, or gives other logits.
        """
        from transformers.generation.configuration_utils import (
            ContinuousBatchingConfig,
            GenerationConfig,
        )
        from transformers.generation.continuous_batching.continuous_api import (
            ContinuousBatchingManager,
        )

        self._models = models
        for model in models:
            _check(model, models)
        config = ContinuousBatchingConfig(
            page_size=PAGE,
            num_blocks=blocks or _blocks(models, rows),
            max_batch_tokens=max(chunk, rows),
            max_requests_per_batch=rows,
            max_blocks_per_request=0,
            use_async_batching=False,
            use_cuda_graph=False,
            auto_switch_to_flash=False,
            cpu_offload_space=0.0,
        )
        self._manager: Any = ContinuousBatchingManager(
            models[0].module, GenerationConfig(eos_token_id=-1), config
        )
        log = logging.getLogger("ContinuousBatchingLogger")
        log.disabled = True  # it asks for psutil, to size what is sized here
        try:
            self._processor: Any = self._manager._create_batch_processor()
            self._caches = [self._processor.cache, *(self._cache(each) for each in models[1:])]
        finally:
            log.disabled = False
        self.capacity: int = self._processor.cache.num_blocks * PAGE
        self._known = dict[str, int]()  # tokens of each text that it found in shared blocks
        self._probe()

    def add(self, text: int, prompt: Sequence[int]) -> None:
        self._manager.add_request([*prompt], request_id=str(text), eos_token_id=-1)

    def remove(self, text: int) -> None:
        self._known.pop(str(text), None)
        self._manager.cancel_request(str(text))
        self._processor.scheduler.block_new_requests = False

    @torch.no_grad()
    def step(self, choose: Choose, draft: Drafted = undrafted, held: Container[int] = ()) -> None:
        processor, active = self._processor, self._processor.scheduler.active_requests
        waiting = {name: active.pop(name) for name in [*active] if int(name) in held}
        guesses = self._drafted(draft)
        prepared = processor.prepare_next_batch()
        active.update(waiting)
        if not prepared:
            return
        inputs = processor.inputs_and_outputs
        arguments: Arguments = dict(inputs.get_model_kwargs())
        # During a forward, transformers writes it into the model's configuration, where forwards in
        # other threads read it. The default is the same: causal without a mask only.
        del arguments["is_causal"]
        read, due, wanted = 0, list[Any](), list[int]()
        for each in inputs.requests_in_batch:
            read += each.query_length
            name = each.state.request_id
            self._known.setdefault(name, each.state.position_offset - each.query_length)
            if each.has_new_token:
                due.append(each)
                guess = guesses.get(id(each.state), NO_DRAFT)
                wanted += range(read - 1 - len(guess.tokens), read)
        device = self._models[0].device
        arguments["logits_indices"] = torch.tensor(wanted, dtype=torch.int64, device=device)
        logits: dict[LanguageModel[Any], Tensor] = {
            model: self._forward(model, cache, arguments)
            for model, cache in zip(self._models, self._caches, strict=True)
        }
        texts = tuple(int(each.state.request_id) for each in due)
        drafted = tuple(guesses.get(id(each.state), NO_DRAFT) for each in due)
        known = tuple(self._known[each.state.request_id] for each in due)
        tokens = choose(Due(texts, drafted, logits, known, read)) if due else ()
        for place, (each, guess, own) in enumerate(zip(due, drafted, tokens, strict=True)):
            inputs.output_ids[0, place] = own[-1] if own else 0
            if guess.tokens:
                self._forget(each, len(guess.tokens), own[:-1] if own else ())
        processor.update_batch()
        for each, own in zip(due, tokens, strict=True):
            if own is None:
                del self._known[each.state.request_id]
                processor.scheduler.finish_request(each.state.request_id)
                # transformers sets it when it takes blocks from a text, until another one ends.
                processor.scheduler.block_new_requests = False

    def _drafted(self, draft: Drafted) -> dict[int, Draft]:
        """Let texts read drafted tokens after their last one; the drafts, by the state's id.

        Half of a forward is kept for prompts. A window that slides forgets what it writes over, so
        nothing that is read there can be taken back.
        """
        guesses = dict[int, Draft]()
        if not self._processor.cache.use_prefix_sharing:
            return guesses
        active = self._processor.scheduler.active_requests  # also what was removed just now
        known = (active[name] for name in self._known if name in active)
        states = [each for each in known if each.generated_tokens]
        room = max(0, self._processor.max_batch_tokens - len(states)) // 2
        found = draft([int(each.request_id) for each in states]) if states else ()
        for state, each in zip(states, found, strict=True):
            guesses[id(state)] = guess = each.cut(room)
            state.tokens_to_process = [state.generated_tokens[-1], *guess.tokens]
            room -= len(guess.tokens)
        return guesses

    def _forget(self, read: Any, guessed: int, right: Tokens) -> None:
        """Go back to the last drafted token that was right; later ones are written over."""
        state = read.state
        state.position_offset -= read.query_length
        length = read.query_length - guessed + len(right)
        read.complete_blocks = self._processor.cache.count_new_complete_blocks(state, length)
        state.position_offset += length
        state.generated_tokens += right

    def _forward(
        self, model: TransformersModel, cache: Any, arguments: Arguments
    ) -> Float[Tensor, "texts vocabulary"]:
        wanted = arguments["logits_indices"]
        if cache is not self._processor.cache:
            arguments = arguments | self._moved(cache, arguments)
        if "logits_to_keep" not in inspect.signature(model.module.forward).parameters:
            return model.module(**arguments).logits[0, wanted].float()
        return model.module(**arguments, logits_to_keep=wanted).logits[0].float()

    def _moved(self, cache: Any, arguments: Arguments) -> Arguments:
        """The arguments of a model beside the first: the same blocks in its own cache."""
        own, first = _stride(cache), _stride(self._processor.cache)
        return {"cache": cache} | {
            name: [each // first * own + each % first for each in arguments[name]]
            for name in ("read_index", "write_index")
        }

    def _cache(self, model: TransformersModel) -> Any:
        """A cache of another model with the blocks of the first one's."""
        from transformers.generation.continuous_batching.cache import PagedAttentionCache

        return PagedAttentionCache(
            model.module.config.get_text_config(),
            self._manager.continuous_batching_config,
            model.device,
            self._manager.distributed_helper,
            model.module.dtype,
        )

    def _probe(self) -> None:
        """Compare with plain forwards: prompts read in parts, the last with a shared prefix."""
        width = min(model.vocabulary.width for model in self._models)
        length = min([PROBE, *(model.context or PROBE for model in self._models)])
        tokens = [int(each) for each in torch.arange(length) * 7919 % width]
        for text, prompt in enumerate((tokens[:-1], tokens[: length // 2], tokens)):
            expected = {model: model.prefill([prompt])[1][0] for model in self._models}
            seen = dict[LanguageModel[Any], Tensor]()

            def keep(due: Due, seen: Any = seen) -> list[None]:
                seen |= {model: rows[0] for model, rows in due.logits.items()}
                return [None]

            self.add(-1 - text, prompt)  # numbers that no text has
            while not seen:
                self.step(keep)
            for model, row in expected.items():
                if not (seen[model] - row).abs().mean() <= CLOSE * row.std():
                    raise _unsupported(model, "its logits differ from those of a plain forward")


def _check(model: TransformersModel, models: Sequence[TransformersModel]) -> None:
    """Refuse a model that transformers does not run in continuous batches."""
    config = model.module.config
    attention = config._attn_implementation
    if not (attention == "sdpa" or attention.startswith("flash_attention")):
        raise _unsupported(model, f"its attention is {attention}, not sdpa")
    if not model.module._supports_attention_backend:
        raise _unsupported(model, "its attention cannot be replaced")
    first = models[0]
    if (model.device, model.module.dtype) != (first.device, first.module.dtype):
        raise _unsupported(model, "it differs from the other models in its device or dtype")
    sliding = getattr(config.get_text_config(), "sliding_window", None)
    if sliding is not None and len(models) > 1:
        raise _unsupported(model, "it has a sliding window, and the expression has more models")


def _blocks(models: Sequence[TransformersModel], rows: int) -> int:
    """Number of blocks: enough for all rows, if they fit into memory."""
    from transformers.generation.continuous_batching.utils import (
        find_head_dim,
        find_num_key_value_heads,
    )

    size = 0
    for model in models:
        config = model.module.config.get_text_config()
        heads = find_num_key_value_heads(config) * find_head_dim(config)
        size += 2 * config.num_hidden_layers * heads * model.module.dtype.itemsize * PAGE
    memory = MEMORY
    if models[0].device.type == "cuda":
        memory = int(SHARE * torch.cuda.mem_get_info(models[0].device)[0])
    longest = max(model.context or memory for model in models)
    needed = rows * (longest // PAGE + 1)
    return max(4, min(needed, memory // size))


def _stride(cache: Any) -> int:
    (allocator,) = cache.cache_allocators.values()
    return allocator.block_physical_stride


def _unsupported(model: TransformersModel, reason: str) -> UnsupportedError:
    name = type(model.module).__name__
    return UnsupportedError(
        f"{name} does not run in transformers' continuous batching: {reason}",
        feature="continuous batching",
    )
