"""Settings prepared for one vocabulary: biases, bad words and breakers, looked up once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast, final

from guideway.errors import LimitError
from guideway.sampling.checks import BIAS, is_bias, wrong
from guideway.sampling.endings import NOTHING, Endings, Key
from guideway.sampling.repeats import LARGEST
from guideway.sampling.settings import Bias, Sampling
from guideway.vocabulary.spellings import Vocabulary

# Settings that depend on earlier tokens.
REMEMBERED: Final = (
    "repetition_penalty", "presence_penalty", "frequency_penalty", "flat_penalty",
    "no_repeat_ngram_size", "bad_words_ids", "logit_bias", "dry_multiplier", "mirostat_mode",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The settings of a row, ready for use.

    Attributes:
        bias: `logit_bias`, unless it is a function.
        words: bad words.
        breakers: `dry_sequence_breakers` as bytes.
        reach: number of last bytes of the text that matter.
        remembers: True if anything depends on earlier tokens.
    """

    sampling: Sampling
    vocabulary: Vocabulary
    bias: Endings
    words: Endings
    breakers: tuple[bytes, ...]
    reach: int
    remembers: bool

    @classmethod
    def of(cls, sampling: Sampling, vocabulary: Vocabulary) -> "Rules":
        """The rules of these settings; unknown ids, and end ids as bad words, are refused."""
        given = sampling.logit_bias
        bias = NOTHING
        if given is not None and not callable(given):
            bias = endings_of_bias(given, vocabulary)
        bad = tuple(map(_key, sampling.bad_words_ids or ()))
        words = _words(bad, vocabulary) if bad else NOTHING
        given = sampling.dry_sequence_breakers if sampling.dry_multiplier else ()
        texts = (given,) if isinstance(given, str) else given
        breakers = tuple(text.encode() for text in texts)
        reach = max(bias.reach, words.reach, *(len(each) - 1 for each in breakers), 0)
        remembers = any(getattr(sampling, name) for name in REMEMBERED)
        return cls(sampling, vocabulary, bias, words, breakers, reach, remembers)

    def bias_after(self, text: str) -> Endings | None:
        """Result of the bias function after `text`; None without one."""
        function = self.sampling.logit_bias
        if not callable(function):
            return None
        given: Any = function(text)
        if callable(given) or not is_bias(given):
            raise wrong("logit_bias", given, f"{BIAS}; this is what the function gave")
        return endings_of_bias(given, self.vocabulary)


def endings_of_bias(given: Bias | Iterable[Any], vocabulary: Vocabulary) -> Endings:
    """A bias, from a mapping or transformers' list of [ids, bias]."""
    pairs: Any = cast("Bias", given).items() if isinstance(given, Mapping) else given
    keyed = [(_key(key), min(max(float(value), -LARGEST), LARGEST)) for key, value in pairs]
    return Endings.of(keyed, vocabulary, within=False, what="logit_bias")


@lru_cache(64)
def _words(words: tuple[Key, ...], vocabulary: Vocabulary) -> Endings:
    for word in words:
        if len(word) == 1 and word[0] in vocabulary.eos_ids:
            raise LimitError(
                f"bad_words_ids has the end id {word[0]}, without which texts cannot end; use "
                "min_new_tokens for longer texts",
                limit="bad_words_ids",
                given=int(word[0]),
            )
    return Endings.of(
        [(word, 0.0) for word in words], vocabulary, within=True, what="bad_words_ids"
    )


def _key(given: Any) -> Key:
    if isinstance(given, int):
        return (given,)
    return given if isinstance(given, str) else tuple(given)
