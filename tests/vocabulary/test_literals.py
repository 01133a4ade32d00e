"""Added tokens: which are matched in a text, told while it grows."""

from fairlead.vocabulary.bounded import remember
from fairlead.vocabulary.literals import NONE, Literals
from fairlead.vocabulary.utf8 import parts


def test_one_that_began_before_is_matched_in_the_place_of_another() -> None:
    marks = Literals(["ab", "bc"])
    begun = marks.read(NONE, "a")
    assert begun is not None
    assert marks.goes_on(begun, "b")
    assert marks.matched(begun, "bc") is None
    assert marks.matched(NONE, "bc") == NONE


def test_a_memory_forgets_when_it_is_full() -> None:
    memory = {1: "a", 2: "b"}
    assert remember(memory, 3, "c", 2) == "c"
    assert memory == {3: "c"}


def test_bytes_that_no_text_holds_have_no_parts() -> None:
    assert parts(b"\x80" * 4) is None
    assert parts(b"a\xffb") is None
