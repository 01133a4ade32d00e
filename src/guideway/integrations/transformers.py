"""Constraints and expressions in transformers' own `generate`: a processor, and a prefix function.

    model.generate(**inputs, logits_processor=[LogitsProcessor(Person, vocabulary)])
    model.generate(**inputs, prefix_allowed_tokens_fn=prefix_allowed_tokens_fn(Person, vocabulary))

Both hold no text and no row: what may come next is decided by the tokens of a row and by the call
that is running (`transformers_call`). So they are right in each mode, and one may be used for any
number of calls, at the same time too:

    greedy, sampling, several sequences   rows of one prompt stand together
    beams, sampled or not                 a beam that left the language never comes back
    a draft model, prompt lookup          the draft is held to the constraint as well
    batches                               padded on the left; one source for all, or one each
    inputs_embeds, static caches          where there is no prompt, texts begin with the row

Several beams of one prompt are several texts where there are as many. Where filters or other
processors leave fewer, transformers fills up with pads, as it does without a constraint.

`generate_batch` (continuous batching) takes no processors of users, and shows those it has the last
token of each row alone: that is refused, as is what would cut texts in half. `generate` with
`cache_implementation="paged"` is the same thing, and drops `logits_processor` without calling it:
only the prefix function is refused there, by transformers.

What this module does not know: where texts stand, what expressions say.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, cast, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.generation import logits_process

from guideway.api.model import Model
from guideway.errors import DeadEndError, LimitError, ModelError, SourceError, UnsupportedError
from guideway.integrations.prefixes import Outside
from guideway.integrations.transformers_call import Call
from guideway.integrations.transformers_guidance import Guidance
from guideway.integrations.transformers_texts import Asked, Texts
from guideway.logits.mask import unpack, upload
from guideway.masks.bits import Row, words
from guideway.masks.bits import unpack as ids_of

LOST: Final = -1e20  # a score that no beam recovers from, and that no temperature makes infinite


@final
class LogitsProcessor(logits_process.LogitsProcessor):
    """Holds the texts that transformers generates to a constraint, and guides them.

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
        """A processor for any number of calls.

        Args:
            source: what texts must be, as in `guideway.Model.generate`: a Python type, a source, a
                JSON Schema as a dict, a compiled constraint, None for any text; or a list of these,
                one for each prompt of a batch.
            vocabulary: the model's tokens, as wide as its logits: `guideway.Vocabulary
                .from_transformers(tokenizer, width, model.generation_config)`. Not needed where a
                source is compiled, or with `guidance`.
            guidance: an expression of which the model that generates is a leaf
                (`guideway.load(model, tokenizer)`). The other leaves are run here.
            prompts: what the prompts' tokens say, texts or chat messages, one for each: for leaves
                that read another prompt, and for classifiers.
            prompt_length: how many tokens stand before the text in each row: in loops that are not
                `generate`, or where the prompt holds the beginning of the text.
            max_new_tokens: how long texts may become, if shorter than generate lets them.
            joint: bytes that the model spells before the text and that do not belong to it: what a
                chat template puts there, or `vocabulary.lead` for a model with an encoder.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `guideway.compile`.
            ModelError: the vocabularies are different.
        """
        self._guidance = None if guidance is None else Guidance(guidance, prompts)
        if self._guidance is None and prompts is not None:
            raise SourceError("prompts are for guidance, and there is none")
        given = vocabulary
        if self._guidance is not None and vocabulary is None:
            given = self._guidance.vocabulary
        self._texts = Texts(source, given, joint, prompt_length, max_new_tokens)
        if self._guidance is not None and self._guidance.vocabulary != self._texts.vocabulary:
            raise ModelError("guidance is by models of another vocabulary than the constraint's")

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores with −∞ for what may not come next.

        Args:
            input_ids: [rows, tokens], the prompts with their padding, and the texts.
            scores: [rows, vocabulary], logits, or logarithms of probabilities.

        Raises:
            TokenRejected: a row's text left the language: something else chose its tokens.
            DeadEndError: nothing that may come next has a score.
            LimitError: a text cannot end before it is cut off, or there are fewer texts than
                beams to return.
            ModelError: the scores are no numbers, or not of this vocabulary.
            UnsupportedError: the mode cannot be right, by name.
        """
        if input_ids.dim() != 2 or len(input_ids) != len(scores):
            raise UnsupportedError(
                f"token ids of shape {tuple(input_ids.shape)} for {len(scores)} rows of scores: "
                "all tokens of each row are needed, which continuous batching does not show",
                feature="continuous batching",
            )
        call = self._texts.call(len(input_ids))
        self._check_width(scores.shape[1])
        tokens = input_ids.cpu().numpy()
        asked = [self._texts.asked(call, row, each) for row, each in enumerate(tokens)]
        allowed = self._unpacked(asked, scores)
        if self._guidance is None:
            made = scores.masked_fill(~allowed, -math.inf)
        else:
            made = self._guidance.scores(call, tokens, scores, allowed)
        made = _settled(call, asked, made, scores)
        if call.sampled and tokens.shape[1] + 1 == call.end:
            _check_enough(call, made, tokens)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "LogitsProcessor":
        """Itself: no text and no row is in it, so settings that hold it can be copied."""
        return self

    def _check_width(self, width: int) -> None:
        known = self._texts.vocabulary.width
        if width != known:
            raise ModelError(
                f"the model gives {width} scores, and the vocabulary is {known} wide: make it from "
                f"the model's own tokenizer, with width={width}"
            )

    def _unpacked(self, asked: Sequence[Asked], scores: Tensor) -> Tensor:
        """Which tokens may come next, as wide as the scores."""
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
    """The constraint as the `prefix_allowed_tokens_fn` of `generate`.

    The same as `LogitsProcessor`, for places that take nothing else; a list of ids is made for each
    row, which takes milliseconds where everything may follow.

    Example:
        >>> import guideway as gw, torch
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> allowed = prefix_allowed_tokens_fn(gw.Regex("ab?"), vocabulary, prompt_length=1)
        >>> allowed(0, torch.tensor([1])), allowed(0, torch.tensor([1, 0]))
        ([0], [1, 2])

    Args:
        source: what texts must be, or a list of that for the prompts of a batch.
        vocabulary: the model's tokens.
        prompt_length: as in `LogitsProcessor`.
        max_new_tokens: as in `LogitsProcessor`.
        joint: as in `LogitsProcessor`.

    Raises:
        SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `guideway.compile`; what
            the function raises is said at `LogitsProcessor`.
    """
    texts = Texts(source, vocabulary, joint, prompt_length, max_new_tokens)
    everything = list(range(texts.vocabulary.width))

    def allowed(batch_id: int, input_ids: Tensor) -> list[int]:
        call = texts.call()
        if call.sampled and call.wanted > 1:
            raise UnsupportedError(
                "several sampled beams need LogitsProcessor: a prefix function sees no scores, and "
                "cannot tell whether enough of them become texts",
                feature="prefix_allowed_tokens_fn with several sampled beams",
            )
        # transformers counts prompts here where there are beams, and rows where there are none.
        found = texts.asked(call, batch_id * call.beams, _flat(input_ids))
        # A text outside the language is a beam without a score, whatever may follow it.
        return ids_of(found).tolist() if isinstance(found, np.ndarray) else everything

    return allowed


def _flat(input_ids: Tensor) -> NDArray[np.int64]:
    return input_ids.flatten().cpu().numpy()


def _check_enough(call: Call, made: Tensor, tokens: NDArray[np.int64]) -> None:
    """Refuse to end with fewer texts than beams are returned: the others would be no texts."""
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
    """The scores with lost rows out of the way, once it is clear that the others are sound."""
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
                    raise _dead_end(row)
    for first in range(0, len(asked), call.copies) if call.beams > 1 else ():
        if set(range(first, first + call.copies)) <= set(lost):
            raise _dead_end(first)
    if lost:
        made[lost] = LOST
    return made


def _dead_end(row: int) -> DeadEndError:
    return DeadEndError(
        f"no token is left in row {row}: each that may come next was given no probability by the "
        "model, or by another processor (min_new_tokens, suppress_tokens, bad_words_ids, …)"
    )
