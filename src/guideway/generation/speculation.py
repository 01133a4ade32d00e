"""The length of drafts: the number of drafted tokens that gives the most tokens a second.

With α the share of drafted tokens of an origin that are right, γ drafted tokens give
1 + α + α² + … + α^γ tokens for a forward that reads γ + 1 of them (Leviathan et al. 2023, arXiv
2211.17192). Both α and the time of a forward are measured as the text grows. They are wrong at
first, and beside other programs; so drafts that have cost more than they saved are tried seldom.
"""

import time
from bisect import bisect, insort
from collections.abc import Sequence as Listed
from typing import Final
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from guideway.generation.drafts import Drafter, Lookup
from guideway.generation.heads import HeadsDraft
from guideway.generation.row.sequence import Sequence
from guideway.models.protocol import NO_DRAFT, Draft, Origin

MOST: Final = 24  # drafted tokens that one forward reads in each row
MEMORY: Final = 32  # tokens or forwards that an estimate remembers
WEIGHT: Final = 2.0  # tokens that an estimate which is given in advance counts for
MODEL: Final[Origin] = ("model", 0)  # of drafts that a model makes
FORCED: Final = {0: 0.95, 1: 0.7}  # the last token of a forced string may go on behind it
LEAST_GAIN: Final = 1.03  # a gain that is less may be an error of the estimates
GROWTH: Final = 1.03  # in each forward, so that a slower one counts after some
TRIES: Final = 1.5  # forwards that drafts of one kind may cost beyond all that they have saved
SHARE: Final = 0.01  # share of all forwards that they may cost in addition
KEPT: Final = 0.995  # weight of the past after each forward


def seconds_of(device: torch.device) -> float:
    """A clock for forwards: on a CPU that of this thread, which stops while other programs run."""
    return time.thread_time() if device.type == "cpu" else time.perf_counter()


class Rates:
    """Shares of right drafted tokens by origin, and the costs of drafts."""

    def __init__(self) -> None:
        """Begin with the usual rates."""
        self._seen = dict[Origin, tuple[float, float]]()
        self._lost, self._forwards = dict[str, float](), 0.0  # by the name of the first origin

    def rate(self, origin: Origin) -> float:
        """The share of tokens that is right."""
        right, all_ = self._seen.get(origin) or _usual(origin)
        return right / all_

    def note(self, draft: Draft, accepted: int) -> None:
        """The first `accepted` tokens were right, the next one was not."""
        for place, origin in enumerate(draft.origins[: accepted + 1]):
            right, all_ = self._seen.get(origin) or _usual(origin)
            kept = min(1.0, (MEMORY - 1) / all_)
            self._seen[origin] = right * kept + (place < accepted), all_ * kept + 1

    def pays(self, draft: Draft) -> bool:
        """Return True unless drafts that begin like this one have cost more than they saved."""
        lost = self._lost.get(draft.origins[0][0], 0.0) if draft.origins else 0.0
        return lost < TRIES + SHARE * self._forwards

    def settle(self, drafts: Listed[Draft], accepted: Listed[int], price: float) -> None:
        """Note a forward of a batch, which drafts have made longer by `price` forwards."""
        self._forwards = self._forwards * KEPT + 1
        lost = {name: each * KEPT for name, each in self._lost.items()}
        pairs = zip(drafts, accepted, strict=True)
        read = [(draft.origins[0][0], right) for draft, right in pairs if draft.origins]
        for name, right in read:
            lost[name] = lost.get(name, 0.0) + price / len(read) - right / len(drafts)
        self._lost = lost


def _usual(origin: Origin) -> tuple[float, float]:
    name, length = origin
    if name == "forced":
        rate = FORCED[length]
    elif name == "held":
        rate = 1 - 0.6 / (1 + length)
    elif name == "free":
        rate = 1 - 3.2 / (1 + length)
    else:
        rate = 0.7
    return WEIGHT * max(rate, 0.05), WEIGHT


class Costs:
    """Seconds of a forward by the number of tokens that it reads."""

    def __init__(self) -> None:
        """Nothing is known but the usual shape of the curve on a CPU."""
        self._known = dict[int, float]()  # the least times
        self._sizes = list[int]()  # in order
        self._sure = set[int]()  # sizes that were measured twice

    def most(self, rows: int) -> int:
        """The longest drafts to try: none before forwards without drafts, then step by step."""
        return max(2 * self._sizes[-1] // rows, 4) if rows in self._sure else 0

    def note(self, tokens: int, seconds: float) -> None:
        """Note how long a forward took; slow ones that others caused do not count."""
        if tokens in self._known:
            self._sure.add(tokens)
        else:
            insort(self._sizes, tokens)
        self._known[tokens] = least = _less(self._known.get(tokens, 0.0), seconds)
        for fewer in self._sizes[: bisect(self._sizes, tokens) - 1]:  # do not take longer
            self._known[fewer] = min(self._known[fewer], least)

    def seconds(self, tokens: int) -> float:
        """The time that a forward of so many tokens will take.

        Sizes that were not measured have the usual shape, with a scale that is interpolated.
        """
        known, sizes, place = self._known, self._sizes, bisect(self._sizes, tokens)
        if tokens in known or not sizes:
            return known.get(tokens, _shape(tokens))
        left, right = sizes[max(place - 1, 0)], sizes[min(place, len(sizes) - 1)]
        begin, end = (known[size] / _shape(size) for size in (left, right))
        return _shape(tokens) * (begin + (end - begin) * (tokens - left) / max(right - left, 1))


def _less(least: float, seconds: float) -> float:
    """The minimum of the recent times. Old ones fade, because texts grow."""
    return min(least * GROWTH, seconds) if least else seconds


def _shape(tokens: int) -> float:
    """Seconds relative to one token: weights are read once, and arithmetic is for each token."""
    return 1.0 if tokens == 1 else 1.4 + 0.03 * tokens


class Speculation:
    """Drafts for a batch, of the length that pays."""

    def __init__(self, drafter: Drafter, rates: Rates, costs: Costs) -> None:
        """`rates` and `costs` are shared by all texts of a model."""
        self._drafter, self._rates, self._costs = drafter, rates, costs
        self.sees = isinstance(drafter, HeadsDraft)  # drafts need hidden states
        self._prepared = WeakKeyDictionary[Sequence, tuple[int, Draft]]()  # by steps of the row

    def prepare(self, row: Sequence) -> None:
        """Draft for a row before its step, if no model is needed for that."""
        if isinstance(self._drafter, Lookup):
            self._prepared[row] = row.steps, self._drafter.draft([row], MOST)[0]

    def drafts(self, rows: Listed[Sequence], room: int = MOST) -> list[Draft]:
        """A draft of at most `room` tokens for each row."""
        most = min(MOST, room, max(row.most - len(row.tokens) for row in rows))
        if self._drafter.seconds:
            most = self._length(len(rows), [[self._rates.rate(MODEL)] * most] * len(rows))
        if most < 1 or (self._drafter.seconds and not self._rates.pays(Draft((), (MODEL,)))):
            return [NO_DRAFT] * len(rows)
        prepared = [self._prepared.pop(row, (-1, NO_DRAFT)) for row in rows]
        pairs = zip(rows, prepared, strict=True)
        if all(row.steps == steps for row, (steps, _) in pairs):
            drafts = [draft.cut(most) for _, draft in prepared]
        else:
            drafts = self._drafter.draft(rows, most)
        drafts = [draft if self._rates.pays(draft) else NO_DRAFT for draft in drafts]
        odds = [[self._rates.rate(origin) for origin in draft.origins] for draft in drafts]
        length = self._length(len(rows), odds, drafting=0.0)
        return [draft.cut(length) for draft in drafts]

    def judge(
        self,
        rows: Listed[Sequence],
        drafts: Listed[Draft],
        accepted: Listed[int],
        seconds: float | None,
        states: Listed[Tensor] = (),
        tokens: int | None = None,
    ) -> None:
        """Learn from a forward of so many seconds, and from its hidden states.

        `seconds` is None if it has read prompts, `tokens` if each row has read as many.
        """
        if isinstance(self._drafter, HeadsDraft):
            read = zip(rows, accepted, states, strict=False)  # after prompts, there are no states
            self._drafter.see({row.number: state[right] for row, right, state in read})
        if seconds is not None:
            longest = max(len(draft.tokens) for draft in drafts)
            read = tokens or len(rows) * (1 + longest)
            self._costs.note(read, seconds)
            more = self._costs.seconds(read) + longest * self._drafter.seconds
            self._rates.settle(drafts, accepted, more / self._costs.seconds(len(rows)) - 1)
        for row, draft, right in zip(rows, drafts, accepted, strict=True):
            self._rates.note(draft, right)
            if row.finish_reason is not None and isinstance(self._drafter, Lookup):
                self._drafter.learn(row.tokens)

    def _length(self, rows: int, odds: Listed[Listed[float]], drafting: float | None = None) -> int:
        """The number of drafted tokens that makes the most tokens a second."""
        drafting = self._drafter.seconds if drafting is None else drafting
        chances = [1.0] * rows
        tokens, best = float(rows), (0, 0.0)
        for length in range(1 + min(max(map(len, odds)), self._costs.most(rows))):
            if length:
                pairs = zip(chances, odds, strict=True)
                chances = [p * own[length - 1] if length <= len(own) else 0.0 for p, own in pairs]
                tokens += sum(chances)
            seconds = self._costs.seconds(rows * (1 + length)) + length * drafting
            speed = tokens / seconds
            if not length or speed > best[1] * (LEAST_GAIN if not best[0] else 1.0):
                best = length, speed
        return best[0]
