"""Which call of `generate` a processor works for.

transformers hands a processor token ids and scores, and nothing else: not where the prompt ends,
how many rows belong to it, how long the text may become, or whether the ids are a draft. A
processor that keeps what it saw first, or guesses from what it saw before, is wrong as soon as it
is used again, in a chat whose prompt is the text before and a token more, or in assisted decoding,
which goes back and asks about several places. But `generate` is running while it asks, and knows.
So the running functions are looked through, from the innermost on:

    function                what is read
    _sample                 which rows are not finished
    _beam_search            how many beams are, and which rows only fill up
    _assisted_decoding      how many tokens of the row are settled, the rest being a draft
    generate                the prompts, the configuration; a draft's own is passed over

That is so in each mode and at each step, and depends on no earlier call. Where a name is not there
(another loop, another version) nothing is assumed: the caller is told to say it.

What this module does not know: constraints, scores.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast, final

from torch import Tensor

from guideway.errors import UnsupportedError

HOME: Final = "transformers.generation.utils"
BEAMS: Final = ("is_sent_finished", "beam_scores", "running_beam_scores")
FILLED: Final = -1e8  # transformers begins the scores of all but one beam at −1e9
NEEDED: Final = ("self", "input_ids", "input_ids_length", "batch_size", "generation_config")


@final
@dataclass(frozen=True, slots=True)
class Call:
    """What is known of a call.

    Attributes:
        start: how many tokens each row had before the text: the prompt with its padding.
        rows: how many rows there are, all copies of all prompts.
        given: how many prompts there are; the rows of one prompt stand together.
        end: the number of tokens, prompt included, at which a row is cut off.
        ends: the ids at which a row stops; None if it does not.
        stops: the texts at which a row stops.
        beams: how many beams a prompt has.
        drafted: whether tokens are drafted ahead by something else than the model.
        settled: how many tokens of a row can no longer be taken back; None for all.
        unfinished: which rows go on; None if that is not known.
        wanted: how many beams of a prompt are returned; 1 without beams.
        sampled: whether tokens are drawn at random.
        done: how many beams of each prompt are finished; None if that is not known.
        scored: which rows have a score, and are not there to fill up; None if that is not known.
        prompt: the tokens of the prompts, [rows, start]; None if they are not known.
        attention: which of them are no padding; None if all are.
        model: what generates; None if it is not known.
        whole: whether the prompt's tokens are all that the model reads: no embeddings, and no cache
            of a part before them.
    """

    start: int
    rows: int
    given: int
    end: int | None = None
    ends: frozenset[int] | None = None
    stops: tuple[str, ...] = ()
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

    @property
    def copies(self) -> int:
        """How many rows each prompt has."""
        return self.rows // self.given


def running_call() -> Call | None:
    """The call of `generate` that is running, None if there is none.

    Raises:
        UnsupportedError: its draft has another tokenizer.
    """
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


def _call(values: Mapping[str, Any], inner: Mapping[str, Mapping[str, Any]]) -> Call:
    config = values["generation_config"]
    arguments = values.get("generation_mode_kwargs", {})
    if all(arguments.get(each) is not None for each in ("tokenizer", "assistant_tokenizer")):
        raise UnsupportedError(
            "a draft with a tokenizer of its own cannot be held to a constraint: transformers asks "
            "processors about the draft's tokens as if they were the model's. Take a draft that "
            "shares the tokenizer, and leave assistant_tokenizer out",
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
    more = values.get("model_kwargs", {})
    return Call(
        start=values["input_ids_length"],
        rows=len(values["input_ids"]),
        given=values["batch_size"],
        end=config.max_length,
        ends=_ids(config.eos_token_id),
        stops=_texts(config.stop_strings),
        beams=config.num_beams,
        drafted=bool(assisting),
        settled=assisting.get("cur_len"),
        unfinished=None if unfinished is None else tuple(map(bool, unfinished.tolist())),
        wanted=config.num_return_sequences if config.num_beams > 1 else 1,
        sampled=bool(config.do_sample),
        done=done,
        scored=scored,
        prompt=values["input_ids"],
        attention=more.get("attention_mask"),
        model=values["self"],
        whole=_whole(values),
    )


def _whole(values: Mapping[str, Any]) -> bool:
    arguments, length = values.get("kwargs", {}), values["input_ids_length"]
    if arguments.get("inputs_embeds") is not None or values["self"].config.is_encoder_decoder:
        return False
    # With a cache of the beginning, all tokens may be given, or those alone that are not in it.
    read = getattr(values["generation_config"], "_mask_length", None)
    attention = values["model_kwargs"].get("attention_mask")
    read = read if attention is None else attention.shape[1]
    return arguments.get("past_key_values") is None or read == length


def _texts(given: str | list[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _ids(given: Any) -> frozenset[int] | None:
    """The ids of an end, which are one, several, a tensor of them, or none."""
    if given is None:
        return None
    if isinstance(given, Tensor):
        return frozenset(cast("list[int]", given.flatten().tolist()))  # pyright: ignore[reportUnknownMemberType]
    return frozenset(cast("list[int]", given) if isinstance(given, list | tuple) else (given,))
