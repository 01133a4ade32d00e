"""Sequential Monte Carlo: particles drawn from the allowed tokens and weighted by their mass.

A particle draws a token from the allowed part of the open process (`search.base.Kind`) and
multiplies its weight by the mass of that part (Lew et al. 2023, "Sequential Monte Carlo steering";
Loula et al. 2025). If the effective number of particles is below `resample_below` of them, they are
resampled, stratified, with equal weights. Ended particles take part in that.

- The mean weight is an unbiased estimate of the probability Z of the language: E[evidence] = Z.
  Weighted particles converge to the open process given the language; results are draws from them.
- A critic φ, a function from a prefix of the text to a logarithm, makes the target
  p(text) · exp φ(text): weights are multiplied by exp(φ after − φ before) at each step, so only the
  value of the complete text counts in the end. It reads whole characters only.
- A token after which the text cannot end within `max_new_tokens` is found when it is drawn, because
  knowing all such tokens costs more than a step. A particle draws two tokens. If both fit, it takes
  the first, with the mass m of allowed tokens; if not, the mass k of fitting tokens is computed,
  one of them is drawn, and the weight is m·k / (m + k). With q = k/m the mean is
  q²·m + (1 − q²)·m·q/(1 + q) = q·m = k, as if only k had been offered.
- A text that ends before `min_new_tokens` is not in the language.

Weights for constraints that check one token at a time (AWRS, Lipkin et al. 2025) are not needed:
masks give the allowed mass at once.
"""

import math
from collections.abc import Callable
from collections.abc import Sequence as Listed
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from guideway.errors import DeadEndError, ModelError
from guideway.generation.row.request import Particle, Population
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.sampling.judges import SHOWN, number_from
from guideway.sampling.noise import uniform
from guideway.search.base import Kind, OneRound, Scores, blamed
from guideway.search.draws import (
    Draw,
    draw,
    effective_size,
    log_mean,
    log_sum,
    stratified,
    stream_of,
)

PARTICLES: Final = 8
RESAMPLE_BELOW: Final = 0.5
DEAD: Final = -math.inf


class WeightedRow:
    """A particle.

    Attributes:
        log: logarithm of its weight since the last resampling, with the critic's factor.
        worth: the critic's value of the text so far.
        offered: log of the allowed mass, if some of it was found not to fit.
    """

    __slots__ = ("log", "offered", "row", "worth")

    def __init__(self, row: Sequence, worth: float = 0.0) -> None:
        self.row, self.worth = row, worth
        self.log = 0.0
        self.offered: float | None = None

    @property
    def going(self) -> bool:
        return self.log > DEAD and self.row.finish_reason is None


class Smc(OneRound):
    """The particles of one prompt; `rows` has the texts that go on."""

    def __init__(self, root: Sequence) -> None:
        """Particles that begin as this row, which has no tokens."""
        sampling = root.request.sampling
        self.kind: Kind = "open"
        self._root, self._critic = root, sampling.critic
        count = sampling.particles or PARTICLES
        below = sampling.resample_below
        self._least = count * (RESAMPLE_BELOW if below is None else below)
        self._slots = [WeightedRow(root.fork()) for _ in range(count)]
        self._streams = [stream_of(root, number) for number in range(count)]
        self._evidence = 0.0  # of the resamplings so far
        self.rows: Listed[Sequence] = [slot.row for slot in self._slots]
        if root.finish_reason is not None:  # there is one text, and a critic may judge it still
            for slot in self._slots:
                self._judge(slot)
            self._resampled(0)

    def step(self, scores: Scores) -> Listed[int] | None:
        """A token for each particle that goes on, and new particles where weights are uneven."""
        going = [number for number, slot in enumerate(self._slots) if slot.going]
        steps = self.rows[0].steps
        streams = [self._streams[number] for number in going]
        draws = draw(scores, scores.logs, streams, steps, twice=self._root.constrained)
        if not self._all_fit(going, draws):
            return None
        for number, found in zip(going, draws, strict=True):
            self._go(self._slots[number], found)
        origins = self._resampled(steps)
        places = {number: place for place, number in enumerate(going)}
        after = [number for number, slot in enumerate(self._slots) if slot.going]
        self.rows = [self._slots[number].row for number in after]
        return [places[origins[number]] for number in after]

    def completions(self, memory: int) -> list[Result]:
        """Draws from the weighted particles; if interrupted, as they are."""
        logs = [slot.log for slot in self._slots]
        population = Population(
            tuple(
                Particle(slot.row.text, tuple(slot.row.tokens), self._evidence + slot.log)
                for slot in self._slots
                if slot.log > DEAD
            ),
            self._evidence + log_mean(logs),
            effective_size(logs),
        )
        last = stream_of(self._root, -1)  # particles count from 0
        count = self._root.request.sampling.num_return_sequences
        drawn = stratified(logs, [uniform(last, number) for number in range(count)])
        return [
            replace(self._slots[number].row.completion(memory), population=population)
            for number in drawn
        ]

    def _all_fit(self, going: Listed[int], draws: Listed[Draw]) -> bool:
        """Return True if an end fits after all drawn tokens; if not, some rows are narrower."""
        fit = True
        for number, found in zip(going, draws, strict=True):
            slot = self._slots[number]
            if found.total == DEAD or slot.offered is not None:
                continue
            # The second token is only a test: refusing it loses nothing.
            if not (slot.row.fits(found.token) and slot.row.fits(found.other, -math.inf)):
                slot.offered = found.total
                fit = False
        return fit

    def _go(self, slot: WeightedRow, found: Draw) -> None:
        mass, slot.offered = _mass(slot.offered, found.total), None
        row, before = slot.row, slot.row.readable
        slot.log += mass
        if slot.log == DEAD:
            return
        if not row.admits(found.token):  # it could only end too early
            slot.log = DEAD
            return
        row.take(found.token, found.own, found.kept)
        if row.finish_reason is not None and not row.whole:
            slot.log = DEAD
        elif row.readable != before or (not row.readable and row.finish_reason is not None):
            self._judge(slot)

    def _judge(self, slot: WeightedRow) -> None:
        """Add the change of the critic's value to the logarithm of a particle's weight."""
        if self._critic is None:
            return
        worth = _critic_value(self._critic, slot.row.readable)
        slot.log += worth - slot.worth
        slot.worth = worth

    def _resampled(self, steps: int) -> Listed[int]:
        """Draw new particles if weights are uneven; the number of the old one of each."""
        logs = [slot.log for slot in self._slots]
        if max(logs) == DEAD:
            raise DeadEndError(
                f"none of {len(logs)} particles is left at step {steps}: the settings, limits or "
                "the critic leave nothing of what the constraint allows"
                f"{blamed(self._root.request.sampling)}"
            )
        numbers = range(len(logs))
        if effective_size(logs) >= self._least or not any(slot.going for slot in self._slots):
            return numbers
        drawn = stratified(logs, [uniform(each, steps) for each in self._streams])
        self._evidence += log_mean(logs)
        old = self._slots
        # Rows grow in place: the second particle of an old one has a row of its own.
        self._slots = [
            WeightedRow(old[n].row if n != before else old[n].row.fork(), old[n].worth)
            for before, n in pairwise((-1, *drawn))  # which are in order
        ]
        return drawn


def _mass(offered: float | None, fitting: float) -> float:
    """The logarithm of the factor of a weight: see the module."""
    if offered is None or fitting == DEAD:
        return fitting
    return offered + fitting - log_sum((offered, fitting))


def _critic_value(critic: Callable[[str], Any], text: str) -> float:
    """Value of the critic; +∞ is refused."""
    worth = number_from(critic, text, "the critic")
    if worth == math.inf:
        raise ModelError(f"the critic gave infinity for {text[-SHOWN:]!r}: it must be finite or −∞")
    return worth
