"""History of a row, as a value: everything besides logits that the next token depends on.

Counts, repeated sequences and mirostat's ceiling are here. Histories can be kept and shared, which
beams and drafts need. A step copies the ids of the text, and does not depend on the vocabulary.

Repeated sequences: DRY ("don't repeat yourself", p-e-w 2024) penalises a token by the longest
sequence that ends the text and also precedes that token elsewhere. `Repeats` keeps these lengths
for all positions and updates them with each token, in linear time:

    text      a b c a b c a b      the five tokens before the second c are the text's last five,
    lengths   0 0 2 0 0 5 0 0      so another c would continue a sequence of five

Endings: tokens that complete a token sequence or a text. A sequence is completed by its last token
if the others precede it, in prompt or text (transformers' `sequence_bias`). A text is completed by
any tokens that spell it, in the generated text alone:

- `within` (bad words): the token after which the generated text contains the text;
- at the end (biases): the token after which the generated text ends with it.

Example: the text "foo" with the tokens "f", "o", "oo", "food". Always: "food" within. After an "f":
"oo". After "fo": "o", and within all tokens that begin with "o".
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from guideway.errors import LimitError
from guideway.sampling.settings import GIVEN_BIASES, Bias, Sampling, wrong
from guideway.vocabulary.vocabulary import Vocabulary

Ids: TypeAlias = NDArray[np.int64]
Lengths: TypeAlias = NDArray[np.int64]
Penalties: TypeAlias = NDArray[np.float64]
LARGEST: Final = 1e9  # a penalty or a bias; more could become −∞, and that would be a ban


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """For each position of a text, how much of the text before it also ends the text."""

    lengths: Lengths  # number of tokens before each position that are the text's last ones
    breaks: NDArray[np.bool_]  # True for tokens that no sequence crosses

    @classmethod
    def of(cls, ids: Ids, breaks: Sequence[bool]) -> "Repeats":
        broken = np.array(breaks, np.bool_)
        count = len(ids)
        matched = np.array(_matches(ids[::-1].tolist()), np.int64)
        lengths = np.zeros(count, np.int64)
        lengths[1:] = matched[:0:-1]
        # Neither of the two sequences may go over a break.
        places = np.arange(count + 1)
        since = places - np.maximum.accumulate(np.append(0, np.where(broken, places[1:], 0)))
        return cls(np.minimum(lengths, np.minimum(since[:-1], since[-1])), broken)

    def after(self, ids: Ids, token: int, *, breaks: bool) -> "Repeats":
        """The repeats with one more token; `ids` is the text without it."""
        goes_on = (ids == token) & ~self.breaks & (not breaks)
        lengths = np.append(0, np.where(goes_on, self.lengths + 1, 0))
        return Repeats(lengths, np.append(self.breaks, breaks))

    def penalties(
        self, ids: Ids, *, multiplier: float | int, base: float | int, allowed: int
    ) -> tuple[Ids, Penalties]:
        """Tokens that would continue a sequence of `allowed` tokens or more, and their penalties.

        They are multiplier · base^(length − allowed); breaking tokens have none.

        >>> text = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4])
        >>> repeats = Repeats.of(text, [False] * 9)
        >>> repeats.penalties(text, multiplier=0.8, base=1.75, allowed=2)
        (array([5]), array([2.45]))
        """
        places = np.flatnonzero((self.lengths >= allowed) & ~self.breaks)
        tokens, which = np.unique(ids[places], return_inverse=True)
        longest = np.zeros(len(tokens))
        np.maximum.at(longest, which, self.lengths[places])
        with np.errstate(over="ignore"):
            powers = np.float64(base) ** (longest - allowed)
            return tokens, np.minimum(multiplier * powers, LARGEST)


def completing(ids: Ids, size: int) -> Ids:
    """Tokens that would repeat a sequence of `size` tokens.

    >>> completing(np.array([1, 2, 3, 1, 2]), 3).tolist()
    [3]
    """
    starts = len(ids) - size + 1
    if starts <= 0:
        return ids[:0]
    if size == 1:
        return np.unique(ids)
    places = np.flatnonzero(ids[:starts] == ids[starts])
    for offset in range(1, size - 1):
        places = places[ids[places + offset] == ids[starts + offset]]
    return np.unique(ids[places + size - 1]) if len(places) else ids[:0]


def _matches(text: list[int]) -> list[int]:
    """Z function (Main and Lorentz 1984): common prefix lengths of each suffix and the text."""
    count = len(text)
    found = [count] * count
    low = high = 0  # the match that reaches farthest: text[low:high] is text[:high - low]
    for place in range(1, count):
        length = min(high - place, found[place - low]) if place < high else 0
        while place + length < count and text[length] == text[place + length]:
            length += 1
        found[place] = length
        if place + length > high:
            low, high = place, place + length
    return found


Key: TypeAlias = tuple[int, ...] | str
Group: TypeAlias = tuple[Ids, float]  # tokens, and the value that they have

NONE: Final[Ids] = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Endings:
    """Completing tokens with a value each."""

    always: tuple[Group, ...]  # tokens that complete something in any context
    after_ids: dict[tuple[int, ...], list[Group]]  # tokens by the ids before them
    after_text: dict[bytes, list[Group]]  # tokens by the last bytes before them
    widths: tuple[int, ...]  # lengths of the keys of `after_ids`
    reach: int  # length of the longest key of `after_text`, in bytes

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[Key, float]], vocabulary: Vocabulary, *, within: bool, what: str
    ) -> "Endings":
        """The endings of sequences and texts; `within`: the token may continue after the text."""
        always = list[Group]()
        after_ids: dict[tuple[int, ...], list[Group]] = {}
        after_text: dict[bytes, list[Group]] = {}
        for key, value in pairs:
            if isinstance(key, str):
                data = key.encode()
                always.append((_holders(vocabulary, data, within=within), value))
                for size in range(1, len(data)):
                    tokens = _finishers(vocabulary, data[size:], within=within)
                    if len(tokens):
                        after_text.setdefault(data[:size], []).append((tokens, value))
                continue
            _check_ids(key, vocabulary, what)
            group = np.array(key[-1:], np.int64), value
            if len(key) == 1:
                always.append(group)
            else:
                after_ids.setdefault(key[:-1], []).append(group)
        widths = tuple(dict.fromkeys(map(len, after_ids)))
        return cls(
            tuple(always), after_ids, after_text, widths, max(map(len, after_text), default=0)
        )

    def completed(self, ids: Ids, tail: bytes) -> Iterator[Group]:
        """Completing tokens here, without `always`; `tail` has the last `reach` bytes."""
        for width in self.widths:
            if width <= len(ids):
                yield from self.after_ids.get(tuple(ids[-width:].tolist()), ())
        for size in range(1, min(self.reach, len(tail)) + 1):
            yield from self.after_text.get(tail[-size:], ())


NOTHING: Final = Endings((), {}, {}, (), 0)


@lru_cache(1024)
def _holders(vocabulary: Vocabulary, data: bytes, *, within: bool) -> Ids:
    """The tokens whose spelling holds `data`, or ends with it."""
    found = re.compile(re.escape(data) + (b"" if within else rb"\Z")).search
    spelled = enumerate(vocabulary.tokens)
    holders = (token for token, spelling in spelled if spelling and found(spelling))
    return np.fromiter(holders, np.int64)


def _finishers(vocabulary: Vocabulary, data: bytes, *, within: bool) -> Ids:
    """The tokens whose spelling begins with `data`, or is `data`."""
    found = vocabulary.beginning(data) if within else vocabulary.ids(data)
    return np.array(found, np.int64)


def _check_ids(key: tuple[int, ...], vocabulary: Vocabulary, what: str) -> None:
    if max(key) >= vocabulary.width:
        raise LimitError(
            f"{what} has the token {max(key)}: it must be below {vocabulary.width}, the number of "
            "logits",
            limit=what,
            given=max(key),
        )


# Settings that depend on earlier tokens.
REMEMBERED: Final = (
    "repetition_penalty", "presence_penalty", "frequency_penalty", "flat_penalty",
    "no_repeat_ngram_size", "bad_words_ids", "logit_bias", "dry_multiplier", "mirostat_mode",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The settings of a row, ready for use."""

    sampling: Sampling
    vocabulary: Vocabulary
    bias: Endings  # `logit_bias`, unless it is a function
    words: Endings  # bad words
    breakers: tuple[bytes, ...]  # `dry_sequence_breakers` as bytes
    reach: int  # number of last bytes of the text that matter
    remembers: bool  # True if anything depends on earlier tokens

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
        if not GIVEN_BIASES.has(given):
            raise wrong("logit_bias", given, GIVEN_BIASES.allowed)
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


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The tokens of a prompt and of the text after it.

    Attributes:
        taken: remaining prompt tokens that spell the joint, which bad words do not forbid.
    """

    rules: Rules
    tokens: Ids  # all tokens
    prompt: int  # number of prompt tokens
    seen: Ids  # tokens of prompt and text; those of the prompt once
    tail: bytes  # last bytes of the text
    repeats: Repeats | None  # lengths of repeated sequences; None if unused
    ceiling: float  # mirostat's, in bits
    joint: bytes  # bytes before the text that are not part of it
    taken: tuple[int, ...] = ()

    @classmethod
    def begin(
        cls, rules: Rules, prompt: Sequence[int], joint: bytes = b"", taken: tuple[int, ...] = ()
    ) -> "History":
        """The history of an empty text after `prompt` and `joint`, which `taken` spelled."""
        if not rules.remembers:
            return cls(rules, NONE, 0, NONE, b"", None, 0.0, b"")
        tokens = np.array(prompt, np.int64)
        repeats = None
        if rules.sampling.dry_multiplier:
            broken = list[bool]()
            tail = b""
            for token in prompt:
                breaks, tail = _reading(rules, tail, token)
                broken.append(breaks)
            repeats = Repeats.of(tokens, broken)
        ids = np.unique(tokens)
        seen = ids[ids < rules.vocabulary.width]
        ceiling = 2.0 * rules.sampling.mirostat_tau
        return cls(rules, tokens, len(prompt), seen, b"", repeats, ceiling, joint, taken)

    def after(self, token: int, surprise: float | None = None) -> "History":
        """The history with one more token.

        `surprise` is in bits, for mirostat; None without it, or if only one token was allowed.
        """
        if not self.rules.remembers:
            return self
        breaks, tail = _reading(self.rules, self.tail, token)
        repeats = self.repeats
        if repeats is not None:
            repeats = repeats.after(self.tokens, token, breaks=breaks)
        ceiling = self.ceiling
        if surprise is not None:
            sampling = self.rules.sampling
            ceiling -= sampling.mirostat_eta * (surprise - sampling.mirostat_tau)
        return replace(
            self,
            tokens=np.append(self.tokens, token),
            seen=np.append(self.seen, token),
            tail=tail,
            repeats=repeats,
            ceiling=ceiling,
            taken=self.taken[1:] if self.taken[:1] == (token,) else (),
        )

    @property
    def generated(self) -> Ids:
        return self.tokens[self.prompt :]

    @property
    def text(self) -> str:
        """The text; a character that is not complete is held back."""
        known = self.rules.vocabulary.tokens
        data = b"".join(known[int(token)] or b"" for token in self.generated)
        return codecs.getincrementaldecoder("utf-8")("replace").decode(
            data.removeprefix(self.joint)
        )

    def biases(self) -> list[Group]:
        """The biases of tokens that complete something here, without `rules.bias.always`."""
        found = [*self.rules.bias.completed(self.tokens, self.tail)]
        # Spelling the text takes longer than the rest, and only a function needs it.
        if callable(self.rules.sampling.logit_bias):
            moving = self.rules.bias_after(self.text) or NOTHING
            found += [*moving.always, *moving.completed(self.tokens, self.tail)]
        return found

    def bad_words(self) -> Ids:
        """The tokens that would complete a bad word, those that always do left out."""
        found = self.rules.words.completed(self.tokens, self.tail)
        return np.concatenate([NONE, *(tokens for tokens, _ in found)])

    def repeated_ngrams(self) -> Ids:
        """The tokens with which a sequence of `no_repeat_ngram_size` would come again."""
        size = self.rules.sampling.no_repeat_ngram_size
        return completing(self.tokens, size) if size else NONE

    def dry(self) -> tuple[Ids, Penalties]:
        """Tokens that continue a repeated sequence, and their penalties; ends of texts never."""
        if self.repeats is None:
            return NONE, np.zeros(0)
        sampling = self.rules.sampling
        ids, penalties = self.repeats.penalties(
            self.tokens,
            multiplier=sampling.dry_multiplier or 0,
            base=sampling.dry_base,
            allowed=sampling.dry_allowed_length,
        )
        kept = (ids < self.rules.vocabulary.width) & ~np.isin(
            ids, list(self.rules.vocabulary.eos_ids)
        )
        return ids[kept], penalties[kept]


def _reading(rules: Rules, tail: bytes, token: int) -> tuple[bool, bytes]:
    """Return True if a breaker ends in `token`, and the new last bytes."""
    spelled = rules.vocabulary.spelling(token)
    breaks = False
    for breaker in rules.breakers:
        before = tail[len(tail) - min(len(tail), len(breaker) - 1) :]
        breaks = breaks or breaker in before + spelled
    data = tail + spelled
    return breaks, data[max(0, len(data) - rules.reach) :]
