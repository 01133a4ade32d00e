"""Sequential Monte Carlo: particles that are drawn from what is allowed, and weighted by how much
that is.

A particle draws a token from the allowed part of the open process (`engine.search.base.Kind`) and
multiplies its weight by the mass of that part (Lew et al. 2023, "Sequential Monte Carlo steering";
Loula et al. 2025). Where weights have become uneven, so that the effective number of particles is
below `resample_below` of them, as many are drawn anew from them, stratified, with equal weights.
Particles that have ended wait with their weights and take part in that.

- The mean weight is an unbiased estimate of the probability of the language, at any number of
  particles: E[evidence] = Z. Weighted particles tend to the law of the open process given the
  language, and results are draws from them.
- A critic φ, a function from a beginning of the text to a logarithm, makes the target
  p(text) · exp φ(text): weights are multiplied by exp(φ after − φ before) at each step, so only the
  worth of the whole text counts in the end. It reads whole characters only.
- A token after which the text could not end within `max_new_tokens` is found out when it is drawn,
  since to know all such tokens costs more than a step. A particle draws two tokens to see whether
  there are any. If both fit, it has the first one, with the mass m of what is allowed; if not, the
  mass k of what fits is computed, a token of it is drawn, and the weight is m·k / (m + k). With
  q = k/m the mean is q²·m + (1 − q²)·m·q/(1 + q) = q·m = k, as if only k had been offered.
- A text that ends before `min_new_tokens` is none of the language.

Not offered: weights for constraints that can only be asked about one token at a time (AWRS, Lipkin
et al. 2025). Masks are tables here: the allowed mass is known at once, without rejections.

What this module does not know: models, constraints.
"""

import math
from collections.abc import Callable
from collections.abc import Sequence as Listed
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, final

from guideway.engine.request import Completion, Particle, Population
from guideway.engine.search.base import Kind, Scores, blamed
from guideway.engine.search.drawn import Drawn, draw, stream_of
from guideway.engine.sequence import Sequence
from guideway.errors import DeadEndError, ModelError
from guideway.sampling.judges import SHOWN, said
from guideway.sampling.noise import uniform
from guideway.sampling.resampling import effective_size, log_mean, log_sum, stratified

PARTICLES: Final = 8
RESAMPLE_BELOW: Final = 0.5
DEAD: Final = -math.inf


@final
class Slot:
    """A particle.

    Attributes:
        row: its text.
        log: the logarithm of its weight since the last resampling, the critic's worth with it.
        worth: what the critic said of the text so far.
        offered: the allowed mass, as a logarithm, before it was found that some of it does not fit.
    """

    __slots__ = ("log", "offered", "row", "worth")

    def __init__(self, row: Sequence, worth: float = 0.0) -> None:
        """A particle of weight 1."""
        self.row, self.worth = row, worth
        self.log = 0.0
        self.offered: float | None = None

    @property
    def going(self) -> bool:
        """Whether it draws on."""
        return self.log > DEAD and self.row.finish_reason is None


@final
class Smc:
    """The particles of one prompt.

    Attributes:
        kind: of its scores.
        rows: the texts of the particles that go on.
    """

    def __init__(self, root: Sequence) -> None:
        """Particles that begin as this row, which has no tokens."""
        sampling = root.request.sampling
        self.kind: Kind = "open"
        self._root, self._critic = root, sampling.critic
        count = sampling.particles or PARTICLES
        below = sampling.resample_below
        self._least = count * (RESAMPLE_BELOW if below is None else below)
        self._slots = [Slot(root.fork()) for _ in range(count)]
        self._streams = [stream_of(root, number) for number in range(count)]
        self._evidence = 0.0  # of the resamplings so far
        self._begun = False
        self.rows: Listed[Sequence] = [slot.row for slot in self._slots]
        if root.finish_reason is not None:  # there is one text, and a critic may judge it still
            for slot in self._slots:
                self._judge(slot)
            self._resampled(0)

    def begin(self) -> bool:
        """There is one round."""
        begun, self._begun = self._begun, True
        return not begun

    def step(self, scores: Scores) -> Listed[int] | None:
        """A token for each particle that goes on, and new particles where weights are uneven."""
        going = [number for number, slot in enumerate(self._slots) if slot.going]
        steps = self.rows[0].steps
        streams = [self._streams[number] for number in going]
        draws = draw(scores, scores.logs, streams, steps, twice=self._root.constrained)
        if not self._fit(going, draws):
            return None
        for number, found in zip(going, draws, strict=True):
            self._go(self._slots[number], found)
        origins = self._resampled(steps)
        places = {number: place for place, number in enumerate(going)}
        after = [number for number, slot in enumerate(self._slots) if slot.going]
        self.rows = [self._slots[number].row for number in after]
        return [places[origins[number]] for number in after]

    def completions(self, memory: int) -> list[Completion]:
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

    def _fit(self, going: Listed[int], draws: Listed[Drawn]) -> bool:
        """Whether all tokens drawn leave room for an end; else some rows have become narrower."""
        fit = True
        for number, found in zip(going, draws, strict=True):
            slot = self._slots[number]
            if found.total == DEAD or slot.offered is not None:
                continue
            # The second token is only looked at: its loss changes nothing.
            if not (slot.row.fits(found.token) and slot.row.fits(found.other, -math.inf)):
                slot.offered = found.total
                fit = False
        return fit

    def _go(self, slot: Slot, found: Drawn) -> None:
        """A step of one particle."""
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

    def _judge(self, slot: Slot) -> None:
        """Weigh a particle by what the critic says of its text now."""
        if self._critic is None:
            return
        worth = _worth(self._critic, slot.row.readable)
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
            Slot(old[n].row if n != before else old[n].row.fork(), old[n].worth)
            for before, n in pairwise((-1, *drawn))  # which are in order
        ]
        return drawn


def _mass(offered: float | None, fitting: float) -> float:
    """The logarithm of the factor of a weight: see the module."""
    if offered is None or fitting == DEAD:
        return fitting
    return offered + fitting - log_sum((offered, fitting))


def _worth(critic: Callable[[str], Any], text: str) -> float:
    """What the critic says.

    Raises:
        ModelError: it raised, gave no number, or one so large that nothing else would count.
    """
    worth = said(critic, text, "the critic")
    if worth == math.inf:
        raise ModelError(f"the critic gave infinity for {text[-SHOWN:]!r}: it must be finite or −∞")
    return worth
