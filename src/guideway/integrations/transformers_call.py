"""The running call of `generate`, read from the stack.

transformers passes a processor only token ids and scores: not the end of the prompt, the rows of a
prompt, the length limit, or which ids are a draft. State from earlier calls would be wrong in chats
and in assisted decoding, which goes back. So this module reads local variables, from the innermost
frame on:

    function                variables
    _sample                 the rows that are not finished
    _beam_search            the number of finished beams, and the rows that only fill up
    _assisted_decoding      the number of settled tokens of the row; the others are a draft
    generate                the prompts and the configuration; a draft's own is skipped

If a name is missing (another loop or version), the user is asked for the value.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from torch import Tensor
from transformers.generation.logits_process import PrefixConstrainedLogitsProcessor

from guideway.errors import UnsupportedError
from guideway.integrations.transformers_settings import banned_tokens, end_ids, last_length, listed

HOME: Final = "transformers.generation.utils"
BEAMS: Final = ("is_sent_finished", "beam_scores", "running_beam_scores")
FILLED: Final = -1e8  # transformers begins the scores of all but one beam at −1e9
NEEDED: Final = ("self", "input_ids", "input_ids_length", "batch_size", "generation_config")


@final
@dataclass(frozen=True, slots=True)
class Call:
    """Known facts about a call.

    Attributes:
        start: tokens of each row before the text: the prompt with its padding.
        rows: number of rows, all copies of all prompts.
        given: number of prompts; the rows of one prompt are neighbours.
        end: length, prompt included, at which a row is cut off.
        ended: True if an end id has to follow at `end`.
        least: length, prompt included, before which no end id comes.
        ends: ids at which a row stops; None if it does not.
        banned: ids that never come.
        first: the id that transformers forces before the text, or None.
        last: ids that transformers forces where a row is cut off.
        beams: beams of a prompt.
        drafted: True if something else than the model drafts tokens ahead.
        settled: number of tokens of a row that cannot be taken back; None for all.
        unfinished: for each row True if it continues; None if unknown.
        wanted: beams of a prompt that are returned; 1 without beams.
        sampled: True if tokens are drawn at random.
        done: finished beams of each prompt; None if unknown.
        scored: for each row False if it only fills up; None if unknown.
        prompt: tokens of the prompts, [rows, start]; None if unknown.
        attention: mask of the prompts' padding; None without padding.
        model: the generating model; None if unknown.
        whole: True if the model reads the prompt's tokens only: no embeddings, no earlier cache.
        values: variables of the running `generate`.
    """

    start: int
    rows: int
    given: int
    end: int | None = None
    ended: bool = False
    least: int = 0
    ends: frozenset[int] | None = None
    banned: frozenset[int] = frozenset()
    first: int | None = None
    last: frozenset[int] = frozenset()
    beams: int = 1
    drafted: bool = False
    settled: int | None = None
    unfinished: tuple[bool, ...] | None = None
    wanted: int = 1
    sampled: bool = False
    done: tuple[int, ...] | None = None
    scored: tuple[bool, ...] | None = None
    prompt: Tensor | None = None
    attention: Tensor | None = None
    model: Any = None
    whole: bool = False
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def copies(self) -> int:
        """The number of rows of each prompt."""
        return self.rows // self.given


def running_call() -> Call | None:
    """The running call of `generate`, or None; drafts with another tokenizer are refused."""
    inner: dict[str, Mapping[str, Any]] = {}
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == HOME:
            name, values = frame.f_code.co_name, frame.f_locals
            if name == "generate" and all(each in values for each in NEEDED):
                if not getattr(values["generation_config"], "is_assistant", False):
                    return _call(values, inner)
                inner = {}
            else:
                inner.setdefault(name, values)
        frame = frame.f_back
    return None


def running_row() -> int | None:
    """The row of a call to a prefix function, or None.

    The number passed to the function is that of a row before transformers 5.24 without beams, else
    that of a prompt.
    """
    code = inspect.unwrap(PrefixConstrainedLogitsProcessor.__call__).__code__
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code is code:
            asked = frame.f_locals
            return asked["batch_id"] * asked["self"]._num_beams + asked["beam_id"]
        frame = frame.f_back
    return None


def _call(values: Mapping[str, Any], inner: Mapping[str, Mapping[str, Any]]) -> Call:
    config = values["generation_config"]
    arguments = values.get("generation_mode_kwargs", {})
    if all(arguments.get(each) is not None for each in ("tokenizer", "assistant_tokenizer")):
        raise UnsupportedError(
            "a draft model with its own tokenizer does not work with a constraint: transformers "
            "passes the draft's tokens to processors as if they were the model's. Use a draft "
            "model with the same tokenizer, and leave assistant_tokenizer out",
            feature="assistant_tokenizer",
        )
    assisting = inner.get("_assisted_decoding", {})
    unfinished = inner.get("_sample", {}).get("unfinished_sequences")
    searching = inner.get("_beam_search", {})
    done = scored = None
    if all(each in searching for each in BEAMS):
        finished, ended, running = (searching[each] for each in BEAMS)
        done = tuple(map(int, (finished & (ended > FILLED)).sum(1).tolist()))
        scored = tuple(map(bool, (running > FILLED).flatten().tolist()))
    start: int = values["input_ids_length"]
    forced = getattr(config, "forced_bos_token_id", None) if start <= 1 else None
    return Call(
        start=start,
        rows=len(values["input_ids"]),
        given=values["batch_size"],
        end=last_length(values),
        least=max(config.min_length or 0, start + (config.min_new_tokens or 0)),
        ends=end_ids(values),
        banned=banned_tokens(config),
        first=forced,
        last=frozenset(listed(getattr(config, "forced_eos_token_id", None))),
        beams=config.num_beams,
        drafted=bool(assisting),
        settled=assisting.get("cur_len"),
        unfinished=None if unfinished is None else tuple(map(bool, unfinished.tolist())),
        wanted=config.num_return_sequences if config.num_beams > 1 else 1,
        sampled=bool(config.do_sample),
        done=done,
        scored=scored,
        prompt=values["input_ids"],
        attention=values.get("model_kwargs", {}).get("attention_mask"),
        model=values["self"],
        whole=forced is None and _whole(values),
        values=values,
    )


def _whole(values: Mapping[str, Any]) -> bool:
    arguments, length = values.get("kwargs", {}), values["input_ids_length"]
    if arguments.get("inputs_embeds") is not None or values["self"].config.is_encoder_decoder:
        return False
    # With a cache of the beginning, all tokens may be given, or those alone that are not in it.
    read = getattr(values["generation_config"], "_mask_length", None)
    attention = values["model_kwargs"].get("attention_mask")
    read = read if attention is None else attention.shape[1]
    past = arguments.get("cache", arguments.get("past_key_values"))  # renamed in transformers 5.24
    return past is None or read == length
