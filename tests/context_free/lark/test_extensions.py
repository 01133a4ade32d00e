"""What grammars have that Lark has not: where it begins and ends, and what is refused by name."""

import random
import re
from itertools import combinations, combinations_with_replacement

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source, lower_substring
from guideway.context_free.lark.errors import placed
from guideway.context_free.lark.extensions import CLOSE, DEEPEST, OPEN, extend
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.errors import (
    GuidewayError,
    LimitError,
    SourceError,
    UnsatisfiableError,
    UnsupportedError,
)
from guideway.language.derivative import Derivatives
from guideway.language.finite_languages import Decisions
from guideway.sources.regions import Special, substring
from guideway.sources.sources import Either, Literal, Source
from lark_samples import accepted
from plain_texts import matches, short_strings
from random_walks import BYTES


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
        *("line 1, column 8", "tools.lark, line 1, column 7", "tools.lark, line 2, column 7")
    }
    imports["tools"] = "call[capture]: NAME\nNAME: <|name|>"
    with pytest.raises(UnsupportedError, match="an imported grammar captures nothing"):
        Lark("start: call\n%import tools.call", imports=imports)


def test_nested_grammars_import_what_the_outer_one_does():
    texts = {"a.b": "%import .c (X)", "a.c": "X: /x/"}
    source = Lark("start: %lark {%import a.b.X\nstart: X INT\n%import common.INT\n}", imports=texts)
    assert {*dict(source.parts[0].source.files)} == {"a/b.lark", "a/c.lark", "common.lark"}


LACKING = (("<|tt|>", "token '<|tt|>'"), ("<[999]>", "token 999"))


@pytest.mark.parametrize(("text", "error", "said"), [
    ("start: %json 3", SourceError, r"%json needs braces.*line 1, column 8"),
    ('start: "a"\n | %json {"}"', SourceError, r"brace of %json is never closed.*line 2, "),
    ('start: "a" %regex {"a": }', SourceError, r"not JSON: Expecting value.*column 25"),
    ('start: %regex {"substring_word": 1}', SourceError, "did you mean 'substring_words'"),
    ('start: %regex {"substring_words": []}', SourceError, "must be a string, not"),
    ('start: %regex {"substring_chunks": [1]}', SourceError,
     "must be a list of strings, not an arr"),
    (f'start: %regex {{"substring_words": {"[" * 9999}{"]" * 9999}}}', SourceError,
     "must be a string, not an array"),
    ("start: <[1-]>", SourceError, r"write token ids as <\[7\]>"),
    ("start: <[3-1]>", SourceError, "the lower id"),
    (f"start: <[{'9' * 5000}]>", SourceError, r"write token ids as <\[7\]>"),
    ("start: <[0-999]>", LimitError, "more than 256 tokens"),
    ("start: <[^3]>", UnsupportedError, "whatever number of tokens"),
    ("start: <[*]>~1..9", UnsupportedError, "whatever number of tokens"),
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
    ("start: " + "%lark {start: " * 25 + '"a"' + "}" * 25, LimitError, f"{DEEPEST} levels deep"),
    ('start: A\nA: "a" %json {}', SourceError, r"terminal A beside.*line 2, column 8"),
    ("start: A\nA: <x>+", SourceError, "<x> stands in the terminal A"),
    ('start: "a"\n%ignore <x>', UnsupportedError, "<x> cannot be ignored"),
    ('start: %json {"a":\n{}} %json {} oops', SourceError, r"'oops'.*line 2, column 14"),
    ('start: "a" %json {} ~x', SourceError, r"line 1, column 22"),
    ("start: %json {} %% ", SourceError, r"line 1, column 17"),
    ("%declare <|x|>", SourceError, r"<\\|x\\|>.*line 1, column 10"),
    ('start: "a" %json {"type": "intger"}', SourceError, r"/type.*line 1, column 12"),
    ('start: "a" %json {"type" 1}', SourceError, r"not JSON.*line 1, column 26"),
    ('start: %json {"$ref": "http://x"}', UnsupportedError, r"\$ref.*line 1, column 8"),
    ('start: %lark {start: "x" <a> y}', SourceError, r"Rule 'y' used.*line 1, column 30"),
    ("start: %lark {start: %json {} <a> y}", SourceError, r"Rule 'y' used.*line 1, column 35"),
    ("start: %lark {start: start}", UnsatisfiableError, r"start.*line 1, column 8"),
    ('start: %json {"pattern": "(a){9999999999}"}', LimitError, r"pattern.*line 1, column 8"),
    # What Lark refuses without a place.
    ("start: t\nt{x}: x\n", SourceError, "template t stands .*: t{x}.*line 1, column 8"),
    ('start: t{"b", "c"}\n  | t\nt{x,y}: x\n', SourceError,
     "template t stands .*: t{x, y}.*line 2, column 5"),
    ('start: a\na[capture]{t}: "x"\n', SourceError,
     "template a stands .*: a{t}.*line 1, column 8"),
    *((f'start: "a"\n  | {quoted}\n', SourceError, r"NUL is written \\x00.*line 2, column 7")
      for quoted in ('"b\0"', "/b\0/")),
    ('\u200bstart: "a"', SourceError, r"'\\u200b' begins nothing here"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_in_the_text_as_it_was_written(text, error, said):
    with pytest.raises(error, match="(?s)" + said) as found:
        lower_source(gw.Lark(text))
    assert OPEN in text or OPEN not in str(found.value)
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


# What stands in a Lark grammar and is no Lark: compositions of sources say what is right.

LEXERS = ("contextual", "dynamic")
LIST = '{"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2}'
NUMBER = '{"enum": [1, 12]}'


def texts(source: Source, letters: str, size: int) -> set[str]:
    """Those of a source."""
    return accepted(lower_source(source, Decisions()), letters, size)


def drawn(draw: random.Random, depth: int = 2) -> tuple[str, Source]:
    """An expression in Lark, and the same in sources; each letter is a terminal of its own."""
    kind = draw.choice(["letter", "part", "row", "either", "count"]) if depth else "part"
    if kind == "letter":
        letter = draw.choice("ab")
        return f'"{letter}"', gw.source(letter)
    if kind == "part":
        return draw.choice(
            [
                (f"%json {LIST}", gw.JsonSchema(LIST)),
                (f"%json {NUMBER}", gw.JsonSchema(NUMBER)),
                ('%regex {"substring_chunks": ["a", "ba"]}', gw.substring(["a", "ba"])),
                ('%lark {start: "a" start | "b"}', gw.Regex("a*b")),
                ('%lark {start: ("a" "b")?}', gw.Regex("(ab)?")),
                ("%lark {start: A B?\nA: /a+(?!b)/\nB: /b/}", gw.Regex("a+")),
            ]
        )
    (one, left), (other, right) = drawn(draw, depth - 1), drawn(draw, depth - 1)
    if kind == "row":
        return f"{one} {other}", left + right
    if kind == "either":
        return f"({one} | {other})", left | right
    low, high = draw.choice([(0, 1), (0, 2), (1, 2)])
    return f"({one})~{low}..{high}", gw.repeat(left, low, high)


@pytest.mark.parametrize("lexer", LEXERS)
def test_a_grammar_of_parts_is_their_composition(lexer):
    draw, taken = random.Random(5), 0
    for _ in range(40):
        text, source = drawn(draw)
        try:
            found = texts(gw.Lark(f"start: {text}", lexer=lexer), "ab[1,2]", 5)
        except SourceError as error:
            assert "collision" in str(error)  # noqa: PT017  what LALR cannot tell apart
            continue
        taken += 1
        assert found == texts(source, "ab[1,2]", 5), text
    assert taken >= 20


@pytest.mark.parametrize("lexer", LEXERS)
def test_a_nested_grammar_may_be_empty_by_its_rules(lexer):
    inner = '%lark {start: x y\nx: "a"? y\ny: "b" | z\nz: | "c" "c"}'
    found = texts(gw.Lark(f'start: "(" {inner} ")"', lexer=lexer), "(abc)", 5)
    assert found == {f"({each})" for each in texts(gw.Regex("a?(b|cc)?(b|cc)?"), "abc", 3)}


@pytest.mark.parametrize("lexer", LEXERS)
def test_what_looks_ahead_looks_over_parts(lexer):
    def language(text: str, letters: str = "ab1,[]", size: int = 6) -> set[str]:
        return texts(gw.Lark(text, lexer=lexer), letters, size)

    lists = texts(gw.JsonSchema(LIST), "1,[]", 5)
    assert language(f"start: A %json {LIST}\nA: /a(?!\\[1)/") == {
        "a" + each for each in lists if not each.startswith("[1")
    }
    inner = r"%lark {start: A* B?" + "\nA: /a(?!b)/\nB: /b(?!,)/\n}"
    found = language(f'start: /1(?=.*b)/ {inner} ","?')
    assert found == {"1" + w for w in texts(gw.Regex("a*b,?"), "ab,", 5) if "ab" not in w}
    assert language(f'start: {inner} ","') == {
        w + "," for w in texts(gw.Regex("a*b?"), "ab", 5) if "ab" not in w
    }


@pytest.mark.parametrize("lexer", LEXERS)
def test_each_ignores_what_it_ignores(lexer):
    text = 'start: "(" x ")"\nx: %lark {start: "a"? B*\nB: "b"\n%ignore ","}\n%ignore " "'
    found = texts(gw.Lark(text, lexer=lexer), "(ab, )", 5)
    inner = "(,*(a,*)?(b,*)*)?" if lexer == "contextual" else ",*(a,*)?(b,*)*"
    expected = re.compile(rf" *\( *{inner} *\) *")
    assert found == {text for text in short_strings("(ab, )", 5) if expected.fullmatch(text)}


@pytest.mark.parametrize("lexer", LEXERS)
def test_special_tokens_are_single_ids_among_any_terminals(lexer):
    spellings = [b"a", b"b", b"1", b"ab", b"<x>", None, None, None]
    named = {"<x>": 5, "<y>": 6, "<end>": 7}
    vocabulary = gw.Vocabulary(spellings, eos_ids={7}, special=named)
    text = f"start: T? <x> %json {NUMBER} | <[6]> U W\nT: /(.|\\n)+/\nU: /a+(?!b)/\nW: <[5-6]>+"
    with pytest.raises(SourceError, match="beside something else"):
        gw.compile(gw.Lark(text, lexer=lexer), vocabulary)
    text = text.replace("W\n", "w\n").replace("W: ", "w: ")
    written = gw.compile(gw.Lark(text, lexer=lexer), vocabulary)
    x, y = gw.special("<x>"), gw.special("<y>")
    made = gw.compile(
        (gw.Text() + x + gw.JsonSchema(NUMBER)) | (y + gw.Regex("a+") + gw.repeat(x | y, 1)),
        vocabulary,
    )
    todo = [(written.start(), made.start(), 0)]
    while todo:
        one, other, size = todo.pop()
        allowed = unpack(written.mask(one)).tolist()
        assert allowed == unpack(made.mask(other)).tolist()
        todo += [
            (written.advance(one, token), made.advance(other, token), size + 1)
            for token in (allowed if size < 3 else ())
        ]


def test_a_part_of_which_there_is_no_text_is_not_offered():
    endless = '{"type": "array", "items": {"$ref": "#"}, "minItems": 1}'
    vocabulary = gw.Vocabulary([b"a", b"[", b"]"], eos_ids=())
    for lexer in LEXERS:
        constraint = gw.compile(gw.Lark(f'start: "a" | %json {endless}', lexer=lexer), vocabulary)
        assert unpack(constraint.mask(constraint.start())).tolist() == [0]
        with pytest.raises(UnsatisfiableError):
            gw.compile(gw.Lark(f"start: %json {endless}", lexer=lexer), vocabulary)


@pytest.mark.parametrize("lexer", LEXERS)
def test_many_parts_in_a_row_may_be_empty(lexer):
    letters = "abcdefghijkl"
    text = " ".join(f'%regex {{"substring_words": "{each}"}}' for each in letters)
    rules = f'start: {text} | "b" {text} "b" | "z" {text}'
    found = texts(gw.Lark(rules, lexer=lexer), f"{letters}z", 3)
    rows = {"".join(row) for n in range(4) for row in combinations(letters, n)}
    assert found == rows | {f"b{row}b" for row in rows if len(row) < 2} | {
        f"z{row}" for row in rows if len(row) < 3
    }


def test_an_error_of_another_kind_stays_itself():
    (part,) = gw.Lark("start: <a>").parts
    error = gw.TokenRejected("no", token=1)
    assert placed(error, part) is error


def test_substrings_are_runs_of_chunks():
    draw = random.Random(1)
    for _ in range(60):
        chunks = [draw.choice(short_strings("ab", 2)[1:]) for _ in range(draw.randint(0, 7))]
        ends = combinations_with_replacement(range(len(chunks) + 1), 2)
        runs = {"".join(chunks[i:j]) for i, j in ends}
        machine = Derivatives(lower_substring(chunks))
        for word in short_strings("ab", 5):
            assert matches(machine, word) == (word in runs)


@pytest.mark.untraced
def test_a_long_text_has_substrings_of_its_size():
    words = " ".join(f"w{n % 700}" for n in range(5_000))
    vocabulary = gw.Vocabulary([b"w", *(b"%d" % n for n in range(10)), b" "], eos_ids=())
    constraint = gw.compile(gw.substring(words), vocabulary)
    assert constraint.matches("w698 w699 w0 w1")
    assert not constraint.matches("w698 w0")


# Errors in Lark grammars say where in the grammar, as it was written, they are.


def refused(text: str, **options: object) -> GuidewayError:
    with pytest.raises(GuidewayError) as caught:
        gw.compile(gw.Lark(text, **options), BYTES)
    return caught.value


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
@pytest.mark.parametrize(("text", "place", "shown"), [
    ('start: A\n  | B\n\nA: "x"\nB: "q" | /y(?>a|b)/\n', (5, 1), '"q" | /y(?>'),
    ('start: A\n | B\nA: "x"\nB: "q" | /(?<=q)y/\n', (4, 1), "/(?<=q)y/"),
    ('start: "a"\n  | /y(?>a|b)/\n', (2, 5), "| /y(?>a|b)/"),
    ('// /y(?>a|b)/\nstart: A\nA: /y/ /\\/\\x61\\n\\"y(?>a|b)/\n', (3, 1), "y(?>a|b)"),
    ("start: %lark {start: A\nA: /y(?>a|b)/\n}\n", (2, 1), "A: /y(?>a|b)/"),
])  # fmt: skip
def test_the_terminal_of_a_refused_regex_is_shown(
    text: str, place: tuple[int, int], shown: str, lexer: str
):
    error = refused(text, lexer=lexer)
    assert isinstance(error, UnsupportedError)
    assert error.place == f"line {place[0]}, column {place[1]}"
    _, line, caret = str(error).split("\n")
    assert shown in line
    assert line[caret.index("^")] in "AB/"
    assert "line 1, column" not in str(error)


@pytest.mark.parametrize(("text", "imported", "error", "said"), [
    ("start: X\n%import a.X\n", "X: /u/\n | /y(?>a|b)/\n", UnsupportedError,
     "at a.lark, line 1, column 1"),
    ("start: X\n%import a.X\n", 'Y: "y"\nX: "x\0"\n', SourceError, "at a.lark, line 2, column 6"),
    ("start: t\n%import a.t\n", "t{x}: u\nu{x}: x\n", SourceError, "the template"),
    # Tokens that the vocabulary lacks, and what no instance satisfies.
    *((f'start: A\n | B {token}\nA: "a"\nB: "b"\n', "", UnsupportedError,
       f"{re.escape(named)}.*line 2, column 6") for token, named in LACKING),
    *((f'start: %lark {{start: A\n | "b" {token}\nA: "a"\n}}\n', "", UnsupportedError,
       f"{re.escape(named)}.*line 2, column 8") for token, named in LACKING),
    ('start: a b\na: %json {"type": "string"}\nb: %json {"enum": []}\n', "", UnsatisfiableError,
     r'^%json {"enum": \[\]}: no instance satisfies enum \[\].*line 3, column 4'),
    ('start: %lark {start: "a" b\nb: %json {"enum": []}\n}\n', "", UnsatisfiableError,
     "no instance.*line 1, column 8"),
])  # fmt: skip
def test_what_is_wrong_when_it_is_compiled_has_a_place(text, imported, error, said):
    with pytest.raises(error, match="(?s)" + said):
        gw.compile(gw.Lark(text, imports={"a": imported}), BYTES)


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("start: A\nA: /(?=[ab]*a[ab]{12}c)[ab]/", "line 2, column 1"),
        ('start: "x"\n  | /(?=[ab]*a[ab]{12}c)[ab]/', "line 2, column 5"),
        ("start: A\n%import a (A)", "a.lark, line 2, column 2"),
        ("start: B\n%import a.A -> B", "line 2, column 13"),  # another is B there
    ],
)
def test_a_terminal_that_is_too_large_has_a_place(text: str, place: str, lexer):
    imported = 'B: "b"\n A.3: /(?=[ab]*a[ab]{12}c)[ab]/'
    with pytest.raises(gw.LimitError, match="the terminal ") as caught:
        gw.compile(gw.Lark(text, lexer=lexer, imports={"a": imported}), BYTES, gw.Budget(50_000))
    assert caught.value.place == place
    assert str(caught.value).endswith("^")
    assert caught.value.limit == "fuel"
