"""The tokens that may come next in each row of a call of `generate`.

A row is a prompt and a text; the tokens of the text decide. A loop reorders rows, rolls them back
or drafts ahead, so `Prefixes` looks up states by all tokens of a text. Recent ones are cached;
others are computed from the first token. In addition:

- Finished rows and rows without a constraint are unchanged.
- A text ends before `generate` would cut it: the remaining tokens count.
- No end id comes before the minimum of the call, unless nothing else may come.
- Only the end ids at which `generate` stops are offered.
- Tokens banned by a setting are missing from the vocabulary of the constraint.
- A text outside the language is an error, unless it can never be taken: a beam with a forbidden
  token has no score, and a draft is only a proposal.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from guideway.api.jobs import check_lossless
from guideway.api.prompts import read_source
from guideway.automaton.token_tries import Row, pack, unpack
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.constraint.longest_path import FUEL, longest_path
from guideway.errors import LimitError, ModelError, SourceError, TokenRejected, UnsupportedError
from guideway.integrations.transformers_call import Call, check_settings, running_call
from guideway.sources.reading import check_pickled
from guideway.sources.sources import check_count
from guideway.vocabulary.vocabulary import Vocabulary

MOST: Final = 1 << 14  # remembered texts, some hundred bytes each


@dataclass(frozen=True, slots=True)
class Outside:
    """A text outside the language: the index of the token that left it, and the reason."""

    place: int
    error: TokenRejected


Reached: TypeAlias = DecodeState | Outside


class Prefixes:
    """States of one constraint by their tokens, thread-safe. `start` is that of the empty text.

    >>> import guideway as gw
    >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
    >>> prefixes = Prefixes(gw.compile(gw.Regex("ab?"), vocabulary))
    >>> prefixes.row(prefixes.after(np.array([0]))).tolist()
    [6]
    >>> prefixes.after(np.array([0, 0])).place
    1
    """

    def __init__(
        self, constraint: CompiledConstraint, joint: bytes = b"", *, most: int = MOST
    ) -> None:
        """Cache at most `most` states; `joint` are bytes that tokens spell before the text."""
        self.constraint = constraint
        self.start = constraint.start(joint)
        self._known: OrderedDict[bytes, Reached] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()

    def after(self, tokens: NDArray[np.int64]) -> Reached:
        """The state after these tokens. Tokens after an end id change nothing."""
        if not len(tokens):
            return self.start
        key = _key(tokens)
        with self._lock:
            found = self._known.get(key)
            before = self._known.get(_key(tokens[:-1])) if found is None else None
        if found is not None:
            return found
        if before is None:  # the first token, or one whose text was forgotten
            before = self._read(tokens[:-1])
        made = self._following(before, int(tokens[-1]), len(tokens) - 1)
        with self._lock:
            self._known[key] = made
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return made

    def row(self, state: DecodeState, left: int | None = None) -> Row:
        """Mask of the next tokens, with at most `left` tokens to come."""
        if left is None:
            return self.constraint.mask(state)
        return self.constraint.mask_within(state, left)

    def count(
        self, enough: int, left: int | None = None, offered: Collection[int] | None = None
    ) -> int:
        """Count the token sequences of texts, each end id separately, up to `enough`.

        Each prefix can be completed, so it counts as one. `left` is the token budget; `offered` are
        the end ids that may come, None for all.
        """
        ends, ended, begun = self.constraint.vocabulary.eos_ids, 0, [self.start]
        while begun and ended + len(begun) < enough and left != 0:
            longer = list[DecodeState]()
            for state in begun:
                for token in unpack(self.row(state, left)).tolist():
                    ended += token in ends and (offered is None or token in offered)
                    if token not in ends and len(longer) < enough:
                        longer.append(self.constraint.advance(state, token))
            begun, left = longer, None if left is None else left - 1
        return min(enough, ended + len(begun))

    def _read(self, tokens: NDArray[np.int64]) -> Reached:
        standing: Reached = self.start
        for place, token in enumerate(tokens.tolist()):
            standing = self._following(standing, token, place)
        return standing

    def _following(self, standing: Reached, token: int, place: int) -> Reached:
        if isinstance(standing, Outside) or standing.ended:
            return standing
        try:
            return self.constraint.advance(standing, token)
        except TokenRejected as error:
            return Outside(place, error.with_traceback(None))  # which would keep what it saw


def _key(tokens: NDArray[np.int64]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(tokens).tobytes(), digest_size=16).digest()


Asked: TypeAlias = Row | Outside | None
"""The tokens that may come next; a text that left the language; None where anything may come."""

VOCABULARIES: Final = 4  # with banned tokens left out; each has a trie of its own


class Texts:
    """Constraints of the rows, and the state of each row's text."""

    def __init__(
        self,
        source: Any,
        vocabulary: Any,
        joint: bytes,
        prompt_length: int | None,
        max_new_tokens: int | None,
    ) -> None:
        if not isinstance(joint, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"joint must be bytes, got {joint!r}")
        if prompt_length is not None:
            check_count("prompt_length", prompt_length, 0)
        if max_new_tokens is not None:
            check_count("max_new_tokens", max_new_tokens, 1)
        self._start, self._most = prompt_length, max_new_tokens
        listed = isinstance(source, list)
        sources: list[Any] = cast("list[Any]", source) if listed else [source]
        if not sources:
            raise SourceError("the list of sources is empty: give one for each prompt")
        self.vocabulary = _vocabulary(sources, vocabulary)
        self._sources, self._joint = sources, joint
        self._each = _all_prefixes(sources, self.vocabulary, joint)
        self._without = lru_cache(VOCABULARIES)(self._compiled_without)
        self._listed = listed

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the sources, which are compiled again after loading."""
        for source in self._sources:
            check_pickled(source, "the source")
        sources = self._sources if self._listed else self._sources[0]
        return Texts, (sources, self.vocabulary, self._joint, self._start, self._most)

    def call(self, rows: int | None = None) -> Call:
        """The running call, checked; without one, a call that begins at `prompt_length`."""
        call = running_call()
        count = len(self._each)
        if call is None:
            if self._start is None:
                raise UnsupportedError(
                    "prompt_length= is missing: in loops other than transformers' generate, give "
                    "the number of tokens before the text",
                    feature="loop that is not generate",
                )
            call = Call(self._start, count if rows is None else rows, count)
        elif rows is not None and rows != call.rows:
            raise UnsupportedError(
                f"generate began with {call.rows} rows, and passes {rows} now: guideway cannot "
                "know the prompt of each",
                feature="rows that come or go",
            )
        if self._listed and (count != call.given or call.rows % count):
            raise SourceError(
                f"{count} sources for {call.given if call.model is not None else call.rows} "
                "prompts: give one for all, or one each"
            )
        if self.constrained and call.values:
            check_settings(call.values)
            if call.ends is not None:
                self._check_ends(call.ends, call.banned)
            self._check_forced(call)
        return self._limited(call)

    @property
    def constrained(self) -> bool:
        return any(self._each)

    def asked(self, call: Call, row: int, tokens: NDArray[np.int64]) -> Asked:
        """Mask of the next tokens of a row; `tokens` includes the prompt.

        None: the row is not constrained or has ended.
        """
        prefixes = self._prefixes_of(call, row)
        if prefixes is None or not (call.unfinished is None or call.unfinished[row]):
            return None
        if len(tokens) < call.start:
            if call.first is not None:
                return None  # transformers forces this token, which is no text
            raise SourceError(
                f"prompt_length is {call.start}, and row {row} has {len(tokens)} tokens"
            )
        if len(tokens) == call.start:
            _check_least(prefixes, call)
            if call.wanted > 1:
                _check_several(prefixes, call)
        standing = prefixes.after(tokens[call.start :])
        if isinstance(standing, Outside):
            self._check_outside(standing, call, row)
            return standing
        left = _tokens_left(call, len(tokens))
        try:
            found = prefixes.row(standing, left)
        except LimitError as error:
            raise LimitError(
                f"row {row} needs {error.needed} tokens to end its text, and is cut off after "
                f"{left}: raise max_new_tokens, whose default in generate is 20",
                limit="max_new_tokens",
                given=left,
                needed=error.needed,
            ) from None
        offered = self.offered(found, call)
        if len(tokens) < call.least and not standing.ended:
            rest = offered & ~self._ends
            return rest if rest.any() else offered
        return offered

    def offered(self, row: Row, call: Call) -> Row:
        """A row without the end ids at which `generate` would go on."""
        ends = self.vocabulary.eos_ids
        unused = (ends - call.ends if call.ends else frozenset[int]()) | (ends & call.banned)
        return row & ~pack(sorted(unused), self.vocabulary.width) if unused else row

    def held_back(self, call: Call, found: Asked, length: int) -> bool:
        """Return True if only end ids are allowed, which `generate` removes before the minimum."""
        if length >= call.least or not isinstance(found, np.ndarray):
            return False
        return not (found & ~self._ends).any()

    def check_least(self, call: Call, row: int) -> None:
        """Refuse a minimum of tokens that a text of the row may not reach."""
        prefixes = self._prefixes_of(call, row)
        least = call.least - call.start
        if prefixes is not None and prefixes.constraint.distance(prefixes.start) < least:
            raise UnsupportedError(
                f"min_new_tokens={least} needs LogitsProcessor: a prefix function gets no scores, "
                "and cannot keep a text going",
                feature="prefix_allowed_tokens_fn with min_new_tokens",
            )

    def too_short(
        self, call: Call, row: int, tokens: NDArray[np.int64], likely: Iterable[int]
    ) -> list[int]:
        """Tokens after which the text must end before the minimum; undecided ones are allowed.

        `likely` are possible tokens, best first. If the first one is taken, the search ends with
        one that is long enough.
        """
        prefixes = self._prefixes_of(call, row)
        missing = call.least - len(tokens) - 1
        if prefixes is None or missing < 1 or len(tokens) < call.start:
            return []
        standing = prefixes.after(tokens[call.start :])
        if isinstance(standing, Outside):
            return []
        constraint, short = prefixes.constraint, list[int]()
        for token in likely:
            after = constraint.advance(standing, token)
            longest = longest_path(constraint, after, missing, fuel=FUEL)
            if longest is not None and longest < missing:
                short.append(token)
            elif not call.sampled and call.beams == 1:
                break
        return short

    @property
    def _ends(self) -> Row:
        return pack(sorted(self.vocabulary.eos_ids), self.vocabulary.width)

    def _prefixes_of(self, call: Call, row: int) -> Prefixes | None:
        place = row // call.copies if self._listed else 0
        if place >= len(self._each):
            raise SourceError(f"there is no source for row {row}: there are {len(self._each)}")
        prefixes = self._each[place]
        if prefixes is None or not call.banned:
            return prefixes
        banned = frozenset(filter(prefixes.constraint.spells, call.banned))
        return self._without(banned)[place] if banned else prefixes

    def _compiled_without(self, banned: frozenset[int]) -> list[Prefixes | None]:
        """The same constraints for a vocabulary without some tokens."""
        if any(isinstance(source, CompiledConstraint) for source in self._sources):
            raise UnsupportedError(
                f"generate bans {len(banned)} tokens of text (suppress_tokens, bad_words_ids or "
                "sequence_bias), and a constraint is compiled already: give the source itself, "
                "which is compiled without them",
                feature="suppress_tokens",
            )
        known, special = self.vocabulary.tokens, self.vocabulary.special
        left = self.vocabulary.replaced(
            tokens=[None if n in banned else each for n, each in enumerate(known)],
            special={name: n for name, n in special.items() if n not in banned},
        )
        return _all_prefixes(self._sources, left, self._joint)

    def _limited(self, call: Call) -> Call:
        """The call with the limits of the caller, and without the tokens that are forced."""
        start = call.start if self._start is None else self._start
        start += call.first is not None and self._start is None
        end, ended = call.end, False
        if call.last and end is not None:
            end, ended = end - 1, True
        if self._most is not None and (end is None or start + self._most <= end):
            end, ended = start + self._most, True
        return replace(call, start=start, end=end, ended=ended)

    def _check_outside(self, outside: Outside, call: Call, row: int) -> None:
        if call.beams > 1 or (
            call.settled is not None and call.start + outside.place >= call.settled
        ):
            return
        error = outside.error
        raise TokenRejected(
            f"the text of row {row} left the language at its token {outside.place}: {error}. "
            "Another processor, or the caller, chose it",
            token=error.token,
            spelling=error.spelling,
        )

    def _check_ends(self, ends: frozenset[int], banned: frozenset[int]) -> None:
        known = self.vocabulary.eos_ids
        for end in sorted(ends - known - banned):
            if text := self.vocabulary.spelling(end):
                raise UnsupportedError(
                    f"generate stops at token {end} ({text!r}), which is text and would "
                    f"cut texts that contain it. Pass eos_token_id={sorted(known)}",
                    feature="eos_token_id",
                )
        if not ends & known:
            raise ModelError(
                f"generate stops at {sorted(ends)}, and the texts end with {sorted(known)}: pass "
                "eos_token_id=, or make the vocabulary with these end ids"
            )
        if ends & known <= banned:
            raise UnsupportedError(
                f"suppress_tokens bans every end id of the texts, {sorted(ends & known)}",
                feature="suppress_tokens",
            )

    def _check_forced(self, call: Call) -> None:
        """Refuse forced tokens that would become a part of the text, or end none."""
        ends = self.vocabulary.eos_ids & (call.ends or frozenset())
        first = call.first
        if first is not None:
            text = self.vocabulary.spelling(first)
            if text or first in self.vocabulary.eos_ids or call.values["input_ids_length"] == 0:
                raise UnsupportedError(
                    f"forced_bos_token_id={first} would put a token into the text, outside the "
                    "constraint. Pass forced_bos_token_id=None",
                    feature="forced_bos_token_id",
                )
        if call.last and not call.last & ends:
            raise UnsupportedError(
                f"forced_eos_token_id={sorted(call.last)} is not an end id of the texts, which end "
                f"with {sorted(ends)}. Pass forced_eos_token_id=None",
                feature="forced_eos_token_id",
            )


def _tokens_left(call: Call, length: int) -> int | None:
    """Tokens that a row may still get; None without a limit.

    Drafts continue past the length limit; nothing is enforced there unless an end has to come.
    """
    if call.end is None:
        return None
    return max(call.end - length, 0) if call.ended or length < call.end else None


def _check_least(prefixes: Prefixes, call: Call) -> None:
    """Refuse a minimum that no text of the constraint has."""
    least = call.least - call.start
    if least < 1:
        return
    longest = longest_path(prefixes.constraint, prefixes.start, least)
    if longest is not None and longest < least:
        raise LimitError(
            f"the longest text of the constraint has {longest} tokens, and min_new_tokens (or "
            f"min_length) asks for {least}",
            limit="min_new_tokens",
            given=least,
            needed=longest,
        )


def _check_several(prefixes: Prefixes, call: Call) -> None:
    """Refuse to return more beams than there are texts: transformers would fill up with pads."""
    left = None if call.end is None else call.end - call.start
    found = prefixes.count(call.wanted, left, call.ends)
    if found < call.wanted:
        raise LimitError(
            f"num_return_sequences asks for {call.wanted} beams of a prompt, and only {found} "
            "sequences of tokens make a text here: ask for fewer, or leave num_beams out",
            limit="num_return_sequences",
            given=call.wanted,
        )


def _vocabulary(sources: Sequence[Any], given: Any) -> Vocabulary:
    """The vocabulary that was given, or that of the first compiled constraint."""
    if given is None:
        given = next((s.vocabulary for s in sources if isinstance(s, CompiledConstraint)), None)
    if not isinstance(given, Vocabulary):
        raise SourceError(
            "vocabulary must be guideway.Vocabulary.from_transformers(tokenizer, "
            f"width=model.config.vocab_size), not {given!r}"[:300]
        )
    check_lossless(given)
    return given


def _all_prefixes(
    sources: Sequence[Any], vocabulary: Vocabulary, joint: bytes
) -> list[Prefixes | None]:
    """The states of each source; equal ones share them."""
    made: dict[int, Prefixes] = {}
    return [_prefixes(each, vocabulary, joint, made) for each in sources]


def _prefixes(
    source: Any, vocabulary: Vocabulary, joint: bytes, made: dict[int, Prefixes]
) -> Prefixes | None:
    if isinstance(source, CompiledConstraint):
        constraint = source
    else:
        read = read_source(source)
        if read is None:
            return None
        constraint = compile_source(read, vocabulary)
    if constraint.vocabulary != vocabulary:
        raise ModelError(
            f"the constraint was compiled for another vocabulary: {constraint.vocabulary!r}, not "
            f"{vocabulary!r}"
        )
    return made.setdefault(id(constraint), Prefixes(constraint, joint))
