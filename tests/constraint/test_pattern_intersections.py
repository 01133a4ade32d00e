"""Which parts of a schema are tried when it is compiled, and what is refused then."""

import sys
from typing import Any

import pytest

import guideway as gw
from guideway.constraint.pattern_intersections import trials, wide_part
from guideway.language.expr import literal
from guideway.language.nodes import Rule

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
LONG = gw.Vocabulary(
    [bytes([byte]) for byte in range(256)] + [b"<end>", *(b"x" * n for n in range(40, 60))],
    eos_ids={256},
)
LETTERS = "abcdefghijk"
LARGE = [{"pattern": "a.{12}b"}, {"pattern": "c.{12}d"}]


def places(schema: Any) -> list[str]:
    if isinstance(schema, list):
        schema = {"prefixItems": schema}
        return [place.removeprefix("/prefixItems") for place in places(schema)]
    return sorted(place() for place, _, _ in trials(gw.JsonSchema(schema)))


HARD = {"pattern": "a.{9}b"}
EASY = {"pattern": "^a[a-z]*$"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (HARD | {"maxLength": 9}, []),
        ({"properties": {"pattern": {}, "b": HARD}}, []),
        ({"properties": {"pattern": {}}, "not": {"format": "uri"}}, []),
        ({"allOf": [HARD, {"minLength": 3}, True]}, []),
        ({"allOf": [HARD, {"pattern": "b"}]}, ["/allOf"]),
        ({"items": {"pattern": "^(?=a.{10}b)(?!b)"}}, ["/items/pattern"]),
        ({"items": [HARD | {"not": {"pattern": "b"}}]}, ["/items/0/pattern"]),
        (
            {"propertyNames": HARD | {"allOf": [{"pattern": "b"}]}},
            ["/propertyNames", "/propertyNames/pattern"],
        ),
        ({"patternProperties": {"a.{9}b": {}}, "pattern": "c"}, []),
        ({"not": HARD, "type": "string"}, ["/not"]),
        ({"not": {"minLength": 3}} | HARD, []),
        ({"patternProperties": {"a": {}, "b": {}, "c": {}}, "pattern": ""}, []),
        ({"patternProperties": {"a.{9}b": {}, "b*": True, "c+": {}}}, ["/patternProperties"]),
        ({"patternProperties": {"a": {}, "b": True, "a.{9}b": {}}}, []),
        ({"patternProperties": {"a.{9}b": {}, "b*": {}}}, []),  # they say the same
        ({"patternProperties": 3, "allOf": 4, "propertyNames": "attern"}, []),
        # Beside what a reference refers to; one that leads nowhere says nothing.
        (
            HARD | {"allOf": [{"$ref": "#/$defs/a~1b"}], "$defs": {"a/b": {"pattern": "b"}}},
            ["/pattern"],
        ),
        (HARD | {"maxLength": 9, "anyOf": [{"$ref": "#/c/d"}, {"$ref": "x"}]}, []),
        (HARD | {"allOf": [{"$ref": "#/items/d"}], "items": ["b"], "not": {}}, []),
        (HARD | {"$ref": "#/c", "c": {"pattern": "b"}}, ["/pattern"]),
        ({"$ref": "#/$defs/a", "$defs": {"a": HARD | {"allOf": [{"$ref": "#"}]}}}, []),
        # One of several has to match: that is a union, which only lengths make dear.
        ({"anyOf": [HARD, {"pattern": "b"}]}, []),
        ({"anyOf": [HARD, {"pattern": "b"}], "maxLength": 9}, ["/anyOf"]),
        ({"oneOf": [HARD, {"pattern": "b"}]}, ["/oneOf"]),
        (HARD | {"format": "email"}, ["/pattern"]),
        ({"if": HARD, "then": {"maxLength": 3}}, ["/if"]),
        (
            {"propertyNames": {"pattern": "\ud83d\ude00.{9}b", "format": "uri"}},
            ["/propertyNames", "/propertyNames/pattern"],
        ),
        # Each item matches what is contained or not, whatever else is said of it.
        ({"contains": HARD}, ["/contains"]),
        ({"contains": {"pattern": "b.{4}c"}}, []),
        ({"contains": {"pattern": "b.{4}c"}, "items": {"pattern": "c.{4}d"}}, ["/contains"]),
        ({"contains": True, "items": HARD}, []),
        ({"items": HARD, "allOf": [3, {"contains": {"pattern": "b"}}]}, ["/allOf"]),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"if": {"contains": HARD}, "then": False}}},
            ["/$defs/a/if"],
        ),
        # Texts so long are many steps away, whatever patterns or formats say of them.
        (EASY | {"minLength": 4095}, []),
        (EASY | {"minLength": 4096}, ["/pattern"]),
        (EASY | {"maxLength": 4096}, []),
        (EASY | {"maxLength": 4096, "minLength": "4096"}, []),
        ({"not": EASY | {"maxLength": 4096}}, ["/not"]),
        ({"oneOf": [{"maxLength": 1e9}, {"format": "date"}]}, ["/oneOf"]),
        ({"type": ["string", "null"], "format": "uri", "minLength": 1e5}, ["/format"]),
        ({"minLength": 4096, "title": "pattern"}, []),
        # What has few states is not.
        ({"allOf": [EASY, {"pattern": "b.{4}c"}]}, []),
        ({"allOf": [EASY, {"pattern": "b.{8}c"}]}, ["/allOf"]),
        ({"not": EASY}, []),
        (EASY | {"format": "uri"}, []),
        (EASY | {"format": "idn-hostname"}, ["/pattern"]),
        ({"pattern": "^(?!a)(?=.*b)"}, []),
        ({"patternProperties": {"^a.*": {}, "^b.+c": True, "^[a-z]{1,9}$": {}}}, []),
        (
            {"patternProperties": {f"^[^{n}]+": {"minimum": n} for n in range(10)}},
            ["/patternProperties"],
        ),
    ],
)
def test_parts_in_which_patterns_meet_are_tried(schema: Any, expected: list[str]) -> None:
    assert places(schema) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r'{"\u0070attern": "a.{9}b", "not": {"pattern": "b"}}', "/pattern"),
        (r'{"\u0024ref": "#/c", "pattern": "a.{9}b", "c": {"pattern": "b"}}', "/pattern"),
        (r'{"pattern" : "a.{9}\"b", "not": {"pattern": "b"}}', "/pattern"),
        (r'{"patternProperties": {"a.{9}\"b" : {}, "+" : true}}', "/patternProperties"),
        (r'{"patternProperties": {"\\d.{9}\\" : {}, "\"x*" : true}}', "/patternProperties"),
    ],
)
def test_however_a_schema_is_spelled_it_is_looked_at(text: str, found: str) -> None:
    assert [place() for place, _, _ in trials(gw.JsonSchema(text))] == [found]


PATTERNS = [{"pattern": "a"}, {"pattern": "b"}]
MANY = [f"^[^{chr(0x4E00 + n)}]*$" for n in range(1000)]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"pattern": "|".join(MANY)}, ["/pattern"]),
        ({"pattern": "|".join(MANY[:200])}, []),
        ({"propertyNames": {"pattern": "|".join(MANY)}}, ["/propertyNames"]),
        ({"patternProperties": {"|".join(MANY): {}}}, ["/patternProperties"]),
        ({"anyOf": [{"pattern": pattern} for pattern in MANY]}, ["/anyOf"]),
        ({"anyOf": [{"pattern": pattern} for pattern in MANY[:200]]}, []),
        ({"anyOf": [*({"minLength": n} for n in range(400)), *PATTERNS]}, []),
    ],
)
def test_very_many_patterns_of_which_one_has_to_match_are_tried(
    schema: Any, expected: list[str]
) -> None:
    assert [place for place in places(schema) if "/" not in place[1:]] == expected


@pytest.mark.parametrize(
    "source",
    [
        gw.Regex("|".join(MANY)),
        gw.Regex("a(" + "|".join(pattern[1:-1] for pattern in MANY) + ")b"),
        gw.JsonSchema({"items": {"pattern": "a|b(" + "|".join(MANY) + ")"}}),
        gw.JsonSchema({"patternProperties": {"|".join(MANY[:300]): {}}}),
    ],
)
def test_very_many_alternatives_that_are_there_in_each_state_are_refused(source: Any) -> None:
    words = gw.Vocabulary(
        [
            *(bytes([byte]) for byte in range(256)),
            *(f"{one[3]}{other[3]}".encode() for one in MANY[:60] for other in MANY),
        ]
    )
    with pytest.raises(gw.LimitError, match=r"parts of automata|sets of characters") as refused:
        gw.compile(source, words, gw.Budget.untrusted())
    assert refused.value.limit in ("fuel", "sets of characters")


def test_what_is_not_regular_is_not_looked_into() -> None:
    assert wide_part(Rule("anything", make=lambda: literal("a"))) is None


def test_very_many_alternatives_that_end_differently_work() -> None:
    words = [f"{n * 7919 % 100_003:05}" for n in range(5000)]
    constraint = gw.compile(gw.Regex("|".join(f"{word}[a-z]*" for word in words)), BYTES)
    assert constraint.matches(f"{words[77]}abc")
    assert not constraint.matches("99999")


def test_so_many_parts_are_tried_at_most() -> None:
    parts = [{"allOf": [{"pattern": f"a.{{9}}{n}"}, {"pattern": "b"}]} for n in range(100)]
    assert len(places({"anyOf": parts})) == 64


def test_so_many_parts_are_looked_at() -> None:
    parts = [{"not": {"minLength": n}} for n in range(2100)]
    denied = {"not": HARD}
    assert places([*parts[:3], denied]) == ["/3/not"]
    assert places([denied, *parts]) == []  # those that come last are looked at first


@pytest.mark.parametrize(
    "part",
    [
        {"enum": [1.5, "ac", ["a"]], "minLength": 1.0},
        {"const": "ac", "maxLength": 2},
        {"type": ["string", "number"], "maxLength": 3},
        {"maxLength": 1e30},
    ],
)
def test_numbers_that_are_no_python_integers_are_no_reason_to_refuse(part: Any) -> None:
    schema = part | {"pattern": "a", "not": {"pattern": "b.{9}c", "const": {"x": 2.5}}}
    assert places(schema) == ["/pattern"]
    made = gw.compile(gw.JsonSchema(schema), BYTES)
    assert (made.matches('"ac"'), made.matches('"cc"')) == (True, False)
    assert made.matches("1.5") == ("enum" in part or part.keys().isdisjoint(("const", "enum")))


def test_deep_values_of_keys_are_told_apart() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"items": deep}
    assert places({"patternProperties": {"a.{9}b": deep, "b+": deep}}) == ["/patternProperties"]


@pytest.mark.filterwarnings("ignore::guideway.errors.GuidewayWarning")
def test_what_is_no_schema_is_no_reason_to_refuse_where_nobody_refers_to_it() -> None:
    wrong = {"pattern": 1.5, "type": 2.5, "not": {"pattern": ["a"]}, "anyOf": 3.5, "enum": 4}
    meeting = {"allOf": [wrong, HARD, {"pattern": "b"}, {"pattern": "c("}]}
    assert places({"x": {"y": meeting}}) == ["/x/y/allOf"]
    source = gw.JsonSchema({"x": {"y": meeting}}, key_order="declared")
    assert gw.compile(source, BYTES).matches('"c"')


def test_a_part_without_an_instance_is_no_reason_to_refuse() -> None:
    never = {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]}
    made = gw.compile(gw.JsonSchema({"properties": {"a": never}}), BYTES)
    assert made.matches("{}")
    assert not made.matches('{"a":"ab"}')


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"propertyNames": {"allOf": LARGE, "maxLength": 60}}, "/propertyNames"),
        (
            {
                "patternProperties": {
                    f"^(?:.{{{n}}})*$": {"minimum": n} for n in (2, 3, 5, 7, 11, 13, 17, 19)
                }
            },
            "/patternProperties",
        ),
        ({"allOf": [{"contains": {"pattern": f"{c}.{{5}}{c}"}} for c in "abcdefgh"]}, "/allOf"),
        ({"minLength": 10**12, "pattern": "^[b-z]*$"}, "/pattern"),
        ({"minLength": 10**6, "pattern": "^[a-z]"}, "/pattern"),
        ({"type": ["string", "null"], "minLength": 10**5, "pattern": "^[b-z]*$"}, "/pattern"),
        ({"items": {"oneOf": [{"minLength": 10**12}, {"pattern": "a"}]}}, "/items/oneOf"),
    ],
)
def test_patterns_that_take_too_long_together_are_refused_with_their_place(
    schema: Any, place: str
) -> None:
    with pytest.raises(gw.LimitError, match="the intersection of the patterns") as refused:
        gw.compile(gw.JsonSchema(schema), LONG, gw.Budget.untrusted())
    assert (refused.value.limit, refused.value.place) == ("fuel", place)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (
            {"items": {"oneOf": [{"multipleOf": n} for n in (2, 3, 5, 7, 11, 13, 17)]}},
            "/items/oneOf",
        ),
        (
            {"items": {"allOf": [{"multipleOf": n} for n in (97, 89, 83, 101)]}},
            "/items/allOf",
        ),
        (
            {"patternProperties": {letter: {"minimum": n} for n, letter in enumerate(LETTERS)}},
            "/patternProperties",
        ),
    ],
)
def test_what_multiplies_is_refused_with_the_place_of_its_keyword(schema: Any, place: str) -> None:
    with pytest.raises(gw.LimitError) as refused:
        gw.compile(gw.JsonSchema(schema), BYTES)
    assert refused.value.place == place


def test_multiples_that_leave_few_rests_together_work() -> None:
    parts = [{"multipleOf": n} for n in (2, 3, 5, 7)]
    made = gw.compile(gw.JsonSchema({"type": "integer", "oneOf": parts}), BYTES)
    kept = [n for n in range(211) if made.matches(str(n))]
    assert kept == [n for n in range(211) if sum(n % m == 0 for m in (2, 3, 5, 7)) == 1]


def test_multiples_of_any_are_not_counted() -> None:
    parts = [{"multipleOf": n} for n in (2, 3, 5, 7, 11, 13, 17)]
    assert gw.compile(gw.JsonSchema({"type": "integer", "anyOf": parts}), BYTES).matches("34")


def test_very_many_patterns_at_the_root_are_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To lower 5,000 once more for the trial took 1.4 of 3.8 s."""
    module = sys.modules["guideway.constraint.compile"]
    parts, lower = list[object](), module.lower_source
    monkeypatch.setattr(module, "lower_source", lambda *a: parts.append(a[0]) or lower(*a))
    patterns = [{"pattern": f"a{n}b*c"} for n in range(300)]
    source = gw.JsonSchema({"type": "string", "anyOf": patterns})
    assert [part for _, part, _ in trials(source)] == [None]
    constraint = gw.compile(source, BYTES)
    assert len(parts) <= 1
    assert constraint.matches('"a7bbc"')
    assert not constraint.matches('"a7bb"')
    within = {"type": "array", "items": {"type": "string", "anyOf": patterns}}
    assert [part is None for _, part, _ in trials(gw.JsonSchema(within))] == [False]


def test_what_branches_that_exclude_each_other_say_of_all_items_is_tried_together() -> None:
    schema = {"contains": HARD} | {"anyOf": [{"items": {"pattern": f"^{c}$"}} for c in "ab"]}
    [(_, part, behind)] = trials(gw.JsonSchema(schema))
    assert part is not None
    assert behind == b'["'
    assert gw.compile(part, BYTES).matches('["a123456789b","a","b"]')
