"""Contrastive search (Su et al. 2022, arXiv 2202.06417, equation 5).

The next token is the one of the k most probable tokens v with the greatest

    (1 − α) · p(v) − α · max over earlier tokens j of cos(h(v), h(j))

where h is the last hidden state of the expression's main model after a token, the prompt's
included, and p the expression's probability normalised over allowed tokens, so that α has the same
weight under any constraint. End ids are candidates. α = 0 is greedy decoding.

A text's score is the mean over its tokens. One step is one forward pass: candidates are rows of the
batch, and the best one is kept with its cache. A candidate removed by the budget is read too: only
its state tells whether it would have been chosen.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import replace
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from guideway.errors import DeadEndError
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.logits.filters import largest
from guideway.search.base import Kind, OneRound, Scores, numbers

CANDIDATES: Final = 4


class Contrastive(OneRound):
    """The contrastive search of one prompt."""

    def __init__(self, root: Sequence) -> None:
        sampling = root.request.sampling
        self.kind: Kind = "local"
        self.rows: list[Sequence] = [root]
        self.read: list[int] = []  # the token that each row is read on with: a last one, or an end
        self._alpha = float(sampling.penalty_alpha or 0)
        self._count: int = sampling.top_k or CANDIDATES
        self._text = root
        self._chances: Tensor | None = None  # of the candidates
        self._free = dict[int, float]()  # those without the budget, and their chances
        self._worth = 0.0  # of all that was chosen
        self._seen: Tensor | None = None  # directions of the states of the tokens before them

    @torch.inference_mode()
    def look(self, states: Listed[Float[Tensor, "_ hidden"]]) -> int:
        """Keep the best candidate; of the prompt, note its states."""
        directions = torch.stack([*states]) if self._seen is not None else states[0]
        directions = normalize(directions, dim=-1)
        if self._seen is None or self._chances is None:
            self._seen = directions
            return 0
        likeness = (directions[:, 0] @ self._seen.T).amax(1)
        worth = self._worths(self._chances, likeness)
        place = int(worth.argmax())
        self._worth += float(worth[place])
        self._text = self.rows[place]
        if len(likeness) > len(worth) and self._best_free(likeness) != place:
            self._text.shorten()
        self._free.clear()
        self._seen = torch.cat([self._seen, directions[place]])
        self.rows, self.read = [self._text], self.read[place : place + 1]
        if self._text.finish_reason is not None:
            self.rows, self.read = [], []
        return place

    def step(self, scores: Scores) -> Listed[int] | None:
        tokens = _most_probable(scores.logs[0], self._count)
        if not tokens:
            raise DeadEndError(
                f"no token is left at step {self._text.steps}: the model gives every allowed token "
                "the probability 0, or bad_words_ids forbid it"
            )
        self._chances = scores.logs[0, tokens].exp()
        if not self._free:
            self._free.update(zip(tokens, numbers(self._chances), strict=True))
        admitted = [self._text.admits(token, rank=0.0) for token in tokens]
        if not all(admitted):
            return None
        missed = [token for token in self._free if token not in tokens]
        if self._text.lost == -math.inf:  # `min_new_tokens` has taken them away
            missed = []
        self.rows = [scores.child(self._text, 0, token) for token in tokens]
        self.rows += [self._text.fork() for _ in missed]
        self.read = tokens + missed
        return [0] * len(self.rows)

    def completions(self, memory: int) -> list[Result]:
        """The text; if interrupted, the text so far."""
        score = self._worth / max(1, self._text.steps)
        return [replace(self._text.completion(memory), score=score)]

    def _worths(
        self, chances: Float[Tensor, "some"], likeness: Float[Tensor, "all"]
    ) -> Float[Tensor, "some"]:
        return (1 - self._alpha) * chances - self._alpha * likeness[: len(chances)]

    def _best_free(self, likeness: Float[Tensor, "all"]) -> int:
        """The place of the candidate that would be chosen without the budget."""
        chances = likeness.new_tensor([self._free.get(token, -1.0) for token in self.read])
        return int(self._worths(chances, likeness).where(chances >= 0, -math.inf).argmax())


def _most_probable(logs: Float[Tensor, "vocabulary"], count: int) -> list[int]:
    """The most probable tokens, best first, of tied ones the least ids; none without a chance."""
    values, ids = largest(logs[None], count)
    found = zip(numbers(values[0]), numbers(ids[0].double()), strict=True)
    return [int(token) for log, token in found if log > -math.inf]
