"""SGLang: guideway as its grammar back end.

    sglang serve --model-path MODEL --grammar-backend guideway

The entry point `sglang.srt.plugins` calls `register` in each process of SGLang. Requests name
`json_schema`, `regex`, `ebnf` (GBNF or Lark) or `structural_tag`, as for its other back ends;
`response_format` and tools come as these, too.

SGLang wraps only its own back ends for reasoning models, so `_begin` wraps ours in the same class.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from guideway.constraint.matcher import Matcher
from guideway.errors import GuidewayError
from guideway.extras import library
from guideway.integrations.requests import Compiler
from guideway.logits.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from guideway.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

NAME: Final = "guideway"
_USER: Final = "guideway.integrations.sglang"
_BASE: Final = "sglang.srt.constrained.base_grammar_backend"
_ANY: Final = "$$ANY$$"  # SGLang's name of any JSON value


class Masks:
    """Packed masks on the CPU, which SGLang asks of a grammar or of the back end."""

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> "torch.Tensor":
        return allocate_token_bitmask(batch_size, vocab_size)

    @staticmethod
    def reset_vocab_mask(vocab_mask: "torch.Tensor") -> None:
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: "torch.Tensor", device: Any) -> "torch.Tensor":
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: "torch.Tensor", vocab_mask: "torch.Tensor") -> None:
        apply_token_bitmask_inplace(logits, vocab_mask)


class Grammar(Masks):
    """The cursor of one request, as SGLang's `BaseGrammarObject`."""

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self.matcher = matcher
        self.current_token: int | None = None

    def accept_token(self, token: int) -> None:
        """Accept a token, or ignore it after the end.

        Raises:
            ValueError: the token is not allowed. SGLang aborts the request.
        """
        if self.matcher.is_terminated():
            return
        if not self.matcher.accept_token(token):
            raise ValueError(f"token {token} is not in the mask of {self.matcher!r}")
        self.current_token = token

    def rollback(self, k: int) -> None:
        self.matcher.rollback(k)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated()

    def fill_vocab_mask(self, vocab_mask: "torch.Tensor", idx: int) -> None:
        self.matcher.fill_next_token_bitmask(vocab_mask, idx)

    def copy(self) -> Any:
        """A cursor at the start of the text, for another request."""
        return type(self)(Matcher(self.matcher.constraint))


class GrammarBackend(Masks):
    """Compiles the grammars of requests, as SGLang's `BaseGrammarBackend`, in its threads."""

    def __init__(self, tokenizer: Any, vocab_size: int, ends: set[int] | None) -> None:
        """Read the vocabulary of a fast tokenizer; texts end with the model's end ids."""
        super().__init__()
        vocabulary = Vocabulary.from_transformers(tokenizer)
        self._compiler, self._ends = Compiler(vocabulary, vocab_size), ends

    def dispatch_json(self, key_string: str) -> Any:
        return self._compiled({"json": True if key_string == _ANY else key_string})

    def dispatch_regex(self, key_string: str) -> Any:
        return self._compiled({"regex": key_string})

    def dispatch_ebnf(self, key_string: str) -> Any:
        return self._compiled({"grammar": key_string})

    def dispatch_structural_tag(self, key_string: str) -> Any:
        return self._compiled({"structural_tag": key_string})

    def _compiled(self, request: object) -> Any:
        try:
            return _named("Grammar")(Matcher(self._compiler.compile(request, self._ends)))
        except GuidewayError as error:
            return library(_BASE, _USER).InvalidGrammarObject(str(error))


_NAMES: Final = {
    "Grammar": (Grammar, "BaseGrammarObject"),
    "GrammarBackend": (GrammarBackend, "BaseGrammarBackend"),
}


@lru_cache
def _named(name: str) -> Any:
    """One of our classes as a subclass of SGLang's."""
    methods, base = _NAMES[name]
    bases = (methods, getattr(library(_BASE, _USER), base))
    return type(name, bases, {"__module__": __name__, "__doc__": methods.__doc__})


def register() -> None:
    """Make SGLang know the grammar back end "guideway".

    Raises:
        ModelError: SGLang is not installed.
    """
    choices = library("sglang.srt.arg_groups.choices", _USER)
    if NAME not in choices.GRAMMAR_BACKEND_CHOICES:
        choices.add_grammar_backend_choices([NAME])
    library(_BASE, _USER).register_grammar_backend(NAME, _begin)


def _begin(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any = None) -> Any:
    """The back end, wrapped for reasoning as SGLang wraps its own."""
    ends = {eos_token_ids} if isinstance(eos_token_ids, int) else eos_token_ids
    backend = _named("GrammarBackend")(tokenizer, vocab_size, ends and set(ends))
    serving = library("sglang.srt.runtime_context", _USER).get_serving()
    if not serving.reasoning_parser:
        return backend
    parsing = library("sglang.srt.parser.reasoning_parser", _USER)
    parser = parsing.ReasoningParser(
        model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer
    )
    if not parser.detector.get_think_end_token_ids(tokenizer):
        return backend
    return library("sglang.srt.constrained.reasoner_grammar_backend", _USER).ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking
    )
