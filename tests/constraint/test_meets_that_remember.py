"""Objects and arrays that remember what came, where they meet a list of texts: the whole truth.

What meets a finite regex has an end of texts, so that all is known of it: json and jsonschema say
which are in, and from those follow the example, the distances, the masks, and what still fits.
Only where items must not come twice a mask may allow more, if a search cannot tell.
"""

import itertools
import json
import random
import re

import jsonschema
import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from random_walks import BYTES

KEYS = [["a"], ["b"], ["a", "b"], ["ab", "c"], ["a", "b", "c"], ["cd", "b"]]
SCALARS = [["1"], ["1", "2"], ["2"], ['"a"'], ["1", '"a"']]
NAMES = [{"pattern": "^[ab]"}, {"maxLength": 1}, {"enum": ["a", "b", "cd"]}]
MOST_TEXTS = 120


def schema(chance, depth=1):
    kind = chance.randrange(9)
    if kind == 0 or depth < 0:
        leaves = [{}, {"type": "integer"}, {"enum": [1, 2, "a"]}, {"type": "string"}]
        return chance.choice(leaves)
    if kind < 6:
        return object_schema(chance, depth)
    if kind < 8:
        keywords = {
            "uniqueItems": lambda: True,
            "items": lambda: schema(chance, depth - 1),
            "contains": lambda: schema(chance, depth - 1),
        }
        return {"type": "array", **some(chance, keywords, (0.6, 0.5, 0.2))}
    return {chance.choice(["anyOf", "allOf", "oneOf"]): [schema(chance, depth - 1) for _ in "ab"]}


def object_schema(chance, depth):
    def inner():
        return schema(chance, depth - 1)

    keywords = {
        "properties": lambda: {n: inner() for n in chance.sample("abc", chance.randint(1, 2))},
        "required": lambda: chance.sample("abc", chance.randint(1, 2)),
        "additionalProperties": inner,
        "minProperties": lambda: chance.randrange(4),
        "maxProperties": lambda: chance.randint(1, 3),
        "propertyNames": lambda: chance.choice(NAMES),
        "patternProperties": lambda: {"^a": inner()},
    }
    return {"type": "object", **some(chance, keywords, (0.4, 0.4, 0.3, 0.2, 0.2, 0.2, 0.15))}


def some(chance, keywords, shares):
    shared = zip(keywords.items(), shares, strict=True)
    return {name: make() for (name, make), share in shared if chance.random() < share}


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


def is_valid(text, schemas):
    def pairs(members):
        if len(dict(members)) < len(members):
            raise KeyError
        return dict(members)

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except KeyError:
        return False
    return any(jsonschema.Draft202012Validator(each).is_valid(value) for each in schemas)


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
    "seed", [*range(60), *(pytest.param(n, marks=pytest.mark.slow) for n in range(1_000, 5_000))]
)
def test_what_remembers_and_meets_a_list_of_texts_is_exact(seed):
    chance = random.Random(seed)
    schemas = [schema(chance) for _ in range(chance.choice([1, 1, 1, 1, 2]))]
    listed = sorted({text for _ in range(chance.randint(1, 3)) for text in texts(chance)})
    listed = sorted(chance.sample(listed, min(len(listed), MOST_TEXTS)))
    wanted = [text.encode() for text in listed if is_valid(text, schemas)]
    held = gw.JsonSchema(schemas[0])
    for other in schemas[1:]:
        held = held | gw.JsonSchema(other)
    source = held & gw.Regex("|".join(map(re.escape, listed)))
    if not wanted:
        with pytest.raises(gw.UnsatisfiableError):
            gw.compile(source, BYTES)
        return
    constraint = gw.compile(source, BYTES)
    assert constraint.example().encode() == min(wanted, key=lambda text: (len(text), text))
    assert [t for t in listed if constraint.matches(t)] == [t.decode() for t in wanted]
    sure = "uniqueItems" not in json.dumps(schemas)
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
    assert is_valid(text, [True])
