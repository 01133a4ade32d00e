"""When Python's collector waits, and that it comes again."""

import gc
import subprocess
import sys
from collections.abc import Generator

import pytest

import guideway as gw
from guideway.json_schema.text import pause, resume

# In a process of its own: whoever measures what tests cover makes objects at each call.
FIRST_MASK = """
import gc
import guideway as gw

met = set()
vocabulary = gw.Vocabulary([bytes([byte]) for byte in range(256)])
schema = {"type": "object", "properties": {f"p{n}": {"enum": [n, "a"]} for n in range(2000)}}
source = gw.JsonSchema(schema)
compile_ = gw.compile
compile_(gw.Regex("a"), vocabulary).start()  # what is imported then is
gc.collect()
gc.callbacks.append(lambda phase, info: met.add(at))
at = "compiling"
constraint = compile_(source, vocabulary)
at = "starting"
state = constraint.start()
at = "masking"
constraint.mask(state)
at = "after it"
made = [[] for _ in range(3000)]
gc.callbacks.clear()
print(met)
"""


@pytest.fixture(autouse=True)
def _collecting() -> Generator[None]:
    gc.enable()
    yield
    gc.enable()


@pytest.mark.parametrize("source", ["(a", "a&b"])
def test_it_comes_again_where_nothing_could_be_made(source: str) -> None:
    with pytest.raises(gw.GuidewayError):
        gw.compile(gw.Regex(source), gw.Vocabulary([b"a"]))
    assert gc.isenabled()


def test_who_wants_no_collector_gets_none() -> None:
    paused = pause()
    resume(pause())  # within
    assert not gc.isenabled()
    resume(paused)
    assert gc.isenabled()
    gc.disable()
    resume(pause())
    assert not gc.isenabled()


def test_no_collection_is_met_on_the_way_to_a_first_mask() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_MASK], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("{'after it'}\n", 0), done.stderr
