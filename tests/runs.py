"""How several processes share the tests: a file's tests go together as far as they stand together.

In the order of tests/conftest.py those of a file that are not traced stand far before the others.
Were they kept with them, as `--dist loadfile` has it, each process would change between the two
with each such file, and forget its caches each time.
"""

from typing import final

from xdist.scheduler import LoadFileScheduling


@final
class RunScheduling(LoadFileScheduling):
    """What xdist gives a process at a time is a run of tests of one file."""

    def _split_scope(self, nodeid: str) -> str:
        return self._runs[nodeid]

    def schedule(self) -> None:
        self._runs = dict[str, str]()
        before, number = "", 0
        for nodeid in next(iter(self.registered_collections.values())):
            file = nodeid.partition("::")[0]
            number += file != before
            self._runs[nodeid], before = f"{file} {number}", file
        super().schedule()
