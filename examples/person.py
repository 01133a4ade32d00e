"""Extract an object from a text.

Run: python examples/person.py
The same from the shell: guideway extract examples/person.txt --schema examples/person.py:Person

You will see a Person with all its fields, and each value has its type, whatever the model.
"""

from pathlib import Path

from pydantic import BaseModel, Field

import guideway as gw


class Person(BaseModel):
    """Somebody in a text."""

    name: str
    age: int = Field(ge=0, le=130)
    profession: str
    city: str


def main() -> None:
    text = (Path(__file__).parent / "person.txt").read_text(encoding="utf-8")
    model = gw.load("smollm2-135m")
    question = f"Extract the person from this text as JSON.\n\nText: {text}"
    result = model.generate(
        [{"role": "user", "content": question}], Person, max_new_tokens=200, schema_in_prompt=True
    )
    print(repr(result.value))
    print(f"{len(result.tokens)} tokens, {result.stats.tokens_per_second:.0f} per second")


if __name__ == "__main__":
    main()
