"""The range of each setting, and its description in messages. Values are checked one by one."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, TypeGuard, cast

from guideway.errors import LimitError

LONE: Final = re.compile("[\ud800-\udfff]")

Check: TypeAlias = tuple[Callable[[object], bool], str]


def check(values: Mapping[str, object]) -> None:
    """Refuse the first value that is out of its range."""
    for name, value in values.items():
        if value is None and name in OPTIONAL:
            continue
        right, allowed = RANGES[name]
        if not right(value):
            raise wrong(name, value, allowed)


def wrong(name: str, value: object, allowed: str) -> LimitError:
    """The error for a setting with this value."""
    given = value if isinstance(value, int) else None
    return LimitError(f"{name} is {value!r}: it must be {allowed}", limit=name, given=given)


def _is_number(value: object) -> TypeGuard[float | int]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(
    low: float | int, high: float | int, allowed: str, *, but: float | int | None = None
) -> Check:
    """Numbers from `low` to `high`, except the end `but`."""
    return (lambda value: _is_number(value) and low <= value <= high and value != but), allowed


def _counts(low: int) -> Check:
    return (lambda value: _is_count(value, low)), f"an integer from {low} up"


def _is_count(value: object, low: float | int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low


def _is_one_of(value: object, names: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in names


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != "" and not LONE.search(value)


def _is_texts(value: object) -> bool:
    texts = [value] if isinstance(value, str) else value
    return isinstance(texts, list | tuple) and all(map(_is_text, cast("Iterable[object]", texts)))


def _is_ids(value: object) -> bool:
    """Return True for a non-empty sequence of token ids."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(_is_count(each, 0) for each in cast("Iterable[object]", value))


def _is_words(value: object) -> bool:
    if not isinstance(value, list | tuple):
        return False
    words = cast("Iterable[object]", value)
    return all(_is_text(word) or _is_ids(word) for word in words)


def is_bias(value: object) -> bool:
    """Return True for a function, or a mapping or pairs of keys (tokens, texts) to numbers."""
    if callable(value):
        return True
    if isinstance(value, Mapping):
        pairs = [*cast("Mapping[object, object]", value).items()]
    elif isinstance(value, list | tuple):
        listed = [*cast("Iterable[object]", value)]
        if not all(isinstance(each, list | tuple) for each in listed):
            return False
        pairs = [tuple(cast("Iterable[object]", each)) for each in listed]
    else:
        return False
    return all(len(pair) == 2 and _is_key(pair[0]) and _is_number(pair[1]) for pair in pairs)


def _is_key(value: object) -> bool:
    return _is_count(value, 0) or _is_text(value) or _is_ids(value)


def is_judge(value: object) -> bool:
    """Return True for a ranking of texts."""
    if isinstance(value, str):
        return value in ("logprob", "majority")
    classifier = getattr(value, "classifier", value)
    judges = callable(getattr(classifier, "log_probs", None))
    if isinstance(classifier, type):  # the class of a classifier is no judge, `float` is
        return not judges
    return callable(value) or judges


BIAS: Final = (
    "a mapping from token ids, tuples of them, or texts to finite numbers, or a function from the "
    "text so far to such a mapping"
)
SHARE: Final = _numbers(0, 1, "a number above 0 and at most 1", but=0)
CUTOFF: Final = _numbers(0, 1, "a number from 0 to below 1", but=1)
FRACTION: Final = _numbers(0, 1, "a number from 0 to 1")
FINITE: Final = _numbers(-math.inf, math.inf, "a finite number")
POSITIVE: Final = _numbers(0, math.inf, "a finite number above 0", but=0)
NOT_NEGATIVE: Final = _numbers(0, math.inf, "a finite number from 0 up")

EXACTNESS: Final = ("local", "rejection", "asap", "smc")
JUDGE: Final = '"logprob", "majority", a classifier, or a function from a text to a number'

RANGES: Final[Mapping[str, Check]] = {
    "do_sample": ((lambda value: isinstance(value, bool)), "True, False or None"),
    "temperature": NOT_NEGATIVE,
    "top_k": _counts(0),
    "top_p": SHARE,
    "min_p": FRACTION,
    "typical_p": SHARE,
    "epsilon_cutoff": CUTOFF,
    "eta_cutoff": CUTOFF,
    "top_h": SHARE,
    "top_n_sigma": POSITIVE,
    "xtc_probability": FRACTION,
    "xtc_threshold": FRACTION,
    "mirostat_mode": ((lambda value: _is_count(value, 0) and value in (0, 1, 2)), "0, 1 or 2"),
    "mirostat_tau": POSITIVE,
    "mirostat_eta": POSITIVE,
    "repetition_penalty": POSITIVE,
    "presence_penalty": FINITE,
    "frequency_penalty": FINITE,
    "flat_penalty": FINITE,
    "no_repeat_ngram_size": _counts(0),
    "bad_words_ids": (_is_words, "a list of texts and of lists of token ids, none empty"),
    "logit_bias": (is_bias, BIAS),
    "dry_multiplier": NOT_NEGATIVE,
    "dry_base": _numbers(1, math.inf, "a finite number from 1 up"),
    "dry_allowed_length": _counts(1),
    "dry_sequence_breakers": (_is_texts, "a list of texts, none empty or with surrogates"),
    "order": (
        _is_texts,
        'a list of stages, "transformers" or "llama.cpp"',
    ),
    "seed": ((lambda value: _is_count(value, -math.inf)), "an integer"),
    "stop": (_is_texts, "a text or a list of texts, none empty or with surrogates"),
    "min_new_tokens": _counts(0),
    "max_new_tokens": _counts(1),
    "num_return_sequences": _counts(1),
    "num_beams": _counts(1),
    "length_penalty": FINITE,
    "early_stopping": (
        (lambda value: isinstance(value, bool) or _is_one_of(value, ("never",))),
        'True, False or "never"',
    ),
    "num_beam_groups": _counts(1),
    "diversity_penalty": NOT_NEGATIVE,
    "stochastic_beams": ((lambda value: isinstance(value, bool)), "True or False"),
    "penalty_alpha": FRACTION,
    "best_of": _counts(1),
    "best_by": (is_judge, JUDGE),
    "exactness": (
        (lambda value: _is_one_of(value, EXACTNESS)),
        f"one of {', '.join(map(repr, EXACTNESS))}",
    ),
    "max_attempts": _counts(1),
    "particles": _counts(1),
    "resample_below": FRACTION,
    "critic": (callable, "a function from a text to a number"),
}
OPTIONAL: Final = {
    "do_sample", "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
    "eta_cutoff", "top_h", "top_n_sigma", "xtc_probability", "mirostat_mode", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "flat_penalty", "no_repeat_ngram_size",
    "bad_words_ids", "logit_bias", "dry_multiplier", "seed", "length_penalty", "early_stopping",
    "diversity_penalty", "penalty_alpha", "best_of", "best_by", "max_attempts", "particles",
    "resample_below", "critic",
}  # fmt: skip
