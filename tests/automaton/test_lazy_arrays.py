"""Memory that is not touched yet, and belongs to one process."""

import os
import sys

import numpy as np
import pytest

from guideway.automaton.token_tries import untouched


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked there")
def test_what_a_forked_process_writes_is_its_own():
    numbers = untouched(4, np.int32)
    numbers[0] = 1
    child = os.fork()
    if not child:
        numbers[:] = 7
        os._exit(int(numbers[0]))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert numbers.tolist() == [1, 0, 0, 0]
