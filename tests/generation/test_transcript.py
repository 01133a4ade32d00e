from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from guideway.generation.row.sequence import Transcript


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces, cut at these places."""
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[low:high] for low, high in pairwise(marks)]


def told(transcript: Transcript, pieces: list[bytes]) -> list[str]:
    """What is told of each piece, up to the first stop string."""
    parts: list[str] = []
    for piece in pieces:
        transcript.push(piece)
        place = next(transcript.stop_places(), None)
        if place is not None:
            transcript.cut(place)
            break
        parts.append(transcript.take())
    return [*parts, transcript.take(final=True)]


@given(st.binary(max_size=40) | st.text("ab é").map(str.encode), st.lists(st.integers(0, 99)))
def test_pieces_make_the_text_that_decoding_it_whole_makes(data: bytes, places: list[int]):
    """In whole characters: none is told as a replacement that is none."""
    transcript = Transcript()
    assert "".join(told(transcript, cut(data, places))) == data.decode(errors="replace")
    assert transcript.text == data.decode(errors="replace")


@given(
    st.text("abé", max_size=20),
    st.lists(st.text("abé", min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(0, 99), max_size=9),
)
def test_the_first_stop_string_is_where_searching_the_whole_text_finds_it(
    text: str, stops: list[str], places: list[int]
):
    found = [text.find(stop) for stop in stops if stop in text]
    expected = text[: min(found)] if found else text
    # One byte at a time: in larger pieces an earlier stop may be completed later.
    pieces = cut(text.encode(), list(range(len(text.encode()))))
    completed = min((text.find(stop) + len(stop) for stop in stops if stop in text), default=0)
    first = [text.find(s) for s in stops if s in text and text.find(s) + len(s) == completed]
    transcript = Transcript(stops=stops)
    assert "".join(told(transcript, pieces)) == (text[: min(first)] if first else expected)
    # However it is cut, what was told is the text, and holds no stop string.
    transcript = Transcript(stops=stops)
    assert "".join(told(transcript, cut(text.encode(), places))) == transcript.text
    assert not any(stop in transcript.text for stop in stops)


@given(st.lists(st.integers(0, 99), max_size=5))
def test_the_joint_is_taken_from_the_beginning_once(places: list[int]):
    transcript = Transcript(joint=b" \n")
    assert "".join(told(transcript, cut(b" \n \nab", places))) == " \nab"
    # Free text may begin otherwise, or end within it.
    assert told(Transcript(joint=b"  "), [b" ", b"a"]) == ["", " a", ""]
    assert told(Transcript(joint=b"  "), [b" "]) == ["", " "]


def test_a_place_inside_a_character_is_no_text():
    transcript = Transcript()
    transcript.push("é".encode())
    assert transcript.before(1) is None
    assert transcript.before(2) == "é"


def test_a_stop_string_is_found_once_also_while_a_longer_one_may_follow():
    transcript = Transcript(stops=["a", "xxxxxx", "abcd"])
    found: list[list[int]] = []
    for piece in (b"a", b"b", b"c", b"d"):
        transcript.push(piece)
        found.append(list(transcript.stop_places()))
    assert found == [[0], [], [], [0]]


def test_a_fork_grows_on_its_own():
    transcript = Transcript(stops=["END"])
    transcript.push("é".encode()[:1])
    assert transcript.take() == ""
    other = transcript.fork()
    transcript.push("é".encode()[1:])
    other.push("ê".encode()[1:])
    assert (transcript.take(), other.take()) == ("é", "ê")
    assert (transcript.text, other.text) == ("é", "ê")
