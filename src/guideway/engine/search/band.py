"""A band of beams that compete with one another: what they become in one step.

    rows ─▶ the best continuations of all of them ─▶ those that end   ─▶ kept, the best of them
                                                  ├▶ those that can only end ─▶ their ends, next
                                                  └▶ those that go on ─▶ the next rows

The rules are transformers' (5.24):

- so many continuations are looked at that enough of them are no end id: (1 + end ids) × beams;
- what ends counts only among the first `beams` of them, and only the best `beams` are kept;
- the band is settled once it keeps `beams` texts of which the last is no worse than the best row
  that goes on could become: at its own length or, with `early_stopping` "never" and a positive
  `length_penalty`, at the greatest one. `early_stopping` True asks for `beams` texts and no more.

Where beams are drawn, the continuations that are looked at are a sample without replacement (the
greatest of log plus Gumbel noise), the best first; before 5.24 transformers took them in the order
in which they were drawn. The noise is a function of the seed and of the tokens so far.

Three rules differ. Where all continuations that were looked at end, as they do when a constraint or
a stop string ends them, more are looked at, so that no longer text is lost; rows that cannot go on
are gone, where transformers carries them on at −1e9; and filters leave one token at least, where
transformers' leave one more than there are end ids.

What this module does not know: models, constraints, other bands.
"""

import math
from collections import Counter
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace
from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.engine.search.base import Scores, share_losses
from guideway.engine.search.picks import Pick, best
from guideway.engine.sequence import Sequence
from guideway.sampling.noise import branch, gumbel
from guideway.sampling.settings import Sampling

LOOKED: Final = 1024  # continuations, after which no more are looked at for one that goes on
EXPONENT: Final = 700.0  # of e: beyond it, a float is infinite


@final
@dataclass(frozen=True, slots=True)
class Beam:
    """A row that goes on, or a text that has ended.

    Attributes:
        row: its tokens.
        rank: what it competes with: its log-probability, less what it owes to other bands.
        debt: what it owes.
        key: of the noise of what follows.
    """

    row: Sequence
    rank: float
    debt: float
    key: int

    @property
    def log(self) -> float:
        """Its log-probability."""
        return self.rank + self.debt

    def child(self, pick: Pick, owed: float) -> "Beam":
        """The beam with a token, for which it owes so much."""
        key = branch(self.key, pick.token)
        return Beam(pick.child(self.row), pick.log, self.debt + owed, key)


@final
@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all bands of a search.

    Attributes:
        beams: of a band.
        power: of the length, by which log-probabilities are divided.
        early: when to stop.
        random: whether beams are drawn.
        diversity: subtracted for each beam of the bands before that took the token at this step.
        looked: how many continuations are looked at.
    """

    beams: int
    power: float
    early: bool | str | None
    random: bool
    diversity: float
    looked: int

    @classmethod
    def of(cls, sampling: Sampling, ends: int) -> "Rules":
        """The rules of these settings, where there are so many end ids."""
        beams = sampling.num_beams // sampling.num_beam_groups
        return cls(
            beams=beams,
            power=1.0 if sampling.length_penalty is None else float(sampling.length_penalty),
            early=sampling.early_stopping,
            random=sampling.samples,
            diversity=float(sampling.diversity_penalty or 0),
            looked=max(2, 1 + ends) * beams,
        )

    def normed(self, log: float, steps: int) -> float:
        """A log-probability over the power of the length.

        Example:
            >>> Rules.of(Sampling(num_beams=2, length_penalty=2), 1).normed(-9.0, 3)
            -1.0
        """
        exponent = self.power * math.log(steps)
        if abs(exponent) > EXPONENT:
            return log * (0.0 if exponent > 0 else math.inf)
        return log / steps**self.power


@final
@dataclass(frozen=True, slots=True)
class _Grown:
    """Continuations with what they were picked by.

    Attributes:
        going: those that go on, the best first.
        ended: those that have ended, or can only end.
    """

    going: list[tuple[Pick, Beam]]
    ended: list[tuple[Pick, Beam]]


@final
@dataclass(frozen=True, slots=True)
class Band:
    """Beams that compete with one another. A value: a step gives another one.

    Attributes:
        rules: of the search.
        going: those that go on, the best first.
        ended: those that have ended, the best first.
        closing: those that have but for an end id, of which the score is asked for.
    """

    rules: Rules
    going: tuple[Beam, ...]
    ended: tuple[Beam, ...] = ()
    closing: tuple[Beam, ...] = ()

    @property
    def rows(self) -> tuple[Beam, ...]:
        """Those that need scores: that go on, then that close."""
        return (*self.going, *self.closing)

    def score(self, beam: Beam) -> float:
        """The log-probability over the power of the length."""
        return self.rules.normed(beam.log, max(1, beam.row.steps))

    def _rank(self, beam: Beam) -> float:
        return self.rules.normed(beam.rank, beam.row.steps)

    def grown(self, scores: Scores, taken: Listed[int]) -> "tuple[Band, list[Pick]] | None":
        """The band after a step, and what each beam that goes on was picked by.

        Args:
            scores: of `rows`.
            taken: the tokens with which beams of other bands have gone on.

        Returns:
            None if a row did not admit a token.
        """
        count = len(self.going)
        found = _Grown([], [])
        if count:
            found = self._picked(scores.part(0, count), Counter(taken))
            if found is None:
                return None
        closed = self._closed(scores.part(count, len(self.rows)))
        whole = [beam for _, beam in found.ended if beam.row.finish_reason is not None]
        if count and self.rules.power > 0 and self.going[0].row.ends_by_budget:
            # What goes on now might have become better than any text that has ended by itself.
            _shorten([*self.ended, *closed, *whole])
        closing = [each for each in found.ended if each[1].row.finish_reason is None]
        kept = sorted((*self.ended, *whole, *closed), key=lambda beam: -self._rank(beam))
        band = Band(
            self.rules,
            tuple(beam for _, beam in found.going),
            tuple(kept[: self.rules.beams]),
            tuple(beam for _, beam in closing),
        )
        if band.going and band._settled():
            band, found = replace(band, going=()), _Grown([], found.ended)
        return band, [pick for pick, _ in (*found.going, *closing)]

    def _closed(self, scores: Scores) -> list[Beam]:
        """The texts that could only end, with their ends."""
        if not self.closing:
            return []
        logs = scores.logs + scores.logs.new_tensor([beam.rank for beam in self.closing])[:, None]
        ends = len(self.closing[0].row.vocabulary.eos_ids)
        picks = best(logs, logs, scores, ends * len(self.closing))
        return [self.closing[pick.place].child(pick, 0.0) for pick in picks]

    def _picked(self, scores: Scores, taken: Counter[int]) -> "_Grown | None":
        """The continuations of the beams that go on."""
        logs = scores.logs + scores.logs.new_tensor([beam.rank for beam in self.going])[:, None]
        if taken and self.rules.diversity:
            counts = logs.new_tensor([*taken.values()])
            logs[:, [*taken]] -= counts * self.rules.diversity
        ranks = logs + self._noise(scores) if self.rules.random else logs
        count, row = self.rules.looked, self.going[0].row
        last = row.steps + 1 >= row.most  # then all that comes ends
        while True:
            picks = best(ranks, logs, scores, count)
            rows = [beam.row for beam in self.going]
            refused = [p for p in picks if not rows[p.place].admits(p.token, p.rank)]
            if refused:
                self._miss([pick for pick in refused if rows[pick.place].lost >= pick.rank])
                return None
            share_losses(rows)
            found = self._sorted(picks, taken)
            if last or len(found.going) >= self.rules.beams or not len(picks) == count < LOOKED:
                return _Grown(found.going[: self.rules.beams], found.ended)
            count *= 4

    def _miss(self, lost: list[Pick]) -> None:
        """Shorten the ended texts that a continuation which the budget removes could beat.

        With a positive power of the length, the score of a continuation can grow to 0.
        """
        steps = self.going[0].row.steps + 1
        best = max((self.rules.normed(pick.log, steps) for pick in lost), default=-math.inf)
        best = 0.0 if lost and self.rules.power > 0 else best
        _shorten([beam for beam in (*self.ended, *self.closing) if self._rank(beam) < best])

    def _sorted(self, picks: list[Pick], taken: Counter[int]) -> "_Grown":
        """What goes on, the best first, and what ends."""
        going, ended = list[tuple[Pick, Beam]](), list[tuple[Pick, Beam]]()
        for order, pick in enumerate(sorted(picks, key=lambda pick: -pick.log)):
            inside = order < self.rules.beams
            if len(going) >= self.rules.beams and not inside:
                break
            owed = self.rules.diversity * taken[pick.token]
            beam = self.going[pick.place].child(pick, owed)
            if beam.row.finish_reason is None and not beam.row.closing:
                going.append((pick, beam))
            elif inside:
                ended.append((pick, beam))
        return _Grown(going, ended)

    def _noise(self, scores: Scores) -> Float[Tensor, "rows vocabulary"]:
        keys = torch.tensor([beam.key for beam in self.going], device=scores.logs.device)
        return gumbel(keys, scores.logs.shape[1])

    def _settled(self) -> bool:
        """Whether none of the beams that go on is looked at any more."""
        if len(self.ended) < self.rules.beams:
            return False
        if self.rules.early is True:
            return True
        row = self.going[0].row
        steps = row.most if self.rules.early == "never" and self.rules.power > 0 else row.steps
        return self.rules.normed(self.going[0].rank, steps) <= self._rank(self.ended[-1])


def _shorten(beams: list[Beam]) -> None:
    for beam in beams:
        beam.row.shorten()
