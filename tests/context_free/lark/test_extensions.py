r"""What grammars have that Lark has not: where it begins and ends, and what is refused by name."""

import pytest

import guideway as gw
from guideway.context_free.lark.extensions import CLOSE, DEEPEST, OPEN, extend
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.sources.regions import Special, substring
from guideway.sources.sources import Either, Literal


def parts(text, **options):
    return [part.source for part in Lark(text, **options).parts]


def test_what_is_found_and_what_only_looks_like_it():
    text = r"""// %json { and <a>
start: "<a> %json {" /<b>%lark { \/ / <|c|> # <d>
    | %json {"a": "}{", "b": [{}]} <[7]> | <[1, 3-4]>
    | %regex {"substring_words": "x, y"} %lark { start: "}" %json {"c": {}} /}/ // }
    } """
    found = parts(text)
    assert found[:4] == [
        Special("<|c|>"),
        gw.JsonSchema('{"a": "}{", "b": [{}]}'),
        Special(7),
        Either((Special(1), Special(3), Special(4))),
    ]
    assert found[4] == substring(["x", ",", " ", "y"])
    assert found[5].text == ' start: "}" %json {"c": {}} /}/ // }\n    '
    assert parts(found[5].text) == [gw.JsonSchema('{"c": {}}')]
    assert len(found) == 6


def test_a_grammar_without_extensions_stays_as_it_is():
    text = 'start: "a" [b]~2..3 sep{b, "<x>"}\nb.2: /@a/\nsep{x, y}: x y\n%ignore " "'
    found = extend(text, Literal)
    assert (found.text, found.parts, found.captures) == (text, (), ())
    assert found.before(7) == 7


def test_words_and_characters_of_a_text():
    assert gw.substring("don't: 1__2\n\nx").chunks == (
        *("don", "'", "t", ":", " ", "1__2", "\n\n", "x"),
    )
    assert gw.substring("aé ", "characters").chunks == ("a", "é", " ")
    assert gw.substring(["ab", "", "c"]).chunks == ("ab", "c")
    assert parts('start: %regex {"substring_chars": "ab"}') == [gw.substring("ab", "characters")]
    for wrong in [("a", "word"), (3,), (["a", 3],), ("\ud800",)]:
        with pytest.raises(SourceError):
            gw.substring(*wrong)


def test_captures_are_named_and_their_names_are_not_seen_by_lark():
    source = Lark(
        'start[capture]: a b\n?a[ capture = "x]\\n" ].2: "a"\nb: "b"\n%extend b[capture]: "c"'
    )
    assert source.captures == (("start", "start"), ("a", "x]\n"), ("b", "b"))
    assert set(read_lark(source).rules) == {"start", "a", "b"}


def test_parts_of_imported_grammars_are_found_there():
    imports = {"tools": "call: %json {} NAME\nNAME: <|name|>\nother: %json true"}
    with pytest.raises(SourceError, match=r"tools\.lark, line 3, column 8"):
        Lark("start: call\n%import tools.call", imports=imports)
    imports["tools"] = imports["tools"].replace("true", "{}")
    source = Lark("start: <a> call N\n%import tools.call\n%import tools.NAME -> N", imports=imports)
    grammar = read_lark(source)
    assert {part.written for part in grammar.parts.values()} == {"<a>", "%json {}", "<|name|>"}
    assert {part.place for part in grammar.parts.values()} == {
        *("line 1, column 8", "tools.lark, line 1, column 7", "tools.lark, line 2, column 7"),
    }
    imports["tools"] = "call[capture]: NAME\nNAME: <|name|>"
    with pytest.raises(UnsupportedError, match="an imported grammar captures nothing"):
        Lark("start: call\n%import tools.call", imports=imports)


def test_nested_grammars_import_what_the_outer_one_does():
    texts = {"a.b": "%import .c (X)", "a.c": "X: /x/"}
    source = Lark("start: %lark {%import a.b.X\nstart: X INT\n%import common.INT\n}", imports=texts)
    assert {*dict(source.parts[0].source.files)} == {"a/b.lark", "a/c.lark", "common.lark"}


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("start: %json 3", SourceError, r"%json needs braces.*line 1, column 8"),
        ('start: "a"\n | %json {"}"', SourceError, r"brace of %json is never closed.*line 2, "),
        ('start: "a" %regex {"a": }', SourceError, r"not JSON: Expecting value.*column 25"),
        ("start: %regex {}", SourceError, "substring_words, substring_chars"),
        ('start: %regex {"substring_word": 1}', SourceError, "did you mean 'substring_words'"),
        ('start: %regex {"substring_words": []}', SourceError, "must be a string, not"),
        (
            'start: %regex {"substring_chunks": "a"}',
            SourceError,
            'must be a list of strings, not "a"',
        ),
        (
            'start: %regex {"substring_chunks": [1]}',
            SourceError,
            "must be a list of strings, not an arr",
        ),
        (
            f'start: %regex {{"substring_words": {"[" * 9999}{"]" * 9999}}}',
            SourceError,
            "must be a string, not an array",
        ),
        ("start: <[1-]>", SourceError, r"write token ids as <\[7\]>"),
        ("start: <[3-1]>", SourceError, "the lower id"),
        (f"start: <[{'9' * 5000}]>", SourceError, r"write token ids as <\[7\]>"),
        ("start: <[0-999]>", LimitError, "more than 256 tokens"),
        ("start: <[0-255,300]>", LimitError, "more than 256 tokens"),
        ("start: <[^3]>", UnsupportedError, "whatever number of tokens"),
        ("start: <[*]>~1..9", UnsupportedError, "whatever number of tokens"),
        ("start: (<[*]>)*", UnsupportedError, "whatever number of tokens"),
        ("start: <[^]>*", SourceError, r"write token ids as <\[7\]>"),
        ("start: <[^0-999]>*", LimitError, "more than 256 tokens"),
        ("start: @other", UnsupportedError, r"%import other\.start"),
        ("start: A\nA: /a+/ & /[ab]/", UnsupportedError, "& is not supported: no terminal of"),
        ("start: A\nA: ~/a+/", UnsupportedError, "~ is not supported: no terminal of"),
        ('%llguidance {"a": 1}\nstart: "a"', UnsupportedError, "%llguidance is not supported"),
        ('start: a\na[lazy]: "x"', UnsupportedError, r"\[lazy\].*lazy count.*line 2, column 2"),
        ('a[stop="x", capture]: "x"', UnsupportedError, r"\[stop\].*look ahead"),
        ('a[capture, max_tokens=3]: "x"', UnsupportedError, r"\[max_tokens\].*\{1,80\}"),
        ('a[captur]: "x"', SourceError, r"the option \[capture\]"),
        ('a[capture=""]: "x"', SourceError, "a capture needs a name"),
        (r'a[capture="\x"]: "x"', SourceError, "not JSON.*line 1, column 12"),
        ('A[capture]: "x"', SourceError, "A is a terminal"),
        (f'start: "{OPEN}" <a>', SourceError, "not characters"),
        (
            "start: " + "%lark {start: " * 25 + '"a"' + "}" * 25,
            LimitError,
            f"{DEEPEST} levels deep",
        ),
    ],
)
def test_what_is_wrong_or_means_nothing_here_is_told_with_its_place(text, error, said):
    with pytest.raises(error, match="(?s)" + said):
        Lark(text)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ('start: A\nA: "a" %json {}', SourceError, r"terminal A beside.*line 2, column 8"),
        ("start: A\nA: <x>+", SourceError, "<x> stands in the terminal A"),
        ('start: "a"\n%ignore <x>', UnsupportedError, "<x> cannot be ignored"),
        ('start: %json {"a":\n{}} %json {} oops', SourceError, r"'oops'.*line 2, column 14"),
        ('start: "a" %json {} ~x', SourceError, r"line 1, column 22"),
        ("start: <x>\n    | <x> <y>", SourceError, None),
        ("start: %json {} %% ", SourceError, r"line 1, column 17"),
        ("%declare <|x|>", SourceError, r"<\\|x\\|>.*line 1, column 10"),
    ],
)
def test_what_lark_says_is_about_the_text_as_it_was_written(text, error, said):
    if said is None:
        assert len(read_lark(Lark(text)).parts) == 3
        return
    with pytest.raises(error, match="(?s)" + said) as found:
        read_lark(Lark(text))
    assert OPEN not in str(found.value)
    assert "fdd0" not in str(found.value)


def test_what_is_around_numbers_of_parts_is_a_text_like_others_where_there_are_none():
    text = f"{OPEN}0{CLOSE}"
    assert read_lark(Lark(f'start: "{text}"')).terminals.popitem()[1].text == text
    with pytest.raises(SourceError, match=text):
        read_lark(Lark(f"start: /a/ {text}"))
    for grammar, place in ((f'start: "{text}" a', "column 9"), ("start: a", "x.lark, line 1")):
        own = {"x": f'a: <y> "{OPEN}"' if grammar == "start: a" else "a: <y>"}
        with pytest.raises(SourceError, match=f"not characters.*{place}"):
            Lark(f"{grammar}\n%import x.a", imports=own)


def test_an_empty_option_of_llguidance_says_nothing():
    assert read_lark(Lark('%llguidance {}\nstart: "a"')).start == "start"


def test_parts_are_exchanged_without_reading_the_grammar_again():
    source = Lark("start: <x> %json {}")
    changed = source.with_parts(
        lambda part: part if isinstance(part, gw.JsonSchema) else Special(3)
    )
    assert [part.source for part in changed.parts] == [Special(3), gw.JsonSchema("{}")]
    assert changed != source
    assert Lark('start: "a"').with_parts(Literal) == Lark('start: "a"')
