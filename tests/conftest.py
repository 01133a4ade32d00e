"""Settings of every test: nothing is fetched from a model hub, and hypothesis repeats itself.

`HYPOTHESIS_PROFILE=nightly` looks at a hundred times as many examples, new ones each time.
"""

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from fairlead.api.model import Model

# Before anything imports transformers or tokenizers, which read these once.
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
# One thread each: the tests run in as many processes as there are cores, and threads of several
# processes that wait for each other's cores made the real model ten times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline: a run under coverage on a busy machine is slow without being wrong.
settings.register_profile("ci", max_examples=100, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "nightly",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def built_in() -> "Model":
    """The built-in model, loaded once; for tests that are marked `model`."""
    from fairlead.api.load import load

    return load("smollm2-135m", device="cpu")
