"""Python types as JSON Schemas of the JSON that pydantic reads."""
