"""Special tokens: exact in every question that a constraint answers, and nowhere else.

The oracle writes a text as a list of parts and tries all sequences of tokens.
"""

import itertools
import pickle

import numpy as np
import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.special_tokens import marked, names_of, resolve
from guideway.language.special_tokens import beginning, mark, shown, unmarked
from random_walks import reads
from real_tokenizers import real_vocabulary

# Names that begin one another, one spelled as a text too, and bytes of which marks are made.
TOKENS = [b"a", b"b", b"<a>", b"ab", None, None, b"\xff", b"\xf6", b"a\xf5", b"<", b">", b"<eos>"]
SMALL = gw.Vocabulary(TOKENS, {11}, special={"<b>": 4, "<b": 5}, width=14)
NAMES = {4: "<b>", 5: "<b"}


def read(tokens: tuple[int, ...], names: dict[int, str]) -> list[str] | None:
    """What tokens spell: characters one by one and names whole; None where one is no text."""
    parts: list[str] = []
    for token in tokens:
        if token in names:
            parts.append(f"special {names[token]}")
        elif token < 12 and TOKENS[token] and max(TOKENS[token] or b"") < 0x80:
            parts += (TOKENS[token] or b"").decode()
        else:
            return None
    return parts


def named(*names: str) -> list[str]:
    return [f"special {name}" for name in names]


CASES = [
    (gw.special("<b>"), NAMES, {tuple(named("<b>"))}),
    (gw.special(5) + "a", NAMES, {(*named("<b"), "a")}),
    (gw.special("<b") + ">", NAMES, {(*named("<b"), ">")}),
    ("a" + gw.special("<b>") + "b" | gw.source("<b>"), NAMES,
     {("a", *named("<b>"), "b"), ("<", "b", ">")}),
    (gw.repeat(gw.special("<b>") | gw.source("ab"), 1, 2), NAMES,
     {(*x, *y) for x in (named("<b>"), "ab") for y in ([], named("<b>"), "ab")}),
    # A token that is a text as well is no text where it is named.
    (gw.special("<a>") | gw.source("<a>"), {**NAMES, 2: "<a>"},
     {tuple(named("<a>")), ("<", "a", ">")}),
    (gw.special(13) + gw.special(6), {**NAMES, 13: "13", 6: "6"}, {tuple(named("13", "6"))}),
    (gw.special("<c>", required=False) | gw.source("b"), NAMES, {("b",)}),
    ((gw.special("<b>") + "a") & ~gw.source("b"), NAMES, set()),
    ((gw.special("<b>") + "a") & (gw.special("<b>") + gw.Text()), NAMES, {(*named("<b>"), "a")}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "names", "texts"), CASES, ids=range(len(CASES)))
def test_tokens_are_allowed_exactly_where_the_language_has_them(source, names, texts):
    if not texts:
        with pytest.raises(gw.UnsatisfiableError):
            gw.compile(source, SMALL)
        return
    constraint = gw.compile(source, SMALL)
    longest = max(map(len, texts))
    found = set()
    beginnings = {(): constraint.start()}
    for _ in range(longest + 1):
        longer = {}
        for tokens, state in beginnings.items():
            row = set(unpack(constraint.mask(state)).tolist())
            assert constraint.accepts(state) == (11 in row)
            if constraint.accepts(state):
                found.add(tuple(read(tokens, names)))
                assert constraint.distance(state) == 0
            else:
                assert constraint.distance(state) > 0
            for token in range(14):
                parts = read((*tokens, token), names)
                possible = parts is not None and any(
                    text[: len(parts)] == tuple(parts) for text in texts
                )
                assert possible == (token in row and token != 11), (tokens, token)
                if possible:
                    longer[*tokens, token] = constraint.advance(state, token)
                elif token != 11:
                    with pytest.raises(gw.TokenRejected):
                        constraint.advance(state, token)
        beginnings = longer
    assert found == texts


# Its tokens cannot spell an "a" alone, so that states are explored beforehand.
UNCLOSED = gw.Vocabulary([b"ab", b"b", b"<", b">", None, b"<eos>"], {5}, special={"<b>": 4})


SPELLED = [b"a", b"<b>", None, None, None, b"<eos>", b"ab", b"b"]
ANY = gw.Vocabulary(SPELLED, {5}, special={"<b>": 2, "</b>": 3, "<c>": 4})
ENOUGH = [0, 1, 2, 3, 4, 6, 7]


@pytest.mark.parametrize(("source", "empty", "left_out"), [
    (gw.Lark("start: <[*]>*"), True, ()),
    (gw.Lark("start: <[*]> +"), False, ()),
    (gw.Lark("start: <[^3]>* </b>"), True, (3,)),
    (gw.Lark("start: <[^ 2-3, 5]>+ <[2-3]>", lexer="dynamic"), False, (2, 3)),
    (gw.Lark("start: %lark {start: <[^3]>*} </b>"), True, (3,)),
    (gw.Gbnf("root ::= !</b>* </b>"), True, (3,)),
    (gw.Gbnf("root ::= rest <[3]>\nrest ::= !<[3]> +"), False, (3,)),
    (gw.Gbnf("root ::= !<[5]>*"), True, ()),
])  # fmt: skip
def test_all_tokens_but_some_are_text_and_the_other_special_ones(source, empty, left_out):
    """What is left out ends the text."""
    constraint = gw.compile(source, ANY)
    inners = (each for n in range(4) for each in itertools.product(ENOUGH, repeat=n))
    for inner in inners:
        right = not set(inner) & set(left_out) and (empty or bool(inner))
        for end in [(token,) for token in left_out] or [()]:
            assert reads(constraint, (*inner, *end)) == right


def test_only_special_tokens_are_left_out():
    with pytest.raises(gw.SourceError, match="beside something else"):
        gw.compile(gw.Lark("start: T\nT: <[^3]>*"), ANY)
    assert gw.compile(gw.Lark("start: T\nT: <[^3]>+"), ANY).matches("ab<b>")
    assert gw.compile(gw.Lark("start: <[*]>*"), gw.Vocabulary([b"a", b"b"])).matches("ab")


@pytest.mark.parametrize("vocabulary", [SMALL, UNCLOSED], ids=["closed", "unclosed"])
def test_a_name_in_a_text_may_be_the_token_or_its_characters(vocabulary):
    both = gw.compile(gw.source("ab") + (gw.special("<b>") | gw.source("<b>")), vocabulary)
    token = gw.compile("ab" + gw.special("<b>"), vocabulary)
    text = gw.compile("ab<b>", vocabulary)
    twice = gw.compile(gw.repeat(gw.special("<b>") + "b" | gw.source("<b>bb"), 2, 2), vocabulary)
    for constraint, answers in [
        (both, (True, True, True)),
        (token, (True, True, False)),
        (text, (True, False, True)),
        (twice, (False, False, False)),
    ]:
        asked = ("ab<b>", ["ab", gw.special("<b>")], ["ab<b>"])
        assert tuple(map(constraint.matches, asked)) == answers
    assert twice.matches("<b>b<b>bb")
    assert twice.matches("<b>bb<b>bb")
    assert not twice.matches("<b>b<b>b<b>b")
    assert not token.matches("<b>" * 3)
    assert not token.matches(mark("<b>"))
    assert not token.matches(b"ab" + mark("<b>"))
    assert token.example() == "ab<b>"
    assert both.example() == "ab<b>"


def test_special_tokens_are_forced_and_drafts_end_before_them():
    constraint = gw.compile("ab" + gw.special("<b>"), SMALL)
    state = constraint.advance(constraint.start(), 3)
    assert constraint.forced(state) == (4, 11)
    assert constraint.forced_bytes(constraint.start()) == b"ab"
    assert constraint.forced_bytes(state) == b""
    assert constraint.distance(state) == 1
    assert unpack(constraint.mask_within(state, 1)).tolist() == [4]
    assert constraint.tables().mask[0].tolist() == constraint.mask(constraint.start()).tolist()
    matcher = gw.Matcher(constraint)
    bitmask = np.zeros((1, 1), np.int32)
    assert matcher.accept_token(3)
    assert not matcher.accept_token(9)
    matcher.fill_next_token_bitmask(bitmask)
    assert bitmask.tolist() == [[1 << 4]]
    assert matcher.accept_token(4)
    assert matcher.accept_token(11)
    assert matcher.is_terminated()


MANY = gw.Vocabulary([None] * 9, special={f"<{n}>": n for n in range(9)})


@pytest.mark.parametrize(("source", "vocabulary", "said"), [
    (gw.special("<c>"), SMALL, r"no token '<c>'; .* <b>, .* did you mean '<b>'"),
    ("a" + gw.special(14), SMALL, "no token 14"),
    (~gw.special("<c>"), gw.Vocabulary([b"a"]), "special tokens are none"),
    (gw.special("<c>"), MANY, "<7> and more"),
    (gw.special("<eos>"), SMALL, "token 11 is an end token"),
    (gw.special(11), SMALL, "token 11 is an end token"),
    (gw.Lark("start: <[^0]>*"), ANY, "token 0 is a text"),
    (gw.Gbnf("root ::= !<d>*"), ANY, "no token '<d>'"),
])  # fmt: skip
def test_a_vocabulary_without_the_token_is_refused_by_name(source, vocabulary, said):
    with pytest.raises(gw.UnsupportedError, match=said):
        gw.compile(source, vocabulary)


def test_a_special_token_beside_what_cannot_be_spelled_is_shown():
    with pytest.raises(gw.UnsatisfiableError, match=r"spell any .* such as b'x<b>'"):
        gw.compile("x" + gw.special("<b>"), SMALL)


def test_a_text_is_made_of_texts_and_special_tokens():
    constraint = gw.compile("a", SMALL)
    for wrong in (None, 1, [b"a"], ["a", 1]):
        with pytest.raises(gw.SourceError, match="text"):
            constraint.matches(wrong)
    with pytest.raises(gw.UnsupportedError, match="no token '<c>'"):
        constraint.matches(["a", gw.special("<c>")])
    assert constraint.matches(["", "a"])
    assert not constraint.matches([])


def test_ids_and_names_of_one_token_are_one_token():
    names = {"<y>": 1, "<x>": 1, "<end>": 2}
    vocabulary = gw.Vocabulary([b"a", None, None, b"a", b"\xc3"], {2}, special=names)
    assert names_of(vocabulary) == {1: "<x>"}
    for token in (1, "<x>", "<y>"):
        assert resolve(gw.special(token), vocabulary).names == {"<x>"}
    # Two tokens of one spelling, and one that spells a part of a character.
    assert resolve(gw.special("a") + gw.special(3) + gw.special(4), vocabulary).names == {
        "a", "<[3]>", "<[4]>",
    }  # fmt: skip
    assert vocabulary.shown(1) == b"<x>"
    assert vocabulary.shown(2) == b"<end>"
    assert vocabulary.shown(7) == b""


def test_marks_are_read_back_and_are_in_no_text():
    for name in ("<b>", "<｜User｜>", "\x00\xff"):
        assert shown(b"a" + mark(name) + b"c") == b"a" + name.encode() + b"c"
        assert unmarked(b"a" + mark(name)) == b"a"
        assert not gw.compile(gw.Text(), marked(SMALL)).matches(mark(name))
    text = b"a" + mark("<b>") + b"cd"
    assert [len(shown(beginning(text, n))) for n in range(7)] == [0, 1, 1, 1, 4, 5, 6]
    constraint = gw.compile("a" + gw.special("<b>"), SMALL)
    assert constraint.marked((0, 4)) == b"a" + mark("<b>")
    assert pickle.loads(pickle.dumps(marked(SMALL))) == marked(SMALL) != SMALL


def test_a_special_token_is_compared_with_its_name_and_with_texts():
    token = gw.compile(gw.special("<b>") | gw.source("a"), SMALL)
    assert token.includes("a")
    assert token.equivalent(gw.source("a") | gw.special(4))
    assert token.includes("<b>").witness == "<b>"
    assert token.equivalent("a").side == "this"
    assert not gw.compile(gw.Text(), SMALL).includes(token)


@pytest.mark.untraced
def test_qwens_calls_are_its_own_tokens_and_never_their_letters():
    words = real_vocabulary("qwen2.5")
    call, begin, end = words.ids(b"<tool_call>")[0], "<tool_call>", "</tool_call>"
    constraint = gw.compile(gw.tagged(gw.special(begin), "1", gw.special(end)), words)
    state = constraint.advance(constraint.start(), int(call))
    (one,) = unpack(constraint.mask(state)).tolist()
    assert words.tokens[one] == b"1"
    assert constraint.forced(state) == (one, words.ids(end.encode())[0])
    start = set(unpack(constraint.mask(constraint.start())).tolist())
    text = gw.compile(gw.Text(), words)
    plain = set(unpack(text.mask(text.start())).tolist())
    assert call in plain & start
    assert not start & ({*words.special.values()} - words.eos_ids)
    # All else that text may begin with, but for what spells the name of the trigger.
    assert {words.tokens[t] for t in plain - start} == {end.encode()}
