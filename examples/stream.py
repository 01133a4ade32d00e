"""Show an object while it is generated.

Run: python examples/stream.py

You will see the same list again and again, each time with a little more in it: the part of the
value that the unfinished text has already.
"""

from pydantic import BaseModel, Field

import guideway as gw


class Item(BaseModel):
    """Something to buy."""

    name: str = Field(max_length=20)
    pieces: int = Field(ge=1, le=99)


class ShoppingList(BaseModel):
    """What to buy."""

    items: list[Item] = Field(min_length=2, max_length=3)


def main() -> None:
    model = gw.load("smollm2-135m")
    question = [{"role": "user", "content": "Write a shopping list for a breakfast, as JSON."}]
    seen = None
    for part in model.stream(question, ShoppingList, max_new_tokens=150):
        if part.value != seen:
            print(part.value)
            seen = part.value


if __name__ == "__main__":
    main()
