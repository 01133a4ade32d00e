"""Expressions on tensors: identities, definitions, and no NaN whatever comes in."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import guideway as gw
from guideway.logits.evaluate import Step, evaluate, jensen_shannon
from guideway.logits.expr import (
    Extreme,
    Farthest,
    Filtered,
    Leaf,
    Node,
    leaves,
    normalized,
    show,
    total,
    walk,
)
from guideway.logits.filters import min_p

Maximum, Minimum = partial(Extreme, "maximum"), partial(Extreme, "minimum")
A, B, C = Leaf("a", "base"), Leaf("b", "expert"), Leaf("c", "anti")
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


def softmax(values: torch.Tensor, where: torch.Tensor | None = None) -> torch.Tensor:
    return (values if where is None else values.masked_fill(~where, -math.inf)).softmax(1)


def close(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, atol=2e-6, rtol=1e-4)


def test_a_single_leaf_is_its_logits_bit_for_bit():
    rows = logits(0)
    for node in (A, total([(1, A), (0, B)]), total([(1, A), (2, B), (-2, B)])):
        assert torch.equal(evaluate(node, step(rows)).closed(), rows[A])


def test_a_scaled_leaf_is_its_logits_at_a_temperature():
    rows = logits(0)
    assert torch.equal(evaluate(total([(2, A)]), step(rows)).closed(), 2 * rows[A])
    rows[A][0, 3] = -math.inf
    closed = evaluate(total([(0.5, A)]), step(rows)).closed()
    assert torch.equal(closed, 0.5 * rows[A])
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


@pytest.mark.parametrize("seed", SEEDS)
def test_an_expert_that_is_the_anti_expert_leaves_the_base(seed):
    rows = logits(seed)
    rows[C] = rows[B].clone()
    close(law(total([(1, A), (1.7, B), (-1.7, C)]), rows), rows[A].softmax(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_base_that_is_the_anti_expert_leaves_the_expert_at_alpha_one(seed):
    rows = logits(seed)
    rows[C] = rows[A].clone()
    close(law(total([(1, A), (1, B), (-1, C)]), rows), rows[B].softmax(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_proxy_tuning_is_contrastive_decoding_in_another_order(seed):
    rows = logits(seed)
    proxy = law(total([(1, A), (1, total([(1, B), (-1, C)]))]), rows)
    contrast = law(total([(1, B), (1, total([(1, A), (-1, C)]))]), rows)
    close(proxy, contrast)
    close(proxy, (rows[A] + rows[B] - rows[C]).softmax(1))


@pytest.mark.parametrize("gamma", [0, 0.3, 1, 1.5, 3])
def test_guidance_by_prompt_goes_from_one_prompt_to_the_other(gamma):
    rows = logits(5)
    found = law(total([(gamma, A), (1 - gamma, B)]), rows)
    if gamma in (0, 1):
        close(found, rows[A if gamma else B].softmax(1))
    uncond, cond = rows[B].log_softmax(1), rows[A].log_softmax(1)
    close(found, (uncond + gamma * (cond - uncond)).softmax(1))
    rows[B] = rows[A].clone()
    close(law(total([(gamma, A), (1 - gamma, B)]), rows), rows[A].softmax(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plausibility_set_is_min_p(seed):
    rows = logits(seed)
    share = torch.full((3,), 0.1)
    expected = min_p(rows[A], share) > -math.inf
    assert torch.equal(law(Filtered("plausible", A, 0.1), rows) > 0, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_uniform_amateur_leaves_the_expert_on_its_plausible_tokens(seed):
    rows = logits(seed)
    rows[B] = torch.zeros_like(rows[B])
    node = total([(1, Filtered("plausible", A, 0.1)), (-1, B)])
    close(law(node, rows), law(Filtered("plausible", A, 0.1), rows))


@pytest.mark.parametrize("seed", SEEDS)
def test_dexperts_is_the_formula_of_its_code(seed):
    rows = logits(seed)
    ordered, ids = rows[A].softmax(1).sort(1, descending=True)
    nucleus = torch.zeros_like(rows[A], dtype=torch.bool)
    nucleus.scatter_(1, ids, ordered.cumsum(1) - ordered < 0.9)
    expected = softmax(rows[A] + 2.0 * (rows[B] - rows[C]), nucleus)
    close(law(total([(1, Filtered("nucleus", A, 0.9)), (2, B), (-2, C)]), rows), expected)


def test_a_normal_form_is_a_hidden_temperature():
    rows = logits(3)
    node = normalized(total([(1, A), (-0.6, B)]))
    difference = rows[A].log_softmax(1) - 0.6 * rows[B].log_softmax(1)
    close(law(node, rows), (difference / 0.4).softmax(1))
    close(law(node, rows), (2.5 * rows[A] - 1.5 * rows[B]).softmax(1))


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
def test_maximum_and_minimum_commute_are_idempotent_and_bound(seed):
    rows = logits(seed)
    for kind, choose in ((Maximum, torch.maximum), (Minimum, torch.minimum)):
        close(law(kind((A, B)), rows), law(kind((B, A)), rows))
        close(law(kind((A, A)), rows), rows[A].softmax(1))
        expected = choose(rows[A].log_softmax(1), rows[B].log_softmax(1)).softmax(1)
        close(law(kind((A, B)), rows), expected)


def test_a_maximum_has_what_either_can_give_and_a_minimum_what_both_can():
    rows = logits(0)
    rows[A][:, 0] = rows[B][:, 1] = -math.inf
    assert (law(Maximum((A, B)), rows) > 0).all()
    shared = law(Minimum((A, B)), rows) > 0
    assert shared.tolist() == [[False, False] + [True] * (SIZE - 2)] * 3
    narrow = law(Maximum((Filtered("nucleus", A, 0.1), Filtered("nucleus", B, 0.1))), rows) > 0
    assert narrow.sum(1).max() <= 2


@pytest.mark.parametrize("seed", SEEDS)
def test_the_constraint_commutes_with_linear_terms_maximum_and_minimum(seed):
    rows = logits(seed)
    allowed = torch.rand(3, SIZE, generator=torch.Generator().manual_seed(seed)) > 0.5
    allowed[:, 0] = True
    for node in (total([(1, A), (2, B), (-2, C)]), Maximum((A, B)), Minimum((A, B, C))):
        after = law(node, rows)
        after = after.where(allowed, 0.0)
        close(law(node, rows, allowed), after / after.sum(1, keepdim=True))


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
    both = law(
        Filtered("plausible", A, 0.4, "pre_mask"), {A: fruit}, allowed | (fruit > math.log(0.19))
    )
    assert both[0].nonzero()[:, 0].tolist() == [0, 1]


def test_a_node_that_is_subtracted_takes_no_tokens_away():
    rows = logits(0)
    rows[B][:, :6] = -math.inf
    assert (law(total([(1, A), (-1, B)]), rows) > 0).all()
    assert (law(total([(1, A), (1, B)]), rows) > 0).tolist() == [[False] * 6 + [True] * 6] * 3
    narrow = law(total([(1, A), (-1, Filtered("nucleus", C, 0.1))]), rows)
    assert (narrow > 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_nodes_do_not_see_shifts(seed):
    rows = logits(seed)
    shifted = {leaf: row + 7 * (n + 1) for n, (leaf, row) in enumerate(rows.items())}
    for node in (total([(1, A), (2, B), (-2, C)]), Maximum((A, B)), Minimum((B, C))):
        close(law(node, rows), law(node, shifted))


def test_the_farthest_is_the_one_with_the_greatest_divergence():
    rows = logits(1)
    rows[B] = rows[A] + 0.01 * rows[C]
    found = law(Farthest(A, (B, C)), rows)
    close(found, rows[C].softmax(1))
    mixed = {A: rows[A], B: rows[B].clone(), C: rows[C].clone()}
    mixed[B][1], mixed[C][1] = rows[C][1], rows[B][1]
    close(law(Farthest(A, (B, C)), mixed), rows[C].softmax(1))  # row by row


def test_divergences_are_those_of_the_definition():
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


def cooked(recipe) -> Node:
    """The node of a recipe; a sum that cancels itself is its first part."""
    if isinstance(recipe, Leaf):
        return recipe
    kind, one, *rest = recipe
    first = cooked(one)
    if kind == "sum":
        made = total([(rest[1], first), (rest[2], cooked(rest[0]))])
        made = made if leaves(made) else first
    elif kind == "nucleus":
        made = Filtered("nucleus", first, rest[0])
    elif kind == "plausible":
        made = Filtered("plausible", first, rest[0], "pre_mask")
    elif kind == "farthest":
        made = Farthest(first, tuple(map(cooked, rest)))
    else:
        made = (Maximum if kind == "maximum" else Minimum)((first, *map(cooked, rest)))
    return made


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
    state = Step(rows, mask, WORDS)
    found = evaluate(node, state)
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
    for node in (
        total([(1, A), (1, B)]),
        total([(1, A), (-1, B)]),
        Maximum((A, B)),
        total([(2, B)]),
    ):
        sound = evaluate(node, step(rows)).total()
        assert sound.isfinite().tolist() == [True, False, True], show(node)


def told_of(node, **more):
    """The names of the nodes that a watcher is told of, and how far each moved."""
    told = []

    def watch(name, row, since):
        assert row.shape == (3, SIZE)
        moved = None if since is None else divergence(row, since)
        told.append((name, moved))

    evaluate(node, step(logits(0), watch=watch, **more))
    return told


def divergence(row, since):
    p, q = (each.double().log_softmax(1) for each in (row, since))
    return (p.exp() * (p - q)).masked_fill(p == -math.inf, 0).sum(1).tolist()


def test_nodes_are_told_to_a_watcher_with_what_they_were_made_of():
    node = total([(1, Filtered("nucleus", A, 0.9)), (2, B), (-2, C)])
    a, b, c = (logits(0)[each].double().log_softmax(1) for each in (A, B, C))
    nucleus = evaluate(Filtered("nucleus", A, 0.9), step(logits(0))).closed().double()
    assert told_of(node) == [
        ("base", None),
        ("base.nucleus(0.9)", pytest.approx(divergence(nucleus, a), abs=1e-5)),
        ("+ 1*base.nucleus(0.9)", pytest.approx([0, 0, 0], abs=1e-5)),
        ("+ 2*expert", pytest.approx(divergence(nucleus + 2 * b, nucleus), abs=1e-5)),
        ("- 2*anti", pytest.approx(divergence(nucleus + 2 * b - 2 * c, nucleus + 2 * b), abs=1e-5)),
    ]
    assert told_of(A) == [("base", None)]
    assert told_of(total([(2, A)])) == [
        ("base", None),
        ("2*base", pytest.approx(divergence(2 * a, a), abs=1e-5)),
    ]
    for both, name, kind in (
        (a.maximum(b), "maximum(base, expert)", Maximum),
        (a.minimum(b), "minimum(base, expert)", Minimum),
        (b, "farthest(base, expert)", Farthest),
    ):
        node = kind((A, B)) if kind is not Farthest else Farthest(A, (B,))
        moved = pytest.approx(divergence(both, a), abs=1e-5)
        assert told_of(node) == [("base", None), ("expert", None), (name, moved)]
