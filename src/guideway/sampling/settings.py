"""`Sampling`: the settings by which tokens are chosen and texts end.

The names are those of transformers (`stop` is its `stop_strings`, `logit_bias` its
`sequence_bias`), or of llama.cpp if transformers has none. Everything is off by default; only the
end ids of a model's generation config are read. This module does not import torch, and does not
know whether a constraint fits the limits (`engine.limits`).
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

# Names of transformers that are refused, with what to write instead.
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
# Settings that turn on random choice.
RANDOM: Final = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h",
    "top_n_sigma", "xtc_probability", "mirostat_mode", "seed",
)  # fmt: skip
# Stages with one number, and the value that turns each off.
NEUTRAL: Final = {
    "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "typical_p": 1, "epsilon_cutoff": 0,
    "eta_cutoff": 0, "top_h": None, "top_n_sigma": None,
}  # fmt: skip
BREAKERS: Final = ("\n", ":", '"', "*")

Bias: TypeAlias = Mapping[Any, float | int]  # token ids, tuples of them, or texts → what is added


@final
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
        """The name of the search for texts; None without a search.

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


NAMES: Final = tuple(field.name for field in fields(Sampling))


def _unknown(name: str, also: Iterable[str]) -> UnsupportedError:
    if name in ELSEWHERE:
        return UnsupportedError(f"{name!r} is not a setting: {ELSEWHERE[name]}", feature=name)
    hint = did_you_mean(name, [*NAMES, *ALIASES, *also])
    return UnsupportedError(
        f"{name!r} is not an argument{hint or '; help(guideway.Sampling) lists the settings'}",
        feature=name,
    )
