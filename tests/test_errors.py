"""Errors outside of their uses: pickling, and the row of a batch."""

import pickle

import guideway as gw


def test_an_error_is_pickled_with_its_message_and_attributes() -> None:
    error = gw.LimitError("too long", limit="tokens", given=3, needed=5, place="/a").in_row(2)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is gw.LimitError
    assert str(again) == str(error) == "row 2: too long (at /a)"
    assert (again.limit, again.given, again.needed, again.row) == ("tokens", 3, 5, 2)


def test_an_error_that_holds_itself_is_pickled() -> None:
    error = gw.InvalidValueError("refused")
    error.result = [error]  # as a result holds its error
    again = pickle.loads(pickle.dumps(error))
    assert again.result[0] is again


def test_the_first_row_named_is_kept() -> None:
    error = gw.GuidewayError("wrong").in_row(1).in_row(0)
    assert (str(error), error.row) == ("row 1: wrong", 1)


def test_an_interrupt_is_a_keyboard_interrupt_with_results() -> None:
    interrupt = gw.GenerationInterrupted([1, 2])
    assert isinstance(interrupt, KeyboardInterrupt)
    assert not isinstance(interrupt, Exception)
    assert pickle.loads(pickle.dumps(interrupt)).results == [1, 2]
