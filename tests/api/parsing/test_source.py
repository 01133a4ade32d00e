"""Places found in finished texts: as `re` finds groups, where each takes all it can."""

import re

import pytest
from pydantic import BaseModel

import guideway as gw
from guideway.api.parsing.source import belongs, find_places
from guideway.api.parsing.values import read_captures
from guideway.language.special_tokens import mark
from guideway.models.fake import FakeModel
from plain_texts import short_strings

C, R = gw.capture, gw.Regex
WAYS = [
    ("(?P<x>[ab]*)(?P<y>b?c*)(?P<z>.*)", C("x", R("[ab]*")) + C("y", R("b?c*")) + C("z", R(".*"))),
    ("(?P<x>a*)b?(?P<y>[bc]+)", C("x", R("a*")) + R("b?") + C("y", R("[bc]+"))),
    ("(?P<x>(?P<y>a+)b*)c", C("x", C("y", R("a+")) + R("b*")) + "c"),
    ("(?:(?P<x>a+)b|(?P<y>[abc]+))c", (C("x", R("a+")) + "b" | C("y", R("[abc]+"))) + "c"),
    ("(?P<x>a+).*", C("x", R("a+")) + gw.Text() & gw.Text()),
]


@pytest.mark.parametrize(("pattern", "source"), WAYS)
def test_each_part_takes_as_much_as_it_can(pattern, source):
    for text in short_strings("abc", 4):
        match = re.fullmatch(pattern, text)
        places = find_places(source, text.encode())
        assert (places is not None) == belongs(text.encode(), source) == (match is not None)
        if match:
            expected = {name: each for name, each in match.groupdict().items() if each is not None}
            assert read_captures(source, text.encode()) == (expected, None)


@pytest.mark.parametrize(("low", "high"), [(0, None), (2, None), (0, 2), (1, 3)])
def test_repetitions_are_searched_for_a_way_to_the_end(low, high):
    source = gw.repeat(C("x", R("ab*|b|c?")), low, high) + C("y", R("(bc)*c?"))
    pattern = re.compile(rf"(?:ab*|b|c?){{{low},{'' if high is None else high}}}(?:bc)*c?")
    for text in short_strings("abc", 4):
        found, _ = read_captures(source, text.encode())
        if pattern.fullmatch(text):
            assert "".join(found["x"]) + found["y"] == text
            assert high is None or len(found["x"]) <= high
            assert all(re.fullmatch("ab*|b|c?", each) for each in found["x"])
        else:
            assert found == {"x": []}


class Point(BaseModel):
    x: int


NAMES = {"<think>": 256, "</think>": 257}
BYTES = gw.Vocabulary(
    [*(bytes([b]) for b in range(256)), None, None, b"<eos>"], {258}, special=NAMES
)


def spoken(text: list[str | int]) -> gw.Model:
    """A model that says this: texts byte by byte, and tokens."""
    tokens = [t for part in text for t in ([part] if isinstance(part, int) else part.encode())]

    def logits(prefix: tuple[int, ...]) -> list[float]:
        said = len(prefix) - 1
        wanted = tokens[said] if said < len(tokens) else 258
        return [9.0 if token == wanted else 0.0 for token in range(259)]

    return gw.Model(FakeModel(BYTES, logits))


def test_a_result_has_its_value_and_its_captures():
    source = gw.thinking(gw.capture("answer", Point) + gw.repeat("!", 0, 2))
    model = spoken([256, "well </thing>", 257, '\n{"x": 12}!', 258])
    result = model.generate("?", source, max_new_tokens=60)
    assert result.text == '<think>well </thing></think>\n{"x": 12}!'
    assert result.tokens[0] == 256
    assert result.value == Point(x=12) == result.captures["answer"]
    *_, last = model.stream("?", source, max_new_tokens=60)
    assert last.result == result
    stopped = model.generate("?", gw.special("<think>") + C("y", R("[a-z ]*")), stop=["l "])
    assert (stopped.text, stopped.captures) == ("<think>wel", {"y": "wel"})


def test_a_special_token_is_told_from_its_name():
    either = C("a", gw.special("<think>")) | C("b", gw.Text())
    for data, name in [(mark("<think>"), "a"), (b"<think>", "b")]:
        assert read_captures(either, data, BYTES) == ({name: "<think>"}, None)
    without = gw.Vocabulary([bytes([b]) for b in range(256)])
    assert gw.compile(gw.thinking("a"), without).matches(["<think>b</think>a"])
    assert not gw.compile(gw.thinking("a"), BYTES).matches(["<think>b</think>a"])
