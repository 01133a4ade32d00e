"""Beam search as in transformers, also sampled or in groups.

A score is the log-probability of a text over its length to the power `length_penalty`, an end id
counted in both (Wu et al. 2016, arXiv 1609.08144, normalise differently). Under a constraint it is
the model's own log-probability, not renormalised, so beams find the most probable texts of the
language. A text that can only end waits as a row for the score of its end id, if there is room for
a token.

Diverse beam search (Vijayakumar et al. 2016, arXiv 1610.02424) has several groups, which step one
after another: `diversity_penalty` is subtracted for each beam of earlier groups with the same token
at this step, and counts in later comparisons of a group. Reported scores and the order of results
ignore it, and each text is reported once.
"""

from collections.abc import Sequence as Listed
from dataclasses import replace
from typing import final

from guideway.errors import DeadEndError
from guideway.generation.row.request import Completion
from guideway.generation.row.sequence import Sequence
from guideway.sampling.noise import stream
from guideway.search.base import Kind, Scores
from guideway.search.beam_group import Beam, BeamGroup, Rules


@final
class Beams:
    """The beams of one prompt."""

    def __init__(self, root: Sequence) -> None:
        """A search that begins with this row, which has no tokens."""
        request = root.request
        sampling = request.sampling
        self.kind: Kind = "beam"
        self._begun = False
        self._root = root
        rules = Rules.of(sampling, len(root.vocabulary.eos_ids))
        first = Beam(root, 0.0, 0.0, stream(sampling.seed or 0, request.sample))
        self._groups = [BeamGroup(rules, (first,))] * sampling.num_beam_groups
        self.rows: Listed[Sequence] = [root] * sampling.num_beam_groups

    def begin(self) -> bool:
        """There is one round."""
        begun, self._begun = self._begun, True
        return not begun

    def step(self, scores: Scores) -> Listed[int] | None:
        """The best continuations of all beams."""
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

    def completions(self, memory: int) -> list[Completion]:
        """The texts of the greatest score; if interrupted, what there is."""
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
