"""Verdicts, masks and latency of this tree on the frozen corpora, and how two trees differ.

    PYTHONPATH=src python tests/corpora.py write OUT.jsonl [--maskbench FILE.jsonl.gz]
    python tests/corpora.py compare BEFORE.jsonl AFTER.jsonl

`write` compiles each item of `corpora_items` for the vocabulary of Llama 3, walks its texts token
by token, and writes one JSON object a line. The first line describes the run, each other an item:

    kind, name   the item
    states       a letter for compiling, then one for each text if that worked: see STATES
    error        the error of a refusal, if there was one
    masks        CRC-32 of the mask at each place of one walk, 8 digits each: along the first text
                 that is accepted, else along 30 tokens that the masks themselves choose
    first        µs for compiling and the first mask
    steps        µs for each mask and transition, along all texts

Two processes share the items. One that uses too much time or memory for an item ends, and a new one
goes on behind that item. A file that the same commit has begun is continued. `compare` lists
differences by kind and exits with 1 if verdicts or masks differ; of latency it only reports ratios.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from tokenizers import Tokenizer

import guideway as gw
from corpora_items import Item, items
from real_tokenizers import real_vocabulary, tokenizer_folder

Line: TypeAlias = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parent.parent
TOKENIZER: Final = "llama3"
MEMORY: Final = 6 << 30  # bytes that a process may have
FORK: Final = multiprocessing.get_context("fork")  # each child is as warm as its parent
STATES: Final = {
    ".": "right", "U": "invalid accepted", "i": "valid rejected", "x": "refused when compiling",
    "l": "refused while decoding", "!": "foreign exception", "?": "process ended (time, memory)",
    " ": "no such text",
}  # fmt: skip
NAMED: Final = 12  # items of one kind of difference that are listed by name


def write(out: Path, found: Sequence[Item], options: argparse.Namespace) -> None:
    """Judge items and write a line for each as soon as it is known; go on with a file begun."""
    if not Path(gw.__file__).is_relative_to(ROOT):
        sys.exit(f"guideway is {gw.__file__}: set PYTHONPATH={ROOT / 'src'}")
    gw.warmup()
    real_vocabulary(TOKENIZER)
    tokenizer()
    run, done = run_of(options.note), dict[str, Line]()
    if out.exists():
        before, done = read(out)
        if before != run:
            sys.exit(f"{out} is of another run: {before}")
    found = [item for item in found if f"{item.kind} {item.name}" not in done]
    with out.open("a", buffering=1, encoding="utf-8") as file:
        if not done:
            file.write(json.dumps(run) + "\n")
        for number, line in enumerate(judge_all(found, options.processes, options.limit), 1):
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            if number % 500 == 0 or number == len(found):
                sys.stderr.write(f"{number} of {len(found)} items\n")


def run_of(note: str) -> Line:
    """What a run says of itself."""
    described = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    done = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=True)
    return {
        "commit": done.stdout.strip(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "note": note,
    }


def judge_all(found: Sequence[Item], processes: int, limit: int) -> Iterator[Line]:
    """Judge items in some processes, each with its own share, in the order of their ends."""
    running = dict[Connection, tuple[Any, Sequence[Item]]]()

    def begin(share: Sequence[Item]) -> None:
        here, there = multiprocessing.Pipe(duplex=False)
        process = FORK.Process(target=work, args=(share, there, limit))
        process.start()
        there.close()
        running[here] = process, share

    for number in range(processes):
        begin(found[number::processes])
    while running:
        ready: list[Any] = wait(list(running))
        for pipe in ready:
            process, share = running.pop(pipe)
            try:
                line = pipe.recv()
            except EOFError:
                process.join()
                if share:
                    yield ended(share[0], process.exitcode)
                    begin(share[1:])
            else:
                yield line
                running[pipe] = process, share[1:]


def ended(item: Item, status: int) -> Line:
    """The line of an item at which a process ended."""
    why = "used up its time" if status == -signal.SIGPROF else f"ended with status {status}"
    return {"kind": item.kind, "name": item.name, "states": "?", "error": f"the process {why}"}


def work(share: Sequence[Item], pipe: Connection, limit: int) -> None:
    """Judge items one after the other; SIGPROF ends the process, compiled code or not."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    for item in share:
        signal.setitimer(signal.ITIMER_PROF, limit)
        pipe.send({"kind": item.kind, "name": item.name, **judged(item)})


def judged(item: Item) -> Line:
    """The verdicts, masks and times of an item."""
    try:
        source, texts = item.make()
        began = time.perf_counter()
        constraint = gw.compile(source, real_vocabulary(TOKENIZER))
        constraint.mask(constraint.start())
    except Exception as error:  # noqa: BLE001  a foreign one is a finding
        state = "x" if isinstance(error, gw.GuidewayError) else "!"
        return {"states": state, "error": shown(error)}
    line: Line = {"states": ".", "first": since(began), "steps": list[float]()}
    walk: list[int] | None = None
    for text, valid in texts:
        ids = tokenizer().encode(text, add_special_tokens=False).ids
        try:
            accepted = accepts(constraint, ids, line["steps"])
        except Exception as error:  # noqa: BLE001
            line["states"] += "l" if isinstance(error, gw.GuidewayError) else "!"
            line["error"] = shown(error)
            continue
        line["states"] += "." if accepted == valid else "U" if accepted else "i"
        walk = ids if accepted and walk is None else walk
    try:
        line["masks"] = masks(constraint, walk)
    except gw.GuidewayError as error:
        line["masks"] = shown(error)
    return line


def shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def since(began: float) -> float:
    """Microseconds."""
    return round((time.perf_counter() - began) * 1e6, 1)


def accepts(constraint: Any, ids: Sequence[int], steps: list[float]) -> bool:
    """Whether a constraint allows each token and then the end; times go to `steps`."""
    state = constraint.start()
    for token in ids:
        began = time.perf_counter()
        allowed = int(constraint.mask(state)[token // 32]) >> token % 32 & 1
        if allowed:
            state = constraint.advance(state, token)
        steps.append(since(began))
        if not allowed:
            return False
    return constraint.accepts(state)


def masks(constraint: Any, walk: Sequence[int] | None) -> str:
    """The CRC-32 of the mask at each place of a walk, the last included."""
    state, found = constraint.start(), list[str]()
    for place in range(30 if walk is None else len(walk)):
        mask = constraint.mask(state)
        found.append(f"{zlib.crc32(mask):08x}")
        if walk is None:
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            token = int(allowed[zlib.crc32(b"%d" % place) % len(allowed)])
        else:
            token = walk[place]
        state = constraint.advance(state, token)
    return "".join([*found, f"{zlib.crc32(constraint.mask(state)):08x}"])


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(tokenizer_folder(TOKENIZER) / "tokenizer.json"))


def read(file: Path) -> tuple[Line, dict[str, Line]]:
    """What the run says of itself, and its lines by kind and name."""
    with file.open(encoding="utf-8") as lines:
        run, *found = map(json.loads, lines)
    return run, {f"{line['kind']} {line['name']}": line for line in found}


def compare(before: dict[str, Line], after: dict[str, Line]) -> list[str]:
    """The differences of verdicts and masks, and foreign exceptions, a paragraph for each kind."""
    found = defaultdict[str, list[str]](list)
    for name in before.keys() - after.keys():
        found["only before"].append(name)
    for name in after.keys() - before.keys():
        found["only after"].append(name)
    for name, line in after.items():
        if "!" in line["states"]:
            found["foreign exceptions"].append(f"{name}: {line['error']}")
    for name in sorted(before.keys() & after.keys()):
        for what, where in differences(before[name], after[name]):
            found[what].append(f"{name}{where}")
    return [paragraph(what, sorted(names)) for what, names in sorted(found.items())]


def differences(then: Line, now: Line) -> Iterator[tuple[str, str]]:
    """What differs between two lines of an item, and where."""
    if then["states"] != now["states"]:
        length = max(len(then["states"]), len(now["states"]))
        for change in sorted(set(zip(padded(then, length), padded(now, length), strict=True))):
            if change[0] != change[1]:
                what = " → ".join(STATES[state] for state in change)
                yield what, f": {now['error']}" if change[1] in "xl!?" else ""
    elif then.get("masks") != now.get("masks"):
        old, new = then["masks"], now["masks"]
        places = range(0, max(len(old), len(new)), 8)
        first = next(n for n in places if old[n : n + 8] != new[n : n + 8]) // 8
        yield "other masks", f" (from token {first})"


def padded(line: Line, length: int) -> str:
    """The states of compiling and all texts; where compiling failed, its state for each text."""
    states = line["states"]
    return states * length if len(states) == 1 else states.ljust(length)


def paragraph(what: str, names: Sequence[str]) -> str:
    more = [f"... and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return "\n    ".join([f"{what}: {len(names)} items", *names[:NAMED], *more])


def totals(lines: dict[str, Line]) -> list[str]:
    """How many items and texts of each kind are in which state; a refusal counts once."""
    counts = defaultdict[str, Counter[str]](Counter)
    for line in lines.values():
        counts[line["kind"]].update(["items", *(line["states"][1:] or line["states"])])
    return [
        f"{kind:18}"
        + ", ".join(f"{number} {STATES.get(state, state)}" for state, number in count.most_common())
        for kind, count in sorted(counts.items())
    ]


def latency(before: dict[str, Line], after: dict[str, Line]) -> list[str]:
    """Times of the items that both have, and the items that became slower."""
    both = [(before[name], after[name]) for name in before.keys() & after.keys()]
    both = [(then, now) for then, now in both if "first" in then and "first" in now]
    found = [f"{'µs':24}{'before':>12}{'after':>12}{'ratio':>8}"]
    for kind in sorted({then["kind"] for then, _ in both}):
        for what in ("first", "steps"):
            of_kind = [pair for pair in both if pair[0]["kind"] == kind]
            then, now = (
                figures([t for line in side for t in np.atleast_1d(line[what])])
                for side in zip(*of_kind, strict=True)
            )
            found.append(f"{kind}, {what}")
            found += [
                f"    {name:20}{then[name]:12.1f}{now[name]:12.1f}{now[name] / then[name]:8.2f}"
                for name in then
                if name in now
            ]
    return found + slower(both)


def figures(times: list[float]) -> dict[str, float]:
    """Mean, percentiles and maximum."""
    if not times:
        return {}
    times = sorted(times)
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    found = {name: times[int(share * (len(times) - 1))] for name, share in shares.items()}
    return {"mean": statistics.fmean(times), **found, "max": times[-1]}


def slower(both: Sequence[tuple[Line, Line]]) -> list[str]:
    """Items whose first or longest step takes 10 ms longer and twice as long."""
    found = list[tuple[float, str]]()
    for then, now in both:
        for what in ("first", "steps"):
            old, new = (float(np.max(line[what], initial=0)) for line in (then, now))
            if new > max(2 * old, old + 10_000):
                times = f"{old / 1000:.1f} → {new / 1000:.1f} ms"
                found.append((old - new, f"{now['kind']} {now['name']}, {what}: {times}"))
    return [paragraph("slower", [name for _, name in sorted(found)])] if found else []


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description="The frozen corpora.")
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="judge all corpora")
    writing.add_argument("out", type=Path)
    writing.add_argument("--maskbench", type=Path, help="gzipped lines of id, schema and tests")
    writing.add_argument("--only", default="", help="a text that kind and name contain")
    writing.add_argument("--limit", type=int, default=30, help="CPU seconds for one item")
    writing.add_argument("--processes", type=int, default=2)
    writing.add_argument("--note", default="", help="a remark, as on how busy the machine is")
    comparing = commands.add_parser("compare", help="list what differs between two files")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "write":
        found = items(options.maskbench)
        chosen = [item for item in found if options.only in f"{item.kind} {item.name}"]
        write(options.out, chosen, options)
        return 0
    (run, before), (other, after) = read(options.before), read(options.after)
    found = compare(before, after)
    lines = [f"before: {run}", *totals(before), f"after: {other}", *totals(after), ""]
    lines += [*(found or ["no difference of verdicts or masks"]), "", *latency(before, after)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
