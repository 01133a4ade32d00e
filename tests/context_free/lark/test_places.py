"""Errors in Lark grammars say where in the grammar, as it was written, they are."""

import pytest

import guideway as gw
from guideway.context_free.lark.errors import LarkTerminal, Reading
from guideway.context_free.lark.source import regexes_placed
from guideway.errors import GuidewayError, SourceError, UnsatisfiableError, UnsupportedError

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})


def refused(text: str, **options: object) -> GuidewayError:
    with pytest.raises(GuidewayError) as caught:
        gw.compile(gw.Lark(text, **options), BYTES)
    return caught.value


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        ('start: A\n  | B\n\nA: "x"\nB: "q" | /y(?>a|b)/\n', (5, 12), '"q" | /y(?>'),
        ('start: A\n | B\nA: "x"\nB: "q" | /(?<=q)y/\n', (4, 11), "/(?<=q)y/"),
        ('start: "a"\n  | /y(?>a|b)/\n', (2, 7), "| /y(?>a|b)/"),
        ('start: "a"\n | B\nB: A "c"\nA: "b"\n  | /y(?>a|b)/i\n', (5, 7), "/y(?>a|b)/i"),
        ('// /y(?>a|b)/\nstart: A\nA: /y/ /\\/\\x61\\n\\"y(?>a|b)/\n', (3, 20), "y(?>a|b)"),
        ("start: %lark {start: A\nA: /y(?>a|b)/\n}\n", (2, 6), "A: /y(?>a|b)/"),
    ],
)
def test_the_regex_is_shown_as_it_was_written(
    text: str, place: tuple[int, int], shown: str, lexer: str
):
    error = refused(text, lexer=lexer)
    assert isinstance(error, UnsupportedError)
    assert error.place == f"line {place[0]}, column {place[1]}"
    _, line, caret = str(error).split("\n")
    assert shown in line
    assert line[caret.index("^")] == "("
    assert "line 1, column" not in str(error)


def test_the_regex_may_stand_in_an_imported_grammar():
    error = refused("start: X\n%import a.X\n", imports={"a": "X: /u/\n | /y(?>a|b)/\n"})
    assert isinstance(error, UnsupportedError)
    assert error.place == "a.lark, line 2, column 6"


def test_an_error_keeps_what_it_says_of_a_place():
    source = gw.Lark("start: /a/")
    for error, place in (
        (UnsupportedError("x", place="here", text="(", position=0), "here"),
        (UnsupportedError("x"), ""),
        (UnsupportedError("x", text="b"), ""),
        (UnsupportedError("x", feature="f", text="b", position=0), ""),
    ):
        with pytest.raises(UnsupportedError) as caught, regexes_placed(source, ()):
            raise error
        assert caught.value.place == place
        assert caught.value.feature == error.feature
        assert ("^" in str(caught.value)) == bool(place)


@pytest.mark.parametrize(
    ("token", "said"), [("<|tt|>", "token '<|tt|>'"), ("<[999]>", "token 999")]
)
def test_a_token_that_the_vocabulary_lacks_has_a_place(token: str, said: str):
    error = refused(f'start: A\n | B {token}\nA: "a"\nB: "b"\n')
    assert isinstance(error, UnsupportedError)
    assert said in str(error)
    assert error.place == "line 2, column 6"
    inner = refused(f'start: %lark {{start: A\n | "b" {token}\nA: "a"\n}}\n')
    assert isinstance(inner, UnsupportedError)
    assert inner.place == "line 2, column 8"


def test_what_no_instance_satisfies_has_a_place():
    error = refused('start: a b\na: %json {"type": "string"}\nb: %json {"enum": []}\n')
    assert isinstance(error, UnsatisfiableError)
    assert error.place == "line 3, column 4"
    assert str(error).startswith('%json {"enum": []}: no instance satisfies enum []')
    error = refused('start: %lark {start: "a" b\nb: %json {"enum": []}\n}\n')
    assert isinstance(error, UnsatisfiableError)
    assert error.place == "line 1, column 8"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("start: t\nt{x}: x\n", (1, 8), "template t stands .*: t{x}"),
        ('start: t{"b", "c"}\n  | t\nt{x,y}: x\n', (2, 5), "template t stands .*: t{x, y}"),
        ('start: a\na[capture]{t}: "x"\n', (1, 8), "template a stands .*: a{t}"),
        ('start: "a"\n  | "b\0"\n', (2, 7), r"NUL is written \\x00"),
        ('start: "a"\n  | /b\0/\n', (2, 7), r"NUL is written \\x00"),
    ],
)
def test_what_lark_refuses_without_a_place_has_one(text: str, place: tuple[int, int], said: str):
    error = refused(text)
    assert isinstance(error, SourceError)
    assert error.place == f"line {place[0]}, column {place[1]}"
    with pytest.raises(SourceError, match=said):
        raise error


def test_a_template_of_another_grammar_has_a_name_only():
    error = refused("start: t\n%import a.t\n", imports={"a": "t{x}: u\nu{x}: x\n"})
    assert "the template" in str(error)


def test_a_nul_may_stand_in_an_imported_grammar():
    error = refused("start: X\n%import a.X\n", imports={"a": 'Y: "y"\nX: "x\0"\n'})
    assert isinstance(error, SourceError)
    assert error.place == "a.lark, line 2, column 6"


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


def test_a_terminal_that_stands_nowhere_has_no_place():
    shape = LarkTerminal("C", "c", None, frozenset(), 0, 1, 1, 1, "c", solid=False)
    error = gw.LimitError("x", limit="fuel", text="c")
    with pytest.raises(gw.LimitError) as caught, regexes_placed(gw.Lark('start: "a"'), [shape]):
        raise error
    assert caught.value is error


def test_a_limit_of_no_terminal_is_left_as_it_is():
    error = gw.LimitError("x", limit="fuel")
    with pytest.raises(gw.LimitError) as caught, regexes_placed(gw.Lark("start: /a/"), ()):
        raise error
    assert caught.value is error


def test_what_is_defined_nowhere_has_no_place():
    reading = Reading(gw.Lark("start: x").extended)
    assert not reading.exceeded("much", "y", limit="rows", given=1).place
    assert reading.exceeded("much", "start", limit="rows", given=1).place == "line 1, column 1"


def test_what_is_no_printed_character_is_told():
    error = refused('\u200bstart: "a"')
    assert "'\\u200b' begins nothing here" in str(error)
