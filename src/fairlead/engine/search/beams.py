"""Beam search: the texts of the greatest score, as transformers finds them.

A score is the log-probability of a text over its length to the power `length_penalty`, an end id
counted in both (Wu et al. 2016, arXiv 1609.08144, has another normaliser; this is transformers').
Under a constraint it is the model's own log-probability still: nothing is renormalised, so beams
look for the most probable texts of the language.

What this module does not know: models, constraints.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace
from typing import final

from fairlead.engine.request import Completion
from fairlead.engine.search.base import Kind, Scores, numbers
from fairlead.engine.sequence import Sequence
from fairlead.errors import DeadEndError


@final
@dataclass(frozen=True, slots=True)
class Whole:
    """A text that has ended.

    Attributes:
        row: the text.
        score: its log-probability over the power of its length.
    """

    row: Sequence
    score: float


@final
class Beams:
    """The beams of one prompt."""

    def __init__(self, root: Sequence) -> None:
        """A search that begins with this row, which has no tokens."""
        sampling = root.request.sampling
        self.kind: Kind = "beam"
        self.rows: list[Sequence] = [root]
        self._begun = False
        self._beams = sampling.num_beams
        self._power = 1.0 if sampling.length_penalty is None else sampling.length_penalty
        self._early = sampling.early_stopping
        self._logs = [0.0]
        self._whole: list[Whole] = []
        ends = len(root.vocabulary.eos_ids)
        self._kept = max(2, 1 + ends) * self._beams  # so many ends leave enough that go on

    def begin(self) -> bool:
        """There is one round."""
        begun, self._begun = self._begun, True
        return not begun

    def step(self, scores: Scores) -> Listed[int] | None:
        """The most probable continuations of all beams."""
        width = scores.logs.shape[1]
        total = (scores.logs + scores.logs.new_tensor(self._logs)[:, None]).flatten()
        best = total.topk(min(self._kept, len(total)))
        found = [
            (log, flat // width, flat % width)
            for log, flat in zip(numbers(best.values), map(int, best.indices), strict=True)
            if log > -math.inf
        ]
        admitted = [self.rows[place].admits(token) for _, place, token in found]
        if not all(admitted):
            return None
        return self._grown(scores, found)

    def _grown(self, scores: Scores, found: list[tuple[float, int, int]]) -> list[int]:
        """The beams after these continuations; those that end are kept aside."""
        going, logs, parents = list[Sequence](), list[float](), list[int]()
        for rank, (log, place, token) in enumerate(found):
            if len(going) == self._beams and rank >= self._beams:
                break
            child = scores.child(self.rows[place], place, token)
            if child.finish_reason is None:
                going.append(child)
                logs.append(log)
                parents.append(place)
            elif rank < self._beams:
                self._whole.append(Whole(child, log / child.steps**self._power))
        del going[self._beams :], logs[self._beams :], parents[self._beams :]
        self._whole = sorted(self._whole, key=lambda each: -each.score)[: self._beams]
        if not going and not self._whole:
            raise DeadEndError(
                f"no beam is left at step {self.rows[0].steps} of row {self.rows[0].number}: the "
                "model gives no probability to any token that may come next"
            )
        if going and self._settled(max(logs), going[0]):
            going, logs, parents = [], [], []
        if going:
            self.rows, self._logs = going, logs
        else:
            self.rows = []
        return parents

    def _settled(self, best: float, row: Sequence) -> bool:
        """Whether no beam that goes on is looked at any more."""
        if len(self._whole) < self._beams:
            return False
        if self._early is True:
            return True
        steps = row.steps
        if self._early == "never" and self._power > 0:
            steps = row.most
        return best / steps**self._power <= self._whole[-1].score

    def completions(self, memory: int) -> list[Completion]:
        """The texts of the greatest score; if interrupted, what there is."""
        whole = self._whole or [
            Whole(row, log / max(1, row.steps) ** self._power)
            for row, log in zip(self.rows, self._logs, strict=True)
        ]
        count = whole[0].row.request.sampling.num_return_sequences
        return [replace(each.row.completion(memory), score=each.score) for each in whole[:count]]
