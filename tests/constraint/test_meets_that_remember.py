"""Objects and arrays that remember what came, where they meet a list of texts: the whole truth.

What meets a finite regex has an end of texts, so that all is known of it: json and jsonschema say
which are in, and from those follow the example, the distances, the masks, and what still fits.
Only where items must not come twice a mask may allow more, if a search cannot tell.
"""

import functools
import itertools
import json
import operator
import random
import re

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from json_tangles import Tangle
from random_walks import BYTES

KEYS = [["a"], ["b"], ["a", "b"], ["ab", "c"], ["a", "b", "c"], ["cd", "b"]]
SCALARS = [["1"], ["1", "2"], ["2"], ['"a"'], ["1", '"a"']]
MOST_TEXTS = 120


def texts(chance, depth=1):
    """Texts that are alike, most of them objects, also with a key twice."""
    kind = chance.randrange(6)
    if kind < 2 or depth < 0:
        return chance.choice(SCALARS)
    parts = []
    for _ in range(chance.choice([0, 1, 1, 2, 2, 2, 3])):
        keys = [f'"{key}":' for key in chance.choice(KEYS)] if kind < 5 else [""]
        comma = ["," if parts else ""]
        parts += [comma, keys, texts(chance, depth - 1)]
    begin, end = "{}" if kind < 5 else "[]"
    return ["".join(each) for each in itertools.product([begin], *parts, [end])]


def is_valid(text, tangles):
    def pairs(members):
        if len(dict(members)) < len(members):
            raise KeyError
        return dict(members)

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except KeyError:
        return False
    return any(each.verdict(value) for each in tangles)


def tokens_of(row):
    return {token for token in unpack(row).tolist() if token < 256}


def walk(constraint, wanted, chance, sure):
    """One way along the masks, of which the end is told right at each place.

    `sure`: whether the masks allow nothing else.
    """
    state, begun = constraint.start(), b""
    while True:
        rests = [text[len(begun) :] for text in wanted if text.startswith(begun)]
        least = min(map(len, rests))
        assert constraint.distance(state) == least, begun
        assert constraint.accepts(state) == (b"" in rests)
        following = {rest[0] for rest in rests if rest}
        allowed = tokens_of(constraint.mask(state))
        assert allowed == following if sure else allowed >= following, begun
        left = least + chance.randrange(3)
        near = {rest[0] for rest in rests if rest and len(rest) <= left}
        assert tokens_of(constraint.mask_within(state, left)) == near, (begun, left)
        if not following or (b"" in rests and chance.random() < 0.5):
            return
        byte = chance.choice(sorted(following))
        state, begun = constraint.advance(state, byte), begun + bytes((byte,))


@pytest.mark.parametrize(
    "seed", [*range(70), *(pytest.param(n, marks=pytest.mark.slow) for n in range(1_000, 5_000))]
)
def test_what_remembers_and_meets_a_list_of_texts_is_exact(seed):
    chance = random.Random(seed)
    tangles = [Tangle(2 * seed + part) for part in range(chance.choice([1, 1, 1, 1, 2]))]
    listed = sorted({text for _ in range(chance.randint(1, 3)) for text in texts(chance)})
    listed = sorted(chance.sample(listed, min(len(listed), MOST_TEXTS)))
    held = functools.reduce(operator.or_, (gw.JsonSchema(each.schema) for each in tangles))
    try:
        constraint = gw.compile(held & gw.Regex("|".join(map(re.escape, listed))), BYTES)
    except gw.SourceError:  # a definition that is itself, which has no meaning
        return
    except gw.UnsatisfiableError:
        assert not any(is_valid(text, tangles) for text in listed)
        return
    wanted = [text.encode() for text in listed if is_valid(text, tangles)]
    assert constraint.example().encode() == min(wanted, key=lambda text: (len(text), text))
    assert [t for t in listed if constraint.matches(t)] == [t.decode() for t in wanted]
    sure = "uniqueItems" not in json.dumps([each.schema for each in tangles])
    for _ in range(3):
        walk(constraint, wanted, chance, sure)


@pytest.mark.parametrize("pattern", [
    r'\{"a":1,"a":2\}', r'\{"[ab]":1,"[ab]":2,"[ab]":3\}', r"\[1,1\]", r"\[[12],[12],[12]\]",
    r'\{"x":\{"a":1,"a":1\}\}',
])  # fmt: skip
def test_what_can_only_come_twice_is_refused(pattern):
    objects = gw.JsonSchema({"uniqueItems": True})
    with pytest.raises(gw.UnsatisfiableError, match="no text is in both"):
        gw.compile(objects & gw.Regex(pattern), BYTES)


def test_many_tokens_into_a_key_are_told_whatever_it_is():
    """Within a key one of many tokens at least brings the end near enough, and each that does is
    right: after any of them the distance has become less."""
    pattern = r'\{"[ -!#-Z^-~]{1,3}":1,"a":2\}'
    constraint = gw.compile(gw.JsonSchema({"type": "object"}) & gw.Regex(pattern), BYTES)
    state, text = constraint.start(), b""
    while not constraint.accepts(state):
        left = constraint.distance(state)
        near = tokens_of(constraint.mask_within(state, left))
        assert near
        few = sorted(near)[:: 1 + len(near) // 4]
        after = {token: constraint.advance(state, token) for token in few}
        assert {constraint.distance(each) for each in after.values()} == {left - 1}
        token = max(after)
        state, text = after[token], text + bytes((token,))
    assert re.fullmatch(pattern, text.decode())
    assert list(json.loads(text).values()) == [1, 2]  # of two keys
