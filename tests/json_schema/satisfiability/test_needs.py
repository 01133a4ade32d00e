"""What a part needs to have an instance is told where its keywords alone tell it."""

from decimal import Decimal
from typing import Any

import pytest

from guideway.json_schema.satisfiability.assertions import needs

TEXT = {"type": "string"}


@pytest.mark.parametrize(("part", "needed"), [
    ({}, []),
    ({"minLength": 3, "maxLength": 2}, []),
    ({"type": ["string", "integer"]}, []),
    ({"type": ["string", "integer"], "minLength": 3, "maxLength": 2}, []),
    ({"type": ["string"], "minLength": 3, "maxLength": 2}, None),
    ({"type": ["string", "array"], "minLength": 3, "maxLength": 2, "items": TEXT}, []),
    ({"type": ["string", "array"], "pattern": r"\p{Lu}", "items": TEXT, "minItems": 1}, [TEXT]),
    ({"type": ["object", "null"], "required": ["a"], "properties": {"a": False}}, []),
    ({"type": ["object", "array"], "required": ["a"], "properties": {"a": TEXT}}, []),
    ({"type": ["object"], "required": ["a"], "properties": {"a": TEXT}}, [TEXT]),
    ({"enum": [[1]]}, []),
    ({"enum": ["a"], "type": "string"}, []),
    ({"enum": ["a"], "type": "integer"}, None),
    ({"enum": ["a", None], "type": ["integer", "null"]}, []),
    ({"enum": [True], "type": "integer"}, None),
    ({"const": True, "type": "boolean"}, []),
    ({"const": 1, "type": ["number"]}, []),
    ({"const": [1], "type": "array"}, None),
    ({"const": "a", "type": "string", "minLength": 1}, None),
    ({"const": "a", "minLength": 2}, None),
    ({"const": 1, "maxLength": 2}, None),
    ({"type": "number", "minimum": Decimal("0.5"), "exclusiveMaximum": 1}, []),
    ({"type": "number", "minimum": 1, "exclusiveMaximum": 1}, None),
    ({"type": "number", "minimum": 1, "maximum": 1}, []),
    ({"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 2}, None),
    ({"type": "number", "minimum": 1, "maximum": 2, "multipleOf": 5}, None),
    ({"type": "integer", "minimum": Decimal("0.5"), "maximum": Decimal("0.7")}, None),
])  # fmt: skip
def test_parts_are_needed_where_keywords_tell_which(part: Any, needed: Any) -> None:
    assert needs(part, set(part)) == needed
