"""vLLM: guideway as its structured-output back end, and as logits processors.

`Backend` serves `structured_outputs`, `response_format` and `tool_choice` of every client, with
speculation and reasoning parsers:

    vllm serve MODEL --structured-outputs-config.backend guideway

The entry point `vllm.general_plugins` calls `register` in each process of vLLM. A program that
makes `vllm.LLM` itself calls it first. Without the flag, vLLM behaves as before.

`GuidewayV1` and `GuidewayV2` read `extra_args["guideway"]` of a request, beside any back end:

    LLM(MODEL, logits_processors=["guideway.integrations.vllm:GuidewayV1"])

V1 is for vLLM's first model runner (CPUs), V2 for its second one (CUDA). No entry point adds them,
because vLLM refuses to start with a processor of the other interface. A constraint
(`extra_args={"guideway": {"json": …}}`, `requests` has the kinds) is checked without the model's
tokens when a request is validated, and compiled in a pool of threads while the prompt is read.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Final, get_args
from typing import Literal as OneOf

import numpy as np
import torch
from torch import Tensor

from guideway.automaton.token_tries import words
from guideway.constraint.batch import fill_bitmask
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.matcher import Matcher
from guideway.errors import GuidewayError, LimitError, UnsupportedError
from guideway.extras import library
from guideway.generation.row.cursor import end_row
from guideway.integrations.requests import Compiler, read_request
from guideway.language.budget import Budget
from guideway.logits.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from guideway.logits.mask import send
from guideway.sources.sources import Literal
from guideway.vocabulary.vocabulary import Vocabulary

NAME: Final = "guideway"  # of the back end, and of the key in `extra_args`
_USER: Final = "guideway.integrations.vllm"
_TYPES: Final = "vllm.v1.structured_output.backend_types"
MOST_STATES: Final = 4096  # of tables on a device: 128 MiB of masks for 262,144 tokens
TABLES: Final = Budget(fuel=Budget.untrusted().fuel, rows=64)
logger: Final = logging.getLogger(__name__)


def constraint_of(params: Any) -> Any:
    """The constraint that a request's `SamplingParams` name, or None."""
    given: dict[str, Any] | None = params.extra_args
    return None if given is None else given.get(NAME)


def checked(params: Any) -> CompiledConstraint | None:
    """The constraint of a request over single bytes, without the model's tokens.

    A ValueError is answered with 400.
    """
    request = constraint_of(params)
    if request is None:
        return None
    if params.structured_outputs is not None:
        raise ValueError("a request has either extra_args['guideway'] or structured_outputs")
    try:
        return compile_source(read_request(request), _bytes(), Budget.untrusted())
    except GuidewayError as error:
        raise ValueError(f"{NAME}: {error}") from None


@lru_cache(1)
def _bytes() -> Vocabulary:
    return Vocabulary([bytes([byte]) for byte in range(256)])


def compiler_of(model_config: Any, budget: Budget | None = None) -> Compiler:
    tokenizer = library("vllm.tokenizers", NAME).cached_tokenizer_from_config(model_config)
    width = model_config.get_vocab_size()
    return Compiler(Vocabulary.from_transformers(tokenizer), width, budget)


def _compiled(compiler: Compiler, request: object, ends: Any) -> CompiledConstraint:
    """The constraint, or the empty text if the model's tokens cannot spell the source."""
    try:
        return compiler.compile(request, ends)
    except GuidewayError:
        logger.exception("a validated constraint cannot be compiled for the model: no text")
        return compile_source(Literal(""), compiler.vocabulary(ends))


class _Row:
    """A row of the batch: its constraint, and a reference to its tokens, which vLLM extends."""

    def __init__(self, future: "Future[CompiledConstraint]", tokens: list[int]) -> None:
        self._future, self._tokens = future, tokens
        self._matcher: Matcher | None = None
        self._taken = 0

    def matcher(self, compiler: Compiler) -> Matcher:
        """The cursor after all tokens."""
        if self._matcher is None:
            self._matcher = Matcher(self._future.result())
        if len(self._tokens) < self._taken:  # vLLM drops tokens after a failed transfer of keys
            self._matcher.reset()
            self._taken = 0
        new = self._tokens[self._taken :]
        valid = self._matcher.validate_tokens(new)
        self._matcher.accept_tokens(new[:valid])
        if valid < len(new) and not self._matcher.is_terminated():
            logger.error("%s were drawn outside the constraint: the text ends", new)
            self._matcher = Matcher(compile_source(Literal(""), compiler.vocabulary()))
        self._taken = len(self._tokens)
        return self._matcher


class V1:
    """Constraints of single requests in vLLM's first model runner; other rows are not touched."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._compiler = compiler_of(vllm_config.model_config)
        self._rows: dict[int, _Row] = {}

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        checked(sampling_params)

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the requests in the batch: removed, then added, then moved."""
        if batch_update is None:
            return
        for place in batch_update.removed:
            self._rows.pop(place, None)
        for place, params, _, tokens in batch_update.added:
            self._rows.pop(place, None)
            request = constraint_of(params)
            if request is not None:
                compiler, ends = self._compiler, params.all_stop_token_ids
                self._rows[place] = _Row(compiler.run(_compiled, compiler, request, ends), tokens)
        for one, other, direction in batch_update.moved:
            moved, replaced = self._rows.pop(one, None), self._rows.pop(other, None)
            if moved is not None:
                self._rows[other] = moved
            if replaced is not None and direction.name == "SWAP":
                self._rows[one] = replaced

    def apply(self, logits: Tensor) -> Tensor:
        """Set the logits of tokens that a row's constraint forbids to −∞."""
        if not self._rows:
            return logits
        matchers = [row.matcher(self._compiler) for row in self._rows.values()]
        bitmask = allocate_token_bitmask(len(matchers), logits.shape[1])
        fill_bitmask(matchers, bitmask)
        places = send([*self._rows], logits.device)
        held = logits[places]
        apply_token_bitmask_inplace(held, bitmask)
        logits[places] = held
        return logits


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """A finite constraint on the device. Index −1 is the last row: no state, which can only end."""

    token_class: Tensor
    next_state: Tensor
    mask: Tensor
    start: int

    def walk(self, tokens: Sequence[int]) -> int:
        """The state after these tokens, on the host."""
        state, following, kinds = self.start, self.next_state.cpu(), self.token_class.cpu()
        for token in tokens:
            state = int(following[state, int(kinds[token])])
        return state


class V2:
    """Constraints of single requests in vLLM's second model runner: all on the device.

    The interface gives no tokens to the host, so a constraint must be finite; others are refused.
    """

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        """Read the model's tokenizer, and allocate a state for each row of each request."""
        self._compiler = compiler_of(vllm_config.model_config, TABLES)
        self._known, device = req_states, req_states.device
        self._steps = (vllm_config.num_speculative_tokens or 0) + 1
        slots = req_states.max_num_reqs
        # Position p of a sequence is column p % columns: a step writes at most `steps` positions,
        # and reads the one before them.
        self._columns = self._steps + 1
        self._states = torch.full((slots, self._columns), -1, device=device)
        self._first = torch.full((slots,), -1, device=device)  # the state after the prefill
        self._last = torch.full((slots,), -1, device=device)  # the position of its last token
        self._group = torch.full((slots,), -1, device=device)
        self._asked: dict[int, Future[_Tables]] = {}
        self._fresh: set[int] = set()
        self._on_device = lru_cache(32)(self._sent)

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Raise ValueError for a request whose source is refused, or is not finite."""
        constraint = checked(sampling_params)
        if constraint is None:
            return
        try:
            constraint.tables(MOST_STATES)
        except (LimitError, UnsupportedError) as error:
            raise ValueError(
                f"{NAME}: GuidewayV2 needs a finite constraint ({error}); vLLM gives its "
                "processors no tokens on the host. Use structured_outputs with the backend guideway"
            ) from None

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Begin to compile the constraint of a request; return whether it has one."""
        self._asked.pop(req_idx, None)
        self._fresh.discard(req_idx)
        request = constraint_of(sampling_params)
        if request is None:
            return False
        ends = sampling_params.all_stop_token_ids
        self._asked[req_idx] = self._compiler.run(self._tables, request, ends)
        self._fresh.add(req_idx)
        return True

    def apply(self, logits: Tensor, ctx: Any) -> Tensor:
        """Advance the states of the rows, and mask their logits."""
        slots = [slot for slot in ctx.idx_mapping_np.tolist() if slot in self._asked]
        held = {slot: self._asked[slot].result() for slot in slots}
        if not held:
            return logits
        groups = {id(table): table for table in held.values()}
        numbers = {name: number for number, name in enumerate(groups)}
        for slot in self._fresh & held.keys():
            self._begin(slot, held[slot])
        device = logits.device
        self._group.fill_(-1)
        self._group[send([*held], device)] = send([numbers[id(t)] for t in held.values()], device)
        rows, position = ctx.expanded_idx_mapping.long(), ctx.pos.long()
        token = ctx.input_ids.long().clamp(min=0)  # a draft may be padded with -1
        group, begun = self._group[rows], position == self._last[rows]
        state = torch.full_like(rows, -1)
        # Row n of a request follows row n - 1, so it is right from iteration n on.
        for _ in range(1 if len(rows) == len(ctx.idx_mapping_np) else self._steps):
            before = self._states[rows, (position - 1) % self._columns]
            for number, table in enumerate(groups.values()):
                own = group == number
                column = table.token_class[token].long()
                after = table.next_state[torch.where(own, before, -1), column].long()
                state = torch.where(own, after, state)
            state = torch.where(begun, self._first[rows], state)
            self._states[rows, position % self._columns] = state
        bitmask = torch.full(
            (len(rows), words(logits.shape[1])), -1, dtype=torch.int32, device=device
        )
        for number, table in enumerate(groups.values()):
            own = group == number
            bitmask = torch.where(own[:, None], table.mask[torch.where(own, state, -1)], bitmask)
        apply_token_bitmask_inplace(logits, bitmask)
        return logits

    def _begin(self, slot: int, table: _Tables) -> None:
        """Set the state after the prefill; it has output tokens if the request was preempted."""
        self._fresh.discard(slot)
        prompt, prefill = (
            int(each.np[slot]) for each in (self._known.prompt_len, self._known.prefill_len)
        )
        tokens = self._known.all_token_ids.gpu[slot, prompt:prefill].tolist()
        self._states[slot] = -1
        self._first[slot] = table.walk(tokens)
        self._last[slot] = prefill - 1

    def _tables(self, request: object, ends: Any) -> _Tables:
        return self._on_device(_compiled(self._compiler, request, ends))

    def _sent(self, constraint: CompiledConstraint) -> _Tables:
        tables = constraint.tables(MOST_STATES)
        nowhere = np.full((1, tables.next_state.shape[1]), -1, np.int32)
        mask = np.concatenate([tables.mask, end_row(constraint.vocabulary)[None]]).view(np.int32)
        device = self._known.device
        return _Tables(
            send(tables.token_class.astype(np.int32), device),
            send(np.concatenate([tables.next_state, nowhere]), device),
            send(mask, device),
            tables.start,
        )


class Grammar:
    """The cursor of one request, as vLLM's `StructuredOutputGrammar`."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Accept tokens, and ignore those after the end; return False if one is not allowed."""
        valid = self.matcher.validate_tokens(tokens)
        self.matcher.accept_tokens(tokens[:valid])
        return valid == len(tokens) or self.matcher.is_terminated()

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        return tokens[: self.matcher.validate_tokens(tokens)]

    def rollback(self, num_tokens: int) -> None:
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Tensor, batch_index: int) -> None:
        self.matcher.fill_next_token_bitmask(bitmask, batch_index)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated()

    def reset(self) -> None:
        self.matcher.reset()


class StructuredOutputs:
    """Compiles the structured outputs of requests, as vLLM's `StructuredOutputBackend`."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        self.vllm_config, self.tokenizer, self.vocab_size = vllm_config, tokenizer, vocab_size
        self._compiler = _compiler(tokenizer, vocab_size)

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Any:
        """The grammar of a request. vLLM calls this in a pool of threads."""
        request = {request_type.name.lower(): grammar_spec}
        return _named("Grammar")(Matcher(self._compiler.compile(request, stop_token_ids or None)))

    def allocate_token_bitmask(self, max_num_seqs: int) -> Tensor:
        return allocate_token_bitmask(max_num_seqs, self.vocab_size)

    def destroy(self) -> None:
        _compiler.cache_clear()


@lru_cache(2)
def _compiler(tokenizer: Any, width: int) -> Compiler:
    return Compiler(Vocabulary.from_transformers(tokenizer), width)


_NAMES: Final[Mapping[str, tuple[type, str, str]]] = {
    "Backend": (StructuredOutputs, _TYPES, "StructuredOutputBackend"),
    "Grammar": (Grammar, _TYPES, "StructuredOutputGrammar"),
    "GuidewayV1": (V1, "vllm.v1.sample.logits_processor", "LogitsProcessor"),
    "GuidewayV2": (V2, "vllm.v1.worker.gpu.sample.logits_processor", "LogitsProcessor"),
}
"""Our classes by name: their methods, and the module and name of vLLM's abstract class."""


def __getattr__(name: str) -> type:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _named(name)


@lru_cache
def _named(name: str) -> Any:
    """One of our classes as a subclass of vLLM's; vLLM is imported here only."""
    methods, module, abstract = _NAMES[name]
    base = getattr(library(module, _USER), abstract)
    return type(name, (methods, base), {"__module__": __name__, "__doc__": methods.__doc__})


def register() -> None:
    """Make vLLM know the structured-output back end "guideway"; calling it again does nothing.

    Raises:
        ModelError: vLLM is not installed.
    """
    config = library("vllm.config.structured_outputs", _USER)
    params = library("vllm.sampling_params", _USER).SamplingParams
    if NAME in get_args(config.StructuredOutputsBackend):
        return
    _allow_name(config)
    validate = params._validate_structured_outputs

    @wraps(validate)
    def validated(self: Any, model_config: Any, settings: Any, tokenizer: Any) -> None:
        if self.structured_outputs is None or getattr(settings, "backend", None) != NAME:
            validate(self, model_config, settings, tokenizer)
        else:
            _validate(self, model_config, tokenizer)

    params._validate_structured_outputs = validated
    manager = library("vllm.v1.structured_output", _USER).StructuredOutputManager
    begin = manager.grammar_init

    @wraps(begin)
    def begun(self: Any, request: Any) -> None:
        params = request.sampling_params and request.sampling_params.structured_outputs
        if self.backend is None and getattr(params, "_backend", None) == NAME:
            width = self.vllm_config.model_config.get_vocab_size()
            self.backend = _named("Backend")(self.vllm_config, self.tokenizer, width)
            self.backend_name = NAME
        begin(self, request)

    manager.grammar_init = begun


def _allow_name(config: Any) -> None:
    """Add our name to the values of `--structured-outputs-config.backend`."""
    from pydantic.dataclasses import rebuild_dataclass

    names: Any = OneOf[(*get_args(config.StructuredOutputsBackend), NAME)]
    config.StructuredOutputsBackend = names
    settings = config.StructuredOutputsConfig
    settings.__annotations__["backend"] = names
    settings.__dataclass_fields__["backend"].type = names
    rebuild_dataclass(settings, force=True)


def _validate(params: Any, model_config: Any, tokenizer: Any) -> None:
    """Compile the constraint of a request, in vLLM's front end; a wrong one is answered with 400.

    vLLM calls this in the threads that tokenize, not in the loop of an engine.
    """
    outputs = params.structured_outputs
    refuse = library("vllm.exceptions", _USER).VLLMValidationError
    for wrong, why in (
        (getattr(model_config, "is_diffusion", False), "a diffusion model"),
        (tokenizer is None, "skip_tokenizer_init"),
        (outputs._backend not in (None, NAME), f"the back end {outputs._backend!r} in a request"),
        (outputs.disable_any_whitespace, "disable_any_whitespace"),
        (outputs.whitespace_pattern is not None, "whitespace_pattern"),
        (outputs.json_object is False, "json_object: false"),
    ):
        if wrong:
            raise refuse(f"guideway does not support structured outputs with {why}")
    outputs._backend = NAME
    read = library("vllm.v1.structured_output.request", _USER).get_structured_output_key
    try:
        kind, spec = read(outputs)
        compiler = _compiler(tokenizer, model_config.get_vocab_size())
        compiler.compile({kind.name.lower(): spec}, params.all_stop_token_ids or None)
    except (GuidewayError, RecursionError) as error:
        raise refuse(f"{NAME}: {error}") from None
