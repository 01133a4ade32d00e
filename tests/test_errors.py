"""Errors outside of their uses: pickling, and the row of a batch."""

import pickle

import guideway as gw


def test_the_first_row_of_an_error_is_named_and_kept() -> None:
    error = gw.LimitError("too long", limit="tokens", given=3, place="/a").in_row(2).in_row(0)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.row) == ("row 2: too long (at /a)", 2)


def test_an_error_that_holds_itself_is_pickled() -> None:
    error = gw.InvalidValueError("refused")
    error.result = [error]  # as a result holds its error
    again = pickle.loads(pickle.dumps(error))
    assert again.result[0] is again


def test_an_interrupt_is_a_keyboard_interrupt_with_results() -> None:
    interrupt = gw.GenerationInterrupted([1, 2])
    assert isinstance(interrupt, KeyboardInterrupt)
    assert not isinstance(interrupt, Exception)
    assert pickle.loads(pickle.dumps(interrupt)).results == [1, 2]
