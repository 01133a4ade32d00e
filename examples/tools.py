"""Let a model call functions, and answer with their results.

Run: python examples/tools.py

You will see two turns for each question. First a call that can run as it is: its name is a name of
a function, and its arguments have the types of the signature. Then an answer in words. The built-in
model is not trained for tools: it may take the wrong one, or misread its result. Larger models
choose better; the constraint is the same.
"""

from typing import Any, Literal

import guideway as gw

QUESTIONS = ["What is the weather in Oslo?", "How much is 17 + 25?"]


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather in a city."""
    return f"18 degrees {unit} in {city}, light rain"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ask(model: gw.Model, question: str) -> str:
    """The answer to a question, after one round of calls."""
    # "auto" lets a model answer at once; templates that know tools get them without a description.
    tools = gw.tools([weather, add], format="hermes", choice="required", parallel=False)
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    asked = model.generate(messages, tools, schema_in_prompt=True, max_new_tokens=60)
    messages.append(asked.message)
    for call in asked.tool_calls:
        result = call.tool(**call.arguments)
        print(f"{call.name}({call.arguments}) = {result}")
        messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})
    return model.generate(messages, max_new_tokens=40).text


def main(questions: list[str] = QUESTIONS) -> None:
    model = gw.load("smollm2-135m")
    for question in questions:
        print(question)
        print(f"{ask(model, question)}\n")


if __name__ == "__main__":
    main()
