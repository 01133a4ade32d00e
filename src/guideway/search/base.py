"""The interface between the batch loop and a search for the texts of one prompt.

A search holds `rows` of a batch, none of which has ended. `step` gets scores of the next tokens, of
the search's `kind`, replaces the rows, and returns the index of each new row's parent; the loop
reorders the caches. Rows are forked, never rolled back. `completions` has the results, best first;
it takes the peak of memory in bytes.

- `step` takes only tokens that `Sequence.admits`. If one is refused, the row's mask is narrower and
  the search asks for new scores by returning None, with its rows unchanged.
- A search passes the rank of a token, so that rows know which choices the budget has changed.
- A search without rows has ended its round; `begin` tells whether there is another one, which
  starts with rows without tokens.
- `step` raises DeadEndError if no row can go on and no text is complete.
- Contrastive search chooses among the rows just read, by their last hidden states, before scores
  (`look`). Its rows may have ended; only the one that `look` keeps is scored.
"""

from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from jaxtyping import Float
from torch import Tensor

from guideway.generation.row.sequence import Sequence
from guideway.sampling.settings import Sampling

Kind: TypeAlias = Literal["beam", "local", "open"]
"""The meaning of a step's scores:

"beam": log-probabilities of the whole vocabulary, then mask, biases and penalties, and temperature
    and filters only if beams are drawn. They are not normalised again, as in transformers' beam
    search. With no other setting, their sum is the model's log-probability of the text.
"local": log-probabilities of ordinary sampling: all stages, normalised over the allowed tokens.
"open": the same without the constraint, normalised over all tokens, then −∞ for tokens that the
    constraint does not allow. The missing mass is the share that the constraint removes.
    Expressions, filters and classifiers of all tokens are evaluated without the constraint. A
    classifier with a `top` reads the most probable allowed tokens; other tokens get its value of
    the text so far. A filter of the expression that would remove all allowed tokens removes none of
    them. "rejection", "asap" and "smc" condition this process: it draws until the text ends by the
    rules of `generation.row.sequence`, and the text counts if all tokens are allowed and its length
    is from `min_new_tokens` to `max_new_tokens`.
"""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the next token of each row of a search.

    Attributes:
        logs: float32, of the search's `kind`; −∞ for tokens that may not be drawn.
    """

    logs: Float[Tensor, "rows vocabulary"]
    own: Float[Tensor, "rows vocabulary"]  # the model's own log-probabilities, for results
    kept: Float[Tensor, "rows"]  # the log of the model's probability of all allowed tokens

    def part(self, begin: int, end: int) -> "Scores":
        return Scores(self.logs[begin:end], self.own[begin:end], self.kept[begin:end])

    def child(self, row: Sequence, place: int, token: int) -> Sequence:
        """A fork of the row at `place` with a token that it admits."""
        child = row.fork()
        logprob = float(self.own[place, token])
        child.take(token, logprob, float(self.kept[place]))
        return child


class OneRound:
    """A search whose rows go to their ends once."""

    _begun = False

    def begin(self) -> bool:
        """Return True the first time."""
        begun, self._begun = self._begun, True
        return not begun


def share_losses(rows: Listed[Sequence]) -> None:
    """Give all rows the greatest loss of one of them to the budget.

    They compete: a row may go on only because a better one could not.
    """
    lost = max(row.lost for row in rows)
    for row in rows:
        row.lost = lost


def blamed(sampling: Sampling) -> str:
    """Possible cause of a dead end with "open" scores, to append to a message.

    >>> blamed(Sampling(exactness="smc", temperature=0.7, top_p=0.9))
    ' (top_p acts as if there were no constraint: leave it out, or take exactness="local")'
    """
    names = [name for name in sampling.warps if name != "temperature"]
    if not names:
        return ""
    does = "acts" if len(names) == 1 else "act"
    which = "it" if len(names) == 1 else "them"
    return (
        f" ({' and '.join(names)} {does} as if there were no constraint: leave {which} out, or "
        'take exactness="local")'
    )


def numbers(tensor: Tensor) -> list[float]:
    return cast("list[float]", tensor.tolist())  # pyright: ignore[reportUnknownMemberType]
