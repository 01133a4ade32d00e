"""Expressions as values and on tensors: identities, definitions, and no NaN whatever comes in."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import guideway as gw
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.evaluate import Step, evaluate, jensen_shannon
from guideway.logits.expr import (
    Extreme,
    Farthest,
    Filtered,
    GediTerm,
    Guided,
    Leaf,
    Linear,
    Node,
    guided,
    inside,
    leaves,
    mapped,
    normalized,
    number,
    show,
    total,
    walk,
)
from guideway.logits.filters import min_p

Maximum, Minimum = partial(Extreme, "maximum"), partial(Extreme, "minimum")
A, B, C = Leaf("a", "base"), Leaf("b", "expert"), Leaf("c", "anti")
TWIN_A, TWIN_B, FLAT = Leaf("d", "like base"), Leaf("e", "like expert"), Leaf("f", "flat")
SIZE = 12
WORDS = gw.Vocabulary([bytes([97 + n]) for n in range(SIZE)])
SEEDS = range(20)


def logits(seed: int, *nodes: Leaf, rows: int = 3) -> dict[Leaf, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {leaf: 3 * torch.randn(rows, SIZE, generator=generator) for leaf in nodes or (A, B, C)}


def step(rows: dict[Leaf, torch.Tensor], allowed: torch.Tensor | None = None, watch=None) -> Step:
    everything = torch.ones_like(next(iter(rows.values())), dtype=torch.bool)
    return Step(rows, everything if allowed is None else allowed, WORDS, watch=watch)


def law(node: Node, rows: dict[Leaf, torch.Tensor], allowed: torch.Tensor | None = None):
    """The probabilities of an expression."""
    state = step(rows, allowed)
    return evaluate(node, state).closed(state.allowed).softmax(1)


def close(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, atol=2e-6, rtol=1e-4)


def test_a_single_leaf_is_its_logits_bit_for_bit_and_a_scaled_one_has_a_temperature():
    rows = logits(0)
    for node in (A, total([(1, A), (0, B)]), total([(1, A), (2, B), (-2, B)])):
        assert torch.equal(evaluate(node, step(rows)).closed(), rows[A])
    assert torch.equal(evaluate(total([(2, A)]), step(rows)).closed(), 2 * rows[A])
    rows[A][0, 3] = -math.inf
    assert torch.equal(evaluate(total([(0.5, A)]), step(rows)).closed(), 0.5 * rows[A])
    turned = evaluate(total([(-1, A)]), step(rows)).closed()
    assert turned.isfinite().all()
    assert turned[0].argmax() == rows[A][0].argmin()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_scaled_leaf_is_finite_float32_whatever_its_size(dtype):
    row = torch.tensor([[0.0, 2.9e38, 3e38, -3e38, -math.inf, 1.0]] * 3, dtype=dtype)
    for weight in (3, 1e6, 0.5, -2):
        rows = evaluate(total([(weight, A)]), step({A: row}))
        assert rows.values.dtype == torch.float32
        assert rows.values.isfinite().all()
        assert rows.total().isfinite().all()
        best = (rows.closed() == rows.closed().amax(1, keepdim=True))[0].tolist()
        assert best == [False, False, True, False, False, False] or weight < 0


PLAUSIBLE = Filtered("plausible", A, 0.1)


def formulas(rows: dict[Leaf, torch.Tensor]) -> list[tuple[Node, torch.Tensor]]:
    """Expressions, and the logits of their formulas in the papers."""
    a, b, c = (rows[leaf].log_softmax(1) for leaf in (A, B, C))
    ordered, ids = a.exp().sort(1, descending=True)
    nucleus = torch.zeros_like(a, dtype=torch.bool)
    nucleus.scatter_(1, ids, ordered.cumsum(1) - ordered < 0.9)
    plausible = min_p(rows[A], torch.full((3,), 0.1))
    dexperts = total([(1, Filtered("nucleus", A, 0.9)), (2, B), (-2, C)])
    return [
        (total([(1, A), (1.7, B), (-1.7, TWIN_B)]), a),  # the expert is the anti-expert
        (total([(1, A), (1, B), (-1, TWIN_A)]), b),  # and here the base is
        (total([(1, A), (1, total([(1, B), (-1, C)]))]), a + b - c),  # proxy tuning
        (total([(1, B), (1, total([(1, A), (-1, C)]))]), a + b - c),  # contrastive decoding
        *((total([(g, A), (1 - g, B)]), b + g * (a - b)) for g in (0, 0.3, 1, 1.5, 3)),
        *((total([(g, A), (1 - g, TWIN_A)]), a) for g in (0, 0.3, 1, 1.5, 3)),
        (PLAUSIBLE, plausible),
        (total([(1, PLAUSIBLE), (-1, FLAT)]), plausible),
        (dexperts, (a + 2.0 * (b - c)).masked_fill(~nucleus, -math.inf)),
        (normalized(total([(1, A), (-0.6, B)])), (a - 0.6 * b) / 0.4),
        (Maximum((A, B)), a.maximum(b)),
        (Maximum((B, A)), a.maximum(b)),
        (Minimum((A, B)), a.minimum(b)),
        (Minimum((B, A)), a.minimum(b)),
        (Maximum((A, A)), a),
        (Minimum((A, A)), a),
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_expressions_are_the_formulas_of_their_papers(seed: int):
    rows = logits(seed)
    rows |= {TWIN_A: rows[A].clone(), TWIN_B: rows[B].clone(), FLAT: torch.zeros(3, SIZE)}
    for node, expected in formulas(rows):
        found = law(node, rows)
        close(found, expected.softmax(1))
        assert torch.equal(found > 0, expected > -math.inf), show(node)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sum_is_the_barycentre_of_divergences(seed):
    # Dekoninck et al. 2024, theorem 1: it minimises Σ λ KL(P‖Q), here found by gradient descent.
    rows = {leaf: row / 3 for leaf, row in logits(seed, A, B, rows=1).items()}
    found = law(normalized(total([(1, A), (2, B)])), rows)
    free = torch.zeros(1, SIZE, requires_grad=True)

    def loss(logs):
        parts = [(1, rows[A].log_softmax(1)), (2, rows[B].log_softmax(1))]
        return sum((w * (logs.exp() * (logs - each)).sum() for w, each in parts), torch.zeros(()))

    descent = torch.optim.Adam([free], lr=0.1)
    for _ in range(300):
        descent.zero_grad()
        loss(free.log_softmax(1)).backward()
        descent.step()
    torch.testing.assert_close(found, free.detach().softmax(1), atol=2e-3, rtol=2e-2)
    assert loss(found.log()) <= loss(free.detach().log_softmax(1)) + 1e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_terms_maximum_and_minimum_commute_with_constraints_and_do_not_see_shifts(seed):
    rows = logits(seed)
    allowed = torch.rand(3, SIZE, generator=torch.Generator().manual_seed(seed)) > 0.5
    allowed[:, 0] = True
    shifted = {leaf: row + 7 * (n + 1) for n, (leaf, row) in enumerate(rows.items())}
    for node in (total([(1, A), (2, B), (-2, C)]), Maximum((A, B)), Minimum((A, B, C))):
        after = law(node, rows).where(allowed, 0.0)
        close(law(node, rows, allowed), after / after.sum(1, keepdim=True))
        close(law(node, rows), law(node, shifted))


def test_a_maximum_has_what_either_can_give_and_a_minimum_what_both_can():
    rows = logits(0)
    rows[A][:, 0] = rows[B][:, 1] = -math.inf
    assert (law(Maximum((A, B)), rows) > 0).all()
    shared = law(Minimum((A, B)), rows) > 0
    assert shared.tolist() == [[False, False] + [True] * (SIZE - 2)] * 3
    narrow = law(Maximum((Filtered("nucleus", A, 0.1), Filtered("nucleus", B, 0.1))), rows) > 0
    assert narrow.sum(1).max() <= 2


def test_filters_look_at_what_is_allowed_and_never_empty_it():
    fruit = torch.tensor([[0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05] + [0.0] * 5]).log()
    allowed = torch.zeros(1, SIZE, dtype=torch.bool)
    allowed[0, [3, 5, 6]] = True  # date, fig, grape
    found = law(Filtered("nucleus", A, 0.6), {A: fruit}, allowed)
    assert found[0].nonzero()[:, 0].tolist() == [3, 5]
    assert found[0, [3, 5]].tolist() == pytest.approx([0.5, 0.5])
    # As papers have it, the nucleus is one of everything; disjoint from what is allowed, it yields.
    found = law(Filtered("nucleus", A, 0.6, "pre_mask"), {A: fruit}, allowed)
    assert (found[0] > 0).tolist() == allowed[0].tolist()
    wider = allowed | (fruit > math.log(0.19))
    both = law(Filtered("plausible", A, 0.4, "pre_mask"), {A: fruit}, wider)
    assert both[0].nonzero()[:, 0].tolist() == [0, 1]


def test_a_node_that_is_subtracted_takes_no_tokens_away():
    rows = logits(0)
    rows[B][:, :6] = -math.inf
    assert (law(total([(1, A), (-1, B)]), rows) > 0).all()
    assert (law(total([(1, A), (1, B)]), rows) > 0).tolist() == [[False] * 6 + [True] * 6] * 3
    assert (law(total([(1, A), (-1, Filtered("nucleus", C, 0.1))]), rows) > 0).all()


def test_the_farthest_is_the_one_with_the_greatest_divergence():
    rows = logits(1)
    rows[B] = rows[A] + 0.01 * rows[C]
    close(law(Farthest(A, (B, C)), rows), rows[C].softmax(1))
    mixed = {A: rows[A], B: rows[B].clone(), C: rows[C].clone()}
    mixed[B][1], mixed[C][1] = rows[C][1], rows[B][1]
    close(law(Farthest(A, (B, C)), mixed), rows[C].softmax(1))  # row by row
    p, q = torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.0, 0.5, 0.5]])
    middle = (p + q) / 2
    expected = 0.5 * sum((x[x > 0] * (x[x > 0] / middle[x > 0]).log()).sum() for x in (p, q))
    found = jensen_shannon(p.log().clamp(min=-200), q.log().clamp(min=-200))
    assert found.item() == pytest.approx(float(expected), abs=1e-6)
    assert jensen_shannon(p.log().clamp(min=-50), p.log().clamp(min=-50)).item() == pytest.approx(0)


WILD = st.sampled_from([0.0, 1.0, -2.0, 50.0, -1e30, 3e38, -3e38, -math.inf, 0.5])
RECIPES = st.recursive(
    st.sampled_from([A, B, C]),
    lambda inner: st.one_of(
        st.tuples(st.just("sum"), inner, inner, st.floats(-3, 3), st.floats(-3, 3)),
        st.tuples(st.just("maximum"), inner, inner),
        st.tuples(st.just("minimum"), inner, inner),
        st.tuples(st.just("nucleus"), inner, st.sampled_from([0.1, 0.9, 1.0])),
        st.tuples(st.just("plausible"), inner, st.sampled_from([0.0, 0.1, 1.0])),
        st.tuples(st.just("farthest"), inner, inner, inner),
    ),
    max_leaves=6,
)


def cooked(recipe: Any) -> Node:
    """The node of a recipe; a sum that cancels itself is its first part."""
    if isinstance(recipe, Leaf):
        return recipe
    kind, one, *rest = recipe
    first = cooked(one)
    match kind:
        case "sum":
            made = total([(rest[1], first), (rest[2], cooked(rest[0]))])
            return made if leaves(made) else first
        case "nucleus":
            return Filtered("nucleus", first, rest[0])
        case "plausible":
            return Filtered("plausible", first, rest[0], "pre_mask")
        case "farthest":
            return Farthest(first, tuple(map(cooked, rest)))
        case _:
            return Extreme(kind, (first, *map(cooked, rest)))


@settings(max_examples=300)
@given(
    RECIPES,
    st.lists(st.lists(WILD, min_size=5, max_size=5), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_no_nan_and_no_forbidden_token_whatever_comes_in(recipe, values, allowed):
    node = cooked(recipe)
    rows = {leaf: torch.tensor([row]) for leaf, row in zip((A, B, C), values, strict=True)}
    mask = torch.tensor([allowed])
    found = evaluate(node, Step(rows, mask, WORDS))
    closed = found.closed(mask)
    assert not closed.isnan().any(), show(node)
    assert not (closed == math.inf).any()
    assert (closed[~mask] == -math.inf).all()
    assert not found.total().isnan().any()
    finite = all(rows[leaf].isfinite().all() for leaf in leaves(node))
    if finite and any(allowed) and not any(isinstance(x, Filtered) for x in walk(node)):
        assert torch.equal(closed > -math.inf, mask)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_model_that_gives_no_numbers_shows_in_its_row(bad):
    rows = logits(0)
    rows[B][1, 4] = bad
    sums = [[(1, A), (1, B)], [(1, A), (-1, B)], [(2, B)]]
    for node in (*map(total, sums), Maximum((A, B))):
        sound = evaluate(node, step(rows)).total()
        assert sound.isfinite().tolist() == [True, False, True], show(node)


def told_of(node: Node) -> list[tuple[str, Any]]:
    """The names of the nodes that a watcher is told of, and how far each moved."""
    told = []

    def watch(name, row, since):
        assert row.shape == (3, SIZE)
        told.append((name, None if since is None else divergence(row, since)))

    evaluate(node, step(logits(0), watch=watch))
    return told


def divergence(row: torch.Tensor, since: torch.Tensor) -> list[float]:
    p, q = (each.double().log_softmax(1) for each in (row, since))
    return (p.exp() * (p - q)).masked_fill(p == -math.inf, 0).sum(1).tolist()


def test_nodes_are_told_to_a_watcher_with_what_they_were_made_of():
    near = partial(pytest.approx, abs=1e-5)
    a, b, c = (logits(0)[each].double().log_softmax(1) for each in (A, B, C))
    nucleus = evaluate(Filtered("nucleus", A, 0.9), step(logits(0))).closed().double()
    assert told_of(total([(1, Filtered("nucleus", A, 0.9)), (2, B), (-2, C)])) == [
        ("base", None),
        ("base.nucleus(0.9)", near(divergence(nucleus, a))),
        ("+ 1*base.nucleus(0.9)", near([0, 0, 0])),
        ("+ 2*expert", near(divergence(nucleus + 2 * b, nucleus))),
        ("- 2*anti", near(divergence(nucleus + 2 * b - 2 * c, nucleus + 2 * b))),
    ]
    assert told_of(A) == [("base", None)]
    assert told_of(total([(2, A)])) == [("base", None), ("2*base", near(divergence(2 * a, a)))]
    for node, both, name in (
        (Maximum((A, B)), a.maximum(b), "maximum(base, expert)"),
        (Minimum((A, B)), a.minimum(b), "minimum(base, expert)"),
        (Farthest(A, (B,)), b, "farthest(base, expert)"),
    ):
        expected = [("base", None), ("expert", None), (name, near(divergence(both, a)))]
        assert told_of(node) == expected


class Nothing:
    def log_probs(self, texts):
        raise NotImplementedError


def test_normal_forms_have_coefficients_that_sum_to_one():
    assert normalized(total([(1, A), (-0.6, B)])) == Linear(((2.5, A), (-1.5, B)))
    assert normalized(A) is A
    halved = normalized(guided(Linear(((2.0, A),)), [ClassifierTerm(Nothing(), 3)]))
    assert isinstance(halved, Guided)
    assert (halved.inner, [each.alpha for each in halved.terms]) == (A, [1.5])


def test_leaves_are_told_once_and_can_be_changed_everywhere():
    pair = GediTerm(B, C, 30, 0.2, 0.8)
    parts = Filtered("nucleus", A, 0.9), Minimum((B, A))
    node = guided(Maximum(parts), [pair])
    assert leaves(node) == [A, B, C]  # in the order of writing
    assert set(walk(node)) == {node, node.inner, *parts, A, B, C}
    assert inside(Farthest(A, (B, C))) == (A, B, C)
    filtered = Filtered("nucleus", A, 0.5, "pre_mask"), PLAUSIBLE
    kinds = [total([(1, A), (2, B)]), Maximum((A, B)), Minimum((A, B)), Farthest(A, (B,))]
    for node in (*kinds, *filtered, guided(A, [pair])):
        changed = mapped(node, lambda leaf: Leaf(f"{leaf.source}!", leaf.name))
        assert type(changed) is type(node)
        assert show(changed) == show(node)
        assert Leaf("a!", "base") in leaves(changed)
    assert leaves(changed)[1:] == [B, C]  # not those of a classifier


def test_numbers_are_checked_against_their_range():
    assert number(1, "x") == 1.0
    for bad in ("1", None, True, 3):
        with pytest.raises(gw.SourceError, match="from 0 to 2"):
            number(bad, "x", 0.0, 2.0)
