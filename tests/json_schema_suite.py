"""The official JSON Schema Test Suite, out of the sdist of jsonschema, fetched once into the cache.

A case is one instance of one group; its states:

    U   unsound: an invalid instance is accepted
    i   incomplete: a valid instance is not accepted
    x   refused by name when compiling
    o   valid, but its keys stand in another order than declared (with that key order only)
    .   right

Instances are spelled as `json.dumps` spells them, with their keys in the order of the suite.
Remote documents and metaschemas are passed as resources; nothing is fetched while compiling.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_specifications

from guideway.errors import GuidewayError
from guideway.json_schema.lowering import lower_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.vocabulary.cache import cache_folder
from plain_texts import matches
from real_tokenizers import made_once

VERSION: Final = "4.26.0"
SHA_256: Final = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
BASELINE: Final = Path(__file__).parent / "suites" / "json_schema_suite.txt"
REMOTE: Final = "http://localhost:1234/"
DRAFTS: Final = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
ORDERS: Final = ("any", "declared")


@dataclass(frozen=True)
class Part:
    """One file of the suite, judged with one key order."""

    file: str
    order: str

    @property
    def draft(self) -> str:
        return self.file.split("/")[0]

    def __str__(self) -> str:
        return f"{self.file} {self.order}"


def parts() -> list[Part]:
    """All files of five drafts, optional ones and formats included."""
    root = suite() / "tests"
    files = [file for draft in DRAFTS for file in sorted((root / draft).rglob("*.json"))]
    names = [file.relative_to(root).as_posix() for file in files]
    return [Part(name, order) for name in names for order in ORDERS]


def groups(part: Part) -> list[dict[str, Any]]:
    """The groups of a file: a description, a schema and its tests."""
    return json.loads((suite() / "tests" / part.file).read_bytes())


def judge(part: Part) -> str:
    """The state of each case of a file, in order, a space between groups."""
    return " ".join(_group(part, group) for group in groups(part))


def _group(part: Part, group: dict[str, Any]) -> str:
    tests = group["tests"]
    try:
        engine = Derivatives(lower_json_schema(source(part, group["schema"])))
    except GuidewayError:
        return "x" * len(tests)
    return "".join(_state(engine, test["data"], test["valid"], part.order) for test in tests)


def source(part: Part, schema: Any) -> JsonSchema:
    """A schema of a file, with the documents that it may refer to."""
    if isinstance(schema, dict):
        schema = {"$schema": DRAFTS[part.draft], **schema}
    # A schema that names no other document is not asked to read sixty of them.
    named = any(word in json.dumps(schema) for word in ("http", '"$ref": "', "$dynamicRef"))
    resources = dict(_resources(part.draft)) if named else None
    return JsonSchema(schema, key_order=part.order, resources=resources)  # type: ignore[arg-type]


def _state(engine: Derivatives, instance: Any, valid: bool, order: str) -> str:
    accepted = matches(engine, json.dumps(instance))
    if accepted == valid:
        return "."
    if accepted:
        return "U"
    return "o" if order == "declared" and holds_object(instance) else "i"


def holds_object(instance: Any) -> bool:
    """Whether the order of keys can matter."""
    if isinstance(instance, dict):
        return len(instance) > 1 or any(map(holds_object, instance.values()))
    return isinstance(instance, list) and any(map(holds_object, instance))


@cache
def _resources(draft: str) -> tuple[tuple[str, str], ...]:
    """Remote documents for a draft, and all metaschemas."""
    registry = jsonschema_specifications.REGISTRY
    found = {uri: json.dumps(registry[uri].contents) for uri in registry}
    root = suite() / "remotes"
    for file in sorted(root.rglob("*.json")):
        name = file.relative_to(root).as_posix()
        if not name.startswith("draft") or name.startswith(f"{draft}/"):
            found[REMOTE + name] = file.read_text()
    return tuple(found.items())


def baseline() -> dict[str, str]:
    """The states that were reached, by part."""
    lines = (line.split(" ", 2) for line in BASELINE.read_text().splitlines())
    return {f"{file} {order}": states for file, order, states in lines}


def write_baseline(states: dict[str, str]) -> None:
    BASELINE.write_text("".join(f"{part} {found}\n" for part, found in states.items()))


def table(states: dict[str, str]) -> str:
    """How many cases of each draft are in which state, with any key order."""
    lines = [f"{'':14}{'cases':>7}{'right':>7}{'refused':>9}{'incomplete':>12}{'unsound':>9}"]
    for draft in DRAFTS:
        found = [
            text
            for part, text in states.items()
            if part.startswith(f"{draft}/") and part.endswith(" any")
        ]
        text = "".join(found).replace(" ", "")
        counts = f"{len(text):7}{text.count('.'):7}{text.count('x'):9}"
        lines.append(f"{draft:14}{counts}{text.count('i'):12}{text.count('U'):9}")
    return "\n".join(lines)


@cache
def suite() -> Path:
    """The folder with `tests` and `remotes`."""
    return made_once(cache_folder("suites") / f"jsonschema-{VERSION}", _fetch)


def _fetch(target: Path) -> None:
    root, archive = f"jsonschema-{VERSION}/json/", f"jsonschema-{VERSION}.tar.gz"
    wanted = (f"{root}tests/", f"{root}remotes/")
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary=jsonschema", "--dest", scratch, f"jsonschema=={VERSION}"]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        found = hashlib.sha256((Path(scratch) / archive).read_bytes()).hexdigest()
        if found != SHA_256:
            raise RuntimeError(f"jsonschema {VERSION} has another sdist: SHA-256 {found}")
        with tarfile.open(Path(scratch) / archive) as package:
            for name in package.getnames():
                if not (name.startswith(wanted) and name.endswith(".json")):
                    continue
                member = package.extractfile(name)
                assert member is not None
                file = target / name.removeprefix(root)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(member.read())
