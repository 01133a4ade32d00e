"""One row during generation: its tokens, its text, and its end.

The rules for ending, in this order:

1. an end id: "stop" (offered in free text and where the constraint accepts);
2. a stop string, in free text or if the text before it is in the language: "stop". Like end ids,
   not before `min_new_tokens`;
3. only end ids could follow: "stop", without running the model. With `asks_end` the model is run,
   if there is a token left;
4. no tokens are left: "length". The constraint accepts, see `cursor`.

A text is always "length" if `max_new_tokens` removed a token that would have been chosen. A draw
detects that directly: the token is drawn from the allowed tokens and refused. A search compares
ranks: the budget has changed the text if it removed a token of a rank that is not lower (`lost`).
"""

import codecs
import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from guideway.automaton.token_tries import Row
from guideway.automaton.token_tries import count as count_tokens
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.errors import GuidewayError
from guideway.generation.row.cursor import Choices, Cursor, Free, Held
from guideway.generation.row.request import Event, FinishReason, Request, Stats
from guideway.generation.row.result import Result
from guideway.generation.row.trace import Standing, TracedStep, removed
from guideway.logits.rescore import TextContext
from guideway.sampling.history import History, Rules
from guideway.vocabulary.vocabulary import Vocabulary


class Transcript:
    r"""The growing text of a row: bytes in, whole characters out.

    - The joint is removed from the beginning once it is complete.
    - Stop strings are searched in the bytes, so they may span tokens (UTF-8 is
      self-synchronising).
    - A possible beginning of a stop string and an incomplete character are held back.
    - Bytes that are not UTF-8 become U+FFFD, as in the tokenizers' own decoding.

    Example:
        >>> transcript = Transcript(stops=["END"])
        >>> for piece in (b"caf\xc3", b"\xa9 E", b"arl"):
        ...     transcript.push(piece)
        ...     transcript.take()
        'caf'
        'é '
        'Earl'
    """

    def __init__(
        self,
        joint: bytes = b"",
        stops: tuple[str, ...] | list[str] = (),
        *,
        expected: bool = False,
    ) -> None:
        """An empty text after `joint`, which ends at one of `stops`.

        `expected`: the text surely begins with the joint, so a part of it is no text.
        """
        self._joint, self._expected = joint, expected
        self._stops = tuple(stop.encode() for stop in stops)
        self._bytes = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._taken = 0
        self._searched = 0

    def fork(self) -> "Transcript":
        other = copy.copy(self)
        other._bytes = bytearray(self._bytes)
        other._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        other._decoder.setstate(self._decoder.getstate())
        return other

    @property
    def text(self) -> str:
        return "" if self._waits else self._bytes.decode(errors="replace")

    @property
    def _waits(self) -> bool:
        """Return True if the bytes so far are only a part of the joint."""
        return self._expected and bool(self._joint)

    @property
    def readable(self) -> str:
        """The text so far without a character that is not complete; "" before the joint is."""
        return "" if self._joint else codecs.utf_8_decode(self._bytes, "replace", False)[0]

    def push(self, piece: bytes) -> None:
        self._bytes += piece
        if self._joint and not self._joint.startswith(self._bytes[: len(self._joint)]):
            self._joint = b""  # free text that does not begin as expected is left as it is
        if self._joint and len(self._bytes) >= len(self._joint):
            del self._bytes[: len(self._joint)]
            self._joint = b""

    def stop_places(self) -> Iterator[int]:
        """Start positions of stop strings completed since the last call, in order."""
        if not self._stops or self._joint:
            return
        searched, self._searched = self._searched, len(self._bytes)
        begin = max(0, searched - max(map(len, self._stops)) + 1)
        for place in range(begin, len(self._bytes)):
            found = (stop for stop in self._stops if self._bytes.startswith(stop, place))
            if any(place + len(stop) > searched for stop in found):
                yield place

    def before(self, place: int) -> str | None:
        """The text before `place`, None if that is inside a character."""
        try:
            return self._bytes[:place].decode()
        except UnicodeDecodeError:
            return None

    def cut(self, place: int) -> None:
        del self._bytes[place:]

    def take(self, *, final: bool = False) -> str:
        """The text that was not taken yet: all of it if `final`, else the part that is certain."""
        end = len(self._bytes) - (0 if final and not self._waits else self._held_back())
        end = max(end, self._taken)
        piece = bytes(self._bytes[self._taken : end])
        self._taken = end
        return self._decoder.decode(piece, final)

    def _held_back(self) -> int:
        """Number of last bytes that may begin a stop string or the joint."""
        if self._joint:
            return len(self._bytes)
        most = min(max(map(len, self._stops), default=1) - 1, len(self._bytes))
        return next(
            (
                length
                for length in range(most, 0, -1)
                if any(
                    len(stop) > length and stop.startswith(self._bytes[-length:])
                    for stop in self._stops
                )
            ),
            0,
        )


FORCED: Final = 128  # bytes of a forced string that the trace shows


class Sequence:
    """The mutable state of a request.

    Attributes:
        number: index of the request in the batch.
        tokens: tokens so far, without end ids.
        finish_reason: why it ended, None if it continues.
        most: token budget.
        history: what the choice of the next token may depend on.
        asks_end: wait for an end id if only that can follow: searches that compare probabilities of
            whole texts count it in all of them.
        closing: waiting for it now.
        lost: the greatest rank of the tokens that the budget removed from this step; −∞ if none.
        shortened: the budget has changed the text.
        cached: tokens of the prompt that the prefix cache had.
        queued: seconds before an engine took it.
        error: why it failed, or None.
    """

    def __init__(self, number: int, request: Request, vocabulary: Vocabulary, most: int) -> None:
        """Row `number` of a batch, without tokens, that may take `most` of them."""
        self.request = request
        self.tokens: list[int] = []
        self.finish_reason: FinishReason | None = None
        self.error: GuidewayError | None = None
        self.number, self.vocabulary, self.most = number, vocabulary, most
        how = request.sampling
        compared = how.search == "beams" or (how.search is None and how.best_of is not None)
        by_model = how.best_by in (None, "logprob")
        self.asks_end = compared and by_model and bool(vocabulary.eos_ids)
        self.closing = self.shortened = False
        self.lost = -math.inf
        self._least = request.sampling.min_new_tokens
        rules = Rules.of(request.sampling, vocabulary)
        self.history = History.begin(rules, request.prompt, request.joint, request.taken)
        self._cursor = self._place()
        self._transcript = Transcript(request.joint, request.sampling.stops, expected=request.held)
        self._logprobs: list[float] = []
        self._trace: list[TracedStep] = []
        self._traced = 0  # steps in earlier events
        self._states: dict[DecodeState, int] = {}  # numbers of those seen by the trace
        self._log_allowed: list[float] = []
        self._log_end = 0.0
        self._events = 0  # tokens in earlier events
        self._crowded = 0  # refusals of the cursor that are known
        self._mask_time = 0.0
        self.cached, self.queued = 0, 0.0
        self._forwards = self._drafted = self._accepted = 0
        self._began = self._first = self._last = time.perf_counter()

    def begin(self, now: float) -> None:
        """Start the clock for the first token.

        Without end ids, a text that can only be empty has ended already.
        """
        self._began = self._first = self._last = now
        if not self.vocabulary.eos_ids and self._cursor.over:
            self.finish_reason = "stop"

    def admit(self, now: float) -> None:
        """Note that an engine takes it."""
        self.queued = now - self._began

    @property
    def constrained(self) -> bool:
        """Return True if a constraint, or a prompt's end to be spelled again, restricts tokens."""
        return self.request.constraint is not None or not self._cursor.accepts

    def text_context(self) -> TextContext:
        request = self.request
        return TextContext.of(self.tokens, self.vocabulary, request.asked, request.joint)

    def row(self) -> Row:
        """The tokens that may come next, packed."""
        began = time.perf_counter()
        row = self._cursor.row()
        self._note_time(began)
        return row

    def choices(self) -> Choices | None:
        """The choice that the constraint leaves here; None in free text."""
        return self._cursor.choices()

    def take(
        self,
        token: int,
        logprob: float,
        log_allowed: float,
        surprise: float | None = None,
        rank: float = math.inf,
    ) -> bool:
        """Append a token that was drawn from `row`; if it is refused, `row` gets narrower.

        `log_allowed` is the log of the model's probability of all of `row`, `surprise` is for
        mirostat, `rank` is a search's preference (a draw prefers the tokens that it drew before).
        """
        began = time.perf_counter()
        ends, held = token in self.vocabulary.eos_ids, self.constrained
        taken = ends or self._note_loss(self._cursor.take(token))
        over = taken and not ends and self._cursor.over
        self._note_time(began)
        if not taken:
            return False
        self.shortened = self.shortened or -math.inf < self.lost >= rank
        self.lost = -math.inf
        self._last = time.perf_counter()
        if not self._log_allowed:
            self._first = self._last
        # Free text leaves out special tokens and padding, which is no constraint.
        self._log_allowed.append(log_allowed if held else 0.0)
        if ends:
            self._log_end = logprob
            self._end("stop")
            return True
        self.tokens.append(token)
        self.history = self.history.after(token, surprise)
        self._logprobs.append(logprob)
        self._transcript.push(self.vocabulary.shown(token))
        self.closing = over and self.asks_end and len(self.tokens) < self.most
        if self._stopped() or (over and not self.asks_end):
            self._end("stop")
        elif len(self.tokens) >= self.most:
            self._end("length")
        return True

    def admits(self, token: int, rank: float = math.inf) -> bool:
        """Return True if a token of `row` may be taken; if not, `row` gets narrower."""
        if token in self.vocabulary.eos_ids:
            return True
        return self._note_loss(self._cursor.admits(token), rank)

    def narrow(self) -> bool:
        """Remove tokens from `row` that do not fit into `most`; return True if there were any."""
        began = time.perf_counter()
        narrower = self._cursor.narrow()
        self._note_time(began)
        return narrower

    def fits(self, token: int, rank: float = math.inf) -> bool:
        """Return True if an end fits after a token; if not, `row` is reduced to such tokens."""
        if token in self.vocabulary.eos_ids:
            return True
        return self._note_loss(self._cursor.fits(token), rank)

    def shorten(self) -> None:
        """Note that the budget has changed the text."""
        self.shortened = True
        if self.finish_reason is not None:
            self._end(self.finish_reason)

    def fork(self) -> "Sequence":
        """The same row, which grows on its own: neither sees what happens to the other."""
        other = copy.copy(self)
        other.tokens = [*self.tokens]
        other._logprobs, other._log_allowed = [*self._logprobs], [*self._log_allowed]
        other._trace, other._states = [*self._trace], {**self._states}
        other._cursor, other._transcript = copy.copy(self._cursor), self._transcript.fork()
        return other

    @property
    def steps(self) -> int:
        """Number of tokens drawn, an end id included."""
        return len(self._log_allowed)

    @property
    def ends_by_budget(self) -> bool:
        """True if the text is constrained and the budget has room for one more token only."""
        held = self.constrained and not self.request.free
        return held and self.steps + 1 >= self.most

    @property
    def text(self) -> str:
        return self._transcript.text

    @property
    def readable(self) -> str:
        """The text so far, without a character at its end that is not complete."""
        return self.text if self.finish_reason else self._transcript.readable

    @property
    def whole(self) -> bool:
        """Return True if it has ended, not before `min_new_tokens` unless the budget is smaller."""
        return self.finish_reason is not None and len(self.tokens) >= min(self._least, self.most)

    def count(self, drafted: int = 0, accepted: int = 0) -> None:
        """Count a forward, with the drafted tokens that it read, and how many were right."""
        self._forwards += 1
        self._drafted += drafted
        self._accepted += accepted

    @property
    def position(self) -> tuple[CompiledConstraint, DecodeState] | None:
        """The constraint and its state; None in free text."""
        return self._cursor.position

    @property
    def standing(self) -> Standing | None:
        """The state of the constraint for the trace; None in free text."""
        if self.position is None:
            return None
        constraint, state = self.position
        number = self._states.setdefault(state, len(self._states))
        forced = constraint.forced_bytes(state, FORCED)
        return Standing(number, count_tokens(self._cursor.row()), self._cursor.accepts, forced)

    def note(self, step: TracedStep) -> None:
        self._trace.append(step)

    def event(self) -> Event:
        token = self.tokens[-1] if len(self.tokens) > self._events else None
        self._events = len(self.tokens)
        text = self._transcript.take(final=self.finish_reason is not None)
        steps, self._traced = tuple(self._trace[self._traced :]), len(self._trace)
        return Event(self.number, token, text, self.finish_reason, steps)

    def ready(self) -> bool:
        """Compute the mask that the next step needs; return True."""
        self.row()
        return not self.request.trace or self.standing is None or True

    def attempt(self, ask: Callable[..., bool], *given: Any) -> bool | None:
        """Return what `ask` returns; on an error the row fails alone, and the result is None."""
        try:
            return ask(*given)
        except GuidewayError as error:
            self.fail(error)
            return None

    def fail(self, error: GuidewayError) -> None:
        """End here, because of an error of this row alone."""
        self.finish_reason, self.error = "error", error

    def completion(self, memory: int) -> Result:
        """The text so far, without a value; `memory` is the peak in bytes."""
        sampling = self.request.sampling
        return Result(
            value=None,
            tokens=tuple(self.tokens),
            text=self._transcript.text,
            logprobs=tuple(self._logprobs),
            log_allowed=tuple(self._log_allowed),
            log_end=self._log_end,
            finish_reason=self.finish_reason or "interrupted",
            seed=sampling.seed if sampling.samples else None,
            stats=self._stats(memory),
            trace=tuple(self._trace) if self.request.trace else None,
            error=self.error,
        )

    def _stats(self, memory: int) -> Stats:
        count, whole = len(self.tokens), self._last - self._began
        lost = [removed(kept) for kept in self._log_allowed]
        return Stats(
            time_to_first_token=self._first - self._began,
            time_per_output_token=(self._last - self._first) / max(1, len(lost) - 1),
            tokens_per_second=count / whole if whole else 0.0,
            mask_time=self._mask_time,
            mass_removed=sum(lost) / max(1, len(lost)),
            peak_memory=memory,
            prompt_tokens=len(self.request.prompt),
            cached_tokens=self.cached,
            completion_tokens=count,
            forwards=self._forwards,
            drafted=self._drafted,
            accepted=self._accepted,
            queue_time=self.queued,
        )

    def _note_loss(self, taken: bool, rank: float = math.inf) -> bool:
        """`taken`; where it is False because of the budget, the rank of the token is noted."""
        if not taken and self._cursor.crowded > self._crowded:
            self.lost = max(self.lost, rank)
        self._crowded = self._cursor.crowded
        return taken

    def _end(self, reason: FinishReason) -> None:
        self.finish_reason = "length" if self.shortened and reason == "stop" else reason

    def _place(self) -> Cursor:
        request = self.request
        if request.constraint is None:
            return Free(self.vocabulary, self._least, request.taken)
        return Held(
            request.constraint,
            joint=request.joint,
            least=self._least,
            most=self.most,
            taken=request.taken,
        )

    def _stopped(self) -> bool:
        """Cut the text at a stop string that ends it; return True if there is one."""
        for place in self._transcript.stop_places():
            before = self._transcript.before(place)
            early = len(self.tokens) < self._least
            if not early and before is not None and self._cursor.matches(before):
                self._transcript.cut(place)
                return True
        return False

    def _note_time(self, began: float) -> None:
        if self.constrained:
            self._mask_time += time.perf_counter() - began
