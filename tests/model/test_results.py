"""Ctrl-C while the built-in model generates."""

import signal

import pytest

import guideway as gw

pytestmark = pytest.mark.model


def test_ctrl_c_ends_a_loop_over_items(built_in: gw.Model):
    # A shell starts programs in the background with SIGINT ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = list[str]()

    def loop() -> None:
        for item in ("Once", "Twice"):
            built_in.generate(
                [item, "upon a time"],
                max_new_tokens=6,
                batch_size=1,
                progress=lambda done, total: signal.raise_signal(signal.SIGINT),
            )
            done.append(item)

    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            loop()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not done
    (result,) = caught.value.results
    assert len(result.tokens) == 6
