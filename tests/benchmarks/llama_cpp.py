"""Benchmark `llama-cpp`: guideway on llama.cpp beside llama.cpp's own grammar, on the same file.

speed    the documents of `extraction`, greedy, one thread, processor seconds. "off" and "auto" are
         the drafts; each document is read anew, by a model that has seen the earlier ones.
accepts  for each keyword, whether an instance that it excludes is accepted (`llama_cpp_cases`)
suite    the same for the JSON Schema Test Suite, draft 2020-12, with declared key order. guideway's
         states are those of `tests/suites/json_schema_suite.txt`.

It runs where llama-cpp-python is installed. The grammar is that of
`LlamaGrammar.from_json_schema`; texts are given to it token by token, as sampling does.
"""

import ctypes
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import torch
import typer

import guideway as gw
import json_schema_suite as suite
from benchmarks.extraction.run import machine
from benchmarks.extraction.tasks import Task, read_tasks
from benchmarks.generation import Cost, Engine, anew, compared, held, in_turns, timed
from benchmarks.llama_cpp_cases import CASES, TWICE
from benchmarks.report import table
from guideway.cli.console import print_line
from guideway.models.builtin import packaged_file
from guideway.models.llama_cpp import LlamaCppModel
from guideway.models.llama_cpp_tokenizer import LlamaCppTokenizer

GRAMMAR: Final = "llama.cpp's grammar"
DRAFT: Final = "draft2020-12"
STATES: Final = {"U": "accepted, invalid", "i": "rejected, valid", "x": "refused", ".": "right"}


def llama_cpp(
    weights: Annotated[str, typer.Option(help="What llama.cpp packs the weights into.")] = "Q4_0",
    parts: Annotated[str, typer.Option(help="Which parts, with commas.")] = "speed,accepts,suite",
    runs: Annotated[int, typer.Option(help="Runs of each document.", min=1)] = 3,
    documents: Annotated[int, typer.Option(help="Documents to extract.", min=1, max=10)] = 10,
    tokens: Annotated[int, typer.Option(help="The longest text.", min=8)] = 256,
) -> None:
    """guideway on llama.cpp beside llama.cpp's own JSON-schema grammar."""
    torch.set_num_threads(1)
    print_line(json.dumps({**machine(), "weights": weights}))
    with tempfile.TemporaryDirectory() as folder:
        path = packed(weights, Path(folder))
        if "speed" in parts:
            print_line(f"\nspeed\n\n{speed(path, read_tasks()[:documents], runs, tokens)}")
        if "accepts" in parts:
            print_line(f"\naccepts\n\n{accepts(path)}")
        if "suite" in parts:
            print_line(f"\nsuite\n\n{of_suite(path)}")


def packed(weights: str, folder: Path) -> Path:
    """The built-in model, its weights packed anew unless they are Q4_1 as they come."""
    if weights == "Q4_1":
        return packaged_file()
    library: Any = import_module("llama_cpp")
    settings = library.llama_model_quantize_default_params()
    settings.ftype = getattr(library, f"LLAMA_FTYPE_MOSTLY_{weights}")
    settings.allow_requantize = True
    path = folder / f"{weights}.gguf"
    names = str(packaged_file()).encode(), str(path).encode()
    if library.llama_model_quantize(*names, settings):
        raise typer.BadParameter(f"llama.cpp cannot pack weights into {weights}")
    return path


def speed(path: Path, tasks: list[Task], runs: int, tokens: int) -> str:
    model = gw.load(path, backend="llama.cpp")
    for task in tasks:  # compiles the constraints
        held(model, task, max_new_tokens=1, on_error="return")
    found = list[Any]()
    for number in range(runs):
        again: Any = gw.Model(model.language_model, model.tokenizer)  # no texts to look up in
        engines = {GRAMMAR: grammar_engine(path, model.tokenizer, tokens)}
        for how in ("off", "auto"):
            ours = partial(anew, again, speculate=how, max_new_tokens=tokens)
            engines[f"guideway, {how}"] = ours
        found.append(in_turns(engines, tasks, number))
    return table(compared(found, (GRAMMAR,)))


def grammar_engine(path: Path, tokenizer: Any, tokens: int) -> Engine:
    """llama-cpp-python's completion with the grammar of the schema."""
    library: Any = import_module("llama_cpp")
    llama = library.Llama(str(path), n_ctx=4096, n_threads=1, n_threads_batch=1, verbose=False)

    def run(task: Task) -> Cost:
        schema = json.dumps(task.type.model_json_schema())
        grammar = library.LlamaGrammar.from_json_schema(schema, verbose=False)
        read = tokenizer.encode(task.prompt(tokenizer))
        llama.reset()

        def completed() -> int:
            llama.create_completion(read, max_tokens=tokens, temperature=0, grammar=grammar)
            return llama.n_tokens - len(read) + 1  # its last token is not read

        return timed(completed)

    return run


def accepts(path: Path) -> str:
    model, lines = LlamaCppModel(path), list[dict[str, Any]]()
    for name, (schema, instance) in CASES.items():
        text = instance if name == TWICE else json.dumps(instance)
        judge = grammar_judge(model.tokenizer, schema)
        theirs = "refused" if judge is None else "accepted" if judge(text) else "rejected"
        ours = verdict(schema, text, model.vocabulary)
        line = {"keyword": name, "instance": f"`{text}`", "llama.cpp": theirs, "guideway": ours}
        lines.append(line)
    return table(lines)


def verdict(schema: Any, text: str, vocabulary: gw.Vocabulary) -> str:
    try:
        accepted = gw.compile(gw.JsonSchema(schema), vocabulary).matches(text)
    except gw.GuidewayError:
        return "refused"
    return "accepted" if accepted else "rejected"


def of_suite(path: Path) -> str:
    """A table of the states of the suite's cases, by file of the suite."""
    model, known = LlamaCppModel(path), suite.baseline()
    lines, sums = list[dict[str, Any]](), Counter[str]()
    for part in suite.parts():
        if not part.file.startswith(f"{DRAFT}/") or part.order != "declared":
            continue
        theirs = Counter[str]()
        for group in suite.groups(part):
            judge = grammar_judge(model.tokenizer, group["schema"])
            for test in group["tests"]:
                theirs[state(judge, test["data"], valid=test["valid"])] += 1
        ours = Counter(known[str(part)].replace(" ", ""))
        sums.update({f"guideway {name}": count for name, count in ours.items()})
        sums.update({f"llama.cpp {name}": count for name, count in theirs.items()})
        if theirs["U"] or ours["U"]:
            counts = {"cases": theirs.total(), "llama.cpp": theirs["U"], "guideway": ours["U"]}
            name = part.file.removeprefix(f"{DRAFT}/")
            lines.append({"accepted though invalid": name, **counts})
    whole = [
        {"engine": engine, **{text: sums[f"{engine} {name}"] for name, text in STATES.items()}}
        | {"rejected, valid, of several keys": sums[f"{engine} o"]}
        for engine in ("llama.cpp", "guideway")
    ]
    return f"{table(whole)}\n\n{table(lines)}"


def state(judge: Callable[[str], bool] | None, instance: Any, *, valid: bool) -> str:
    if judge is None:
        return "x"
    accepted = judge(json.dumps(instance))
    if accepted == valid:
        return "."
    return "U" if accepted else "o" if suite.holds_object(instance) else "i"


def grammar_judge(tokenizer: LlamaCppTokenizer, schema: Any) -> Callable[[str], bool] | None:
    """Whether llama.cpp's grammar of a schema accepts a text; None if it refuses the schema."""
    library: Any = import_module("llama_cpp")
    grammars: Any = import_module("llama_cpp.llama_grammar")
    vocab = tokenizer._weights.vocab
    try:
        rules = grammars.json_schema_to_gbnf(json.dumps(schema)).encode()
    except Exception:  # noqa: BLE001  it raises what it likes
        return None

    def allowed(sampler: Any, token: int) -> bool:
        row = (library.llama_token_data * 1)(library.llama_token_data(token, 0.0, 0.0))
        array = library.llama_token_data_array(row, 1, -1, False)
        library.llama_sampler_apply(sampler, ctypes.byref(array))
        return row[0].logit > -1e30

    def judge(text: str) -> bool:
        sampler = library.llama_sampler_init_grammar(vocab, rules, b"root")
        try:
            for token in tokenizer.encode(text, False, special=False):
                if not allowed(sampler, token):
                    return False
                library.llama_sampler_accept(sampler, token)
            return allowed(sampler, library.llama_vocab_eos(vocab))
        finally:
            library.llama_sampler_free(sampler)

    made = library.llama_sampler_init_grammar(vocab, rules, b"root")
    if not made:
        return None
    library.llama_sampler_free(made)
    return judge
