"""`Trace`: the effect of each stage of each step on the distribution.

    model, or each node of the expression ─▶ constraint ─▶ classifiers ─▶ penalties ─▶ temperature
    ─▶ filters ─▶ the token

Kept of each stage are its most probable tokens, its entropy, and the Kullback-Leibler divergence in
nats from its input: for a node of an expression its first part (in a sum, the sum before the term),
else the previous stage. That of the constraint is −log of the mass it left. Filters of an
expression are shown with all tokens that they keep.

`TracedStep.record` is the step as JSON: the server streams it, and the view of tokens in notebooks
and in the playground reads it.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.logits.filters import largest
from guideway.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Likely:
    """A token that is likely at some stage: its id, what it spells, its probability."""

    token: int
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Stage:
    """The distribution after one stage.

    Attributes:
        name: a term of the expression, "constraint", a classifier, a penalty, a filter.
        top: its most probable tokens, best first.
        entropy: in nats.
        moved: Kullback-Leibler divergence from its input, in nats; None for a model itself;
            infinite if this stage has a token that its input lacks, or none.
    """

    name: str
    top: tuple[Likely, ...]
    entropy: float
    moved: float | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a constraint before a token.

    Attributes:
        number: the states of a text are numbered as it first reaches them; a number comes again
            where the text returns to a state.
        allowed: the count of tokens that may come next, end ids included.
        accepts: whether the text may end here.
        forced: the bytes with which every continuation begins, 128 at most.
    """

    number: int
    allowed: int
    accepts: bool
    forced: bytes


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step of one row.

    Attributes:
        token: the token drawn.
        text: its spelling; the name of an end id.
        logprob: its reported log-probability.
        mass_removed: the share of probability that the constraint removed.
        stages: the stages in order.
        state: the state of the constraint before the token; None without a constraint.
        forced: whether the constraint left no other text than this token's.
        drafted: whether a draft had proposed it, so that it took no forward of its own.
        green: whether a watermark of green lists counts it as green; None without one, and where
            the token is not marked.
    """

    token: int
    text: str
    logprob: float
    mass_removed: float
    stages: tuple[Stage, ...]
    state: Standing | None = None
    forced: bool = False
    drafted: bool = False
    green: bool | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The step as JSON, by the names of its attributes; infinite `moved` are null.

        >>> record = TracedStep(7, "a", -0.5, 0.0, (), Standing(0, 2, True, b"a")).record
        >>> record["text"], record["state"]["forced"], record["stages"]
        ('a', 'a', [])
        """
        made = asdict(self)
        made["stages"] = [*made["stages"]]
        for stage in made["stages"]:
            if stage["moved"] == math.inf:
                stage["moved"] = None
        if self.state is not None:
            made["state"]["forced"] = self.state.forced.decode(errors="backslashreplace")
        return made

    def __str__(self) -> str:
        """A line for each stage."""
        lines = [f"{self.text!r}  log p {self.logprob:.3f}, removed {self.mass_removed:.1%}"]
        for stage in self.stages:
            top = ", ".join(f"{each.text!r} {each.probability:.3f}" for each in stage.top)
            moved = "" if stage.moved is None else f", moved {stage.moved:.3f}"
            lines.append(f"  {stage.name}: {top} (entropy {stage.entropy:.3f}{moved})")
        return "\n".join(lines)


def removed(log_allowed: float) -> float:
    """The share of probability that a constraint removed, of the log of what it left.

    >>> removed(math.log(0.25)), removed(0.0)
    (0.75, 0.0)
    """
    return 0.0 - math.expm1(min(log_allowed, 0.0))  # not −0


class Recorder:
    """Records the stages of one step of some rows.

    >>> recorder = Recorder(Vocabulary([b"a", b"b"]), 1)
    >>> recorder.watch("model", torch.zeros(1, 2))
    >>> recorder.watch("constraint", torch.tensor([[0.0, -math.inf]]))
    >>> print(recorder.step(0, 0, -0.7, -0.7))
    'a'  log p -0.700, removed 50.3%
      model: 'a' 0.500 (entropy 0.693)
      constraint: 'a' 1.000 (entropy 0.000, moved 0.693)
    """

    def __init__(
        self, vocabulary: Vocabulary, count: int, standings: Sequence[Standing | None] = ()
    ) -> None:
        """A recorder of the `count` most probable tokens, with the state of each row.

        Attributes:
            greens: the colour of the token that each row drew.
        """
        self._vocabulary, self._count, self._standings = vocabulary, count, standings
        self.greens: Sequence[bool | None] = ()
        self._before: Tensor | None = None
        self._stages: list[list[Stage]] = []
        self._named = {token: name for name, token in vocabulary.special.items()}

    def watch(self, name: str, row: Float[Tensor, "batch vocabulary"]) -> None:
        """Record the rows after a stage; the constraint once."""
        first = self._stages[0] if self._stages else ()
        if name == "constraint" and any(each.name == name for each in first):
            return
        self._keep(name, row, self._before)

    def watch_node(
        self,
        name: str,
        row: Float[Tensor, "batch vocabulary"],
        since: Float[Tensor, "batch vocabulary"] | None,
    ) -> None:
        """Record a summary of the rows of a node, compared with the rows `since`."""
        self._keep(name, row, None if since is None else _logs(since))

    @torch.inference_mode()
    def _keep(self, name: str, row: Tensor, before: Tensor | None) -> None:
        logs = _logs(row)
        likely, ids = largest(logs, min(self._count, logs.shape[1]))
        probabilities = logs.exp()
        entropy = 0 - (probabilities * logs).masked_fill(probabilities == 0, 0.0).sum(1)  # not −0
        moved: list[float] | None = None
        if before is not None:
            difference = probabilities * (logs - before)
            distance = difference.masked_fill(probabilities == 0, 0.0).sum(1).clamp(min=0)
            moved = _numbers(distance.masked_fill(likely[:, 0] == -math.inf, math.inf))
        self._before = logs
        if not self._stages:
            self._stages = [[] for _ in range(len(logs))]
        for place, spread in enumerate(_numbers(entropy)):
            found = [
                Likely(int(token), self._spell(int(token)), p)
                for token, p in zip(ids[place], _numbers(likely[place].exp()), strict=True)
                if p > 0
            ]
            step = None if moved is None else moved[place]
            self._stages[place].append(Stage(name, tuple(found), spread, step))

    def step(
        self, place: int, token: int, logprob: float, log_allowed: float, *, drafted: bool = False
    ) -> TracedStep:
        """The recorded stages of a row, with the token drawn."""
        standing = self._standings[place] if self._standings else None
        return TracedStep(
            token,
            self._spell(token),
            logprob,
            mass_removed=removed(log_allowed),
            stages=tuple(self._stages[place]),
            state=standing,
            forced=standing is not None and self._is_forced(token, standing),
            drafted=drafted,
            green=self.greens[place] if self.greens else None,
        )

    def _is_forced(self, token: int, standing: Standing) -> bool:
        spelling = self._vocabulary.spelling(token)
        return standing.allowed == 1 or bool(spelling and standing.forced.startswith(spelling))

    def _spell(self, token: int) -> str:
        spelling = self._vocabulary.spelling(token).decode(errors="backslashreplace")
        return spelling or self._named.get(token, f"<{token}>")


def _logs(row: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch vocabulary"]:
    """Log-probabilities; −∞ alone where there is nothing."""
    return row.log_softmax(1).masked_fill(row == -math.inf, -math.inf)


def _numbers(tensor: Float[Tensor, "batch"]) -> list[float]:
    return cast("list[float]", tensor.tolist())  # pyright: ignore[reportUnknownMemberType]
