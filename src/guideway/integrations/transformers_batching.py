"""Constraints and settings for requests of transformers' continuous batching.

transformers' manager keeps its thread, its cache and its results; a logits processor takes the
choice of tokens over, for the requests that were added here. All others run as before. With
guidance, and for values instead of tokens, use `guideway.Engine`.

Async batching and CUDA graphs are refused: a constraint of any grammar is a state on the host.
"""

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers.generation.continuous_batching.cb_logits_processors import (
    ContinuousBatchingLogitsProcessor,
)

from guideway.api.prompts import read_sampling, read_source
from guideway.constraint.compile import compile as compile_source
from guideway.errors import SourceError, UnsupportedError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.limits import checked
from guideway.generation.row.request import Request
from guideway.generation.row.sequence import Sequence as Row
from guideway.generation.step import Batch, take
from guideway.models.transformers import TransformersModel

if TYPE_CHECKING:
    from transformers.generation.continuous_batching.continuous_api import ContinuousBatchingManager

NAMED: Final = "guideway-{}"


class Batching:
    """A manager of transformers' continuous batching that also takes constrained requests.

    Example:
        >>> manager = model.init_continuous_batching()  # doctest: +SKIP
        >>> batching = Batching(manager, tokenizer)  # doctest: +SKIP
        >>> manager.start()  # doctest: +SKIP
        >>> name = batching.add_request(ids, Person, temperature=0.7, seed=1)  # doctest: +SKIP
        >>> manager.get_result(name).generated_tokens  # doctest: +SKIP

    Attributes:
        manager: transformers' manager.
        vocabulary: the tokens as bytes; sources may be compiled for it in advance.
    """

    def __init__(self, manager: "ContinuousBatchingManager", tokenizer: Any) -> None:
        """Prepare a manager that has not started.

        Raises:
            UnsupportedError: the manager has started, or uses async batching, CUDA graphs or
                several sequences a request.
        """
        config = manager.continuous_batching_config
        for wrong, what in (
            (manager.batch_processor is not None or manager.is_running(), "that has started"),
            (config.use_async_batching, "with async batching"),
            (any(config.cuda_graph_booleans), "with CUDA graphs"),
            (manager.num_return_sequences > 1, "with num_return_sequences > 1"),
        ):
            if wrong:
                raise UnsupportedError(f"a manager {what} cannot take constraints", feature=what)
        self.manager = manager
        self._ensemble = Ensemble.of(TransformersModel(manager.model, tokenizer))
        self.vocabulary = self._ensemble.vocabulary
        self._rows: dict[str, Row] = {}
        self._numbers = count()
        listed: Any = manager.logit_processor
        listed.logits_processor.insert(0, _Choice(self._ensemble, self._rows))  # others: later
        listed.tensors_required += 1
        listed.do_processing = True

    def add_request(
        self,
        input_ids: Sequence[int],
        source: Any = None,
        *,
        request_id: str | None = None,
        streaming: bool = False,
        **settings: Any,
    ) -> str:
        """Add a request; the source is compiled here, not in the manager's thread.

        Args:
            input_ids: the tokens of the prompt.
            source: what the text must be, as for `Model.generate`; None for any text.
            request_id: its name; new by default.
            streaming: whether the manager gives each token.
            **settings: the settings by the names of `guideway.Sampling`, without searches.

        Returns:
            The name of the request, for the manager.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `Model.generate`.
        """
        sampling = read_sampling(None, settings)
        if sampling.search or sampling.num_return_sequences > 1:
            raise UnsupportedError("a request generates one text, without a search", feature="n")
        read = read_source(source)
        constraint = None if read is None else compile_source(read, self.vocabulary)
        asked = Request(tuple(input_ids), constraint, sampling, free=read is None)
        (asked,) = asked.samples()
        name = NAMED.format(next(self._numbers)) if request_id is None else request_id
        if name in self._rows:
            raise SourceError(f"there is a request {name!r} already")
        row = Row(0, asked, self.vocabulary, checked(asked, self._ensemble))
        self._rows[name] = row
        self.manager.add_request(
            [*input_ids], name, max_new_tokens=row.most + 1, streaming=streaming, eos_token_id=-1
        )
        return name

    def cancel_request(self, request_id: str) -> None:
        """Cancel a request."""
        self._rows.pop(request_id, None)
        self.manager.cancel_request(request_id)


class _Choice(ContinuousBatchingLogitsProcessor):
    """Chooses the tokens of our requests: their scores become 0 for it, −∞ for all others."""

    supported_kwargs: dict[str, type] = {}  # noqa: RUF012  transformers' own attribute
    ignored_kwargs = ()

    def __init__(self, ensemble: Ensemble, rows: dict[str, Row]) -> None:
        self._ensemble, self._rows = ensemble, rows
        self._due = list[Any]()

    def fill_defaults(self, int32_tensor: Int[Tensor, "one"]) -> None:
        int32_tensor.zero_()

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> Int[Tensor, "requests"]:
        self._due = [each.state for each in requests_with_new_token]
        return torch.zeros(len(self._due), dtype=torch.int32)

    def __call__(
        self, scores: Float[Tensor, "texts vocabulary"], tensor_arg: Tensor
    ) -> Float[Tensor, "texts vocabulary"]:
        """Advance our rows by a token each."""
        ours = [n for n, state in enumerate(self._due) if state.request_id in self._rows]
        if not ours:
            return scores
        rows = [self._rows[self._due[n].request_id] for n in ours]
        (leaf,) = self._ensemble.leaves
        batch = Batch.of(rows, self._ensemble.device)
        before = [len(row.tokens) for row in rows]
        logits = {leaf: scores[ours].float()}
        take(self._ensemble, logits, batch, [*range(len(rows))])
        ends = sorted(self._ensemble.vocabulary.eos_ids)
        tokens = [
            row.tokens[-1] if len(row.tokens) > count else (ends or [0])[0]
            for row, count in zip(rows, before, strict=True)
        ]
        for n, row, token in zip(ours, rows, tokens, strict=True):
            state = self._due[n]
            if row.finish_reason is not None:
                state._eos_token_ids.add(token)
                state.error = None if row.error is None else str(row.error)
                del self._rows[state.request_id]
        chosen = scores.clone()
        chosen[ours] = -torch.inf
        chosen[ours, tokens] = 0.0
        return chosen
