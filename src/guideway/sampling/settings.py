"""`Sampling`: how tokens are chosen and where a text ends, checked when it is made.

The names are transformers' (`stop` is its `stop_strings`, `logit_bias` its `sequence_bias`), and
llama.cpp's where transformers has none. Everything is off by default; a model's generation config
is read for its end ids only. No torch here: settings are made before models.

What this module does not know: whether a constraint can meet the limits (`engine.limits`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeAlias, final

import numpy as np

from guideway.errors import LimitError, UnsupportedError, brief, one_line
from guideway.sampling.checks import check, wrong
from guideway.sampling.order import read_order
from guideway.sampling.presets import preset
from guideway.sampling.search import Search, check_search, search_of
from guideway.syntax.names import did_you_mean

# transformers' names that are no setting here, and what to write: refused rather than ignored.
ELSEWHERE: Final = {
    "min_length": "min_new_tokens counts the tokens after the prompt",
    "max_length": "max_new_tokens counts the tokens after the prompt",
    "max_time": "stop a stream, or cancel the task of agenerate",
    "assistant_model": "drafts of another model are not supported yet",
    "prompt_lookup_num_tokens": "drafts from the prompt are not supported yet",
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
# Those that are given to choose at random; a seed is one too.
RANDOM: Final = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h",
    "top_n_sigma", "xtc_probability", "mirostat_mode", "seed",
)  # fmt: skip
# Stages that are one number, and the number with which they do nothing.
NEUTRAL: Final = {
    "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "typical_p": 1, "epsilon_cutoff": 0,
    "eta_cutoff": 0, "top_h": None, "top_n_sigma": None,
}  # fmt: skip
BREAKERS: Final = ("\n", ":", '"', "*")

Bias: TypeAlias = Mapping[Any, float | int]  # token ids, tuples of them, or texts → what is added


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings: how tokens are chosen, and where a text ends.

    Bias, penalties and bans act on the logits of the allowed tokens. Then the stages from
    temperature to mirostat change probabilities, in the given order, and a token is drawn. Without
    a random draw these stages are off, because they do not change the most probable token.

    Attributes:
        do_sample: draw at random (True) or take the most probable token (False). None: draw exactly
            if one of temperature, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff,
            top_h, top_n_sigma, xtc_probability, mirostat_mode, seed is given, or stochastic_beams,
            best_of, exactness other than "local", which draw.
        temperature: divisor of the logits. 0 takes the most probable token.
        top_k: choose among the k most probable tokens.
        top_p: choose among the smallest set of most probable tokens with at least this mass.
        min_p: choose among the tokens at least this share as probable as the most probable one.
        typical_p: choose among the tokens whose surprise is nearest to the mean, of this mass.
        epsilon_cutoff: choose among the tokens of at least this probability.
        eta_cutoff: the same, with a lower bound where the distribution is flat.
        top_h: choose among the most probable tokens that have this share of the entropy.
        top_n_sigma: choose among the tokens within so many standard deviations of the best logit.
        xtc_probability: how often to leave out all tokens above `xtc_threshold` but the last.
        xtc_threshold: a probability. Ends of texts and of lines are never left out.
        mirostat_mode: hold the surprise near `mirostat_tau`: by rank (1) or by surprise (2).
        mirostat_tau: bits for each token.
        mirostat_eta: how fast a difference is corrected.
        repetition_penalty: divisor of positive logits and factor of negative ones, for the tokens
            of prompt and text; below 1 it rewards them.
        presence_penalty: subtracted from the logits of tokens that are in the generated text.
        frequency_penalty: subtracted once for each time that they are in it.
        flat_penalty: subtracted from the logits of the tokens of prompt and text.
        no_repeat_ngram_size: no sequence of so many tokens occurs twice, the prompt included,
            unless the constraint allows nothing else.
        bad_words_ids: texts, or lists of token ids, that never occur, in any spelling. A
            `DeadEndError` if nothing else is left.
        logit_bias: numbers added to the logits of token ids, of the last id of a tuple after the
            others, or of tokens that complete a text; or a function from the generated text to such
            a mapping.
        dry_multiplier: penalty for a token that would make a repeated sequence longer.
        dry_base: by how much the penalty grows with each token of the sequence.
        dry_allowed_length: sequences shorter than this are free.
        dry_sequence_breakers: texts over which no sequence goes on.
        order: of the stages: "transformers", "llama.cpp", or names of stages (temperature, top_k,
            top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_h, top_n_sigma, xtc, mirostat),
            among them all that are on.
        seed: decides every random choice; None: another one each time.
        stop: texts that end the generation and are cut off. Under a constraint they act only where
            the text before them is complete.
        min_new_tokens: no end before so many tokens.
        max_new_tokens: at most so many tokens. Constrained text ends within them.
        num_return_sequences: how many texts for each prompt.
        num_beams: beam search with so many beams: the texts of the greatest score. With sampling,
            beams are drawn instead of taken (a seed alone is not sampling there).
        length_penalty: a text's score is its log-probability over its length to this power, an end
            id counted in both; of beams (1), and of `best_of`, where it is 0.
        early_stopping: of beams: True ends with the first `num_beams` whole texts, False when no
            better one is likely, "never" when none can be.
        num_beam_groups: diverse beam search: groups of beams, each kept away from those before it.
        diversity_penalty: subtracted for each beam of the groups before that took the token at this
            step.
        stochastic_beams: `num_beams` texts drawn without replacement, with importance weights.
        penalty_alpha: contrastive search: the weight of being unlike what was before, of the
            `top_k` (4) most probable tokens.
        best_of: draw so many texts and keep the best `num_return_sequences`.
        best_by: what is best: "logprob" (the model's own, see `length_penalty`; the default),
            "majority" (the value that comes most often; several are different ones), a classifier
            of whole texts, or a function from a text to a number. Texts that a validator of the
            type refuses come last.
        exactness: "local" masks each token, which distorts the probabilities of whole texts;
            "rejection" draws exactly from the model, given the constraint; "asap" approaches that
            from sample to sample; "smc" approximates it with weighted particles.
        max_attempts: of "rejection", for each text (1,000).
        particles: of "smc" (8).
        resample_below: particles are resampled where their effective number falls below this share
            (0.5).
        critic: of "smc": a function from an unfinished text to the logarithm of its weight. The
            value of the whole text counts in the end; −∞ gives a text up.

    Raises:
        LimitError: a value is out of its range, naming it and the range.
        UnsupportedError: `order` names no stage, or leaves one out that is on; or settings that do
            not go together.

    Example:
        >>> Sampling(temperature=0.7, top_p=0.9).samples, Sampling().samples
        (True, False)
        >>> Sampling(top_p=1.5)
        Traceback (most recent call last):
        guideway.errors.LimitError: top_p is 1.5: it must be a number above 0 and at most 1
    """

    do_sample: bool | None = None
    temperature: float | int | None = None
    top_k: int | None = None
    top_p: float | int | None = None
    min_p: float | int | None = None
    typical_p: float | int | None = None
    epsilon_cutoff: float | int | None = None
    eta_cutoff: float | int | None = None
    top_h: float | int | None = None
    top_n_sigma: float | int | None = None
    xtc_probability: float | int | None = None
    xtc_threshold: float | int = 0.1
    mirostat_mode: int | None = None
    mirostat_tau: float | int = 5.0
    mirostat_eta: float | int = 0.1
    repetition_penalty: float | int | None = None
    presence_penalty: float | int | None = None
    frequency_penalty: float | int | None = None
    flat_penalty: float | int | None = None
    no_repeat_ngram_size: int | None = None
    bad_words_ids: Sequence[str | Sequence[int]] | None = None
    logit_bias: Bias | Sequence[Any] | Callable[[str], Bias] | None = None
    dry_multiplier: float | int | None = None
    dry_base: float | int = 1.75
    dry_allowed_length: int = 2
    dry_sequence_breakers: str | Sequence[str] = BREAKERS
    order: str | Sequence[str] = "transformers"
    seed: int | None = None
    stop: str | tuple[str, ...] | list[str] = ()
    min_new_tokens: int = 0
    max_new_tokens: int = 256
    num_return_sequences: int = 1
    num_beams: int = 1
    length_penalty: float | int | None = None
    early_stopping: bool | str | None = None
    num_beam_groups: int = 1
    diversity_penalty: float | int | None = None
    stochastic_beams: bool = False
    penalty_alpha: float | int | None = None
    best_of: int | None = None
    best_by: Any = None
    exactness: str = "local"
    max_attempts: int | None = None
    particles: int | None = None
    resample_below: float | int | None = None
    critic: Callable[[str], float | int] | None = None

    def __post_init__(self) -> None:
        """Check every value once; afterwards they are trusted."""
        check({name: getattr(self, name) for name in NAMES})
        read_order(self.order, self.warps)
        if self.min_new_tokens > self.max_new_tokens:
            raise LimitError(
                f"min_new_tokens is {self.min_new_tokens}, above max_new_tokens, which is "
                f"{self.max_new_tokens}",
                limit="max_new_tokens",
                given=self.max_new_tokens,
                needed=self.min_new_tokens,
            )
        check_search(self)

    def __repr__(self) -> str:
        """The settings that are not as they are by default.

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
        r"""The settings of these keyword arguments; all others are those of `base`.

        Args:
            arguments: by the names of `Sampling`, or transformers' other names.
            base: the settings that are not among them; the defaults if not given.
            also: names of arguments that are no settings, which may be meant.

        Raises:
            UnsupportedError: a name that is not an argument; with the nearest one.
            LimitError: a value out of its range, or one setting given under two names.

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
            # A number of numpy is one of Python's.
            known[proper] = value.item() if isinstance(value, np.number) else value
        check(known)
        return replace(cls() if base is None else base, **known)

    @classmethod
    def preset(cls, name: object, **settings: Any) -> "Sampling":
        """Settings for a use, with others beside them.

        Example:
            >>> Sampling.preset("chatbot", max_new_tokens=50).top_p
            0.5

        Args:
            name: "code generation", "creative writing", "chatbot", "code comments", "data analysis
                scripting" or "exploratory code".
            **settings: by the names of `Sampling`; they go before those of the preset.

        Raises:
            UnsupportedError: there is no such preset, with the nearest name; or as `of`.
            LimitError: as `of`.
        """
        temperature, top_p = preset(name)
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
        """What looks for the texts.

        Example:
            >>> Sampling(num_beams=4).search, Sampling(temperature=0.7, best_of=4).search
            ('beams', None)
        """
        return search_of(self)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings as a tuple."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def stages(self) -> tuple[str, ...]:
        """The order of the stages, whether they are on or not."""
        return read_order(self.order, ())

    @property
    def warps(self) -> dict[str, Any]:
        """The stages that are on, with their parameters.

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


NAMES: Final = tuple(field.name for field in fields(Sampling))


def _unknown(name: str, also: Iterable[str]) -> UnsupportedError:
    if name in ELSEWHERE:
        return UnsupportedError(f"{name!r} is not a setting: {ELSEWHERE[name]}", feature=name)
    hint = did_you_mean(name, [*NAMES, *ALIASES, *also])
    return UnsupportedError(
        f"{name!r} is not an argument{hint or '; help(guideway.Sampling) lists the settings'}",
        feature=name,
    )
