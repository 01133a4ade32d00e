"""What the adapter takes from vLLM: names and parameters, read from the installed sources by `ast`.

A release that renames one of them fails here by that name.
"""

import ast
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

# Sources of another release, such as an unpacked CUDA wheel, can be read too.
FOLDER = os.environ.get("GUIDEWAY_VLLM_SOURCES")
if FOLDER is None:
    found = find_spec("vllm")
    if found is None or found.origin is None:
        pytest.skip("vllm is not installed", allow_module_level=True)
    FOLDER = str(Path(found.origin).parent)
ROOT = Path(FOLDER)

# Module: class.method or function → its parameters.
CALLED = {
    "v1/structured_output/backend_types.py": {
        "StructuredOutputGrammar.accept_tokens": "self request_id tokens",
        "StructuredOutputGrammar.validate_tokens": "self tokens",
        "StructuredOutputGrammar.rollback": "self num_tokens",
        "StructuredOutputGrammar.fill_bitmask": "self bitmask batch_index",
        "StructuredOutputGrammar.is_terminated": "self",
        "StructuredOutputGrammar.reset": "self",
        "StructuredOutputBackend.compile_grammar": "self request_type grammar_spec stop_token_ids",
        "StructuredOutputBackend.allocate_token_bitmask": "self max_num_seqs",
        "StructuredOutputBackend.destroy": "self",
    },
    "v1/structured_output/request.py": {"get_structured_output_key": "params"},
    "v1/structured_output/__init__.py": {"StructuredOutputManager.grammar_init": "self request"},
    "sampling_params.py": {
        "SamplingParams.all_stop_token_ids": "self",
        "SamplingParams._validate_structured_outputs":
            "self model_config structured_outputs_config tokenizer",
    },
    "v1/sample/logits_processor/interface.py": {
        "LogitsProcessor.__init__": "self vllm_config device is_pin_memory",
        "LogitsProcessor.validate_params": "cls sampling_params",
        "LogitsProcessor.update_state": "self batch_update",
        "LogitsProcessor.apply": "self logits",
        "LogitsProcessor.is_argmax_invariant": "self",
    },
    "v1/worker/gpu/sample/logits_processor/interface.py": {
        "LogitsProcessor.__init__": "self vllm_config req_states",
        "LogitsProcessor.validate_params": "cls sampling_params",
        "LogitsProcessor.add_request": "self req_idx sampling_params",
        "LogitsProcessor.apply": "self logits ctx",
    },
    "config/vllm.py": {"VllmConfig.num_speculative_tokens": "self"},
    "config/model.py": {"ModelConfig.get_vocab_size": "self"},
}  # fmt: skip
# Attributes and other names: of a module, by the class that has them ("" for the module).
THERE = {
    "v1/structured_output/backend_types.py": {
        "StructuredOutputBackend.": "vllm_config tokenizer vocab_size",
        "StructuredOutputOptions.": "JSON JSON_OBJECT REGEX GRAMMAR CHOICE STRUCTURAL_TAG",
    },
    "config/structured_outputs.py": {
        "": "StructuredOutputsBackend",
        "StructuredOutputsConfig.": "backend",
    },
    "sampling_params.py": {
        "SamplingParams.": "extra_args structured_outputs",
        "StructuredOutputsParams.":
            "_backend disable_any_whitespace whitespace_pattern json_object",
    },
    "v1/sample/logits_processor/interface.py": {
        "BatchUpdate.": "removed added moved",
        "MoveDirectionality.": "SWAP",
    },
    "v1/worker/gpu/sample/logits_processor/interface.py": {
        "LogitsProcRequestState.": "device max_num_reqs all_token_ids prompt_len prefill_len",
        "LogitsContext.": "expanded_idx_mapping idx_mapping_np input_ids pos",
    },
    "v1/worker/gpu/buffer_utils.py": {"": "StagedWriteTensor UvaBackedTensor"},
    "exceptions.py": {"": "VLLMValidationError"},
}  # fmt: skip


def declared(module: str) -> dict[str, str | None]:
    """The names of a module and of its classes; the parameters of functions."""
    names: dict[str, str | None] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    given = node.args
                    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
                    names[prefix + node.name] = " ".join(each.arg for each in arguments)
                case ast.ClassDef():
                    names[prefix + node.name] = None
                    visit(node.body, f"{prefix}{node.name}.")
                case (
                    ast.AnnAssign(target=ast.Name(id=name))
                    | ast.Assign(targets=[ast.Name(id=name)])
                ):
                    names[prefix + name] = None

    visit(ast.parse((ROOT / module).read_text()).body, "")
    return names


@pytest.mark.parametrize("module", CALLED | THERE)
def test_names_and_parameters_are_those_of_the_adapter(module: str):
    known = declared(module)
    for name, parameters in CALLED.get(module, {}).items():
        assert known.get(name) == parameters, f"{module}: {name}"
    for prefix, names in THERE.get(module, {}).items():
        assert {prefix + name for name in names.split()} <= {*known}, module


def test_our_methods_are_those_of_the_abstract_classes():
    """A new abstract method of vLLM would make our classes abstract."""
    ours = {
        "StructuredOutputGrammar": "v1/structured_output/backend_types.py",
        "StructuredOutputBackend": "v1/structured_output/backend_types.py",
        "LogitsProcessor": "v1/sample/logits_processor/interface.py",
    }
    for name, module in ours.items():
        tree = ast.parse((ROOT / module).read_text())
        [found] = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
        functions = [each for each in found.body if isinstance(each, ast.FunctionDef)]
        abstract = {
            each.name
            for each in functions
            if "abstractmethod" in map(ast.unparse, each.decorator_list)
        }
        assert {f"{name}.{method}" for method in abstract} <= {*CALLED[module]}
