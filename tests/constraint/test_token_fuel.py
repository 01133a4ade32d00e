"""Limits of the work of a token, for sources whose first mask is cheap and a later one is not."""

import gc
import random
import time
import weakref
from dataclasses import replace

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.models.fake import FakeModel
from guideway.sources.sources import Source
from random_walks import BYTES

LIMITED = replace(gw.Budget.untrusted(), token_fuel=400_000)
# A text of it has exponentially many states; a few letters in, one step took 7 s and 1.5 GB.
LATE = gw.Regex(r"(?=.*a.{18}b)(?=.*c.{18}d)(?!.*e.{18}f)[a-f]*", dialect="ecma")
EASY = [
    gw.Regex(r"(?=.*[0-9])(?=.*[a-z])[a-z0-9]{8,20}"),
    gw.JsonSchema({"properties": {"a": {"pattern": "^x+$"}, "b": {"type": "number"}}}),
    gw.Lark('start: "a" start "b" | /[0-9]+/'),
    gw.Gbnf('root ::= "a" root "b" | [0-9]'),
]


def walk(constraint: CompiledConstraint, seed: int, most: int = 24) -> list[bytes]:
    """The masks of a random text."""
    dice, state, masks = random.Random(seed), constraint.start(), list[bytes]()
    for _ in range(most):
        masks.append(constraint.mask(state).tobytes())
        allowed = [token for token in unpack(constraint.mask(state)).tolist() if token < 256]
        if not allowed:
            break
        state = constraint.advance(state, dice.choice(allowed))
    return masks


def error_of(constraint: CompiledConstraint, seed: int) -> gw.LimitError | None:
    try:
        walk(constraint, seed)
    except gw.LimitError as error:
        return error
    return None


def test_a_token_that_costs_too_much_is_an_error_and_leaves_no_debt() -> None:
    late = gw.compile(LATE, BYTES, LIMITED)
    errors = list[gw.LimitError]()
    for seed in range(6):
        began = time.process_time()
        error = error_of(late, seed)
        assert time.process_time() - began < 5
        errors += [] if error is None else [error]
        for source in EASY:
            walk(gw.compile(source, BYTES, LIMITED), seed)
    assert 0 < len(errors) < 6
    for each in errors:
        assert each.limit == "fuel"
        assert "a token takes more than 400000 parts" in str(each)
        assert "token_fuel" in str(each)


def test_a_failed_token_leaves_the_lexer_dfa_that_it_filled() -> None:
    gc.collect()
    gw.clear_cache()
    before = gw.cache_info().state_bytes  # constraints that other tests hold have arenas, too
    late = gw.compile(LATE, BYTES, LIMITED)
    good = gw.compile(EASY[0], BYTES, LIMITED)
    dfa = weakref.ref(good.start().pda.dfa)
    assert late.start().pda.dfa is dfa()
    expected = walk(good, 1)
    assert any(error_of(late, seed) for seed in range(6))
    gw.compile(gw.Choice(["a"]), BYTES)  # another source comes
    assert walk(good, 1) == expected
    gc.collect()
    assert good.start().pda.dfa is not dfa()
    assert late.start().pda.dfa is good.start().pda.dfa
    assert gw.cache_info().state_bytes - before < 20 << 20


@pytest.mark.parametrize("source", EASY, ids=lambda source: type(source).__name__)
def test_masks_do_not_depend_on_the_budget(source: Source) -> None:
    free, limited = (gw.compile(source, BYTES, b) for b in (None, LIMITED))
    for seed in range(3):
        assert walk(free, seed) == walk(limited, seed)


def test_a_row_that_costs_too_much_fails_alone() -> None:
    model = gw.Model(FakeModel.random(BYTES))
    arguments = {"max_new_tokens": 40, "temperature": 1.0, "min_new_tokens": 40}
    other = {**arguments, "seed": 5}
    whole = model.generate("x", gw.Regex("[ab]+"), **other).text
    failed = 0
    with gw.Engine(model) as engine:
        for seed in range(6):
            hostile = engine.submit(
                "x", LATE, budget=LIMITED, **arguments, seed=seed, trace=seed == 0
            )
            good = engine.submit("x", gw.Regex("[ab]+"), **other)
            assert good.result().text == whole
            failed += isinstance(hostile.exception(), gw.LimitError)
    assert failed
