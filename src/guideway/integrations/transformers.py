"""Constraints and expressions in transformers' own `generate`: a processor, and a prefix function.

    model.generate(**inputs, logits_processor=[LogitsProcessor(Person, vocabulary)])
    model.generate(**inputs, prefix_allowed_tokens_fn=prefix_allowed_tokens_fn(Person, vocabulary))

Both compute the allowed tokens from the tokens of a row and the running call (`transformers_call`),
and keep no other state. So one object serves any number of calls, also in parallel, in each mode
that docs/guides/transformers.md lists: a beam that left the language never comes back, and drafts
are constrained too.

`generate_batch` (continuous batching) is refused: it takes no processors of users, and shows its
own only the last token of each row. `generate` with `cache_implementation="paged"` never calls
`logits_processor`, so this module cannot refuse it. There, transformers refuses the prefix
function.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.generation import logits_process

from guideway.api.model import Model
from guideway.automaton.token_tries import Row, words
from guideway.automaton.token_tries import unpack as ids_of
from guideway.errors import DeadEndError, LimitError, ModelError, SourceError, UnsupportedError
from guideway.integrations.transformers_call import Call, check_alone, check_last, running_row
from guideway.integrations.transformers_guidance import Guidance
from guideway.integrations.transformers_texts import Asked, Outside, Texts
from guideway.logits.mask import unpack, upload

LOST: Final = -1e20  # a score that no beam recovers from, and that no temperature makes infinite
LIKELY: Final = 256  # tokens of a row that are judged for a minimum of tokens, if it is sampled


class LogitsProcessor(logits_process.LogitsProcessor):
    """A processor that holds the texts of transformers to a constraint, and guides them.

    It must be the last of `logits_processor`, because a later processor could undo the constraint.

    Example:
        >>> import guideway as gw, torch
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> processor = LogitsProcessor(gw.Regex("ab"), vocabulary, prompt_length=1)
        >>> processor(torch.tensor([[1, 0]]), torch.zeros(1, 3)).tolist()
        [[-inf, 0.0, -inf]]

    Attributes:
        supports_continuous_batching: False, because it needs all tokens of a row.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        source: Any,
        vocabulary: Any = None,
        *,
        guidance: Model | None = None,
        prompts: Any = None,
        prompt_length: int | None = None,
        max_new_tokens: int | None = None,
        joint: bytes = b"",
    ) -> None:
        """Compile the source.

        Args:
            source: the source of the texts, as in `guideway.Model.generate`: a Python type, a
                source, a JSON Schema as a dict, a compiled constraint, None for any text; or a list
                of these, one for each prompt of a batch.
            vocabulary: the model's tokens, as wide as its logits: `guideway.Vocabulary
                .from_transformers(tokenizer, width, model.generation_config)`. Not needed for a
                compiled constraint, or with `guidance`.
            guidance: an expression that contains the running model
                (`guideway.load(model, tokenizer)`). The processor runs its other models.
            prompts: the prompts as texts or chat messages, one for each row of the batch. Needed
                for classifiers, and for models with another prompt.
            prompt_length: the number of tokens before the text in each row. Needed in loops other
                than `generate`, or if the prompt contains the beginning of the text.
            max_new_tokens: greatest number of tokens of a text, if it is below that of `generate`.
            joint: bytes that the model spells before the text and that do not belong to it: those
                of a chat template, or `vocabulary.lead` for a model with an encoder.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `guideway.compile`.
            ModelError: the vocabularies are different.
        """
        self._guidance = None if guidance is None else Guidance(guidance, prompts)
        if self._guidance is None and prompts is not None:
            raise SourceError("prompts= needs guidance=, which is missing")
        given = vocabulary
        if self._guidance is not None and vocabulary is None:
            given = self._guidance.vocabulary
        self._texts = Texts(source, given, joint, prompt_length, max_new_tokens)
        if self._guidance is not None and self._guidance.vocabulary != self._texts.vocabulary:
            raise ModelError("the vocabulary of guidance= differs from that of the constraint")

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the scores with −∞ for each token that is not allowed next.

        Args:
            input_ids: [rows, tokens], the prompts with their padding, and the texts.
            scores: [rows, vocabulary], logits or log-probabilities.

        Raises:
            TokenRejected: the text of a row is not in the language, because its tokens were chosen
                elsewhere.
            DeadEndError: no allowed token has a score.
            LimitError: a text cannot end in time, or must end before the minimum, or there are
                fewer texts than beams to return.
            ModelError: the scores are NaN or infinite, or have another width than the vocabulary.
            UnsupportedError: a mode or a setting, named in the message, contradicts the constraint.
        """
        if input_ids.dim() != 2 or len(input_ids) != len(scores):
            raise UnsupportedError(
                f"input_ids have the shape {tuple(input_ids.shape)} for {len(scores)} rows of "
                "scores: LogitsProcessor needs all tokens of each row, which continuous batching "
                "does not pass",
                feature="continuous batching",
            )
        call = self._texts.call(len(input_ids))
        if self._texts.constrained:
            check_last(call.values, self)
        self._check_width(scores.shape[1])
        tokens = input_ids.cpu().numpy()
        asked = [self._texts.asked(call, row, each) for row, each in enumerate(tokens)]
        allowed = self._unpacked(asked, scores)
        if tokens.shape[1] < call.least:
            self._leave_out_short(call, tokens, scores, allowed)
        if self._guidance is None:
            made = scores.masked_fill(~allowed, -math.inf)
        else:
            made = self._guidance.scores(call, tokens, scores, allowed)
        held = [self._texts.held_back(call, each, tokens.shape[1]) for each in asked]
        made = _checked_scores(call, asked, _with_end_scores(made, scores, allowed, held), scores)
        if call.sampled and tokens.shape[1] + 1 == call.end:
            _check_enough(call, made, tokens)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "LogitsProcessor":
        """Itself: it has no state of a text, so settings that contain it can be copied."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The sources, which are compiled again after loading.

        Raises:
            UnsupportedError: a source cannot be pickled, or there is `guidance=`.
        """
        if self._guidance is not None:
            raise UnsupportedError(
                "a LogitsProcessor with guidance= cannot be pickled, because it contains models: "
                "create it in the process that runs them",
                feature="pickle",
            )
        return vars(self)

    def _check_width(self, width: int) -> None:
        known = self._texts.vocabulary.width
        if width != known:
            raise ModelError(
                f"the model gives {width} scores, and the vocabulary has the width {known}: create "
                f"it from the model's own tokenizer with width={width}"
            )

    def _leave_out_short(
        self, call: Call, tokens: NDArray[np.int64], scores: Tensor, allowed: Tensor
    ) -> None:
        """Remove from `allowed` the likely tokens after which a text ends before the minimum."""
        ends = sorted(self._texts.vocabulary.eos_ids)
        for row, each in enumerate(tokens):
            open_ = allowed[row].clone()
            open_[ends] = False
            many = min(int(open_.sum()), LIKELY)
            best = scores[row].masked_fill(~open_, -math.inf).topk(many).indices
            likely = cast("list[int]", best.tolist())  # pyright: ignore[reportUnknownMemberType]
            short = self._texts.too_short(call, row, each, likely)
            if len(short) < int(open_.sum()):
                allowed[row, short] = False

    def _unpacked(self, asked: Sequence[Asked], scores: Tensor) -> Tensor:
        width = self._texts.vocabulary.width
        anything = np.full(words(width), 0xFFFFFFFF, np.uint32)
        rows: list[Row] = [each if isinstance(each, np.ndarray) else anything for each in asked]
        return unpack(upload(rows, width, scores.device), width)


def prefix_allowed_tokens_fn(
    source: Any,
    vocabulary: Any = None,
    *,
    prompt_length: int | None = None,
    max_new_tokens: int | None = None,
    joint: bytes = b"",
) -> Callable[[int, Tensor], list[int]]:
    """Return the constraint as the `prefix_allowed_tokens_fn` of `generate`.

    Use it only if you cannot pass a `LogitsProcessor`. It builds a list of ids for each row, which
    takes milliseconds for free text. It does not get the scores, so it refuses a minimum of tokens,
    several sampled beams, and other processors.

    Example:
        >>> import guideway as gw, torch
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> allowed = prefix_allowed_tokens_fn(gw.Regex("ab?"), vocabulary, prompt_length=1)
        >>> allowed(0, torch.tensor([1])), allowed(0, torch.tensor([1, 0]))
        ([0], [1, 2])

    Args:
        source: the source of the texts, or a list of sources, one for each prompt of a batch.
        vocabulary: the model's tokens.
        prompt_length: as in `LogitsProcessor`.
        max_new_tokens: as in `LogitsProcessor`.
        joint: as in `LogitsProcessor`.

    Raises:
        SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `guideway.compile`. The
            function itself raises as `LogitsProcessor`.
    """
    texts = Texts(source, vocabulary, joint, prompt_length, max_new_tokens)
    return partial(_allowed, texts)


def _allowed(texts: Texts, batch_id: int, input_ids: Tensor) -> list[int]:
    call = texts.call()
    asked = running_row()
    row = batch_id * call.beams if asked is None else asked
    if texts.constrained:
        check_alone(call.values)
        texts.check_least(call, row)
    if call.sampled and call.wanted > 1:
        raise UnsupportedError(
            "several sampled beams need LogitsProcessor: without scores, a prefix function cannot "
            "check that enough beams become texts",
            feature="prefix_allowed_tokens_fn with several sampled beams",
        )
    found = texts.asked(call, row, input_ids.flatten().cpu().numpy())
    # A text outside the language is a beam without a score, whatever may follow it.
    if isinstance(found, np.ndarray):
        return ids_of(found).tolist()
    return _everything(texts.vocabulary.width)


@lru_cache(maxsize=4)
def _everything(width: int) -> list[int]:
    """All ids. Do not change the list."""
    return list(range(width))


def _check_enough(call: Call, made: Tensor, tokens: NDArray[np.int64]) -> None:
    """Raise if fewer beams became texts than are returned; transformers would add padding rows."""
    if call.wanted == 1 or call.done is None or call.scored is None:
        return
    ways = cast("list[int]", (made > LOST).sum(1).tolist())  # pyright: ignore[reportUnknownMemberType]
    for prompt, done in enumerate(call.done):
        rows = range(prompt * call.copies, (prompt + 1) * call.copies)
        each = {tokens[row].tobytes(): ways[row] for row in rows if call.scored[row]}
        if done + sum(each.values()) < call.wanted:
            raise LimitError(
                f"{call.wanted} beams are requested for prompt {prompt}, and only "
                f"{done + sum(each.values())} became texts: lower num_return_sequences, or remove "
                "num_beams",
                limit="num_return_sequences",
                given=call.wanted,
            )


def _checked_scores(call: Call, asked: Sequence[Asked], made: Tensor, scores: Tensor) -> Tensor:
    """Check that rows have sound scores, and give those of lost beams a score below all others."""
    held = [row for row, each in enumerate(asked) if isinstance(each, np.ndarray)]
    lost = [row for row, each in enumerate(asked) if isinstance(each, Outside)]
    if held:
        stacked = torch.stack([scores[held].amax(1), made[held].amax(1)])  # one transfer
        best = cast("list[list[float]]", stacked.tolist())  # pyright: ignore[reportUnknownMemberType]
        for row, given, left in zip(held, *best, strict=True):
            if math.isnan(given) or given == math.inf or math.isnan(left):
                raise ModelError(
                    f"the scores of row {row} are NaN or infinite: check the model's weights and "
                    "its precision (float16 overflows; try float32 or bfloat16)"
                )
            if left == -math.inf:
                lost.append(row)
                if call.beams == 1:
                    raise _dead_end(call, row)
    for first in range(0, len(asked), call.copies) if call.beams > 1 else ():
        if set(range(first, first + call.copies)) <= set(lost):
            raise _dead_end(call, first)
    if lost:
        made[lost] = LOST
    return made


def _with_end_scores(made: Tensor, scores: Tensor, allowed: Tensor, held: Sequence[bool]) -> Tensor:
    """Return the scores, with scores for end ids if only they are allowed before a minimum.

    transformers removes their scores there, which would leave no token. They get the lowest score
    of the row, so beams that reach the minimum rank higher.
    """
    for row in (row for row, each in enumerate(held) if each):
        low = scores[row].masked_fill(scores[row] == -math.inf, math.inf).amin()
        made[row] = torch.where(allowed[row], low.clamp(max=0.0), -math.inf)
    return made


def _dead_end(call: Call, row: int) -> DeadEndError:
    others = [
        type(each).__name__
        for each in call.values.get("prepared_logits_processor", ())
        if not isinstance(each, LogitsProcessor)
    ]
    named = f": {', '.join(others)}" if others else " (min_new_tokens, suppress_tokens, …)"
    return DeadEndError(
        f"no token is left in row {row}: the model, or another processor, gives every allowed "
        f"token the probability 0{named}"
    )
