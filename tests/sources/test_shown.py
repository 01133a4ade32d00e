"""Sources and constraints in a shell: one line of at most 200 characters, whatever they hold."""

import pytest

import guideway as gw

VOCABULARY = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
LONG = {"type": "object", "properties": {f"key {n}": {"type": "string"} for n in range(99)}}
SOURCES = {
    "regex": gw.Regex("a|b|" * 200),
    "choice": gw.Choice([f"option {n}" for n in range(200)]),
    "schema": gw.JsonSchema(LONG),
    "lark": gw.Lark("start: a\n" + "\n".join("a" * n + ': "b"' for n in range(1, 60))),
    "gbnf": gw.Gbnf("root ::= a\n" + "\n".join("a" * n + ' ::= "b"' for n in range(1, 60))),
    "literal": gw.source("x\n" * 200),
    "combination": gw.Regex("a" * 99) + (gw.Regex("b" * 99) | "c" * 99) & ~gw.Regex("d" * 99),
    "repetition": gw.repeat(gw.Regex("a" * 300), 1, 3),
    "regions": gw.tagged("<a>", gw.JsonSchema(LONG), "</a>"),
    "until": gw.until("</think>" * 40),
    "type": gw.source(dict[str, list[int]]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_shown_on_one_short_line(name: str):
    shown = repr(SOURCES[name])
    assert len(shown) <= 200
    assert shown.isprintable()
    assert shown.startswith(f"{type(SOURCES[name]).__name__}(")


def test_a_short_source_is_shown_whole():
    assert repr(gw.Regex("a")) == "Regex(pattern='a', dialect='python', flags='')"


@pytest.mark.parametrize("name", ["regex", "schema", "literal"])
def test_constraints_and_matchers_show_their_source(name: str):
    constraint = gw.compile(SOURCES[name], VOCABULARY)
    matcher = gw.Matcher(constraint)
    for made in (constraint, matcher):
        assert len(repr(made)) <= 200
        assert repr(made).isprintable()
        assert type(SOURCES[name]).__name__ in repr(made)
        assert "257 tokens" in repr(made)


def test_a_matcher_counts_its_tokens():
    matcher = gw.Matcher(gw.compile("ab", VOCABULARY))
    assert matcher.accept_token(ord("a"))
    assert repr(matcher).endswith(", 1 tokens)")
