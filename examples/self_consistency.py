"""Self-consistency: JSON extraction by a small model that is asked several times, and outvoted.

You will see how many bookings are read without a mistake, and how many of their fields: greedily,
from one draw, from the likeliest of several draws (best_by="logprob"), and from the value that most
draws agree on (best_by="majority", Wang et al. 2022). Every answer is a valid booking: the type
holds each draw, and votes are counted of what it means, not of how it is written.
"""

import random
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

import fairlead as fl

NAMES = ("Maria Lopez", "John Smith", "Aisha Khan", "Peter Novak", "Chen Wei", "Anna Rossi")
CITIES = ("Lisbon", "Prague", "Boston", "Vienna", "Oslo", "Kyoto")
TEXTS = (
    "{name} from {city} is {age} years old and stays {nights} nights in room {room}.",
    "Room {room}, {nights} nights, for {name} ({age}), who comes from {city}.",
    "After {nights} nights in room {room}, {name}, {age}, went home to {city}.",
    "{name} of {city}, aged {age}, booked room {room} for {nights} nights.",
)


class Booking(BaseModel):
    name: Annotated[str, Field(max_length=24)]
    age: Annotated[int, Field(ge=0, le=120)]
    city: Annotated[str, Field(max_length=24)]
    nights: Annotated[int, Field(ge=1, le=30)]


def tasks(count: int) -> tuple[list[str], list[Booking]]:
    """Texts, and what they say."""
    chance = random.Random(0)
    prompts, wanted = list[str](), list[Booking]()
    for number in range(count):
        name, city = chance.choice(NAMES), chance.choice(CITIES)
        booking = Booking(
            name=name, age=chance.randint(20, 80), city=city, nights=chance.randint(2, 14)
        )
        text = TEXTS[number % len(TEXTS)]
        prompts.append(text.format(**booking.model_dump(), room=chance.randint(101, 420)))
        wanted.append(booking)
    return prompts, wanted


def right(results: Sequence[fl.Result], wanted: Sequence[Booking]) -> str:
    """The share of bookings, and of their fields, that are what the text says."""
    pairs = [
        (found.value.model_dump(), booking.model_dump())
        for found, booking in zip(results, wanted, strict=True)
    ]
    whole = sum(found == booking for found, booking in pairs) / len(pairs)
    fields = [found[key] == booking[key] for found, booking in pairs for key in booking]
    return f"{whole:4.0%} of bookings, {sum(fields) / len(fields):4.0%} of fields"


def main(count: int = 24, draws: int = 8, seed: int = 0) -> None:
    model = fl.load("smollm2-135m")
    texts, wanted = tasks(count)
    prompts = [
        [{"role": "user", "content": f"Extract the booking from this text.\n\n{text}"}]
        for text in texts
    ]

    def ask(**settings: Any) -> list[fl.Result]:
        return model.generate(
            prompts, Booking, schema_in_prompt=True, max_new_tokens=80, **settings
        )

    drawn = {"temperature": 0.7, "seed": seed}
    print(f"greedy            {right(ask(), wanted)}")
    print(f"one draw          {right(ask(**drawn), wanted)}")
    likeliest = ask(best_of=draws, best_by="logprob", **drawn)
    print(f"likeliest of {draws:2}   {right(likeliest, wanted)}")
    agreed = ask(best_of=draws, best_by="majority", **drawn)
    print(f"majority of {draws:2}    {right(agreed, wanted)}")
    print(f"{agreed[0].score:.0%} of the draws read {agreed[0].value!r}")


if __name__ == "__main__":
    main()
