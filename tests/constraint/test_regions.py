"""Free text, stops and regions against what they say, on all short texts.

The oracle goes through a text from left to right and looks for complete triggers.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from plain_texts import short_strings
from random_walks import BYTES
from two_engines import Both, explored, vocabulary

ABC = gw.Vocabulary([b"a", b"b", b"c", b"ab", b"ca", None, b"<eos>"], {6}, special={"c": 5})
Ends = Callable[[str, int], set[int]]
"""Where texts that begin at a place may end."""


def first_stop(text: str, at: int, stops: list[str]) -> tuple[int, set[str]] | None:
    """Where the first stop from `at` on is complete, and which are; they are patterns."""
    for end in range(at + 1, len(text) + 1):
        found = {stop for stop in stops if re.search(f"(?:{stop})$", text[at:end])}
        if found:
            return end, found
    return None


def made(stop: str) -> Any:
    return stop if stop.isalpha() else gw.Regex(stop)


STOPS = [["b"], ["ab"], ["aa"], ["aba"], ["ab", "b"], ["ab", "ca", "bb"], ["abc", "cc"]]
STOPS += [["b+"], ["a[bc]|cc"], ["(ab)+c"], ["b(?!$)a"], ["a[bc]", "cc"]]


@pytest.mark.parametrize("stops", STOPS, ids="|".join)
def test_free_text_ends_with_the_first_stop(stops):
    given = [*map(made, stops)]
    with_stop = gw.compile(gw.until(*given), BYTES)
    without = gw.compile(gw.until(*given, include=False), BYTES)
    behind = gw.compile(gw.until(*given) + "b", BYTES)
    for text in short_strings("abc", 6):
        found = first_stop(text, 0, stops)
        assert with_stop.matches(text) == (found is not None and found[0] == len(text)), text
        assert without.matches(text) == (found is None), text
        assert behind.matches(text) == (found is not None and text[found[0] :] == "b"), text


LONG = "ab" * 20


@pytest.mark.parametrize(("stop", "other"), [
    (LONG + "c", None),
    (gw.Choice([LONG + "c", LONG]), None),
    (LONG, gw.Choice(["cc", LONG + "c"])),
    (LONG, gw.Regex("cc")),
])  # fmt: skip
def test_a_long_stop_that_overlaps_with_itself_stops_at_once(stop, other):
    constraint = gw.compile(gw.until(stop, other) if other else gw.until(stop), BYTES)
    shorter = stop.options[-1] if isinstance(stop, gw.Choice) else stop
    for text in [shorter, "a" + shorter, "cé" + shorter]:
        assert constraint.matches(text)
        assert not constraint.matches(text + "c")
        assert not constraint.matches(text[:-1])
    assert constraint.matches("cc") == (other is not None)


def regions_match(text: str, tags: list[tuple[str, str, str]], low: int, high: int | None) -> bool:
    """Whether a text is free text with regions in it: begin, a pattern, end."""
    todo, done = {(0, 0)}, set[tuple[int, int]]()
    while todo:
        at, count = todo.pop()
        done.add((at, count))
        found = first_stop(text, at, [begin for begin, _, _ in tags])
        if found is None:
            if count >= low:
                return True
            continue
        if high is not None and count == high:
            continue
        for begin, pattern, end in tags:
            if begin in found[1]:
                whole = re.compile(f"(?:{pattern}){re.escape(end)}")
                ends = range(found[0], len(text) + 1)
                after = {(e, count + 1) for e in ends if whole.fullmatch(text, found[0], e)}
                todo |= after - done
    return False


TAGS: list[tuple[list[tuple[str, str, str]], dict[str, Any]]] = [
    ([("a", "b?", "c")], {}),
    ([("ab", "[ab]*", "c")], {"at_least": 1}),
    ([("a", "b", ""), ("b", "a*", "c")], {"at_most": 2}),
    ([("ab", "c", "a"), ("b", "a|cc", "")], {"at_least": 1, "at_most": 1}),
    ([("aa", "b", "a"), ("ca", "", "b")], {"at_least": 2}),
    ([("ab", "c", "a"), ("ac", "a|cc", "")], {"at_least": 1}),
    ([("acb", "", "c"), ("aab", "b*", ""), ("b", "a", "")], {}),
    ([("a[bc]", "a", "b"), ("cc", "b", "")], {}),
]


@pytest.mark.parametrize(("tags", "counts"), TAGS)
def test_a_trigger_begins_its_region_and_nothing_else_does(tags, counts):
    given = [gw.tag(made(begin), gw.Regex(pattern), end) for begin, pattern, end in tags]
    constraint = gw.compile(gw.regions(*given, **counts), BYTES)
    low, high = counts.get("at_least", 0), counts.get("at_most")
    for text in short_strings("abc", 6):
        assert constraint.matches(text) == regions_match(text, tags, low, high), text


def test_a_text_may_end_with_the_first_region():
    one = gw.tag("a", gw.Regex("b"), "c")
    maybe = gw.compile(gw.regions(one, stop_after_first=True), BYTES)
    surely = gw.compile(gw.regions(one, stop_after_first=True, at_least=1), BYTES)
    for text in short_strings("abc", 6):
        ended = re.fullmatch("[bc]*abc", text) is not None
        assert surely.matches(text) == ended
        assert maybe.matches(text) == (ended or "a" not in text)


def test_a_region_of_text_has_no_end_in_it():
    constraint = gw.compile(gw.tagged("a", gw.Text(), "cc"), BYTES)
    for text in short_strings("abc", 6):
        assert constraint.matches(text) == bool(re.fullmatch("([bc]*a((?!cc).)*cc)*[bc]*", text))
    alone = gw.compile(gw.tag("a", gw.Text(), "c"), BYTES)
    assert alone.matches("abbc")
    assert not alone.matches("abcc")
    open_ended = gw.compile(gw.tag("a", gw.Text()), BYTES)
    assert open_ended.matches("abcc")


def test_a_trigger_is_the_first_part_of_a_beginning():
    some = gw.regions(
        gw.tag(gw.source("<f=") + "a>", int, "</f>"), gw.tag(gw.source("<f=") + "b>", bool, "</f>")
    )
    constraint = gw.compile(some, BYTES)
    assert constraint.matches("text <f=a>12</f> and <f=b>true</f>.")
    for wrong in ["<f=a>true</f>", "<f=c>", "text <f=", "<f=a>1</f"]:
        assert not constraint.matches(wrong)
    assert constraint.matches("<f and <F=c>")


def test_a_trigger_within_the_name_of_another_one_comes_first():
    some = gw.regions(gw.tag(gw.special("[bc]", required=False), "a"), gw.tag("b", "a"))
    constraint = gw.compile(some, BYTES)
    assert constraint.matches("[ba")
    assert not constraint.matches("[bc]a")


def test_special_tokens_stop_text_and_their_names_do_not_stand_in_it():
    until = gw.compile(gw.until(gw.special("c"), "bb"), ABC)
    without = gw.compile(gw.until(gw.special(5), include=False), ABC)
    unnamed = gw.Vocabulary([b"a", b"<", b"[", b"1", b"]", b">", None])
    some = gw.compile(gw.until(gw.special(6)), unnamed)
    assert some.matches(["a<[1]>", gw.special(6)])
    c = gw.special("c")
    for text in short_strings("ab", 5):
        stopped = first_stop(text, 0, ["bb"])
        assert until.matches([text]) == (stopped is not None and stopped[0] == len(text))
        assert until.matches([text, c]) == (stopped is None)
        assert until.matches(text + "c") == (stopped is None)
        assert not until.matches([text + "c", c])
        assert without.matches(text)
        assert not without.matches([text, c])
        assert not without.matches(text + "c")
    allowed = unpack(until.mask(until.start())).tolist()
    assert allowed == [0, 1, 3, 5]  # no token with the letter c, but the token named so


SOURCES = [
    gw.until("</think>") + gw.source(int),
    gw.until(gw.special("<end>"), "\n\n") + gw.Regex("[a-z]{2}"),
    gw.tagged('{"a', gw.JsonSchema({"type": "array"}), "}") | gw.Choice(["{", "}"]),
    gw.regions(gw.tag("b", bool, ","), gw.tag(":", gw.Gbnf('root ::= "(" root? ")"'), "]")),
    gw.repeat(gw.until("e", include=False) + '"', 1, 2) + gw.capture("n", gw.repeat("}", 2)),
]


@pytest.mark.parametrize("source", SOURCES, ids=range(len(SOURCES)))
def test_the_compiled_engine_agrees_with_the_plain_one(source):
    plain = vocabulary(500)
    tokens = [*plain.tokens, None, None]
    names = {"<end>": len(tokens) - 2, "<start>": len(tokens) - 1}
    words = gw.Vocabulary(tokens, plain.eos_ids, special=names)
    both = Both(source, words)
    both.words = both.fast._spelled
    both.plain = type(both.plain)(both.fast._machine, both.words, gw.Budget())
    for at in explored(both, "regions", texts=3, tokens=10):
        both.check(at)


@pytest.mark.parametrize(("attempt", "said"), [
    (gw.until, "needs a stop"),
    (lambda: gw.compile(gw.until(""), BYTES), "empty text"),
    (lambda: gw.compile(gw.until(gw.Regex("a*")), BYTES), "empty text"),
    (lambda: gw.compile(gw.tagged("", int, "x"), BYTES), "empty text"),
    (lambda: gw.compile(gw.until(gw.JsonSchema(True)), BYTES), "nests"),
    (lambda: gw.regions(gw.tag("abc", int), gw.tag("b", int)),
     "'abc' never occurs: the trigger 'b'"),
    (gw.regions, "needs a tag"),
    (lambda: gw.regions("<a>"), "is not a tag"),  # pyright: ignore[reportArgumentType]
    (lambda: gw.tagged("a", int, at_least=2, at_most=1), "bounds"),
    (lambda: gw.tagged("a", int, at_least=2, stop_after_first=True), "stop_after_first"),
    (lambda: gw.capture("", int), "name"),
    (lambda: gw.capture(1, int), "name"),  # pyright: ignore[reportArgumentType]
])  # fmt: skip
def test_what_stops_nothing_and_what_never_comes_is_refused(attempt, said):
    with pytest.raises((gw.SourceError, gw.UnsupportedError), match=said):
        attempt()


def test_a_trigger_may_end_another_one_or_the_name_of_a_token():
    gw.regions(gw.tag("ab", int), gw.tag("b", int), gw.tag(gw.special("b"), int))


def test_thought_comes_before_an_answer():
    constraint = gw.compile(gw.thinking("true"), BYTES)
    for gap, whole in [("", True), ("\n\n", True), ("\n\n\n", False), (" ", False)]:
        assert constraint.matches(f"<think>true<think></think>{gap}true") == whole
    assert not constraint.matches("<think>true")
    assert not constraint.matches("</think>true")
    assert gw.compile(gw.thinking(bool, begin=None), BYTES).matches("so</think> false")
    other = gw.thinking(bool, gw.special("c"), gw.Regex("b+"))
    letters = gw.compile(gw.thinking("a", gw.special("c"), "b"), ABC)
    assert letters.matches([gw.special(5), "a", gw.special("b"), "a"])  # "b" is a token there
    numbered = gw.Matcher(gw.compile(gw.thinking("a", begin=None, end=5), ABC))
    assert numbered.accept_tokens([1, 5])
    assert numbered.validate_tokens([1]) == 0
    assert numbered.accept_tokens([0, 6])
    assert gw.thinking(bool).answer("<think>x") is None
    assert gw.thinking(bool).answer("<think>x</think>\n\ntr") == "tr"
    assert gw.thinking(bool, end=gw.source("]")).answer("x]tr") == "tr"
    assert other.answer("xbtr") is None


def test_a_captured_text_ends_where_its_tag_does() -> None:
    tag = gw.tag("<a>", gw.capture("t", gw.capture("u", gw.Text())), "</a>")
    constraint = gw.compile(tag, BYTES)
    assert constraint.matches("<a>x</a>")
    assert not constraint.matches("<a>x</a></a>")
    counted = gw.compile(gw.tag("<a>", gw.capture("t", gw.Regex("a*")), "</a>"), BYTES)
    assert counted.matches("<a>aa</a>")
