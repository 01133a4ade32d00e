"""`Sampling`: the settings by which tokens are chosen and texts end.

The names are those of transformers (`stop` is its `stop_strings`, `logit_bias` its
`sequence_bias`), or of llama.cpp if transformers has none. Everything is off by default; only the
end ids of a model's generation config are read. This module does not import torch, and does not
know whether a constraint fits the limits (`generation.limits`).

The default order of stages that change probabilities is transformers'; `"llama.cpp"` is that of
llama.cpp. Stages that one of them lacks are placed by effect: top-nσ first, XTC and mirostat last.
Bias, penalties and bans come before.

Type checkers read the settings as keyword arguments from the typed dicts, which do not run:
`Sampling.of` reads the arguments. A test compares the names and types.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypedDict,
    cast,
    get_args,
    get_type_hints,
)

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MinLen, Predicate
from pydantic import BeforeValidator, ConfigDict, Strict, TypeAdapter, ValidationError

from guideway.errors import LimitError, UnsupportedError, brief, one_line
from guideway.sources.names import did_you_mean

Search: TypeAlias = Literal["beams", "stochastic", "contrastive", "rejection", "asap", "smc"] | None
"""None: every text is drawn by itself, token by token."""


PRESETS: Final[dict[str, tuple[float, float]]] = {
    "code generation": (0.2, 0.1),
    "creative writing": (0.7, 0.8),
    "chatbot": (0.5, 0.5),
    "code comments": (0.3, 0.2),
    "data analysis scripting": (0.2, 0.1),
    "exploratory code": (0.6, 0.7),
}


ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "transformers": (
        "top_n_sigma", "temperature", "top_h", "top_k", "top_p", "min_p", "typical_p",
        "epsilon_cutoff", "eta_cutoff", "xtc", "mirostat",
    ),
    "llama.cpp": (
        "top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "xtc", "top_h", "epsilon_cutoff",
        "eta_cutoff", "temperature", "mirostat",
    ),
}  # fmt: skip
STAGES: Final = ORDERS["transformers"]


def read_order(given: str | Iterable[str], on: Collection[str]) -> tuple[str, ...]:
    """The order of stages by name, or as a list that has all stages in `on`.

    >>> read_order(["top_p", "temperature"], {"temperature"})
    ('top_p', 'temperature')
    """
    if isinstance(given, str):
        if given not in ORDERS:
            raise UnsupportedError(
                f"order is {given!r}: it must be one of {', '.join(map(repr, ORDERS))}, or a list "
                f"of stages",
                feature="order",
            )
        return ORDERS[given]
    order = list[str]()
    for name in given:
        if name not in STAGES:
            hint = did_you_mean(name, STAGES) or f"; there are {', '.join(STAGES)}"
            raise UnsupportedError(
                f"order has {name!r}, which is not a stage{hint}", feature="order"
            )
        if name in order:
            raise UnsupportedError(f"order names {name!r} twice", feature="order")
        order.append(name)
    if missing := [name for name in STAGES if name in on and name not in order]:
        raise UnsupportedError(
            f"order lacks {', '.join(missing)}, which the settings turn on", feature="order"
        )
    return tuple(order)


class Range:
    """The values that a setting may have: their type, and their description in messages."""

    def __init__(self, kind: Any, allowed: str) -> None:
        self._type: Any = TypeAdapter(kind, config=ConfigDict(strict=True))
        self.allowed = allowed

    def has(self, value: object) -> bool:
        try:
            self._type.validate_python(value)
        except ValidationError:
            return False
        return True


def check(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        missing = value is None and name in OPTIONAL
        if not missing and not RANGES[name].has(value):
            raise wrong(name, value, RANGES[name].allowed)


def wrong(name: str, value: object, allowed: str) -> LimitError:
    given = value if isinstance(value, int) else None
    return LimitError(f"{name} is {value!r}: it must be {allowed}", limit=name, given=given)


def _is_number(value: object) -> bool:
    """Return True for a finite number of Python; pydantic takes those of libraries too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _is_judge(value: object) -> bool:
    """Return True for a ranking of texts."""
    if isinstance(value, str):
        return value in ("logprob", "majority")
    classifier = getattr(value, "classifier", value)
    judges = callable(getattr(classifier, "log_probs", None))
    if isinstance(classifier, type):  # the class of a classifier is no judge, `float` is
        return not judges
    return callable(value) or judges


def _as_pair(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


_Number: TypeAlias = Annotated[Any, Predicate(_is_number)]
_Count: TypeAlias = Annotated[int, Ge(0)]
_Text: TypeAlias = Annotated[str, MinLen(1)]  # pydantic refuses lone surrogates
_Texts: TypeAlias = _Text | list[_Text] | tuple[_Text, ...]
_Ids: TypeAlias = Annotated[list[_Count] | tuple[_Count, ...], MinLen(1)]
_Key: TypeAlias = _Count | _Text | _Ids
_Pair: TypeAlias = Annotated[tuple[_Key, _Number], BeforeValidator(_as_pair)]
_Biases: TypeAlias = Annotated[dict[_Key, _Number], Strict(False)] | list[_Pair] | tuple[_Pair, ...]
_Exactness: TypeAlias = Literal["local", "rejection", "asap", "smc"]

BIAS: Final = (
    "a mapping from token ids, tuples of them, or texts to finite numbers, or a function from the "
    "text so far to such a mapping"
)
SWITCH: Final = Range(bool, "True or False")
INTEGER: Final = Range(int, "an integer")
COUNT: Final = Range(_Count, "an integer from 0 up")
FROM_ONE: Final = Range(Annotated[int, Ge(1)], "an integer from 1 up")
MODE: Final = Range(Annotated[int, Ge(0), Le(2)], "0, 1 or 2")
SHARE: Final = Range(Annotated[_Number, Gt(0), Le(1)], "a number above 0 and at most 1")
CUTOFF: Final = Range(Annotated[_Number, Ge(0), Lt(1)], "a number from 0 to below 1")
FRACTION: Final = Range(Annotated[_Number, Ge(0), Le(1)], "a number from 0 to 1")
FINITE: Final = Range(_Number, "a finite number")
POSITIVE: Final = Range(Annotated[_Number, Gt(0)], "a finite number above 0")
NOT_NEGATIVE: Final = Range(Annotated[_Number, Ge(0)], "a finite number from 0 up")
FACTOR: Final = Range(Annotated[_Number, Ge(1)], "a finite number from 1 up")
TEXTS: Final = Range(_Texts, "a text or a list of texts, none empty or with surrogates")
STAGE_NAMES: Final = Range(_Texts, 'a list of stages, "transformers" or "llama.cpp"')
WORDS: Final = Range(
    list[_Text | _Ids] | tuple[_Text | _Ids, ...],
    "a list of texts and of lists of token ids, none empty",
)
BIASES: Final = Range(Callable[..., Any] | _Biases, BIAS)
GIVEN_BIASES: Final = Range(_Biases, f"{BIAS}; this is what the function gave")
EARLY: Final = Range(bool | Literal["never"], 'True, False or "never"')
HOW_EXACT: Final = Range(_Exactness, f"one of {', '.join(map(repr, get_args(_Exactness)))}")
JUDGES: Final = Range(
    Annotated[Any, Predicate(_is_judge)],
    '"logprob", "majority", a classifier, or a function from a text to a number',
)
CRITIC: Final = Range(Callable[..., Any], "a function from a text to a number")

# Names of transformers that are refused, with what to write instead.
ELSEWHERE: Final = {
    "min_length": "min_new_tokens counts the tokens after the prompt",
    "max_length": "max_new_tokens counts the tokens after the prompt",
    "max_time": "stop a stream, or cancel the task of agenerate",
    "assistant_model": "generate and stream take drafts of a model: speculate=model",
    "prompt_lookup_num_tokens": 'generate and stream take drafts from texts: speculate="lookup"',
    "watermarking_config": "mark the model: model.watermarked(guideway.Watermark(key=…))",
    "guidance_scale": "guide the model: guideway.cfg(model, gamma=…)",
}
ALIASES: Final = {
    "stop_strings": "stop",
    "max_tokens": "max_new_tokens",
    "n": "num_return_sequences",
    "sequence_bias": "logit_bias",
    "bad_words": "bad_words_ids",
}
# Stages with one number, and the value that turns each off.
NEUTRAL: Final = {
    "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "typical_p": 1, "epsilon_cutoff": 0,
    "eta_cutoff": 0, "top_h": None, "top_n_sigma": None,
}  # fmt: skip
# Settings that turn on random choice.
RANDOM: Final = (*NEUTRAL, "xtc_probability", "mirostat_mode", "seed")
BREAKERS: Final = ("\n", ":", '"', "*")

Bias: TypeAlias = Mapping[Any, float | int]  # token ids, tuples of them, or texts → what is added


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The settings by which tokens are chosen and texts end.

    Bias, penalties and bans act on the logits of the allowed tokens. Then the stages from
    temperature to mirostat change probabilities, in the given order, and a token is drawn. Without
    a random draw these stages are off, because they do not change the most probable token.

    Attributes:
        do_sample: draw at random (True) or take the most probable token (False). None draws if one
            of temperature, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_h,
            top_n_sigma, xtc_probability, mirostat_mode, seed is given, or one of stochastic_beams,
            best_of, and an exactness other than "local".
        temperature: divisor of the logits. 0 takes the most probable token.
        top_k: choose among the k most probable tokens.
        top_p: choose among the smallest set of most probable tokens with at least this mass.
        min_p: choose among the tokens at least this share as probable as the most probable one.
        typical_p: choose among the tokens whose surprise is nearest to the mean, with this mass.
        epsilon_cutoff: choose among the tokens with at least this probability.
        eta_cutoff: as epsilon_cutoff, with a lower bound for flat distributions.
        top_h: choose among the most probable tokens with this share of the entropy.
        top_n_sigma: choose among the tokens within this many standard deviations of the best logit.
        xtc_probability: probability that a step excludes all tokens above `xtc_threshold` except
            the least probable of them.
        xtc_threshold: a probability. End tokens and line ends are never excluded.
        mirostat_mode: keep the surprise near `mirostat_tau`: by rank (1) or by surprise (2).
        mirostat_tau: surprise of a token in bits.
        mirostat_eta: learning rate of mirostat.
        repetition_penalty: divisor of positive logits and factor of negative ones, for the tokens
            of prompt and text; below 1 it rewards them.
        presence_penalty: subtracted from the logits of tokens that are in the generated text.
        frequency_penalty: subtracted once for each occurrence of the token in the generated text.
        flat_penalty: subtracted from the logits of the tokens of prompt and text.
        no_repeat_ngram_size: no sequence of this many tokens occurs twice in prompt and text,
            unless the constraint allows nothing else.
        bad_words_ids: texts, or lists of token ids, that never occur, in any spelling.
            `DeadEndError` if no other token is left.
        logit_bias: a mapping from token ids, tuples of ids, or texts to numbers. The number is
            added to the logit of the token that is, or completes, the key. Or a function from the
            generated text to such a mapping.
        dry_multiplier: penalty of a token that continues a repeated sequence.
        dry_base: factor of the penalty for each further token of the sequence.
        dry_allowed_length: shorter sequences have no penalty.
        dry_sequence_breakers: texts that end a sequence.
        order: the order of the stages: "transformers", "llama.cpp", or a list of names that has all
            active stages (temperature, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff,
            top_h, top_n_sigma, xtc, mirostat).
        seed: determines every random choice; None for a new seed each time.
        stop: texts that end the generation. They are removed from the text. With a constraint, they
            act only if the text before them is complete.
        min_new_tokens: least number of tokens.
        max_new_tokens: greatest number of tokens. Constrained texts end within it.
        num_return_sequences: number of texts for each prompt.
        num_beams: number of beams of a beam search, which returns the texts with the greatest
            scores. With sampling, beams are drawn at random (a seed alone does not turn this on).
        length_penalty: the score of a text is its log-probability divided by its length to this
            power, including the end id. Default: 1 for beams, 0 for `best_of`.
        early_stopping: when a beam search ends. True: after `num_beams` whole texts. False: when a
            better text is unlikely. "never": when a better text is impossible.
        num_beam_groups: number of groups of a diverse beam search.
        diversity_penalty: subtracted for each beam in earlier groups that took the same token at
            this step.
        stochastic_beams: draw `num_beams` texts without replacement, with importance weights.
        penalty_alpha: contrastive search: the weight of the difference from earlier tokens, among
            the `top_k` (default 4) most probable tokens.
        best_of: draw this many texts and keep the best `num_return_sequences`.
        best_by: the ranking for `best_of`: "logprob" (the model's own, see `length_penalty`; the
            default), "majority" (the most frequent value; several texts have different values), a
            classifier of whole texts, or a function from a text to a number. Texts that a validator
            refuses come last.
        exactness: "local" masks each token, which distorts the probabilities of whole texts.
            "rejection" draws exactly from the model's distribution, given the constraint. "asap"
            converges to it over the samples. "smc" approximates it with weighted particles.
        max_attempts: most attempts of "rejection" for each text (default 1,000).
        particles: number of particles of "smc" (default 8).
        resample_below: "smc" resamples if the effective number of particles falls below this share
            (default 0.5).
        critic: for "smc", a function from an unfinished text to its log-weight. The final weight is
            that of the whole text; −∞ discards a text.

    Raises:
        LimitError: a value is out of its range.
        UnsupportedError: `order` has an unknown stage or lacks an active one, or settings exclude
            each other.

    Example:
        >>> Sampling(temperature=0.7, top_p=0.9).samples, Sampling().samples
        (True, False)
        >>> Sampling(top_p=1.5)
        Traceback (most recent call last):
        guideway.errors.LimitError: top_p is 1.5: it must be a number above 0 and at most 1
    """

    do_sample: Annotated[bool | None, SWITCH] = None
    temperature: Annotated[float | int | None, NOT_NEGATIVE] = None
    top_k: Annotated[int | None, COUNT] = None
    top_p: Annotated[float | int | None, SHARE] = None
    min_p: Annotated[float | int | None, FRACTION] = None
    typical_p: Annotated[float | int | None, SHARE] = None
    epsilon_cutoff: Annotated[float | int | None, CUTOFF] = None
    eta_cutoff: Annotated[float | int | None, CUTOFF] = None
    top_h: Annotated[float | int | None, SHARE] = None
    top_n_sigma: Annotated[float | int | None, POSITIVE] = None
    xtc_probability: Annotated[float | int | None, FRACTION] = None
    xtc_threshold: Annotated[float | int, FRACTION] = 0.1
    mirostat_mode: Annotated[int | None, MODE] = None
    mirostat_tau: Annotated[float | int, POSITIVE] = 5.0
    mirostat_eta: Annotated[float | int, POSITIVE] = 0.1
    repetition_penalty: Annotated[float | int | None, POSITIVE] = None
    presence_penalty: Annotated[float | int | None, FINITE] = None
    frequency_penalty: Annotated[float | int | None, FINITE] = None
    flat_penalty: Annotated[float | int | None, FINITE] = None
    no_repeat_ngram_size: Annotated[int | None, COUNT] = None
    bad_words_ids: Annotated[Sequence[str | Sequence[int]] | None, WORDS] = None
    logit_bias: Annotated[Bias | Sequence[Any] | Callable[[str], Bias] | None, BIASES] = None
    dry_multiplier: Annotated[float | int | None, NOT_NEGATIVE] = None
    dry_base: Annotated[float | int, FACTOR] = 1.75
    dry_allowed_length: Annotated[int, FROM_ONE] = 2
    dry_sequence_breakers: Annotated[str | Sequence[str], TEXTS] = BREAKERS
    order: Annotated[str | Sequence[str], STAGE_NAMES] = "transformers"
    seed: Annotated[int | None, INTEGER] = None
    stop: Annotated[str | tuple[str, ...] | list[str], TEXTS] = ()
    min_new_tokens: Annotated[int, COUNT] = 0
    max_new_tokens: Annotated[int, FROM_ONE] = 256
    num_return_sequences: Annotated[int, FROM_ONE] = 1
    num_beams: Annotated[int, FROM_ONE] = 1
    length_penalty: Annotated[float | int | None, FINITE] = None
    early_stopping: Annotated[bool | str | None, EARLY] = None
    num_beam_groups: Annotated[int, FROM_ONE] = 1
    diversity_penalty: Annotated[float | int | None, NOT_NEGATIVE] = None
    stochastic_beams: Annotated[bool, SWITCH] = False
    penalty_alpha: Annotated[float | int | None, FRACTION] = None
    best_of: Annotated[int | None, FROM_ONE] = None
    best_by: Annotated[Any, JUDGES] = None
    exactness: Annotated[str, HOW_EXACT] = "local"
    max_attempts: Annotated[int | None, FROM_ONE] = None
    particles: Annotated[int | None, FROM_ONE] = None
    resample_below: Annotated[float | int | None, FRACTION] = None
    critic: Annotated[Callable[[str], float | int] | None, CRITIC] = None

    def __post_init__(self) -> None:
        """Check every value."""
        check({name: getattr(self, name) for name in NAMES})
        read_order(self.order, self.warps)
        if self.min_new_tokens > self.max_new_tokens:
            raise LimitError(
                f"min_new_tokens is {self.min_new_tokens}: it must be at most max_new_tokens, "
                f"which is {self.max_new_tokens}",
                limit="max_new_tokens",
                given=self.max_new_tokens,
                needed=self.min_new_tokens,
            )
        check_search(self)

    def __repr__(self) -> str:
        """The settings that differ from the defaults.

        Example:
            >>> Sampling(num_beams=4, length_penalty=2.0)
            Sampling(num_beams=4, length_penalty=2.0)
        """
        given = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        shown = [
            f"{name}={brief(value)}"
            for name, value, default in given
            if type(value) is not type(default) or value != default
        ]
        return one_line(f"Sampling({', '.join(shown)})")

    @classmethod
    def of(
        cls,
        arguments: Mapping[str, object],
        base: "Sampling | None" = None,
        also: Iterable[str] = (),
    ) -> "Sampling":
        r"""Return `base` with the settings of these keyword arguments.

        Args:
            arguments: settings by the names of `Sampling`, or by transformers' other names.
            base: the other settings; by default the defaults.
            also: names of other arguments, for the suggestion in an error.

        Raises:
            UnsupportedError: a name is unknown; the message has the nearest one.
            LimitError: a value is out of its range, or a setting is given under two names.

        Example:
            >>> Sampling.of({"stop_strings": ["\n"]}).stops
            ('\n',)
            >>> Sampling.of({"top_k": 5}, Sampling(top_k=3, top_p=0.9))
            Sampling(top_k=5, top_p=0.9)
            >>> Sampling.of({"temprature": 1})
            Traceback (most recent call last):
            guideway.errors.UnsupportedError: 'temprature' is not an argument; did you mean ...
        """
        known: dict[str, object] = {}
        for name, value in arguments.items():
            proper = ALIASES.get(name, name)
            if proper not in NAMES:
                raise _unknown(name, also)
            if proper in known:
                raise wrong(proper, value, f"given once, not as {name!r} as well")
            # Convert numbers of numpy to Python's.
            known[proper] = value.item() if isinstance(value, np.number) else value
        check(known)
        return replace(cls() if base is None else base, **known)

    @classmethod
    def preset(cls, name: object, **settings: Any) -> "Sampling":
        """Return the settings for a use, with further settings.

        Example:
            >>> Sampling.preset("chatbot", max_new_tokens=50).top_p
            0.5

        Args:
            name: "code generation", "creative writing", "chatbot", "code comments", "data analysis
                scripting" or "exploratory code".
            **settings: settings by the names of `Sampling`; they override the preset.

        Raises:
            UnsupportedError: the preset is unknown (the message has the nearest name), or as `of`.
            LimitError: as `of`.
        """
        plain = str(name).lower().replace("_", " ").replace("-", " ")
        if plain not in PRESETS:
            hint = did_you_mean(plain, PRESETS) or f"; there are {', '.join(PRESETS)}"
            raise UnsupportedError(f"there is no preset {name!r}{hint}", feature=str(name))
        temperature, top_p = PRESETS[plain]
        return cls.of({"temperature": temperature, "top_p": top_p} | settings)

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn at random."""
        if self.temperature == 0 or self.do_sample is False:
            return False
        if self.do_sample or self.stochastic_beams or self.exactness != "local":
            return True
        if self.best_of is not None and self.best_of > 1:
            return True
        given = {name for name in RANDOM if getattr(self, name) is not None}
        if self.num_beams > 1:
            given.discard("seed")
        if self.penalty_alpha is not None:
            given.discard("top_k")
        return bool(given)

    @property
    def search(self) -> Search:
        """The name of the search for texts; None without a search.

        Example:
            >>> Sampling(num_beams=4).search, Sampling(temperature=0.7, best_of=4).search
            ('beams', None)
        """
        if self.exactness != "local":
            return cast("Search", self.exactness)
        if self.stochastic_beams:
            return "stochastic"
        if self.num_beams > 1:
            return "beams"
        return None if self.penalty_alpha is None else "contrastive"

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings as a tuple."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def stages(self) -> tuple[str, ...]:
        """The order of all stages, active or not."""
        return read_order(self.order, ())

    @property
    def warps(self) -> dict[str, Any]:
        """The active stages with their parameters.

        Example:
            >>> Sampling(top_p=0.9, top_k=0, xtc_probability=0.5).warps
            {'top_p': 0.9, 'xtc': (0.5, 0.1)}
        """
        if not self.samples:
            return {}
        on: dict[str, Any] = {}
        for name, neutral in NEUTRAL.items():
            value = getattr(self, name)
            if value is not None and value != neutral:
                on[name] = value
        if self.xtc_probability:
            on["xtc"] = (self.xtc_probability, self.xtc_threshold)
        if self.mirostat_mode:
            on["mirostat"] = self.mirostat_mode
        return on


# Settings of one search.
OF_SEARCHES: Final = {
    **dict.fromkeys(("early_stopping", "num_beam_groups", "diversity_penalty"), "beams"),
    "max_attempts": "rejection",
    **dict.fromkeys(("particles", "resample_below", "critic"), "smc"),
}
# Settings that select each search.
ASKED: Final = {
    "beams": "num_beams above 1",
    "rejection": 'exactness="rejection"',
    "smc": 'exactness="smc"',
}
NOT_CONTRASTIVE: Final = "is no part of contrastive search, which takes the best of the top_k"


def check_search(sampling: Sampling) -> None:
    """Refuse settings that conflict, or belong to another search."""
    search = sampling.search
    _check_one(sampling, search)
    for name, own in OF_SEARCHES.items():
        value = getattr(sampling, name)
        given = value > 1 if name == "num_beam_groups" else value is not None
        if given and search != own:
            raise _clash(name, f"is a setting of {own} ({ASKED[own]})")
    if sampling.length_penalty is not None and search != "beams" and sampling.best_of is None:
        raise _clash("length_penalty", "is a setting of beams and of best_of")
    if sampling.best_by is not None and sampling.best_of is None:
        raise _clash("best_by", "needs best_of, the number of texts to choose from")
    _check_groups(sampling)
    _check_random(sampling, search)
    _check_count(sampling, search)


def _check_one(sampling: Sampling, search: Search) -> None:
    asked = {
        "exactness": sampling.exactness != "local",
        "stochastic_beams": sampling.stochastic_beams,
        "num_beams": sampling.num_beams > 1 and not sampling.stochastic_beams,
        "penalty_alpha": sampling.penalty_alpha is not None,
    }
    given = [name for name, on in asked.items() if on]
    if len(given) > 1:
        raise _clash(given[0], f"and {given[1]} are different searches: give one of them")
    if sampling.best_of is not None and search in ("beams", "stochastic", "contrastive"):
        raise _clash("best_of", f"and {given[0]} are different searches: give one of them")


def _check_groups(sampling: Sampling) -> None:
    beams, groups = sampling.num_beams, sampling.num_beam_groups
    if beams % groups:
        raise _clash("num_beam_groups", f"is {groups}: it must divide num_beams, which is {beams}")
    if sampling.diversity_penalty is not None and groups == 1:
        raise _clash("diversity_penalty", "needs num_beam_groups above 1")


def _check_random(sampling: Sampling, search: Search) -> None:
    """Refuse sampling in searches without draws, and missing sampling in others."""
    if search in ("rejection", "asap", "smc", "stochastic") and not sampling.samples:
        name = "stochastic_beams" if search == "stochastic" else "exactness"
        raise _clash(name, "needs sampling: leave do_sample=False and temperature=0 out")
    if search == "contrastive" and sampling.samples:
        raise _clash("do_sample, a seed, a temperature or a filter", NOT_CONTRASTIVE)
    if search == "contrastive" and sampling.top_k == 0:
        raise _clash("top_k", "is 0: contrastive search needs one candidate at least")
    if sampling.num_beam_groups > 1 and sampling.samples:
        raise _clash("num_beam_groups", "are not drawn at random: leave sampling out")
    if sampling.exactness != "local" and sampling.xtc_probability:
        raise _clash("xtc_probability", "tosses a coin: exactness is about probabilities")
    if sampling.mirostat_mode and search is not None:
        raise _clash("mirostat_mode", "follows one text; a search follows several")


def _check_count(sampling: Sampling, search: Search) -> None:
    if sampling.best_of is not None:
        name, most = "best_of", sampling.best_of
    elif search in ("beams", "stochastic"):
        name, most = "num_beams", sampling.num_beams
    elif search == "contrastive" or not sampling.samples:
        name, most = "", 1
    else:
        return
    count = sampling.num_return_sequences
    if sampling.best_of is not None and sampling.best_of > 1 and not sampling.samples:
        raise _too_many_texts("best_of", sampling.best_of)
    if count > most:
        if not name:
            raise _too_many_texts("num_return_sequences", count)
        raise LimitError(
            f"num_return_sequences is {count}: it must be at most {name}, which is {most}",
            limit="num_return_sequences",
            given=count,
            needed=most,
        )


def _too_many_texts(name: str, given: int) -> LimitError:
    return LimitError(
        f"{name} is {given}, and there is only one most probable text: give a temperature above "
        "0 or a seed, or do_sample=True",
        limit=name,
        given=given,
        needed=1,
    )


def _clash(name: str, why: str) -> UnsupportedError:
    return UnsupportedError(f"{name} {why}", feature=name)


NAMES: Final = tuple(field.name for field in fields(Sampling))
OPTIONAL: Final = frozenset(field.name for field in fields(Sampling) if field.default is None)
RANGES: Final[Mapping[str, Range]] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Sampling, include_extras=True).items()
}


def _unknown(name: str, also: Iterable[str]) -> UnsupportedError:
    if name in ELSEWHERE:
        return UnsupportedError(f"{name!r} is not a setting: {ELSEWHERE[name]}", feature=name)
    hint = did_you_mean(name, [*NAMES, *ALIASES, *also])
    return UnsupportedError(
        f"{name!r} is not an argument{hint or '; help(guideway.Sampling) lists the settings'}",
        feature=name,
    )


class SamplingArguments(TypedDict, total=False):
    """Every setting of `Sampling` but the number of sequences, and transformers' other names."""

    do_sample: bool | None
    temperature: float | int | None
    top_k: int | None
    top_p: float | int | None
    min_p: float | int | None
    typical_p: float | int | None
    epsilon_cutoff: float | int | None
    eta_cutoff: float | int | None
    top_h: float | int | None
    top_n_sigma: float | int | None
    xtc_probability: float | int | None
    xtc_threshold: float | int
    mirostat_mode: int | None
    mirostat_tau: float | int
    mirostat_eta: float | int
    repetition_penalty: float | int | None
    presence_penalty: float | int | None
    frequency_penalty: float | int | None
    flat_penalty: float | int | None
    no_repeat_ngram_size: int | None
    bad_words_ids: Sequence[str | Sequence[int]] | None
    bad_words: Sequence[str | Sequence[int]] | None
    logit_bias: Bias | Sequence[Any] | Callable[[str], Bias] | None
    sequence_bias: Bias | Sequence[Any] | Callable[[str], Bias] | None
    dry_multiplier: float | int | None
    dry_base: float | int
    dry_allowed_length: int
    dry_sequence_breakers: str | Sequence[str]
    order: str | Sequence[str]
    seed: int | None
    stop: str | tuple[str, ...] | list[str]
    stop_strings: str | tuple[str, ...] | list[str]
    min_new_tokens: int
    max_new_tokens: int
    max_tokens: int
    num_beams: int
    length_penalty: float | int | None
    early_stopping: bool | str | None
    num_beam_groups: int
    diversity_penalty: float | int | None
    stochastic_beams: bool
    penalty_alpha: float | int | None
    best_of: int | None
    best_by: Any
    exactness: str
    max_attempts: int | None
    particles: int | None
    resample_below: float | int | None
    critic: Callable[[str], float | int] | None
