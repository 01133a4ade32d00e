"""Ten types to extract, one for each text in `texts/`; what the texts say is in `key.json`.

Letter       nested models, a date, an optional text
Invoice      Decimal, a pattern, a list of models, Literal
Recipe       an enum, bounds, a list of models with an optional number
Weather      a dict, an enum, bounds
Job          a plain union of a model, a number and null; a list of texts with bounds
Flight       a discriminated union, a date and time, patterns
MedicalNote  an optional model, a bounded float, lists of models and of texts
Match        models within models and lists, an optional number
Review       a bounded rating, Literal, Decimal, lists of texts, a field that may be left out
Minutes      a list of discriminated unions, a time
"""

import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field


class Address(BaseModel):
    name: str
    city: str


class Letter(BaseModel):
    """A letter."""

    sender: Address
    recipient: Address
    date: datetime.date
    subject: str
    enclosed: str | None


class Line(BaseModel):
    item: str
    quantity: Annotated[int, Field(ge=1)]
    price: Decimal


class Invoice(BaseModel):
    """An invoice."""

    number: Annotated[str, Field(pattern=r"^INV-[0-9]{4}$")]
    issued: datetime.date
    lines: list[Line]
    currency: Literal["EUR", "GBP", "USD"]
    total: Decimal
    paid: bool


class Difficulty(StrEnum):
    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Ingredient(BaseModel):
    name: str
    grams: int | None


class Recipe(BaseModel):
    """A recipe."""

    title: str
    servings: Annotated[int, Field(ge=1, le=20)]
    minutes: Annotated[int, Field(gt=0)]
    difficulty: Difficulty
    ingredients: Annotated[list[Ingredient], Field(min_length=1, max_length=8)]
    vegetarian: bool


class Sky(StrEnum):
    CLEAR = "clear"
    CLOUDY = "cloudy"
    RAIN = "rain"
    SNOW = "snow"


class Weather(BaseModel):
    """A weather forecast."""

    region: str
    date: datetime.date
    sky: Sky
    highs: dict[str, int]
    rain_percent: Annotated[int, Field(ge=0, le=100)]
    warning: str | None


class Range(BaseModel):
    low: int
    high: int


class Job(BaseModel):
    """A job advertisement."""

    title: str
    company: str
    city: str
    contract: Literal["permanent", "temporary", "internship"]
    salary: Range | int | None
    skills: Annotated[list[str], Field(min_length=1, max_length=6)]
    apply_by: datetime.date


class Card(BaseModel):
    kind: Literal["card"]
    last_digits: Annotated[str, Field(pattern=r"^[0-9]{4}$")]


class Voucher(BaseModel):
    kind: Literal["voucher"]
    code: Annotated[str, Field(max_length=12)]


class Flight(BaseModel):
    """A flight booking."""

    passenger: str
    reference: Annotated[str, Field(pattern=r"^[A-Z0-9]{6}$")]
    flight: str
    origin: str
    destination: str
    departure: datetime.datetime
    payment: Annotated[Card | Voucher, Field(discriminator="kind")]
    price: Decimal


class Pressure(BaseModel):
    systolic: Annotated[int, Field(ge=50, le=260)]
    diastolic: Annotated[int, Field(ge=30, le=160)]


class Medication(BaseModel):
    name: str
    milligrams: int
    times_per_day: Annotated[int, Field(ge=1, le=8)]


class MedicalNote(BaseModel):
    """A doctor's note."""

    patient: str
    age: Annotated[int, Field(ge=0, le=120)]
    complaint: str
    temperature: Annotated[float, Field(ge=30, le=45)]
    pressure: Pressure | None
    medications: list[Medication]
    allergies: list[str]


class Team(BaseModel):
    name: str
    goals: Annotated[int, Field(ge=0)]


class Goal(BaseModel):
    player: str
    minute: Annotated[int, Field(ge=1, le=120)]


class Match(BaseModel):
    """A football match."""

    home: Team
    away: Team
    goals: Annotated[list[Goal], Field(max_length=10)]
    stadium: str
    attendance: int | None


class Review(BaseModel):
    """A product review."""

    product: str
    price: Decimal
    rating: Annotated[int, Field(ge=1, le=5)]
    sentiment: Literal["positive", "mixed", "negative"]
    pros: list[str]
    cons: list[str]
    recommended: bool = False


class Task(BaseModel):
    kind: Literal["task"]
    owner: str
    due: datetime.date | None


class Decision(BaseModel):
    kind: Literal["decision"]
    approved: bool


class Minutes(BaseModel):
    """The minutes of a meeting."""

    group: str
    date: datetime.date
    starts: datetime.time
    present: Annotated[list[str], Field(min_length=1, max_length=8)]
    items: list[Annotated[Task | Decision, Field(discriminator="kind")]]


MODELS: Final[dict[str, type[BaseModel]]] = {
    "letter": Letter,
    "invoice": Invoice,
    "recipe": Recipe,
    "weather": Weather,
    "job": Job,
    "flight": Flight,
    "medical_note": MedicalNote,
    "match": Match,
    "review": Review,
    "minutes": Minutes,
}
