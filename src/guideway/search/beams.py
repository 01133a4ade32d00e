"""Beam search as in transformers, also sampled or in groups.

    rows ─▶ the best continuations of all of them ─▶ those that end   ─▶ kept, the best of them
                                                  ├▶ those that can only end ─▶ their ends, next
                                                  └▶ those that go on ─▶ the next rows

A score is the log-probability of a text over its length to the power `length_penalty`, an end id
counted in both (Wu et al. 2016, arXiv 1609.08144, normalise differently). Under a constraint it is
the model's own log-probability, not renormalised, so beams find the most probable texts of the
language. The rules are transformers' (5.24):

- (1 + end ids) × beams continuations are considered, so that enough of them are no end ids;
- ended texts count only among the first `beams` continuations, and only the best `beams` are kept;
- a group is settled once it keeps `beams` texts and the best row cannot beat the last of them, at
  its own length or, with `early_stopping` "never" and a positive `length_penalty`, at the greatest
  length. With `early_stopping` True, `beams` texts suffice.

Sampled beams take a sample of continuations without replacement (log plus Gumbel noise), best
first; before 5.24 transformers used the order of drawing. The noise depends on the seed and the
tokens so far.

Three rules differ. If all considered continuations end, as under a constraint or a stop string,
more are considered. Rows that cannot continue are dropped; transformers keeps them at −1e9. Filters
leave at least one token; transformers' leave one more than there are end ids.

Diverse beam search (Vijayakumar et al. 2016, arXiv 1610.02424) has several groups, which step one
after another: `diversity_penalty` is subtracted for each beam of earlier groups with the same token
at this step, and counts in later comparisons of a group. Reported scores and the order of results
ignore it, and each text is reported once.
"""

import math
from collections import Counter
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import DeadEndError
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.sampling.noise import gumbel, stream
from guideway.sampling.settings import Sampling
from guideway.search.base import Kind, OneRound, Scores, share_losses


@dataclass(frozen=True, slots=True)
class Pick:
    """A token after a row."""

    place: int  # index of the row
    token: int
    rank: float  # criterion of the choice
    log: float  # log-probability of the text with it, as the search counts it
    logprob: float  # the model's own log-probability of the token
    kept: float  # log of the model's probability of all allowed tokens

    def child(self, row: Sequence) -> Sequence:
        """The row with the token, which it admits."""
        child = row.fork()
        child.take(self.token, self.logprob, self.kept, rank=self.rank)
        return child


@torch.inference_mode()
def best(
    ranks: Float[Tensor, "rows vocabulary"],
    logs: Float[Tensor, "rows vocabulary"],
    scores: Scores,
    count: int,
) -> list[Pick]:
    """The `count` continuations of the greatest ranks, best first, without those of −∞."""
    width = ranks.shape[1]
    places = ranks.flatten().topk(min(count, ranks.numel())).indices
    row, token = places // width, places % width
    columns = [row, token] + [each[row, token] for each in (ranks, logs, scores.own)]
    # Ids are exact in float64 up to 2^53.
    table = torch.stack([each.double() for each in (*columns, scores.kept[row])], 1)
    found = cast("list[list[float]]", table.tolist())  # pyright: ignore[reportUnknownMemberType]
    return [Pick(int(row), int(token), *rest) for row, token, *rest in found if rest[0] > -math.inf]


LOOKED: Final = 1024  # continuations, after which no more are looked at for one that goes on
EXPONENT: Final = 700.0  # of e: beyond it, a float is infinite


@dataclass(frozen=True, slots=True)
class Beam:
    """A row that goes on, or an ended text."""

    row: Sequence
    rank: float  # log-probability, less the diversity penalties
    debt: float  # the diversity penalties
    key: int  # noise key of its continuations

    @property
    def log(self) -> float:
        return self.rank + self.debt

    def child(self, pick: Pick, owed: float) -> "Beam":
        """The beam with one more token and its diversity penalty."""
        key = stream(self.key, pick.token)
        return Beam(pick.child(self.row), pick.log, self.debt + owed, key)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of all groups of a search."""

    beams: int  # beams of a group
    power: float  # exponent of the length, which divides log-probabilities
    early: bool | str | None  # when to stop
    random: bool  # True if beams are sampled
    diversity: float  # penalty for each beam of earlier groups with the same token at this step
    looked: int  # number of continuations considered

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

        >>> Rules.of(Sampling(num_beams=2, length_penalty=2), 1).normed(-9.0, 3)
        -1.0
        """
        exponent = self.power * math.log(steps)
        if abs(exponent) > EXPONENT:
            return log * (0.0 if exponent > 0 else math.inf)
        return log / steps**self.power


# Continuations with their picks: those that go on, best first, and those that have or must end.
Grown: TypeAlias = tuple[list[tuple[Pick, Beam]], list[tuple[Pick, Beam]]]


@dataclass(frozen=True, slots=True)
class BeamGroup:
    """Competing beams, immutable."""

    rules: Rules
    going: tuple[Beam, ...]  # beams that go on, best first
    ended: tuple[Beam, ...] = ()  # ended texts, best first
    closing: tuple[Beam, ...] = ()  # texts that wait for the score of their end id

    @property
    def rows(self) -> tuple[Beam, ...]:
        """Those that need scores: that go on, then that close."""
        return (*self.going, *self.closing)

    def score(self, beam: Beam) -> float:
        return self.rules.normed(beam.log, max(1, beam.row.steps))

    def _rank(self, beam: Beam) -> float:
        return self.rules.normed(beam.rank, beam.row.steps)

    def grown(self, scores: Scores, taken: Listed[int]) -> "tuple[BeamGroup, list[Pick]] | None":
        """The group after a step, and the pick of each beam that goes on.

        `taken` are the tokens that other groups took. Returns None if a row refused a token.
        """
        count = len(self.going)
        found: Grown | None = ([], [])
        if count:
            found = self._continuations(scores.part(0, count), Counter(taken))
        if found is None:
            return None
        going, ended = found
        closed = self._with_ends(scores.part(count, len(self.rows)))
        whole = [beam for _, beam in ended if beam.row.finish_reason is not None]
        if count and self.rules.power > 0 and self.going[0].row.ends_by_budget:
            # A beam that goes on might have become better than any ended text.
            _shorten([*self.ended, *closed, *whole])
        closing = [each for each in ended if each[1].row.finish_reason is None]
        kept = sorted((*self.ended, *whole, *closed), key=lambda beam: -self._rank(beam))
        group = BeamGroup(
            self.rules,
            tuple(beam for _, beam in going),
            tuple(kept[: self.rules.beams]),
            tuple(beam for _, beam in closing),
        )
        if group.going and group._is_decided():
            group, going = replace(group, going=()), []
        return group, [pick for pick, _ in (*going, *closing)]

    def _with_ends(self, scores: Scores) -> list[Beam]:
        """The texts that could only end, with their ends."""
        if not self.closing:
            return []
        logs = scores.logs + scores.logs.new_tensor([beam.rank for beam in self.closing])[:, None]
        ends = len(self.closing[0].row.vocabulary.eos_ids)
        picks = best(logs, logs, scores, ends * len(self.closing))
        return [self.closing[pick.place].child(pick, 0.0) for pick in picks]

    def _continuations(self, scores: Scores, taken: Counter[int]) -> Grown | None:
        """The continuations of the beams that go on."""
        logs = scores.logs + scores.logs.new_tensor([beam.rank for beam in self.going])[:, None]
        if taken and self.rules.diversity:
            counts = logs.new_tensor([*taken.values()])
            logs[:, [*taken]] -= counts * self.rules.diversity
        ranks = logs
        if self.rules.random:
            keys = torch.tensor([beam.key for beam in self.going], device=logs.device)
            ranks = logs + gumbel(keys, logs.shape[1])
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
            going, ended = self._partition(picks, taken)
            if last or len(going) >= self.rules.beams or not len(picks) == count < LOOKED:
                return going[: self.rules.beams], ended
            count *= 4

    def _miss(self, lost: list[Pick]) -> None:
        """Mark ended texts that a continuation removed by the budget could beat.

        With a positive power of the length, the score of a continuation can grow to 0.
        """
        steps = self.going[0].row.steps + 1
        best = max((self.rules.normed(pick.log, steps) for pick in lost), default=-math.inf)
        best = 0.0 if lost and self.rules.power > 0 else best
        _shorten([beam for beam in (*self.ended, *self.closing) if self._rank(beam) < best])

    def _partition(self, picks: list[Pick], taken: Counter[int]) -> Grown:
        """Split the picks into those that go on, best first, and those that end."""
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
        return going, ended

    def _is_decided(self) -> bool:
        """Return True if the beams that go on can be dropped."""
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


class Beams(OneRound):
    """The beams of one prompt."""

    def __init__(self, root: Sequence) -> None:
        request = root.request
        sampling = request.sampling
        self.kind: Kind = "beam"
        self._root = root
        rules = Rules.of(sampling, len(root.vocabulary.eos_ids))
        first = Beam(root, 0.0, 0.0, stream(sampling.seed or 0, request.sample))
        self._groups = [BeamGroup(rules, (first,))] * sampling.num_beam_groups
        self.rows: Listed[Sequence] = [root] * sampling.num_beam_groups

    def step(self, scores: Scores) -> Listed[int] | None:
        groups, parents, taken = list[BeamGroup](), list[int](), list[int]()
        begin = 0
        for group in self._groups:
            if not group.rows:
                groups.append(group)
                continue
            end = begin + len(group.rows)
            grown = group.grown(scores.part(begin, end), taken)
            if grown is None:
                return None
            groups.append(grown[0])
            taken.extend(pick.token for pick in grown[1][: len(grown[0].going)])
            parents.extend(begin + pick.place for pick in grown[1])
            begin = end
        if not any(group.rows or group.ended for group in groups):
            raise DeadEndError(
                f"no beam is left at step {self.rows[0].steps}: every allowed token has the "
                "probability 0, or bad_words_ids forbid it"
            )
        self._groups = groups
        self.rows = [beam.row for group in groups for beam in group.rows]
        return parents

    def completions(self, memory: int) -> list[Result]:
        """The texts of the greatest score; if interrupted, those so far."""
        found = [(group.score(beam), beam) for group in self._groups for beam in group.ended]
        if not found:
            found = [(group.score(beam), beam) for group in self._groups for beam in group.rows]
        found.sort(key=lambda each: -each[0])
        if len(self._groups) > 1:
            once = dict[tuple[int, ...], tuple[float, Beam]]()
            for score, beam in found:
                once.setdefault(tuple(beam.row.tokens), (score, beam))
            found = [*once.values()]
        count = self._root.request.sampling.num_return_sequences
        return [replace(beam.row.completion(memory), score=score) for score, beam in found[:count]]
