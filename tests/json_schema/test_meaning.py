"""What schemas say, read in the order of what they lean on."""

from json_schemas import machine, verdict
from plain_texts import matches


def test_a_schema_that_two_others_lean_on_is_read_once_and_holds_for_both():
    schema = {
        "$defs": {"low": {"minimum": 1}},
        "$ref": "#/$defs/low",
        "allOf": [{"$ref": "#/$defs/low", "maximum": 5}],
    }
    engine = machine(schema)
    for value in (0, 1, 5, 6):
        assert matches(engine, str(value)) == verdict(schema, value) == (1 <= value <= 5)
