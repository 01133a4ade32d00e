"""Let a model call functions.

Run: python examples/tools.py

You will see calls that can run as they are: each name is a name of a function, and the arguments
have the types of its signature. The built-in model is not trained for tools: for six questions,
three of them about the weather in a city, it calls `weather` each time (greedily), with the right
city where there is one. Larger models choose better; the constraint is the same.
"""

from typing import Literal

import guideway as gw

QUESTIONS = ["What is the weather in Oslo?", "How much is 17 + 25?"]


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather in a city."""
    return f"18 degrees {unit} in {city}"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main(questions: list[str] = QUESTIONS) -> None:
    model = gw.load("smollm2-135m")
    # "auto" lets the model answer in text as well; templates that know tools are given them.
    tools = gw.tools([weather, add], format="hermes", choice="required", parallel=False)
    for question in questions:
        talk = [{"role": "user", "content": question}]
        result = model.generate(talk, tools, schema_in_prompt=True, max_new_tokens=60)
        for call in result.tool_calls:
            print(f"{question} {call.name}({call.arguments}) = {call.tool(**call.arguments)}")


if __name__ == "__main__":
    main()
