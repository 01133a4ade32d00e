"""What may come next in each row of a call of `generate`.

A row is a prompt and a text; the text decides, by its tokens (`prefixes`). Around that:

- a row that is finished is left as it is: what it gets are pads;
- a row without a constraint is left as it is;
- what generate would cut off is ended before: the tokens that are left decide with the text;
- of the end ids those are offered at which generate stops;
- a text outside the language is an error, except where it is one that can never be taken: a beam
  with a token that was not allowed has no score, and a draft is only a proposal.

What this module does not know: scores, expressions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast, final

import numpy as np
from numpy.typing import NDArray

from guideway.api.prompts import read_source
from guideway.constraints.compile import compile as compile_source
from guideway.constraints.compiled import CompiledConstraint
from guideway.errors import LimitError, ModelError, SourceError, TokenRejected, UnsupportedError
from guideway.integrations.prefixes import Outside, Prefixes
from guideway.integrations.transformers_call import Call, running_call
from guideway.masks.bits import Row, pack
from guideway.vocabulary.spellings import Vocabulary

Asked: TypeAlias = Row | Outside | None
"""The tokens that may come next; a text that left the language; None where anything may come."""


@final
class Texts:
    """The constraints of the rows, and where each row's text stands.

    Attributes:
        vocabulary: the tokens of all constraints.
    """

    def __init__(
        self,
        source: Any,
        vocabulary: Any,
        joint: bytes,
        prompt_length: int | None,
        max_new_tokens: int | None,
    ) -> None:
        """Compile what is not compiled yet.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError, LimitError: as `guideway.compile`.
            ModelError: a constraint is for another vocabulary.
        """
        if not isinstance(joint, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"joint is {joint!r}: it must be bytes")
        self._start = _count(prompt_length, "prompt_length", 0)
        self._most = _count(max_new_tokens, "max_new_tokens", 1)
        listed = isinstance(source, list)
        sources: list[Any] = cast("list[Any]", source) if listed else [source]
        if not sources:
            raise SourceError("the list of sources is empty: give one for each prompt")
        self.vocabulary = _vocabulary(sources, vocabulary)
        made: dict[int, Prefixes] = {}
        self._each = [_prefixes(each, self.vocabulary, joint, made) for each in sources]
        self._listed = listed

    def call(self, rows: int | None = None) -> Call:
        """The call that is running, or what is known without one.

        Args:
            rows: how many rows there are; None if that is not known.

        Raises:
            UnsupportedError: nothing is running, and where texts begin was not said; or generate
                would cut a constrained text.
            SourceError: there is another number of prompts than of sources.
            ModelError: generate stops at other ids than the vocabulary.
        """
        call = running_call()
        count = len(self._each)
        if call is None:
            if self._start is None:
                raise UnsupportedError(
                    "where texts begin can only be read from a running generate of transformers: "
                    "in another loop, say prompt_length=, the number of tokens before the text",
                    feature="loop that is not generate",
                )
            call = Call(self._start, count if rows is None else rows, count)
        elif rows is not None and rows != call.rows:
            raise UnsupportedError(
                f"generate began with {call.rows} rows, and {rows} are asked about: which prompt "
                "is whose cannot be told",
                feature="rows that come or go",
            )
        if self._listed and (count != call.given or call.rows % count):
            raise SourceError(
                f"{count} sources for {call.given if call.model is not None else call.rows} "
                "prompts: give one for all, or one each"
            )
        if any(self._each):
            _check_stops(call)
            if call.ends is not None:
                self._check_ends(call.ends)
        return self._limited(call)

    def asked(self, call: Call, row: int, tokens: NDArray[np.int64]) -> Asked:
        """What may come next in a row with these tokens, its prompt among them.

        Raises:
            TokenRejected: its text left the language.
            LimitError: it cannot end before it is cut off.
            SourceError: it is shorter than its prompt.
        """
        place = row // call.copies if self._listed else 0
        if place >= len(self._each):
            raise SourceError(f"there is no source for row {row}: there are {len(self._each)}")
        prefixes = self._each[place]
        if prefixes is None or not (call.unfinished is None or call.unfinished[row]):
            return None
        if len(tokens) < call.start:
            raise SourceError(
                f"prompt_length is {call.start}, and row {row} has {len(tokens)} tokens"
            )
        if call.wanted > 1 and len(tokens) == call.start:
            _check_several(prefixes, call)
        standing = prefixes.after(tokens[call.start :])
        if isinstance(standing, Outside):
            self._check_outside(standing, call, row)
            return standing
        left = self._left(call, len(tokens))
        try:
            found = prefixes.row(standing, left)
        except LimitError as error:
            raise LimitError(
                f"row {row} needs {error.needed} tokens to end its text, and is cut off after "
                f"{left}: raise max_new_tokens, which is 20 where generate is not told",
                limit="max_new_tokens",
                given=left,
                needed=error.needed,
            ) from None
        return self.offered(found, call)

    def offered(self, row: Row, call: Call) -> Row:
        """A row without the end ids at which generate would go on."""
        ends = self.vocabulary.eos_ids
        if not call.ends or ends <= call.ends:
            return row
        return row & ~pack(sorted(ends - call.ends), self.vocabulary.width)

    def _left(self, call: Call, length: int) -> int | None:
        """How many tokens a row may still get; None if there is no limit.

        What follows where generate cuts rows off is of no interest (drafts are asked about it); a
        limit of our own is one that generate does not know, where an end has to come.
        """
        if call.end is None:
            return None
        own = self._most is not None and call.end == call.start + self._most
        return max(call.end - length, 0) if own or length < call.end else None

    def _limited(self, call: Call) -> Call:
        """The call with the numbers that were given."""
        start = call.start if self._start is None else self._start
        end = call.end
        if self._most is not None:
            end = start + self._most if end is None else min(end, start + self._most)
        return replace(call, start=start, end=end)

    def _check_outside(self, outside: Outside, call: Call, row: int) -> None:
        if call.beams > 1 or (
            call.settled is not None and call.start + outside.place >= call.settled
        ):
            return
        error = outside.error
        raise TokenRejected(
            f"the text of row {row} left the language at its token {outside.place}: {error}. "
            "Another processor, or the caller, put it there",
            token=error.token,
            spelling=error.spelling,
        )

    def _check_ends(self, ends: frozenset[int]) -> None:
        known, tokens = self.vocabulary.eos_ids, self.vocabulary.tokens
        for end in sorted(ends - known):
            if end < len(tokens) and tokens[end]:
                raise UnsupportedError(
                    f"generate stops at token {end} ({tokens[end]!r}), which is text: a text that "
                    f"holds it would be cut there. Pass eos_token_id={sorted(known)}",
                    feature="eos_token_id",
                )
        if not ends & known:
            raise ModelError(
                f"generate stops at {sorted(ends)}, and the texts end with {sorted(known)}: pass "
                "eos_token_id=, or make the vocabulary with these end ids"
            )


def _check_stops(call: Call) -> None:
    if call.stops:
        raise UnsupportedError(
            f"stop_strings={list(call.stops)} would cut texts wherever they occur, and a text that "
            "is cut is not in the language. Leave them out: a constraint ends its texts",
            feature="stop_strings",
        )


def _check_several(prefixes: Prefixes, call: Call) -> None:
    """Refuse to return more beams than there are texts: what fills up is none."""
    left = None if call.end is None else call.end - call.start
    found = prefixes.count(call.wanted, left, call.ends)
    if found < call.wanted:
        raise LimitError(
            f"num_return_sequences asks for {call.wanted} beams of a prompt, and only {found} "
            "sequences of tokens make a text here: ask for fewer, or leave num_beams out",
            limit="num_return_sequences",
            given=call.wanted,
        )


def _count(given: object, name: str, least: int) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise SourceError(f"{name} is {given!r}: it must be a whole number, {least} or more")
    return given


def _vocabulary(sources: Sequence[Any], given: Any) -> Vocabulary:
    """The vocabulary that was given, or that of the first compiled constraint."""
    if given is None:
        given = next((s.vocabulary for s in sources if isinstance(s, CompiledConstraint)), None)
    if not isinstance(given, Vocabulary):
        raise SourceError(
            "a vocabulary is needed: guideway.Vocabulary.from_transformers(tokenizer, "
            f"width=model.config.vocab_size), not {given!r}"[:300]
        )
    if not given.lossless:
        raise UnsupportedError(
            f"no text can be generated exactly with this tokenizer: {given.loss}",
            feature="tokenizer that loses information",
        )
    return given


def _prefixes(
    source: Any, vocabulary: Vocabulary, joint: bytes, made: dict[int, Prefixes]
) -> Prefixes | None:
    """The states of a source; those of equal ones are shared."""
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
