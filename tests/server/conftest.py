"""One running server for all tests that need a process of its own."""

from collections.abc import Iterator

import pytest

from server.running import Running, running, small_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_folder(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="session")
def server(folder: str) -> Iterator[Running]:
    with running(folder) as found:
        yield found
        log = found.stop()
        assert "Traceback" not in log, log
