"""See that a result never hides a cut, a refused value or an interrupt.

Run: python examples/results.py

You will see a text that a small budget changed, a value that a validator refuses, and a loop that
ends at Ctrl-C.
"""

import signal

from pydantic import BaseModel, field_validator

import guideway as gw

TEXT = "Who is it? Maria Lopez, 34 years old, is a doctor in Valencia.\n"


class Person(BaseModel):
    name: str
    age: int


class Checked(Person):
    @field_validator("age")
    @classmethod
    def check(cls, age: int) -> int:
        if str(age) not in TEXT:
            raise ValueError("the text has another age")
        return age


def press_ctrl_c(done: int, total: int) -> None:
    print(f"{done} of {total} done, and Ctrl-C")
    signal.raise_signal(signal.SIGINT)


def main() -> None:
    # A shell starts background programs with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = gw.load("smollm2-135m")
    compact = gw.source(Person, whitespace="compact")
    for most in (13, 40):
        result = model.generate(TEXT, compact, max_new_tokens=most)
        print(f"{result.value!r} {result.finish_reason}, shortened={result.shortened}")
    try:
        model.generate(TEXT, gw.source(Checked, whitespace="compact"))
    except gw.InvalidValueError as error:
        print(f"{error.result.text} was refused: {error}")
    try:
        for number in range(3):
            print(f"item {number}")
            prompts = [TEXT, "Once upon a time"]
            model.generate(prompts, max_new_tokens=5, batch_size=1, progress=press_ctrl_c)
    except gw.GenerationInterrupted as interrupt:
        print(f"the loop has ended, with {interrupt.results}")


if __name__ == "__main__":
    main()
