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
def test_sources_constraints_and_matchers_are_shown_on_one_short_line(name: str):
    source, made = SOURCES[name], []
    if name in ("regex", "schema", "literal"):
        constraint = gw.compile(source, VOCABULARY)
        made = [constraint, gw.Matcher(constraint)]
    for each in (source, *made):
        assert len(repr(each)) <= 200
        assert repr(each).isprintable()
        assert f"{type(source).__name__}(" in repr(each)
        assert each is source or "257 tokens" in repr(each)
    assert repr(source).startswith(type(source).__name__)


def test_a_short_source_is_shown_whole_and_a_matcher_counts_its_tokens():
    assert repr(gw.Regex("a")) == "Regex(pattern='a', dialect='python', flags='')"
    matcher = gw.Matcher(gw.compile("ab", VOCABULARY))
    assert matcher.accept_token(ord("a"))
    assert repr(matcher).endswith(", 1 tokens)")
