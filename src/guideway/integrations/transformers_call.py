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

Settings of `generate` end, ban or force tokens beside a constraint. Each is taken into account
exactly, or refused before the first token: docs/guides/transformers.md has the table.
"""

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from torch import Tensor
from transformers.generation.logits_process import LogitsProcessor, PrefixConstrainedLogitsProcessor
from transformers.generation.stopping_criteria import (
    EosTokenCriteria,
    MaxLengthCriteria,
    MaxTimeCriteria,
    StopStringCriteria,
)

from guideway.errors import UnsupportedError

WHOLE: Final = "and a text that is cut is not in the language"
CUTS: Final[dict[type, tuple[str, str]]] = {
    MaxTimeCriteria: (
        "max_time",
        "it cuts texts when the time is over. Leave it out: max_new_tokens bounds the time, and "
        "texts end within it",
    ),
    StopStringCriteria: (
        "stop_strings",
        "they cut texts wherever they occur. Leave them out: a constraint ends its texts",
    ),
}
MODES: Final = {
    "contrastive_search": ("penalty_alpha", "guideway.Model.generate has penalty_alpha="),
    "group_beam_search": ("num_beam_groups", "guideway.Model.generate has num_beam_groups="),
    "constrained_beam_search": (
        "force_words_ids",
        "write the words into the constraint: source & guideway.Regex('.*word.*')",
    ),
    "dola_generation": ("dola_layers", "guideway.dola(model) is that as an expression"),
}
BANS: Final = {
    "no_repeat_ngram_size": "repetition_penalty lowers scores and bans nothing",
    "encoder_no_repeat_ngram_size": "encoder_repetition_penalty lowers scores and bans nothing",
}


def check_settings(values: Mapping[str, Any]) -> None:
    """Refuse settings that cut a constrained text or can leave no token in its middle."""
    config = values["generation_config"]
    for criterion in values.get("prepared_stopping_criteria", ()):
        _check_criterion(criterion)
    mode = str(getattr(values.get("generation_mode"), "value", ""))
    if mode in MODES:
        name, instead = MODES[mode]
        raise _refused(name, f"transformers loads the loop of this mode from the Hub; {instead}")
    if getattr(config, "token_healing", None):
        raise _refused(
            "token_healing",
            "it writes the beginning of the text into the prompt, outside the constraint; "
            "guideway.Model.generate has heal=True",
        )
    for name, instead in BANS.items():
        if size := getattr(config, name, None):
            raise _refused(
                f"{name}={size}",
                f"it can ban each token that the constraint allows, in the middle of a text; "
                f"{instead}, and guideway.Model.generate has no_repeat_ngram_size=, which gives "
                "way there",
            )
    for name, tokens in _bans(config):
        if len(tokens) > 1:
            raise _refused(
                name,
                f"it bans the sequence of tokens {list(tokens)}, which can leave no token in the "
                "middle of a text. Take the words out of the constraint: "
                "source - guideway.Regex('.*word.*')",
            )


def check_last(values: Mapping[str, Any], processor: LogitsProcessor) -> None:
    """Refuse other processors and prefix functions that could undo the constraint."""
    if values.get("prefix_allowed_tokens_fn") is not None:
        raise _refused(
            "prefix_allowed_tokens_fn",
            "two constraints can leave no token in the middle of a text. Give one that is both: "
            "source & other",
        )
    given: list[LogitsProcessor] = list(values.get("logits_processor") or ())
    place = next((n for n, each in enumerate(given) if each is processor), len(given))
    for later in given[place + 1 :]:
        name = type(later).__name__
        if type(later) is type(processor):
            why = "two constraints can leave no token in the middle of a text. Give one: a & b"
        else:
            why = (
                "it comes after the constraint and could undo it. Put it before guideway's "
                "LogitsProcessor in logits_processor"
            )
        raise _refused(f"the processor {name}", why, "logits_processor")


def check_alone(values: Mapping[str, Any]) -> None:
    """Refuse processors of the caller beside a prefix function, which they come after."""
    for later in values.get("logits_processor") or ():
        raise _refused(
            f"the processor {type(later).__name__}",
            "it comes after prefix_allowed_tokens_fn and could undo it. Use "
            "guideway.integrations.transformers.LogitsProcessor, as the last of logits_processor",
            "logits_processor",
        )


def banned_tokens(config: Any) -> frozenset[int]:
    """Ids that are banned in any context."""
    return frozenset(tokens[0] for _, tokens in _bans(config) if len(tokens) == 1)


def last_length(values: Mapping[str, Any]) -> int | None:
    """The number of tokens, prompt included, at which rows are cut off."""
    found = [each.max_length for each in _criteria(values, MaxLengthCriteria)]
    return min(found) if found else values["generation_config"].max_length


def end_ids(values: Mapping[str, Any]) -> frozenset[int] | None:
    """The ids at which a row stops; None if it stops at none."""
    found = [each.eos_token_id for each in _criteria(values, EosTokenCriteria)]
    given = found or [values["generation_config"].eos_token_id]
    ids = [listed(each) for each in given if each is not None]
    return frozenset(token for each in ids for token in each) if ids else None


def listed(given: Any) -> list[int]:
    """Token ids that are given as one, several, a tensor, or None."""
    if given is None:
        return []
    if isinstance(given, Tensor):
        return cast("list[int]", given.flatten().tolist())  # pyright: ignore[reportUnknownMemberType]
    several = isinstance(given, list | tuple | set | frozenset)
    return [int(each) for each in cast("list[int]", given)] if several else [int(given)]


def _criteria(values: Mapping[str, Any], kind: type) -> list[Any]:
    """The stopping criteria of exactly this class: a subclass may stop elsewhere."""
    return [each for each in values.get("prepared_stopping_criteria", ()) if type(each) is kind]


def _check_criterion(criterion: Any) -> None:
    kind = cast("type[object]", type(criterion))
    if kind in {MaxLengthCriteria, EosTokenCriteria}:
        return
    if kind in CUTS:
        name, why = CUTS[kind]
        raise _refused(name, f"{why}, {WHOLE}")
    raise _refused(
        f"the stopping criterion {kind.__name__}",
        f"it can cut texts anywhere, {WHOLE}. Leave stopping_criteria out; to cancel a call, raise "
        "an exception from a processor before this one",
        "stopping_criteria",
    )


def _bans(config: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The sequences whose last token gets no probability after the others, with their setting."""
    ends = set(listed(getattr(config, "eos_token_id", None)))
    for token in listed(getattr(config, "suppress_tokens", None)):
        yield "suppress_tokens", (token,)
    for tokens in getattr(config, "bad_words_ids", None) or ():
        if not (len(tokens) == 1 and tokens[0] in ends):  # transformers leaves these out
            yield "bad_words_ids", tuple(tokens)
    bias: Any = getattr(config, "sequence_bias", None) or ()
    pairs = cast("Iterable[tuple[Any, float]]", bias.items() if isinstance(bias, dict) else bias)
    for tokens, value in pairs:
        if value == -math.inf:
            yield "sequence_bias", tuple(tokens)


def _refused(what: str, why: str, feature: str = "") -> UnsupportedError:
    return UnsupportedError(
        f"{what} does not work with a constraint: {why}", feature=feature or what.partition("=")[0]
    )


HOME: Final = "transformers.generation.utils"
BEAMS: Final = ("is_sent_finished", "beam_scores", "running_beam_scores")
FILLED: Final = -1e8  # transformers begins the scores of all but one beam at −1e9
NEEDED: Final = ("self", "input_ids", "input_ids_length", "batch_size", "generation_config")


@dataclass(frozen=True, slots=True)
class Call:
    """Known facts about a call.

    Attributes:
        scored: for each row False if it only fills up; None if unknown.
        whole: True if the model reads the prompt's tokens only: no embeddings, no earlier cache.
        values: variables of the running `generate`.
    """

    start: int  # tokens of each row before the text: the prompt with its padding
    rows: int  # number of rows, all copies of all prompts
    given: int  # number of prompts; the rows of one prompt are neighbours
    end: int | None = None  # length, prompt included, at which a row is cut off
    ended: bool = False  # True if an end id has to follow at `end`
    least: int = 0  # length, prompt included, before which no end id comes
    ends: frozenset[int] | None = None  # ids at which a row stops; None if it does not
    banned: frozenset[int] = frozenset()  # ids that never come
    first: int | None = None  # the id that transformers forces before the text, or None
    last: frozenset[int] = frozenset()  # ids that transformers forces where a row is cut off
    beams: int = 1  # beams of a prompt
    drafted: bool = False  # True if something else than the model drafts tokens ahead
    settled: int | None = None  # number of tokens of a row that cannot be taken back; None for all
    unfinished: tuple[bool, ...] | None = None  # for each row True if it continues; None if unknown
    wanted: int = 1  # beams of a prompt that are returned; 1 without beams
    sampled: bool = False  # True if tokens are drawn at random
    done: tuple[int, ...] | None = None  # finished beams of each prompt; None if unknown
    scored: tuple[bool, ...] | None = None
    prompt: Tensor | None = None  # tokens of the prompts, [rows, start]; None if unknown
    attention: Tensor | None = None  # mask of the prompts' padding; None without padding
    model: Any = None  # the generating model; None if unknown
    whole: bool = False
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def copies(self) -> int:
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
        whole=forced is None and _reads_all_tokens(values),
        values=values,
    )


def _reads_all_tokens(values: Mapping[str, Any]) -> bool:
    arguments, length = values.get("kwargs", {}), values["input_ids_length"]
    if arguments.get("inputs_embeds") is not None or values["self"].config.is_encoder_decoder:
        return False
    # With a cache of the beginning, all tokens may be given, or those alone that are not in it.
    read = getattr(values["generation_config"], "_mask_length", None)
    attention = values["model_kwargs"].get("attention_mask")
    read = read if attention is None else attention.shape[1]
    past = arguments.get("cache", arguments.get("past_key_values"))  # renamed in transformers 5.24
    return past is None or read == length
