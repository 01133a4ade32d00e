"""What a late part needs is told only where all in it is what it can be."""

from guideway.json_schema.satisfiability.assertions import needs_of_late


def test_patterns_that_are_no_object_are_left_to_who_reads_all():
    later = {"patternProperties": 1}
    assert needs_of_late(later, set(later), set) is None
