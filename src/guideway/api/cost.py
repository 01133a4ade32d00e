"""Cost of a token of an expression."""

from dataclasses import dataclass
from typing import final

from guideway.generation.ensemble.ensemble import Ensemble
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.expr import Guided, walk


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """The work of one token of one row.

    Attributes:
        batches: forward passes, one for each model.
        rows: rows in all passes; leaves that differ in prompt or adapter are rows.
        texts: texts that classifiers read, at most, on average over the steps.
    """

    batches: int
    rows: int
    texts: float

    def __str__(self) -> str:
        """In words."""
        forwards = "1 forward" if self.batches == 1 else f"{self.batches} forwards"
        rows = "" if self.rows == self.batches else f" of {self.rows} rows"
        texts = f", {self.texts:g} texts classified" if self.texts else ""
        return f"{forwards}{rows}{texts}"


def cost_of(ensemble: Ensemble) -> Cost:
    """The cost of a token of an ensemble."""
    terms = [
        term for node in walk(ensemble.node) if isinstance(node, Guided) for term in node.terms
    ]
    texts = sum(
        (term.top + (term.rest == "keep")) / term.every
        for term in terms
        if isinstance(term, ClassifierTerm)
    )
    models = {id(context.model) for context in ensemble.contexts}
    return Cost(len(models), len(ensemble.contexts), texts)


def told(ensemble: Ensemble) -> str:
    """The leaves of an ensemble, and what a token costs, in words."""
    names = ", ".join(dict.fromkeys(leaf.name for leaf in ensemble.leaves))
    return f"leaves: {names}\nper token: {cost_of(ensemble)}"
