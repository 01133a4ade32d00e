"""Names of other libraries that guideway uses and that they do not document as fixed.

A release that renames one of them, or changes its parameters, fails here by that name; other tests
would fail too, but not say why. Names that a library documents are left to those.
"""

import inspect
import re
import warnings
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from lark.indenter import PythonIndenter
from pydantic import AnyUrl, Secret, TypeAdapter
from pydantic_core import core_schema
from tokenizers import Tokenizer
from torch import ones

from small_tokenizers import sentencepiece

INTEGRATIONS = Path(__file__).resolve().parent.parent / "src" / "guideway" / "integrations"
PAGED = "transformers.generation.continuous_batching"
MANAGER = f"{PAGED}.continuous_api.ContinuousBatchingManager"
CHOOSING = f"{PAGED}.cb_logits_processors.ContinuousBatchingLogitsProcessor"
CACHES = "transformers.cache_utils"
CHAT = "transformers.utils.chat_template_utils"
LLAMA = "transformers.models.llama.modeling_llama.LlamaForCausalLM"
# What is called, and with which parameters.
CALLED = {
    # context_free: a grammar as Lark itself reads it
    "lark.load_grammar.load_grammar": "grammar source import_paths global_keep_all_tokens",
    "lark.load_grammar.Grammar.compile": "self start terminals_to_keep",
    "lark.grammar.Rule": "origin expansion order alias options",
    "lark.grammar.NonTerminal": "name",
    "lark.grammar.RuleOptions": "keep_all_tokens expand1 priority",
    "lark.lexer.TerminalDef": "name pattern priority",
    "lark.lexer.TerminalDef.user_repr": "self",
    "lark.lexer.PatternStr.to_regexp": "self",
    "lark.indenter.Indenter.process": "self stream",
    # automaton.kernels: how a kernel is optimised and loaded
    "llvmlite.binding.parse_assembly": "llvmir context",
    "llvmlite.binding.get_host_cpu_name": "",
    "llvmlite.binding.get_host_cpu_features": "",
    "llvmlite.binding.create_pass_builder": "tm pto",
    "llvmlite.binding.create_new_module_pass_manager": "",
    "llvmlite.binding.newpassmanagers.NewPassManager.add_new_gvn_pass": "self",
    "llvmlite.binding.add_symbol": "name address",
    "llvmlite.binding.create_mcjit_compiler": "module target_machine",
    "llvmlite.binding.ObjectFileRef.from_data": "data",
    # python_types, vocabulary
    "pydantic_core.SchemaValidator": "schema config",
    "tokenizers.Tokenizer.get_added_tokens_decoder": "self",
    "tokenizers.Tokenizer.get_vocab": "self with_added_tokens",
    # models.transformers, models.growing: chat templates and caches
    "transformers.PreTrainedTokenizerFast.get_chat_template": "self chat_template tools",
    f"{CHAT}.render_jinja_template": "conversations tools chat_template add_generation_prompt",
    "transformers.DynamicCache.reorder_cache": "self beam_idx",
    f"{CACHES}.Cache": "layers",
    f"{CACHES}.DynamicLayer": "",
    f"{CACHES}.DynamicLayer.update": "self key_states value_states",
    f"{CACHES}.DynamicLayer.get_mask_sizes": "self query_length",
    f"{CACHES}.DynamicLayer.get_seq_length": "self",
    f"{CACHES}.StaticLayer": "max_cache_len",
    f"{CACHES}.StaticLayer.lazy_initialization": "self key_states value_states",
    # models.grouped_attention
    "transformers.integrations.sdpa_attention.sdpa_attention_forward":
        "module query key value attention_mask dropout scaling position_bias",
    "transformers.masking_utils.AttentionMaskInterface.register": "key value",
    "transformers.modeling_utils.AttentionInterface.register": "key value",
    f"{LLAMA}.forward":
        "self input_ids attention_mask position_ids use_cache logits_to_keep",
    # models.transformers_paged, integrations.transformers_batching
    f"{MANAGER}": "model generation_config continuous_batching_config",
    f"{MANAGER}._create_batch_processor": "self",
    f"{MANAGER}.add_request":
        "self input_ids request_id max_new_tokens streaming eos_token_id",
    f"{MANAGER}.cancel_request": "self request_id",
    f"{MANAGER}.is_running": "self",
    f"{PAGED}.continuous_api.ContinuousBatchProcessor.prepare_next_batch": "self",
    f"{PAGED}.continuous_api.ContinuousBatchProcessor.update_batch": "self",
    f"{PAGED}.input_outputs.ContinuousBatchingIOs.get_model_kwargs": "self",
    f"{PAGED}.scheduler.Scheduler.finish_request": "self request_id",
    f"{PAGED}.cache.PagedAttentionCache.count_new_complete_blocks": "self state request_len",
    f"{PAGED}.cache.PagedAttentionCache":
        "config continuous_batching_config device distributed_helper dtype",
    f"{CHOOSING}.fill_defaults": "self int32_tensor",
    f"{CHOOSING}.prepare_tensor_args": "self requests_with_new_token",
    f"{CHOOSING}.__call__": "self scores tensor_arg",
    f"{PAGED}.utils.find_head_dim": "config",
    f"{PAGED}.utils.find_num_key_value_heads": "config",
    "transformers.utils.logging.is_progress_bar_enabled": "",
    "transformers.utils.logging.disable_progress_bar": "",
    "transformers.utils.logging.enable_progress_bar": "",
    "transformers.utils.logging.get_verbosity": "",
    "transformers.utils.logging.set_verbosity": "verbosity",
    "transformers.utils.logging.set_verbosity_error": "",
    "transformers.generation.logits_process.LogitsProcessor.__call__": "self input_ids scores",
    "huggingface_hub.try_to_load_from_cache": "repo_id filename",
    "huggingface_hub.HfApi.model_info": "self repo_id timeout",
}  # fmt: skip
# Other names, by what has them.
THERE = {
    "lark.grammar.Symbol": "is_term",
    "lark.lexer.PatternStr": "min_width max_width type",
    "lark.exceptions": "GrammarError LarkError",
    "lark.exceptions.UnexpectedInput": "pos_in_stream",
    "lark.indenter.Indenter":
        "NL_type OPEN_PAREN_types CLOSE_PAREN_types INDENT_type DEDENT_type tab_len",
    "pydantic.errors":
        "PydanticUserError PydanticSchemaGenerationError PydanticUndefinedAnnotation",
    "pydantic_core": "SchemaError",
    "transformers.models.auto.modeling_auto.AutoModelForCausalLM": "from_pretrained",
    "transformers.models.auto.tokenization_auto.AutoTokenizer": "from_pretrained",
    "transformers.PreTrainedTokenizerFast": "backend_tokenizer apply_chat_template",
    "transformers.PreTrainedModel":
        "can_generate get_decoder get_output_embeddings _supports_attention_backend",
    "transformers.PreTrainedConfig": "get_text_config",
    "transformers.masking_utils": "sdpa_mask",
}  # fmt: skip
# integrations.transformers_call reads these from the frames of a running `generate`; what it reads
# from that of `generate` itself is found in its source.
MIXIN = "transformers.generation.utils.GenerationMixin"
LOCALS = {
    "generate": "",
    "_sample": "unfinished_sequences",
    "_beam_search": "is_sent_finished beam_scores running_beam_scores",
    "_assisted_decoding": "cur_len",
}
READ = re.compile(r"""\bvalues(?:\.get\(|\[)"(\w+)""")
# Kinds of core schemas that `python_types` and `api.parsing.partial` tell apart.
KINDS = """
    any none bool int float decimal str bytes date time datetime timedelta literal enum is-instance
    is-subclass callable list tuple set frozenset generator dict function-after function-before
    function-wrap function-plain default nullable union tagged-union chain lax-or-strict
    json-or-python typed-dict model-fields model dataclass-args dataclass call custom-error json url
    multi-host-url definitions definition-ref uuid complex typed-dict-field
    model-field dataclass-field
"""
VALIDATORS = {  # `python_types.constraints` knows these functions of pydantic by name
    "Secret.__get_pydantic_core_schema__.<locals>.<lambda>": Secret[int],
    "_BaseUrl.__get_pydantic_core_schema__.<locals>.wrap_val": AnyUrl,
}


def found(path: str) -> Any:
    """What a dotted path names."""
    warnings.simplefilter("ignore")  # a deprecation is for other tests: the name is there
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            value: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(path)


@pytest.mark.parametrize("path", CALLED)
def test_a_call_takes_what_it_is_given(path: str) -> None:
    known, given = inspect.signature(found(path)).parameters, CALLED[path].split()
    assert [name for name in known if name in given] == given
    required = [n for n, p in known.items() if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    assert {*required} <= {*given}


@pytest.mark.parametrize("path", THERE)
def test_names_are_there(path: str) -> None:
    for name in THERE[path].split():
        found(f"{path}.{name}")


# models.few_rows, models.packed: on a CPU
OPERATIONS = {
    "mkldnn._linear_pointwise": "X W B attr scalars algorithm",
    "aten._weight_int8pack_mm": "self mat2 scales",
    "aten._weight_int4pack_mm_for_cpu": "self mat2 qGroupSize qScaleAndZeros",
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_of_torch_takes_what_it_is_given(name: str) -> None:
    schema = found(f"torch.ops.{name}.default")._schema
    assert [each.name for each in schema.arguments] == OPERATIONS[name].split()


@pytest.mark.parametrize("function", LOCALS)
def test_a_running_generate_has_the_variables_that_are_read(function: str) -> None:
    names = {*LOCALS[function].split()}
    if function == "generate":
        sources = [path.read_text(encoding="utf-8") for path in INTEGRATIONS.glob("*.py")]
        names = {name for source in sources for name in READ.findall(source)}
        assert {"input_ids", "generation_config"} <= names
    code = inspect.unwrap(getattr(found(MIXIN), function)).__code__
    assert names <= {*code.co_varnames, *code.co_cellvars}


def test_a_grammar_and_an_indenter_of_lark_have_the_attributes_that_are_read() -> None:
    load = found("lark.load_grammar.load_grammar")
    grammar, _ = load('start: "a" | B\nB: /b/i\n%declare C\n%ignore " "', "grammar", [], False)
    assert [str(name) for name, parameters, tree, options in grammar.rule_defs] == ["start"]
    assert {str(name) for name, (tree, priority) in grammar.term_defs if tree is None} == {"C"}
    terminals, rules, ignored = grammar.compile(["start"], "*")
    assert {str(each.name) for each in terminals} >= {"A", "B"}
    assert all(isinstance(each.pattern.flags, tuple | frozenset) for each in terminals)
    assert [str(symbol.name) for rule in rules for symbol in rule.expansion] == ["A", "B"]
    assert all(rule.options.priority is None and rule.alias is None for rule in rules)
    assert len(ignored) == 1
    indenter = PythonIndenter()
    list(indenter.process(iter([])))
    assert (indenter.paren_level, indenter.indent_level) == (0, [0])


def test_the_kinds_of_core_schemas_are_those_that_are_read() -> None:
    kinds = {*get_args(core_schema.CoreSchemaType), *get_args(core_schema.CoreSchemaFieldType)}
    assert {*re.findall(r"\S+", KINDS)} <= kinds


@pytest.mark.parametrize("name", VALIDATORS)
def test_a_validator_of_pydantic_has_the_name_by_which_it_is_known(name: str) -> None:
    def functions(part: Any) -> Any:
        if isinstance(part, dict):
            yield from (part[key] for key in ("function",) if callable(part.get(key)))
            yield from (name for inner in part.values() for name in functions(inner))
        elif isinstance(part, list | tuple):
            yield from (name for inner in part for name in functions(inner))

    adapter = TypeAdapter(VALIDATORS[name])
    assert isinstance(adapter._config, dict | None)
    assert adapter._type is VALIDATORS[name]
    assert name in {function.__qualname__ for function in functions(adapter.core_schema)}


def test_parts_of_a_tokenizer_say_what_they_are() -> None:
    tokenizer: Any = Tokenizer.from_buffer(sentencepiece())
    for part in ("model", "normalizer", "decoder"):
        assert b'"type"' in getattr(tokenizer, part).__getstate__()
    assert tokenizer.model.unk_token == "<unk>"
    assert tokenizer.model.byte_fallback is True
    added = tokenizer.get_added_tokens_decoder()[0]
    assert (added.content, added.special) == ("<unk>", True)
    assert (added.lstrip, added.rstrip) == (False, False)


def test_a_model_takes_and_gives_its_cache_by_one_of_two_names() -> None:
    parameters = inspect.signature(found(f"{LLAMA}.forward")).parameters
    output = found("transformers.modeling_outputs.CausalLMOutputWithPast")
    (name,) = {"cache", "past_key_values"} & {*parameters}
    assert name in {field.name for field in fields(output)}


def test_the_processor_of_a_prefix_function_knows_its_rows() -> None:
    processor = found("transformers.generation.logits_process.PrefixConstrainedLogitsProcessor")
    assert processor(lambda batch_id, ids: [0], 3)._num_beams == 3
    assert {"batch_id", "beam_id"} <= {*inspect.unwrap(processor.__call__).__code__.co_varnames}


def test_a_cache_is_a_list_of_layers_and_a_static_one_counts_its_columns_in_a_tensor() -> None:
    assert isinstance(found("transformers.DynamicCache")().layers, list)
    layer, columns = found(f"{CACHES}.StaticLayer")(max_cache_len=4), ones(1, 1, 2, 3)
    layer.lazy_initialization(columns, columns)
    layer.update(columns, columns)
    assert layer.cumulative_length.tolist() == layer.get_seq_length() == 2
    layer.cumulative_length.sub_(1)
    keys, _ = layer.update(columns[:, :, :1] * 5, columns[:, :, :1])
    assert keys[0, 0, :, 0].tolist() == [1, 5, 0, 0]


# What is written in the sources of continuous batching: attributes, fields, slots.
WRITTEN = {
    r"self\.{}(?::| =)": {
        "continuous_api.ContinuousBatchingManager.__init__":
            "continuous_batching_config distributed_helper logit_processor num_return_sequences "
            "batch_processor model",
        "continuous_api.ContinuousBatchProcessor.__init__":
            "cache scheduler inputs_and_outputs max_batch_tokens",
        "input_outputs.ContinuousBatchingIOs._setup_static_tensors": "output_ids",
        "input_outputs.ContinuousBatchingIOs.prepare_batch_tensors": "requests_in_batch",
        "scheduler.Scheduler.reset": "block_new_requests active_requests",
        "cache.PagedAttentionCache.__init__": "cache_allocators num_blocks use_prefix_sharing",
        "cache_allocators.CacheAllocator._before_cache_tensor_init": "block_physical_stride",
        "cb_logits_processors.ContinuousBatchingLogitsProcessorList.__init__":
            "logits_processor tensors_required do_processing",
    },
    r"\b{}:": {
        "requests.RequestState":
            "request_id error _eos_token_ids tokens_to_process generated_tokens position_offset",
    },
    '"{}"': {
        "requests.FutureRequestState": "state has_new_token complete_blocks query_length",
    },
}  # fmt: skip


@pytest.mark.parametrize("form", WRITTEN)
def test_continuous_batching_has_the_attributes_that_are_read(form: str) -> None:
    for path, names in WRITTEN[form].items():
        source = inspect.getsource(found(f"{PAGED}.{path}"))
        missing = [name for name in names.split() if not re.search(form.format(name), source)]
        assert missing == [], path


def test_continuous_batching_has_the_settings_and_arguments_that_are_used() -> None:
    config = found("transformers.generation.configuration_utils.ContinuousBatchingConfig")
    assert {
        *("page_size", "num_blocks", "max_batch_tokens", "max_requests_per_batch"),
        *("max_blocks_per_request", "use_async_batching", "use_cuda_graph"),
        *("auto_switch_to_flash", "cpu_offload_space", "cuda_graph_booleans"),
    } <= {*dir(config)}
    arguments = found(f"{PAGED}.input_outputs.PagedAttentionArgs").__annotations__
    assert {"logits_indices", "read_index", "write_index", "cache", "is_causal"} <= {*arguments}


def test_a_generation_config_has_what_is_read() -> None:
    config = found("transformers.GenerationConfig")()
    for name in (
        *("max_length", "eos_token_id", "stop_strings", "num_beams"),
        *("num_return_sequences", "do_sample"),
    ):
        assert hasattr(config, name), name
