"""Constraints and expressions in transformers' own `generate`: a processor, and a prefix function.

    model.generate(**inputs, logits_processor=[LogitsProcessor(Person, vocabulary)])
    model.generate(**inputs, prefix_allowed_tokens_fn=prefix_allowed_tokens_fn(Person, vocabulary))

Neither keeps texts or rows: the tokens of a row and the running call (`transformers_call`) decide
what may come next. So they are right in each mode, and one serves any number of calls, also at the
same time:

    greedy, sampling, several sequences   the rows of one prompt are neighbours
    beams, sampled or not                 a beam that left the language never comes back
    a draft model, prompt lookup          the draft is held to the constraint as well
    batches                               padded on the left; one source for all, or one each
    inputs_embeds, static caches          without prompt tokens, texts begin with the row

Several beams of one prompt are several texts where there are as many. Where filters or other
processors leave fewer, transformers fills up with pads, as it does without a constraint.

Settings that would cut a text, or ban tokens in its middle, are refused by name before the first
token, or taken into account exactly (`transformers_settings` has the table).

`generate_batch` (continuous batching) takes no processors of users, and shows its own only the last
token of each row: it is refused. `generate` with `cache_implementation="paged"` is the same, and
drops `logits_processor` without calling it, so nothing here can refuse it; the prefix function is
refused there, by transformers.

This module does not know the states of texts, or expressions.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, cast, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.generation import logits_process

from guideway.api.model import Model
from guideway.errors import DeadEndError, LimitError, ModelError, SourceError, UnsupportedError
from guideway.integrations.prefixes import Outside
from guideway.integrations.transformers_call import Call, running_row
from guideway.integrations.transformers_guidance import Guidance
from guideway.integrations.transformers_settings import check_alone, check_last
from guideway.integrations.transformers_texts import Asked, Texts
from guideway.logits.mask import unpack, upload
from guideway.masks.bits import Row, words
from guideway.masks.bits import unpack as ids_of

LOST: Final = -1e20  # a score that no beam recovers from, and that no temperature makes infinite
LIKELY: Final = 256  # tokens of a row that are judged for a minimum of tokens, if it is sampled


@final
class LogitsProcessor(logits_process.LogitsProcessor):
    """A processor that holds the texts of transformers to a constraint, and guides them.

    It has to be the last of `logits_processor`: a processor after it could undo the constraint.

    Example:
        >>> import guideway as gw, torch
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> processor = LogitsProcessor(gw.Regex("ab"), vocabulary, prompt_length=1)
        >>> processor(torch.tensor([[1, 0]]), torch.zeros(1, 3)).tolist()
        [[-inf, 0.0, -inf]]

    Attributes:
        supports_continuous_batching: False: it needs all tokens of a row.
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
            source: the language of the texts, as in `guideway.Model.generate`: a Python type, a
                source, a JSON Schema as a dict, a compiled constraint, None for any text; or a list
                of these, one for each prompt of a batch.
            vocabulary: the model's tokens, as wide as its logits: `guideway.Vocabulary
                .from_transformers(tokenizer, width, model.generation_config)`. Not needed for a
                compiled constraint, or with `guidance`.
            guidance: an expression with the model that generates as one leaf
                (`guideway.load(model, tokenizer)`). The other leaves are run here.
            prompts: the prompts as texts or chat messages, one for each row of the batch: for
                leaves that read another prompt, and for classifiers.
            prompt_length: the number of tokens before the text in each row: in loops that are not
                `generate`, or where the prompt holds the beginning of the text.
            max_new_tokens: the most tokens of a text, if fewer than `generate` allows.
            joint: bytes that the model spells before the text and that do not belong to it: those
                of a chat template, or `vocabulary.lead` for a model with an encoder.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `guideway.compile`.
            ModelError: the vocabularies are different.
        """
        self._guidance = None if guidance is None else Guidance(guidance, prompts)
        if self._guidance is None and prompts is not None:
            raise SourceError("prompts= is for guidance=, which is missing")
        given = vocabulary
        if self._guidance is not None and vocabulary is None:
            given = self._guidance.vocabulary
        self._texts = Texts(source, given, joint, prompt_length, max_new_tokens)
        if self._guidance is not None and self._guidance.vocabulary != self._texts.vocabulary:
            raise ModelError("the models of guidance= have another vocabulary than the constraint")

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the scores with −∞ for each token that may not come next.

        Args:
            input_ids: [rows, tokens], the prompts with their padding, and the texts.
            scores: [rows, vocabulary], logits, or logarithms of probabilities.

        Raises:
            TokenRejected: a row's text left the language: something else chose its tokens.
            DeadEndError: no token that may come next has a score.
            LimitError: a text cannot end before it is cut off or has to end before the minimum, or
                there are fewer texts than beams to return.
            ModelError: the scores are no numbers, or not of this vocabulary.
            UnsupportedError: a mode or a setting contradicts the constraint, by its name.
        """
        if input_ids.dim() != 2 or len(input_ids) != len(scores):
            raise UnsupportedError(
                f"token ids of shape {tuple(input_ids.shape)} for {len(scores)} rows of scores: "
                "all tokens of each row are needed, which continuous batching does not show",
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
        made = _settled(call, asked, _ended(made, scores, allowed, held), scores)
        if call.sampled and tokens.shape[1] + 1 == call.end:
            _check_enough(call, made, tokens)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "LogitsProcessor":
        """Itself: it holds no text and no row, so settings with it can be copied."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The sources, compiled again where they are loaded.

        Raises:
            UnsupportedError: a source holds what cannot be pickled, or there is `guidance=`.
        """
        if self._guidance is not None:
            raise UnsupportedError(
                "a LogitsProcessor with guidance= holds models, which are not pickled: make it in "
                "the process that runs them",
                feature="pickle",
            )
        return vars(self)

    def _check_width(self, width: int) -> None:
        known = self._texts.vocabulary.width
        if width != known:
            raise ModelError(
                f"the model gives {width} scores, and the vocabulary is {known} wide: make it from "
                f"the model's own tokenizer, with width={width}"
            )

    def _leave_out_short(
        self, call: Call, tokens: NDArray[np.int64], scores: Tensor, allowed: Tensor
    ) -> None:
        """Take out of `allowed` likely tokens after which a text ends before the minimum."""
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
        """The tokens that may come next, [rows, vocabulary]."""
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

    For places that take no `LogitsProcessor`. It makes a list of ids for each row, which takes
    milliseconds where anything may follow, and it sees no scores: so it refuses a minimum of
    tokens, several sampled beams, and other processors.

    Example:
        >>> import guideway as gw, torch
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> allowed = prefix_allowed_tokens_fn(gw.Regex("ab?"), vocabulary, prompt_length=1)
        >>> allowed(0, torch.tensor([1])), allowed(0, torch.tensor([1, 0]))
        ([0], [1, 2])

    Args:
        source: the language of the texts, or a list of sources for the prompts of a batch.
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
    """The tokens that may come next in a row."""
    call = texts.call()
    asked = running_row()
    row = batch_id * call.beams if asked is None else asked
    if texts.constrained:
        check_alone(call.values)
        texts.check_least(call, row)
    if call.sampled and call.wanted > 1:
        raise UnsupportedError(
            "several sampled beams need LogitsProcessor: a prefix function sees no scores, and "
            "cannot tell whether enough of them become texts",
            feature="prefix_allowed_tokens_fn with several sampled beams",
        )
    found = texts.asked(call, row, _flat(input_ids))
    # A text outside the language is a beam without a score, whatever may follow it.
    if isinstance(found, np.ndarray):
        return ids_of(found).tolist()
    return _everything(texts.vocabulary.width)


@lru_cache(maxsize=4)
def _everything(width: int) -> list[int]:
    """All ids; nobody changes the list."""
    return list(range(width))


def _flat(input_ids: Tensor) -> NDArray[np.int64]:
    return input_ids.flatten().cpu().numpy()


def _check_enough(call: Call, made: Tensor, tokens: NDArray[np.int64]) -> None:
    """Refuse to return more beams than became texts: transformers would fill up with pads."""
    if call.wanted == 1 or call.done is None or call.scored is None:
        return
    ways = cast("list[int]", (made > LOST).sum(1).tolist())  # pyright: ignore[reportUnknownMemberType]
    for prompt, done in enumerate(call.done):
        rows = range(prompt * call.copies, (prompt + 1) * call.copies)
        each = {tokens[row].tobytes(): ways[row] for row in rows if call.scored[row]}
        if done + sum(each.values()) < call.wanted:
            raise LimitError(
                f"{call.wanted} beams are returned for prompt {prompt}, and only "
                f"{done + sum(each.values())} became texts: lower num_return_sequences, or leave "
                "num_beams out",
                limit="num_return_sequences",
                given=call.wanted,
            )


def _settled(call: Call, asked: Sequence[Asked], made: Tensor, scores: Tensor) -> Tensor:
    """Check that rows have sound scores, and give those of lost beams a score below all others."""
    held = [row for row, each in enumerate(asked) if isinstance(each, np.ndarray)]
    lost = [row for row, each in enumerate(asked) if isinstance(each, Outside)]
    if held:
        stacked = torch.stack([scores[held].amax(1), made[held].amax(1)])  # one transfer
        best = cast("list[list[float]]", stacked.tolist())  # pyright: ignore[reportUnknownMemberType]
        for row, given, left in zip(held, *best, strict=True):
            if math.isnan(given) or given == math.inf or math.isnan(left):
                raise ModelError(
                    f"the scores of row {row} are NaN or infinite: the model's weights or its "
                    "precision are at fault (float16 overflows; try float32 or bfloat16)"
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


def _ended(made: Tensor, scores: Tensor, allowed: Tensor, held: Sequence[bool]) -> Tensor:
    """The scores with those of end ids restored where only they may come before a minimum.

    transformers gives end ids no score there, and the text would have no token left. They get the
    lowest score of the row: among beams, one that reaches the minimum goes first.
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
        f"no token is left in row {row}: each that may come next was given no probability by the "
        f"model, or by another processor{named}"
    )
