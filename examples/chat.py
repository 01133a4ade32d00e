"""A chatbot in a terminal, tuned by proxy: what a prompt adds to the model, and half as much again.

You will see a pirate. `plain + 1.5 * (pirate - plain)` reads the talk twice, in one batch, and
needs no training; tuned models go in the place of prompts. Without a terminal, two questions are
asked. Measured on 6 answers of 40 tokens each, for the weights 0, 1 (the prompt alone) and 1.5: a
pirate's words (arr, matey, ye, me, sea, ship, captain, …) are 1.1, 14.1 and 28.8 % of all words.
"""

import sys
from collections.abc import Iterator

import guideway as gw

QUESTIONS = ["Who are you?", "What should I eat for breakfast?"]
PIRATE = "You are a pirate captain. You talk like a pirate: arr, matey, aye, the sea, the ship."


def questions() -> Iterator[str]:
    """What is typed, line by line, or some questions."""
    if not sys.stdin.isatty():
        yield from QUESTIONS
        return
    while line := input("> "):
        yield line


def main() -> None:
    model = gw.load("smollm2-135m")
    plain = model.prompted("You are a helpful assistant.")
    bot = gw.proxy_tune(plain, model.prompted(PIRATE), plain, alpha=1.5)
    print(bot, end="\n\n")
    talk = list[dict[str, str]]()
    for number, question in enumerate(questions()):
        print("you:", question)
        talk.append({"role": "user", "content": question})
        settings = gw.Sampling(temperature=0.7, top_p=0.9, seed=number, max_new_tokens=40)
        print("bot: ", end="")
        answer = ""
        for part in bot.stream(talk[-6:], sampling=settings):
            print(part.delta, end="", flush=True)
            answer = part.text
        print()
        talk.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    main()
