"""Constraints, matchers and sources in another process: loaded there, they mean the same."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field, TypeAdapter, create_model
from tokenizers import Tokenizer, decoders, models

import guideway as gw
from guideway.automaton.token_tries import unpack
from random_walks import BYTES, masks_along
from tool_samples import MARKED, SEARCH, Weather, add

TESTS = Path(__file__).parents[1]
LARK = 'start: "x=" %json {"type": "integer"} | WORD\n%import common.WORD'
SOURCES: dict[str, Any] = {
    "regex": gw.Regex("a+b", flags="i"),
    "choice": gw.Choice(["yes", "no"]),
    "schema": gw.JsonSchema({"items": {"$ref": "a"}}, "declared", resources={"a": {"const": 1}}),
    "formats": gw.JsonSchema({"type": "string", "format": "date"}, formats="annotation"),
    "lark": gw.Lark(LARK),
    "gbnf": gw.Gbnf('root ::= "a" root | "b"'),
    "grammar": gw.grammar("semver"),
    "combined": (gw.Regex("a*") + "b" | gw.Choice(["c"])) & ~gw.Regex("aab"),
    "repeat": gw.repeat(gw.Regex("[ab]"), 2, 4),
    "regions": gw.tagged("<tool_call>", Weather, "</tool_call>", at_least=1),
    "thinking": gw.thinking(gw.capture("year", int)),
    "until": gw.until("</a>", gw.special("[ARGS]")),
    "substring": gw.substring("one two three"),
    "tools": gw.tools([Weather, add, SEARCH], "glm4", "required"),
    "model": Weather,
    "optional": Weather | None,
    "annotated": Annotated[int, Field(gt=3)],
    "adapter": TypeAdapter(list[Weather]),
    "literal": Literal["a", 1],
    "callable": add,
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_equal_to_its_pickle(name):
    source = gw.source(SOURCES[name])
    again = pickle.loads(pickle.dumps(source))
    assert type(again) is type(source)
    assert again == source or name in ("annotated", "adapter")  # which pydantic does not compare
    assert copy.deepcopy(source) is source


CHILD = """
import pickle, sys
from random_walks import masks_along
constraints, matchers = pickle.load(sys.stdin.buffer)
masks = {name: masks_along(constraint) for name, constraint in constraints.items()}
ended = {name: matcher.is_terminated() for name, matcher in matchers.items()}
pickle.dump((masks, ended, constraints), sys.stdout.buffer)
"""


def test_constraints_and_matchers_mean_the_same_in_another_process():
    constraints = {name: gw.compile(source, MARKED) for name, source in SOURCES.items()}
    matchers = dict[str, gw.Matcher]()
    for name, constraint in constraints.items():
        matchers[name] = matcher = gw.Matcher(constraint)
        while not matcher.is_terminated():
            left = constraint.distance(matcher.state)
            nearer = unpack(constraint.mask_within(matcher.state, left)).tolist()
            assert matcher.accept_token(nearer[-1] if left else min(MARKED.eos_ids))
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=pickle.dumps((constraints, matchers)),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(TESTS)])},
    )
    masks, ended, again = pickle.loads(done.stdout)
    assert masks == {name: masks_along(constraint) for name, constraint in constraints.items()}
    assert all(ended.values())
    for name in constraints.keys() - {"annotated", "adapter"}:
        assert again[name] is constraints[name]  # which compiling remembers


def test_a_matcher_is_where_it_was():
    constraint = gw.compile(gw.Regex("a+b"), BYTES)
    matcher = gw.Matcher(constraint)
    assert matcher.accept_token(97)
    assert matcher.accept_token(97)
    matcher.rollback(1)
    assert not matcher.accept_token(99)
    again = pickle.loads(pickle.dumps(matcher))
    for other in (again, copy.copy(matcher), copy.deepcopy(matcher)):
        assert other.accept_token(98)
        assert other.accept_token(256)
        assert other.is_terminated()
        other.rollback(3)
        assert not other.accept_token(98)
    matcher.reset()
    assert not pickle.loads(pickle.dumps(matcher)).accept_token(98)
    assert pickle.loads(pickle.dumps(matcher.fork())).accept_token(97)


def test_what_is_immutable_is_its_own_copy():
    constraint = gw.compile(gw.Regex("a+b"), BYTES)
    for value in (constraint, BYTES, gw.Regex("a")):
        assert copy.deepcopy(value) is value
    assert copy.copy(constraint) is constraint
    assert copy.copy(BYTES) is BYTES
    assert constraint.source == gw.Regex("a+b")


def test_the_budget_and_the_tokenizer_go_along():
    budget = gw.Budget(fuel=1234)
    constraint = gw.compile(gw.Regex("a"), BYTES, budget)
    assert pickle.loads(pickle.dumps(constraint)) is constraint
    gw.clear_cache()
    again = pickle.loads(pickle.dumps(constraint))
    assert again is not constraint
    assert again is gw.compile(gw.Regex("a"), BYTES, budget)
    own = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    own.decoder = decoders.Fuse()
    vocabulary = gw.Vocabulary([b"a", b"b", b"ab", None], eos_ids={3})
    canonical = gw.compile(gw.Regex("a?b"), vocabulary, canonical=own)
    again = pickle.loads(pickle.dumps(canonical))
    assert again.mask(again.start()).tolist() == canonical.mask(canonical.start()).tolist() == [6]


HERE: Any = create_model("Here", a=int)  # as no module has it


@pytest.mark.parametrize(
    "source",
    [
        HERE,
        lambda a: a,
        Annotated[int, AfterValidator(lambda value: value)],
        gw.tagged("<a>", HERE, "</a>"),
        gw.tools([HERE]),
    ],
    ids=["a type of a function", "lambda", "a validator", "within regions", "a tool"],
)
def test_what_pickle_cannot_hold_is_refused_by_name(source):
    whole = gw.source(source)
    for value in (whole, gw.compile(whole, BYTES), gw.Matcher(gw.compile(whole, BYTES))):
        with pytest.raises(
            gw.UnsupportedError, match=r"cannot be pickled .* top level of a module"
        ):
            pickle.dumps(value)
    assert copy.deepcopy(whole) is whole
    assert copy.copy(whole) == whole
