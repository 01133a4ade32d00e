"""Defaults that pydantic validates (`validate_default`).

A field whose default is invalid must be in the text. Defaults of factories are not checked.
"""

from typing import Any, cast

from pydantic_core import SchemaError, SchemaValidator, ValidationError

from guideway.syntax.python_types_place import Core, Place


def is_default_taken(core: Core, at: Place) -> bool:
    """Return True if a field with this default may be left out."""
    own = core.get("validate_default")
    validated = at.config.get("validate_default") if own is None else own
    if not validated or "default" not in core:
        return True
    try:
        _validator(core, at).get_default_value()
    except ValidationError:
        return False
    except Exception:  # noqa: BLE001  of a function of the user's
        return True
    return True


def _validator(core: Core, at: Place) -> SchemaValidator:
    config: Any = dict(at.config)
    try:
        return SchemaValidator(cast("Any", core), config)
    except SchemaError:  # it refers to definitions
        whole: Any = {
            "type": "definitions",
            "schema": core,
            "definitions": [*at.definitions.values()],
        }
        return SchemaValidator(whole, config)
