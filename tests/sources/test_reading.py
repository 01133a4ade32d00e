"""Places in texts: lines and columns count from 1, offsets from 0."""

from hypothesis import given
from hypothesis import strategies as st

from guideway.sources.reading import Cursor, describe_place


@given(st.text("ab\n", max_size=12), st.data())
def test_the_line_and_column_lead_back_to_the_offset(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text)))
    line, column = (int(part.split()[-1]) for part in describe_place(text, position).split(","))
    lines = text.split("\n")
    assert sum(len(before) + 1 for before in lines[: line - 1]) + column - 1 == position


def test_a_cursor_stops_at_the_end() -> None:
    cursor = Cursor("a")
    assert (cursor.take(), cursor.take(), cursor.peek(), cursor.position) == ("a", "", "", 1)
    assert not cursor.match("a")
