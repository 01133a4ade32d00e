"""JSON Schema: documents, boolean formulas, objects, arrays, numbers, strings, spelling."""
