"""What stands in a Lark grammar and is no Lark: compositions of sources say what is right."""

import random
import re
from itertools import combinations, product

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source, lower_substring
from guideway.context_free.lark.errors import placed
from guideway.errors import LimitError, SourceError, UnsatisfiableError, UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.language.finite_languages import Decisions
from guideway.sources.sources import Source
from lark_samples import accepted

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
    if lexer == "contextual":
        expected = r" *\( *(,*(a,*)?(b,*)*)? *\) *"
    else:
        expected = r" *\( *,*(a,*)?(b,*)* *\) *"
    assert found == {
        "".join(w)
        for n in range(6)
        for w in product("(ab, )", repeat=n)
        if re.fullmatch(expected, "".join(w))
    }


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


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ('"a" %json {"type": "intger"}', SourceError, r"/type.*line 1, column 12"),
        ('"a" %json {"type" 1}', SourceError, r"not JSON.*line 1, column 26"),
        ('%json {"$ref": "http://x"}', UnsupportedError, r"\$ref.*line 1, column 8"),
        ('%lark {start: "x" <a> y}', SourceError, r"Rule 'y' used.*line 1, column 30"),
        ("%lark {start: %json {} <a> y}", SourceError, r"Rule 'y' used.*line 1, column 35"),
        ("%lark {start: start}", UnsatisfiableError, r"start.*line 1, column 8"),
        ('%json {"pattern": "(a){9999999999}"}', LimitError, r"pattern.*line 1, column 8"),
    ],
)
def test_errors_of_parts_have_a_place_in_the_grammar(text, error, said):
    with pytest.raises(error, match="(?s)" + said):
        lower_source(gw.Lark("start: " + text))


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
        chunks = [
            "".join(draw.choices("ab", k=draw.randint(1, 2))) for _ in range(draw.randint(0, 7))
        ]
        runs = {
            "".join(chunks[i:j]) for i in range(len(chunks) + 1) for j in range(i, len(chunks) + 1)
        }
        machine = Derivatives(lower_substring(chunks))
        for word in ("".join(w) for n in range(6) for w in product("ab", repeat=n)):
            state = machine.start()
            for letter in word.encode():
                state = None if state is None else machine.step(state, letter)
            assert (state is not None and machine.accepts(state)) == (word in runs)


@pytest.mark.untraced
def test_a_long_text_has_substrings_of_its_size():
    words = " ".join(f"w{n % 700}" for n in range(5_000))
    vocabulary = gw.Vocabulary([b"w", *(b"%d" % n for n in range(10)), b" "], eos_ids=())
    constraint = gw.compile(gw.substring(words), vocabulary)
    assert constraint.matches("w698 w699 w0 w1")
    assert not constraint.matches("w698 w0")
