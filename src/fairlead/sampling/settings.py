"""`Sampling`: how tokens are chosen and where a text ends, checked when it is made.

The names are transformers' (`stop` is its `stop_strings`). Everything is off by default; a model's
generation config is read for its end ids only. No torch here: settings are made before models.

What this module does not know: whether a constraint can meet the limits (`engine.limits`).
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final, TypeGuard, cast, final

from fairlead.errors import LimitError, UnsupportedError

# transformers' names that mean something, but not yet here: refused rather than ignored.
LATER: Final = (
    "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "no_repeat_ngram_size", "num_beams", "num_beam_groups",
    "diversity_penalty", "length_penalty", "early_stopping", "penalty_alpha", "logit_bias",
    "sequence_bias", "bad_words_ids", "guidance_scale", "watermarking_config", "assistant_model",
    "prompt_lookup_num_tokens", "min_length", "max_length", "max_time",
)  # fmt: skip
LONE: Final = re.compile("[\ud800-\udfff]")
ALIASES: Final = {
    "stop_strings": "stop",
    "max_tokens": "max_new_tokens",
    "n": "num_return_sequences",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to choose tokens, and when to end.

    Attributes:
        do_sample: draw at random (True) or take the most probable token (False). None: draw exactly
            if one of temperature, top_k, top_p, min_p, seed is given.
        temperature: divisor of the logits. 0 takes the most probable token.
        top_k: choose among the k most probable tokens.
        top_p: choose among the smallest set of most probable tokens with at least this mass.
        min_p: choose among the tokens at least this share as probable as the most probable one.
        seed: decides every random choice; None: another one each time.
        stop: texts that end the generation and are cut off. In constrained text they act only where
            what is before them is a whole text of the constraint.
        min_new_tokens: no end before so many tokens.
        max_new_tokens: at most so many tokens. Constrained text is brought to its end within them.
        num_return_sequences: how many samples of the prompt.

    Raises:
        LimitError: a value is out of its range, naming it and the range.

    Example:
        >>> Sampling(temperature=0.7, top_p=0.9).samples, Sampling().samples
        (True, False)
        >>> Sampling(top_p=1.5)
        Traceback (most recent call last):
        fairlead.errors.LimitError: top_p is 1.5: it must be a number above 0 and at most 1
    """

    do_sample: bool | None = None
    temperature: float | int | None = None
    top_k: int | None = None
    top_p: float | int | None = None
    min_p: float | int | None = None
    seed: int | None = None
    stop: str | tuple[str, ...] | list[str] = ()
    min_new_tokens: int = 0
    max_new_tokens: int = 256
    num_return_sequences: int = 1

    def __post_init__(self) -> None:
        """Check every value once; afterwards they are trusted."""
        _check({name: getattr(self, name) for name in NAMES})
        if self.min_new_tokens > self.max_new_tokens:
            raise LimitError(
                f"min_new_tokens is {self.min_new_tokens}, above max_new_tokens, which is "
                f"{self.max_new_tokens}",
                limit="max_new_tokens",
                given=self.max_new_tokens,
                needed=self.min_new_tokens,
            )
        if self.num_return_sequences > 1 and not self.samples:
            raise LimitError(
                f"num_return_sequences is {self.num_return_sequences}, but the most probable text "
                "is one: give a temperature or a seed, or do_sample=True",
                limit="num_return_sequences",
                given=self.num_return_sequences,
                needed=1,
            )

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> "Sampling":
        r"""The settings of these keyword arguments.

        Raises:
            UnsupportedError: a name that is not (or not yet) an argument; with the nearest one.
            LimitError: a value out of its range, or one setting given under two names.

        Example:
            >>> Sampling.of({"stop_strings": ["\n"]}).stops
            ('\n',)
            >>> Sampling.of({"temprature": 1})
            Traceback (most recent call last):
            fairlead.errors.UnsupportedError: 'temprature' is no sampling argument; did you mean ...
        """
        known: dict[str, object] = {}
        for name, value in arguments.items():
            proper = ALIASES.get(name, name)
            if proper not in NAMES:
                raise _unknown(name)
            if proper in known:
                raise _wrong(proper, value, f"given once, not as {name!r} as well")
            known[proper] = value
        _check(known)
        return cls(**known)  # pyright: ignore[reportArgumentType]

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn at random."""
        if self.temperature == 0 or self.do_sample is False:
            return False
        asked = (self.temperature, self.top_k, self.top_p, self.min_p, self.seed)
        return bool(self.do_sample) or any(value is not None for value in asked)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings as a tuple."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def warps(self) -> tuple[float, int, float, float]:
        """(temperature, top_k, top_p, min_p) with the values that mean "off" in place of None."""
        if not self.samples:
            return 1.0, 0, 1.0, 0.0
        heat = 1.0 if self.temperature is None else self.temperature
        mass = 1.0 if self.top_p is None else self.top_p
        return float(heat), self.top_k or 0, float(mass), float(self.min_p or 0)


NAMES: Final = tuple(field.name for field in fields(Sampling))


def _wrong(name: str, value: object, allowed: str) -> LimitError:
    given = value if isinstance(value, int) else None
    return LimitError(f"{name} is {value!r}: it must be {allowed}", limit=name, given=given)


def _unknown(name: str) -> UnsupportedError:
    if name in LATER:
        return UnsupportedError(
            f"{name!r} is not supported yet; supported are {', '.join(NAMES)}", feature=name
        )
    near = difflib.get_close_matches(name, [*NAMES, *ALIASES, *LATER], 1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(NAMES)}"
    return UnsupportedError(f"{name!r} is no sampling argument{hint}", feature=name)


def _check(values: Mapping[str, object]) -> None:
    """Each value by itself, with the range in the message."""
    for name, value in values.items():
        if value is None and name in OPTIONAL:
            continue
        if name == "do_sample":
            right, allowed = isinstance(value, bool), "True, False or None"
        elif name == "stop":
            right, allowed = (
                _is_stop(value),
                "a text or a list of texts, none empty or with surrogates",
            )
        elif name in LEAST:
            right, allowed = _is_count(value, LEAST[name]), f"an integer from {LEAST[name]} up"
        elif name == "seed":
            right, allowed = _is_count(value, -math.inf), "an integer"
        else:
            right, allowed = RANGES[name][0](value), RANGES[name][1]
        if not right:
            raise _wrong(name, value, allowed)


def _is_number(value: object) -> TypeGuard[float | int]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object, low: float | int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low


def _is_stop(value: object) -> bool:
    texts = [value] if isinstance(value, str) else value
    return isinstance(texts, list | tuple) and all(
        isinstance(text, str) and text != "" and not LONE.search(text)
        for text in cast("Iterable[object]", texts)
    )


OPTIONAL: Final = ("do_sample", "temperature", "top_k", "top_p", "min_p", "seed")
LEAST: Final = {
    "top_k": 0,
    "min_new_tokens": 0,
    "max_new_tokens": 1,
    "num_return_sequences": 1,
}
RANGES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "temperature": (lambda value: _is_number(value) and value >= 0, "a finite number from 0 up"),
    "top_p": (lambda value: _is_number(value) and 0 < value <= 1, "a number above 0 and at most 1"),
    "min_p": (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
}
