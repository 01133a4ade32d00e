"""The schemas that benchmark `masks` measures, each with texts that it allows.

Fifteen small ones, written for this purpose, after what programs ask models for: records, calls of
tools, trees, choices, formats, bounds. `test_masks.py` checks that each text is allowed.
"""

from typing import Any, Final

Case = tuple[str, dict[str, Any], list[Any]]


def _record(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


TEXT: Final = {"type": "string"}
COUNT: Final = {"type": "integer", "minimum": 0}
DAY: Final = {"type": "string", "format": "date"}

LINE: Final = _record(["sku", "count"], sku=TEXT, count=COUNT, price={"type": "number"})
NODES: Final = {"type": "array", "items": {"$ref": "#/$defs/node"}}
NODE: Final = _record(["label"], label=TEXT, children=NODES)
PAIR: Final = {
    "type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False,
    "minItems": 2,
}  # fmt: skip
TITLE: Final = {"type": "string", "minLength": 3, "maxLength": 60}
TAGS: Final = {"type": "array", "items": TEXT, "uniqueItems": True, "maxItems": 5}
ROW: Final = {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 3}

CASES: Final[list[Case]] = [
    (
        "person",
        _record(["name", "age"], name=TEXT, age=COUNT, email={"type": "string", "format": "email"}),
        [{"name": "Maria Lopez", "age": 34},
         {"name": "Øyvind Bø", "age": 7, "email": "o.bo@example.org"}],
    ),
    (
        "order",
        _record(["id", "lines"], id={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"},
                lines={"type": "array", "minItems": 1, "items": LINE}, paid={"type": "boolean"}),
        [{"id": "NO-204817", "paid": True,
          "lines": [{"sku": "lamp, brass", "count": 2, "price": 49.9},
                    {"sku": "bulb E27", "count": 12}]}],
    ),
    (
        "tool call",
        {"oneOf": [
            _record(["tool", "query"], tool={"const": "search"}, query=TEXT, limit=COUNT),
            _record(["tool", "path", "text"], tool={"const": "write"}, path=TEXT, text=TEXT),
        ]},
        [{"tool": "search", "query": "tide tables for Bergen", "limit": 5},
         {"tool": "write", "path": "notes/tides.md", "text": "# Tides\n\n- high: 06:12\n"}],
    ),
    (
        "tree",
        {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
        [{"label": "root",
          "children": [{"label": "left", "children": [{"label": "leaf"}]},
                       {"label": "right", "children": []}]}],
    ),
    (
        "label",
        {"enum": ["positive", "negative", "neutral", "mixed", "not applicable", None]},
        ["neutral", "not applicable", None],
    ),
    (
        "open object",
        {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
        [{"width": 3.5, "colour": "dark green", "weight": -1e-3, "note": "«fragile»"}],
    ),
    ("anything", {}, [{"a": [1, 2, {"b": None}], "c": 'd\\e"f', "g": [[], {}, False]}]),
    (
        "event",
        _record(["day", "at", "title"], day=DAY, at={"type": "string", "format": "time"},
                title=TITLE, tags=TAGS),
        [{"day": "2024-02-29", "at": "19:30:00Z", "title": "Leap day concert",
          "tags": ["music", "free entry"]}],
    ),
    (
        "abstract",
        _record(["summary"], summary={"type": "string", "minLength": 40, "maxLength": 400}),
        [{"summary": "Tides are caused by the pull of the moon and the sun; where the coast "
          "is shallow they run far up the beach, and sailors plan for them."}],
    ),
    (
        "measurement",
        _record(["value", "unit"], value={"type": "number", "minimum": -273.15, "maximum": 1000},
                unit={"enum": ["°C", "K"]},
                error={"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.25}),
        [{"value": -40.5, "unit": "°C", "error": 0.75}, {"value": 310, "unit": "K"}],
    ),
    (
        "settings",
        {"type": "object", "properties": {"mode": {"enum": ["fast", "exact"]}},
         "patternProperties": {"^limit_[a-z]+$": COUNT}, "required": ["mode"],
         "additionalProperties": False},
        [{"mode": "exact", "limit_tokens": 4096, "limit_seconds": 30}],
    ),
    (
        "shape",
        {"type": "object", "properties": {"kind": {"enum": ["circle", "box"]}},
         "required": ["kind"],
         "if": {"properties": {"kind": {"const": "circle"}}},
         "then": {"properties": {"radius": {"type": "number", "exclusiveMinimum": 0}},
                  "required": ["radius"]},
         "else": {"properties": {"sides": PAIR}, "required": ["sides"]}},
        [{"kind": "circle", "radius": 2.5}, {"kind": "box", "sides": [3, 4.25]}],
    ),
    (
        "matrix",
        {"type": "array", "items": ROW, "maxItems": 8},
        [[[1, 0, -7], [25, 1024, 3], [0, 0, 1]]],
    ),
    (
        "translations",
        {"type": "object", "propertyNames": {"pattern": "^[a-z]{2}(-[A-Z]{2})?$"},
         "additionalProperties": TEXT, "minProperties": 2},
        [{"en": "ebb and flow", "nb": "flo og fjære", "pt-BR": "fluxo e refluxo",
          "ja": "潮の満ち引き"}],
    ),
    (
        "server",
        _record(["host", "port"],
                host={"anyOf": [{"format": "ipv4"}, {"format": "hostname"}], "type": "string"},
                port={"type": "integer", "minimum": 1, "maximum": 65535},
                id={"type": "string", "format": "uuid"}),
        [{"host": "192.0.2.17", "port": 8443, "id": "0b5ac9d2-7c1e-4f64-9d3f-3a2a9a6f0c11"},
         {"host": "tides.example.org", "port": 80}],
    ),
]  # fmt: skip
