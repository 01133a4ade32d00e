"""A ratchet on the official JSON Schema Test Suite: no case gets worse, none is unsound.

All files of five drafts are judged, optional ones included, with both key orders: half a minute.
The states reached are in json_schema_suite.txt; GUIDEWAY_REBASE=1 writes down those of this run.
"""

import os

from json_schema_suite import BASELINE, baseline, judge, parts, table, write_baseline

# Both are optional in the suite. Draft 7 lets a validator leave contentEncoding and
# contentMediaType alone. The other is a JSON pointer across resources into a dynamic scope,
# which the specification leaves open (2020-12 core, 9.2.1).
UNSOUND = ("draft7/optional/content.json", "draft2020-12/optional/dynamicRef.json")


def test_the_suite_is_judged_as_its_baseline_says():
    found = {str(part): judge(part) for part in parts()}
    if os.environ.get("GUIDEWAY_REBASE"):
        write_baseline(found)
    before = baseline()
    changed = {
        part: (before.get(part), states)
        for part, states in found.items()
        if states != before.get(part)
    }
    assert not changed, (
        f"differs from {BASELINE.name}; GUIDEWAY_REBASE=1 writes it anew\n{table(found)}"
    )
    assert found.keys() == before.keys()


def test_no_case_of_the_baseline_is_unsound():
    unsound = [part for part, states in baseline().items() if "U" in states]
    assert [part for part in unsound if not part.startswith(UNSOUND)] == []
