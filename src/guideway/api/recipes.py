"""Published combinations of models, each one a short expression.

What an expression holds can be printed, and changed with the operators of `Model`.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from guideway.api.model import Model, as_model, exited, layers_of
from guideway.errors import SourceError, UnsupportedError
from guideway.logits.expr import Farthest, GediTerm, Leaf, Mask, number
from guideway.sources.names import did_you_mean
from guideway.sources.sources import check_option

Weighed: TypeAlias = Model | tuple[Model, float] | Sequence[Model | tuple[Model, float]]
Style: TypeAlias = Literal["obrien-2023", "li-2022"]

PUBLISHED: Final[Mapping[str, Mapping[str, float | int | str | None]]] = MappingProxyType(
    {
        # Liu et al. 2021, "DExperts", arXiv 2105.03023, and the scripts of its repository
        "dexperts-toxicity": {"alpha": 2.0, "nucleus": 0.9},
        "dexperts-sentiment": {"alpha": 3.2, "nucleus": 0.9},
        # Liu et al. 2024, "Tuning language models by proxy", arXiv 2401.08565
        "proxy-tuning": {"alpha": 1.0},
        # O'Brien and Lewis 2023, arXiv 2309.09117
        "contrast-reasoning": {"alpha": 0.1, "beta": 0.5},
        # Li et al. 2022, "Contrastive decoding", arXiv 2210.15097
        "contrast-open-ended": {"alpha": 0.1, "style": "li-2022"},
        # Sanchez et al. 2023, "Stay on topic with classifier-free guidance", arXiv 2306.17806
        "cfg": {"gamma": 1.5},
        # Shi et al. 2023, "Trusting your evidence", arXiv 2305.14739
        "context-aware-summaries": {"alpha": 0.5},
        "context-aware-conflicts": {"alpha": 1.0},
        # Chuang et al. 2024, "DoLa", arXiv 2309.03883
        "dola-long": {"layers": "low", "alpha": 0.1},
        "dola-short": {"layers": "high", "alpha": 0.1},
        # Krause et al. 2021, "GeDi", arXiv 2009.06367
        "gedi": {"alpha": 30.0, "rho": 0.2, "tau": 0.8},
        # Sitdikov et al. 2022, arXiv 2205.07276 (α = −5 steers away), and its code
        "caif": {"alpha": 5.0, "top": 100},
        # Yang and Klein 2021, "FUDGE", arXiv 2104.05218
        "fudge-topic": {"alpha": 4.0, "top": 200},
        "fudge-formality": {"alpha": 1.0, "top": 200},
    }
)
"""Published settings, as arguments of the functions here and of `guideway.classifier`."""


def published(name: str) -> dict[str, float | int | str | None]:
    """Return the settings of a paper as keyword arguments.

    Example:
        >>> published("dexperts-sentiment")
        {'alpha': 3.2, 'nucleus': 0.9}

    Raises:
        UnsupportedError: the name is unknown; the message has the nearest one.
    """
    if isinstance(name, str) and name in PUBLISHED:  # pyright: ignore[reportUnnecessaryIsInstance]
        return dict(PUBLISHED[name])
    hint = did_you_mean(name, PUBLISHED) or f"; there are {', '.join(PUBLISHED)}"
    raise UnsupportedError(f"unknown published settings {name!r}{hint}", feature=str(name))


def dexperts(
    base: Model,
    expert: Weighed | None = None,
    anti: Weighed | None = None,
    *,
    alpha: float = 2.0,
    nucleus: float | None = 0.9,
    plausibility: Mask = "post_mask",
) -> Model:
    """Return base.nucleus(p) + α (expert − anti), DExperts (Liu et al. 2021).

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> base, fan = (Model(FakeModel.random(Vocabulary([b"a"])), name=f"m{n}") for n in (0, 1))
        >>> dexperts(base, expert=fan)
        Model(m0.nucleus(0.9) + 2*m1 - 2*m0)

    Args:
        base: the large model.
        expert: a model, or several with weights: `[(first, 1.0), (second, 0.5)]`. By default the
            base.
        anti: the anti-experts, in the same form.
        alpha: weight of the difference.
        nucleus: mass of the base's nucleus; None for all tokens.
        plausibility: "post_mask" takes the nucleus among the allowed tokens, "pre_mask" among all.

    Raises:
        SourceError: no expert and no anti-expert is given, or a number is out of range.
        UnsupportedError: the vocabularies are different.
    """
    if expert is None and anti is None:
        raise SourceError("dexperts needs an expert or an anti-expert: give expert= or anti=")
    kept = as_model(base)
    if nucleus is not None:
        kept = kept.nucleus(number(nucleus, "nucleus", 1e-9, 1), plausibility)
    return _steered(kept, base, expert, anti, alpha)


def proxy_tune(
    base: Model, expert: Weighed, anti: Weighed | None = None, alpha: float = 1.0
) -> Model:
    """Return base + α (expert − anti), proxy-tuning (Liu et al. 2024).

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> one, two = (Model(FakeModel.random(Vocabulary([b"a"])), name=f"m{n}") for n in (1, 2))
        >>> proxy_tune(one, expert=two, anti=two.prompted("Be dull."))
        Model(m1 + m2 - m2.prompted('Be dull.'))

    Args:
        base: the large model, not tuned.
        expert: the small tuned model, or several with weights.
        anti: the small model before tuning, or several with weights. By default the base.
        alpha: weight of the difference.

    Raises:
        SourceError: a number is out of range.
        UnsupportedError: the vocabularies are different.
    """
    return _steered(as_model(base), base, expert, anti, alpha)


def contrast(
    expert: Model,
    amateur: Model,
    alpha: float = 0.1,
    beta: float | None = None,
    *,
    style: Style = "obrien-2023",
    plausibility: Mask = "post_mask",
) -> Model:
    """Return contrastive decoding: (1 + β) expert.plausible(α) − β amateur.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> one, two = (Model(FakeModel.random(Vocabulary([b"a"])), name=f"m{n}") for n in (1, 2))
        >>> contrast(one, two)
        Model(1.5*m1.plausible(0.1) - 0.5*m2)

    Args:
        expert: the better model.
        amateur: the worse one.
        alpha: least probability, as a share of the expert's most probable token.
        beta: weight of the amateur; by default 0.5, and 1 in Li's style.
        style: "obrien-2023": (1 + β) expert − β amateur. "li-2022": expert − β amateur, the amateur
            at temperature 0.5.
        plausibility: "post_mask" looks at the allowed tokens, "pre_mask" at all tokens.

    Raises:
        SourceError: a number is out of range, or the style is unknown.
        UnsupportedError: the vocabularies are different.
    """
    styles = {"obrien-2023": 0.5, "li-2022": 1.0}
    check_option("style", style, (*styles,))
    head = as_model(expert).plausible(alpha, plausibility)
    weight = number(styles[style] if beta is None else beta, "beta")
    if style == "li-2022":
        return head - weight * as_model(amateur).temperature(0.5)
    return (1 + weight) * head - weight * as_model(amateur)


def cfg(conditional: Model, unconditional: Model | None = None, gamma: float = 1.5) -> Model:
    """Return classifier-free guidance: u + γ (c − u) (Sanchez et al. 2023).

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> model = Model(FakeModel.random(Vocabulary([b"a"])), name="m")
        >>> cfg(model.prompted("Rhyme."), model)
        Model(1.5*m.prompted('Rhyme.') - 0.5*m)

    Args:
        conditional: the model with its prompt.
        unconditional: the model without the prompt, or with a negative one. By default the model
            that reads only the prompt's last token, as in transformers.
        gamma: 1 is the conditional model, 0 the unconditional one.

    Raises:
        SourceError: a number is out of range.
    """
    one = as_model(conditional)
    other = one.unprompted() if unconditional is None else as_model(unconditional)
    weight = number(gamma, "gamma")
    return weight * one + (1 - weight) * other


def context_aware(with_context: Model, without: Model, alpha: float = 0.5) -> Model:
    """Return context-aware decoding: (1 + α) with − α without (Shi et al. 2023).

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> model = Model(FakeModel.random(Vocabulary([b"a"])), name="m")
        >>> context_aware(model.prompted("It rains."), model)
        Model(1.5*m.prompted('It rains.') - 0.5*m)

    Args:
        with_context: the model that reads the context: `model.prompted(document)`.
        without: the model that does not.
        alpha: 0 is the model with its context.

    Raises:
        SourceError: a number is out of range.
    """
    weight = number(alpha, "alpha")
    return (1 + weight) * as_model(with_context) - weight * as_model(without)


def dola(
    model: Model, layers: Literal["low", "high"] | Sequence[int] = "low", alpha: float = 0.1
) -> Model:
    """Return DoLa: the model minus its early exit that differs most (Chuang et al. 2024).

    Example:
        >>> import torch
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> row = lambda tokens: torch.zeros(1)
        >>> model = Model(FakeModel(Vocabulary([b"a"]), row, exits=[row, row, row]), name="m")
        >>> dola(model, "high")
        Model(m.plausible(0.1) - farthest(m, m.exit_at(2)))

    Args:
        model: one model.
        layers: the candidate blocks: every second one of the lower or upper half, or a list.
        alpha: least probability, as a share of the most probable token.

    Raises:
        SourceError: a block does not exist, or the list is empty.
        UnsupportedError: the model's blocks are not known, or it is an expression.
    """
    node = as_model(model).node
    if not isinstance(node, Leaf):
        raise UnsupportedError(f"dola takes one model, not {model!r}", feature="dola of several")
    count = layers_of(node)
    if layers == "low" or layers == "high":
        blocks: Sequence[int] = range(2, (count + 1) // 2, 2) or range(1, 2)
        if layers == "high":
            blocks = range((count + 1) // 2, count, 2)
    elif isinstance(layers, Sequence) and not isinstance(layers, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        blocks = layers
    else:
        raise SourceError(f"layers is {layers!r}: it must be 'low', 'high' or a list of blocks")
    early = tuple(exited(node, block) for block in blocks)
    if not early:
        raise SourceError("layers is empty: dola needs at least one block")
    return model.plausible(alpha) - Model.of(Farthest(node, early))


def gedi(
    wanted: Model, unwanted: Model, alpha: float = 30.0, *, rho: float = 0.2, tau: float = 0.8
) -> GediTerm:
    """Return a pair of models as a classifier of all tokens, GeDi (Krause et al. 2021).

    Add it to a model.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> one, two = (Model(FakeModel.random(Vocabulary([b"a"])), name=f"m{n}") for n in (1, 2))
        >>> one + gedi(two.prompted("kind"), two.prompted("rude"))
        Model(m1 + gedi(m2.prompted('kind'), m2.prompted('rude'), alpha=30))

    Args:
        wanted: the model under the wanted prompt.
        unwanted: the model under the other.
        alpha: the weight.
        rho: mass of the least desired tokens that are removed; 0 removes none.
        tau: tokens with a desired probability above this are never removed.

    Raises:
        SourceError: a number is out of range.
        UnsupportedError: one of them is an expression.
    """
    pair = [as_model(each).node for each in (wanted, unwanted)]
    if not all(isinstance(node, Leaf) for node in pair):
        raise UnsupportedError(
            "gedi takes two single models, not expressions", feature="gedi of expressions"
        )
    first, second = cast("list[Leaf]", pair)
    return GediTerm(
        first, second, number(alpha, "alpha"), number(rho, "rho", 0, 1), number(tau, "tau", 1e-9, 1)
    )


def maximum(*models: Model) -> Model:
    """Return the greatest log-probability of each token.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> one, two = (Model(FakeModel.random(Vocabulary([b"a"])), name=f"m{n}") for n in (1, 2))
        >>> maximum(one, two)
        Model(maximum(m1, m2))

    Raises:
        SourceError: no model is given.
    """
    first, *others = _at_least_one(models)
    return first.maximum(*others)


def minimum(*models: Model) -> Model:
    """Return the least log-probability of each token.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> one, two = (Model(FakeModel.random(Vocabulary([b"a"])), name=f"m{n}") for n in (1, 2))
        >>> minimum(one, two)
        Model(minimum(m1, m2))

    Raises:
        SourceError: no model is given.
    """
    first, *others = _at_least_one(models)
    return first.minimum(*others)


def _at_least_one(models: Sequence[Model]) -> list[Model]:
    if not models:
        raise SourceError("maximum and minimum need at least one model")
    return [as_model(model) for model in models]


def _steered(
    kept: Model, base: Model, expert: Weighed | None, anti: Weighed | None, alpha: float
) -> Model:
    weight = number(alpha, "alpha")
    added = _weighed(base if expert is None else expert)
    taken = _weighed(base if anti is None else anti)
    return kept + weight * (added - taken)


def _weighed(given: object) -> Model:
    """Return the sum of models with their weights, by default 1."""
    if isinstance(given, Model):
        return given
    several = isinstance(given, Sequence) and not isinstance(given, str)
    listed = list(cast("Sequence[object]", given)) if several else []
    if not listed:
        raise SourceError(f"{given!r} is no model and no list of models or (model, weight)"[:300])
    first, *rest = listed
    if isinstance(first, Model) and len(rest) == 1 and isinstance(rest[0], int | float):
        return first * number(rest[0], "a weight")
    return reduce(Model.__add__, map(_weighed, listed))
