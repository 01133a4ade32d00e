"""vLLM: guideway as its structured-output back end, and as logits processors.

`Backend` serves `structured_outputs`, `response_format` and `tool_choice` of every client, with
speculation and reasoning parsers:

    vllm serve MODEL --structured-outputs-config.backend guideway

The entry point `vllm.general_plugins` calls `register` in each process of vLLM. A program that
makes `vllm.LLM` itself calls it first. Without the flag, vLLM behaves as before.

`GuidewayV1` and `GuidewayV2` read `extra_args["guideway"]` of a request, beside any back end:

    LLM(MODEL, logits_processors=["guideway.integrations.vllm:GuidewayV1"])

V1 is for vLLM's first model runner (CPUs), V2 for its second one (CUDA). No entry point adds them,
because vLLM refuses to start with a processor of the other interface.
"""

from collections.abc import Mapping
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from guideway.constraint.matcher import Matcher
from guideway.errors import GuidewayError
from guideway.extras import library
from guideway.integrations.requests import Compiler
from guideway.integrations.vllm_processors import V1, V2
from guideway.logits.bitmask import allocate_token_bitmask
from guideway.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

NAME: Final = "guideway"
_USER: Final = "guideway.integrations.vllm"
_TYPES: Final = "vllm.v1.structured_output.backend_types"


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

    def fill_bitmask(self, bitmask: "torch.Tensor", batch_index: int) -> None:
        self.matcher.fill_next_token_bitmask(bitmask, batch_index)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated()

    def reset(self) -> None:
        self.matcher.reset()


class StructuredOutputs:
    """Compiles the structured outputs of requests, as vLLM's `StructuredOutputBackend`."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        """Read the vocabulary of a fast tokenizer of transformers."""
        self.vllm_config, self.tokenizer, self.vocab_size = vllm_config, tokenizer, vocab_size
        self._compiler = _compiler(tokenizer, vocab_size)

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Any:
        """The grammar of a request. vLLM calls this in a pool of threads."""
        request = {request_type.name.lower(): grammar_spec}
        return _named("Grammar")(Matcher(self._compiler.compile(request, stop_token_ids or None)))

    def allocate_token_bitmask(self, max_num_seqs: int) -> "torch.Tensor":
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

    names: Any = Literal[(*get_args(config.StructuredOutputsBackend), NAME)]
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
