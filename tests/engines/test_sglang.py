"""The adapter on SGLang's own classes, taken from the sources of its wheel without the rest of it.

SGLang cannot be imported without CUDA packages. So the classes that the adapter meets are cut from
the sources by `ast` and run; a renamed class, method or parameter fails by its name.
"""

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import guideway as gw
from guideway.integrations import sglang as adapter

torch = pytest.importorskip("torch")
FOLDER = os.environ.get("GUIDEWAY_SGLANG_SOURCES")
if FOLDER is None:
    found = find_spec("sglang")
    if found is None or found.origin is None:
        pytest.skip("sglang is not installed", allow_module_level=True)
    FOLDER = str(Path(found.origin).parent)
ROOT = Path(FOLDER) / "srt"

BASE = "sglang.srt.constrained.base_grammar_backend"
REASONER = "sglang.srt.constrained.reasoner_grammar_backend"
IMPORTS = """
from __future__ import annotations
import json, logging, time, torch
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union
logger = logging.getLogger("sglang")
"""
CHARS = [bytes([byte]) for byte in range(256)]
THINK_END, END = 256, 257
VOCABULARY = gw.Vocabulary([*CHARS, None, None], {END}, special={"</think>": THINK_END})
WIDTH = len(VOCABULARY.tokens)


def cut(path: str, names: Sequence[str], **given: Any) -> dict[str, Any]:
    """Run the named definitions of a module of SGLang, and nothing else of it."""
    tree = ast.parse((ROOT / path).read_text())
    known: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            known[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = node
    for name in names:
        assert name in known, f"{path} has no {name}"
    body = [*ast.parse(IMPORTS).body, *(known[name] for name in names)]
    space = {**given, "__name__": path}
    exec(compile(ast.Module(body, []), path, "exec"), space)
    return space


@pytest.fixture
def sglang(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    serving = SimpleNamespace(reasoning_parser=None, enable_strict_thinking=False)
    kernel = SimpleNamespace(kernel=SimpleNamespace(grammar_backend="guideway"))
    classes = ["BaseGrammarObject", "InvalidGrammarObject", "BaseGrammarBackend"]
    base = cut(
        "constrained/base_grammar_backend.py",
        ["GRAMMAR_BACKEND_REGISTRY", "GrammarRow", "_grammar_key_contains_nul", *classes,
         "register_grammar_backend", "create_grammar_backend"],
        get_exec=lambda: kernel,
        get_serving=lambda: serving,
    )  # fmt: skip
    matcher = cut("utils/token_sequence_matcher.py", ["TokenSequenceMatcher"])
    reasoner = cut(
        "constrained/reasoner_grammar_backend.py",
        ["_THINK_BUDGET_VARIANT", "ReasonerGrammarObject", "ReasonerGrammarBackend"],
        TokenSequenceMatcher=matcher["TokenSequenceMatcher"],
        **{name: base[name] for name in classes},
        ResponseTemplateReasoningDetector=type(None),
        envs=SimpleNamespace(SGLANG_MAX_THINK_TOKENS=SimpleNamespace(get=lambda: -1)),
    )
    detector = SimpleNamespace(
        get_think_end_token_ids=lambda tokenizer: [THINK_END],
        get_answer_frame=lambda: None,
        think_excluded_tokens=None,
    )
    parsing = {"ReasoningParser": lambda **_: SimpleNamespace(detector=detector)}
    choices = cut("arg_groups/choices.py", ["GRAMMAR_BACKEND_CHOICES"])
    choices["add_grammar_backend_choices"] = choices["GRAMMAR_BACKEND_CHOICES"].extend
    for name, names in {
        BASE: base,
        REASONER: reasoner,
        "sglang.srt.runtime_context": {"get_serving": lambda: serving},
        "sglang.srt.parser.reasoning_parser": parsing,
        "sglang.srt.arg_groups.choices": choices,
    }.items():
        module = ModuleType(name)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("guideway.extras.installed", lambda module: True)
    monkeypatch.setattr(gw.Vocabulary, "from_transformers", lambda tokenizer: VOCABULARY)
    adapter._named.cache_clear()
    adapter.register()
    adapter.register()
    assert choices["GRAMMAR_BACKEND_CHOICES"].count("guideway") == 1
    yield {**base, "serving": serving, "reasoner": reasoner}
    adapter._named.cache_clear()


def backend(sglang: dict[str, Any]) -> Any:
    return sglang["create_grammar_backend"](None, object(), WIDTH, {END}, [THINK_END])


def ready(made: Any, key: tuple[str, str], reasoning: bool = False) -> Any:
    """A request's grammar, as SGLang's manager takes it: compiled in its pool, then cached."""
    value, hit = made.get_cached_or_future_value(key, reasoning)
    if hit:
        return value
    value = value.result()
    made.set_cache(key, value.copy())
    return value


def allowed(grammar: Any) -> set[int]:
    mask = grammar.allocate_vocab_mask(vocab_size=WIDTH, batch_size=2, device="cpu")
    type(grammar).fill_vocab_mask_batched([SimpleNamespace(row=1, grammar=grammar)], mask)
    logits = torch.zeros(2, WIDTH)
    grammar.apply_vocab_mask(logits=logits, vocab_mask=grammar.move_vocab_mask(mask, "cpu"))
    assert torch.isfinite(logits[0]).all()
    return {*torch.isfinite(logits[1]).nonzero().flatten().tolist()}


SCHEMA = json.dumps({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]})
TAG = json.dumps(
    {"structures": [{"begin": "<f>", "schema": {"const": 1}, "end": "</f>"}], "triggers": ["<f>"]}
)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (("json", SCHEMA), '{"a": 1}'),
        (("json", "$$ANY$$"), "[1, {}]"),
        (("regex", "[a-c]{2}"), "bb"),
        (("ebnf", 'root ::= "x" root | "y"'), "xxy"),
        (("structural_tag", TAG), "so <f>1</f>."),
    ],
    ids=str,
)
def test_each_kind_of_request_is_compiled_and_followed(sglang: Any, key: Any, text: str):
    grammar = ready(backend(sglang), key)
    for byte in text.encode():
        assert byte in allowed(grammar)
        grammar.accept_token(byte)
    assert END in allowed(grammar)
    assert not grammar.is_terminated()
    grammar.accept_token(END)
    assert grammar.is_terminated()
    grammar.rollback(2)
    assert text.encode()[-1] in allowed(grammar)


@pytest.mark.parametrize(
    "key", [("json", '{"type": "strin"}'), ("regex", "("), ("ebnf", "root ::= x"), ("json", "{")]
)
def test_a_malformed_source_is_an_invalid_grammar_that_the_manager_aborts(sglang: Any, key: Any):
    """sglang#37839: no keyword is dropped without a word."""
    made = backend(sglang)
    for _ in range(2):  # also from the cache
        grammar = ready(made, key)
        assert isinstance(grammar, sglang["InvalidGrammarObject"])
        assert grammar.error_message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "contains": {"const": 1}},
        {"type": "integer", "multipleOf": 3},
        {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True},
        {"not": {"type": "string"}},
        {"type": "string", "pattern": "^a+$", "maxLength": 2},
    ],
    ids=lambda each: str(each)[:40],
)
def test_schemas_that_sglang_refuses_for_xgrammar_are_enforced(sglang: Any, schema: Any):
    """sglang#37839: SGLang answers 400 to these because xgrammar would drop the keyword."""
    assert not isinstance(
        ready(backend(sglang), ("json", json.dumps(schema))), sglang["InvalidGrammarObject"]
    )


def test_requests_of_one_source_do_not_share_a_cursor(sglang: Any):
    made = backend(sglang)
    first = ready(made, ("regex", "ab"))
    first.accept_token(ord("a"))
    second = ready(made, ("regex", "ab"))
    assert (allowed(first), allowed(second)) == ({ord("b")}, {ord("a")})
    with pytest.raises(ValueError, match="mask"):
        second.accept_token(ord("b"))


def test_a_tree_of_drafts_is_masked_and_rolled_back(sglang: Any):
    """sglang#13019, #26330: garbled strings, and masks that were not used, under speculation."""
    space = cut("speculative/spec_utils.py", ["traverse_tree"])
    grammar = ready(backend(sglang), ("regex", "a(b|cd)"))
    #  0 ─ 1 "a" ─ 2 "b" (3 is its sibling "c", with 4 "d" after it)
    grammar_mask = grammar.allocate_vocab_mask(vocab_size=WIDTH, batch_size=5, device="cpu")
    space["traverse_tree"](
        torch.tensor([1, 2, -1, 4, -1]),
        torch.tensor([-1, -1, 3, -1, -1]),
        torch.tensor([0, *b"abcd"]),
        grammar,
        grammar_mask,
    )
    logits = torch.zeros(5, WIDTH)
    gw.apply_token_bitmask_inplace(logits, grammar_mask)
    found = [torch.isfinite(row).nonzero().flatten().tolist() for row in logits]
    assert found == [[ord("a")], [ord("b"), ord("c")], [END], [ord("d")], [END]]
    assert allowed(grammar) == {ord("a")}


def test_reasoning_is_free_until_its_end_and_then_the_constraint_begins(sglang: Any):
    sglang["serving"].reasoning_parser = "some"
    made = backend(sglang)
    grammar = ready(made, ("regex", "ab"))
    grammar.maybe_init_reasoning(True)
    for token in (*b"so", THINK_END):
        assert len(allowed(grammar)) == WIDTH
        grammar.accept_token(token)
    assert allowed(grammar) == {ord("a")}
    grammar.accept_token(ord("a"))
    grammar.rollback(2)  # across the end of the thought
    assert len(allowed(grammar)) == WIDTH
    again, hit = made.get_cached_or_future_value(("regex", "ab"), False)
    assert hit
    assert allowed(again) == {ord("a")}


def test_the_plug_in_group_is_the_one_that_sglang_reads():
    text = (ROOT / "plugins" / "__init__.py").read_text()
    assert 'GENERAL_PLUGINS_GROUP = "sglang.srt.plugins"' in text
