"""A table of what was made: it holds so many, and begins anew when it is full."""

from guideway.json_schema.objects import Recalled


def test_what_was_kept_is_found_until_the_table_is_full() -> None:
    table = Recalled[int, str](2)
    assert [table.keep(number, str(number)) for number in (1, 2)] == ["1", "2"]
    assert [table.get(number) for number in (1, 2, 3)] == ["1", "2", None]
    assert table.keep(3, "3") == "3"
    assert [table.get(number) for number in (1, 2, 3)] == [None, None, "3"]
