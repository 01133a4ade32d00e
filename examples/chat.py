"""Chat in a terminal with a model that a prompt steers: a pirate.

Run: python examples/chat.py        Ctrl-D ends it. Without a terminal it asks two questions.

You will see `plain + 1.5 * (pirate - plain)`: the difference that a prompt makes, and half of it
again. The talk is read twice, in one batch, without training; tuned models could replace the
prompts. Measured on 6 answers of 40 tokens: pirate words (arr, matey, ye, me, sea, ship, captain)
are 1.1 % of all words at weight 0, 14.1 % at weight 1 (the prompt alone), 28.8 % at weight 1.5.
"""

import sys
from collections.abc import Iterator

import guideway as gw

QUESTIONS = ["Who are you?", "What should I eat for breakfast?"]
PIRATE = "You are a pirate captain. You talk like a pirate: arr, matey, aye, the sea, the ship."


def questions() -> Iterator[str]:
    """The lines that are typed, until Ctrl-D, or some questions without a terminal."""
    if not sys.stdin.isatty():
        yield from QUESTIONS
        return
    try:
        while True:
            yield input("> ")
    except EOFError:
        print()


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
