"""Settings of every test: nothing is fetched from a model hub, and hypothesis repeats itself.

`HYPOTHESIS_PROFILE=nightly` looks at two hundred times as many examples, new ones each time.
`COVERAGE=all` traces every test, where CI traces only those that the coverage gate needs;
`SHAPES=all` checks the shapes of every call.
"""

import functools
import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

import shape_checks

if TYPE_CHECKING:
    from guideway.api.model import Model
    from runs import RunScheduling

# Before anything imports transformers or tokenizers, which read these once.
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
# One thread each: the tests run in as many processes as there are cores, and threads of several
# processes that wait for each other's cores made the real model ten times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Before anything of guideway is imported.
shape_checks.install()

# Garbage is looked for seldom, as there is little: that took a sixth of the time of tests.
gc.set_threshold(50_000, 20, 20)

# No deadline: a run under coverage on a busy machine is slow without being wrong.
settings.register_profile("ci", max_examples=50, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "nightly",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# What proves that every branch from text to constraint is tested: the tests of those stages.
# Tracing makes a test two to five times as slow, so all others go without; so do tests of these
# stages that are marked `untraced`, and whatever is set up for either.
HERE: Final = Path(__file__).parent
CACHED: Final = type(functools.cache(len))
STAGES: Final = (
    "language", "sources", "regex", "json_schema", "context_free", "python_types", "chat",
    "vocabulary", "automaton", "constraint",
)  # fmt: skip
TRACED: Final = (*STAGES, "laws/test_constraint.py", "test_wrong_inputs.py")


@functools.cache
def is_below(path: Path, names: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(HERE / name) for name in names)


def is_traced(item: pytest.Item) -> bool:
    if os.environ.get("COVERAGE") == "all":
        return True
    return is_below(item.path, TRACED) and not item.get_closest_marker("untraced")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    shape_checks.begin_test()
    if Coverage.current() is None:
        return (yield)
    if is_traced(item):
        if item.config.stash.get(FULL, False):
            forget_answers()
        item.config.stash[FULL] = False
        return (yield)
    item.config.stash[FULL] = True
    stopped = list[Coverage]()
    while (measured := Coverage.current()) is not None:
        measured.stop()
        stopped.append(measured)
    try:
        return (yield)
    finally:
        for measured in reversed(stopped):
            measured.start()


FULL: Final = pytest.StashKey[bool]()  # whether tests that are not traced have filled caches


def forget_answers() -> None:
    """What tests that are not traced have left in caches, a traced one would not run for."""
    caches = sys.modules.get("guideway.constraint.caches")
    if caches is not None:
        caches.clear_cache()
    for name, module in list(sys.modules.items()):
        if name.startswith("guideway."):
            for value in list(vars(module).values()):
                if isinstance(value, CACHED):
                    value.cache_clear()


# Files of few tests that take long begin first: at the end one process would wait for the other.
LONG: Final = (
    "examples", "model", "test_hostile.py", "suites", "models", "search",
    "generation/test_marking.py", "cli", "api/test_watermark.py", "integrations",
)  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Otherwise the order stays, which pytest-randomly has made.

    Tests that are traced come last, so that caches are seldom emptied for them.
    """
    items.sort(key=lambda item: (not is_below(item.path, LONG), is_traced(item)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "RunScheduling | None":
    from runs import RunScheduling

    return RunScheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """What is there before the first test stays: garbage is not looked for among it each time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # so that libraries find nothing left behind when the process ends


@pytest.fixture(scope="session")
def built_in() -> "Model":
    """The built-in model, loaded once; for tests that are marked `model`."""
    from guideway.api.load import load

    return load("smollm2-135m", device="cpu")
