"""Reasoning parsers in vLLM: the thought is free, then the constraint begins; with drafts, too."""

from pathlib import Path
from typing import Any

import pytest

from engines.vllm_requests import BACKEND, DRAFTS, apart, check, reasoned

PARSER = """
from vllm.reasoning import ReasoningParser, ReasoningParserManager

@ReasoningParserManager.register_module("until_fourth")
class UntilFourth(ReasoningParser):
    def is_reasoning_end(self, input_ids):
        return False
    def is_reasoning_end_streaming(self, input_ids, delta_ids):
        return any(token % 4 == 0 for token in delta_ids)
    def extract_content_ids(self, input_ids):
        return input_ids
    def extract_reasoning(self, model_output, request):
        return None, model_output
    def extract_reasoning_streaming(self, *given):
        return None
"""


@pytest.mark.parametrize("more", [{}, {"speculative_config": DRAFTS}], ids=["plain", "drafts"])
def test_reasoning_is_free_and_the_constraint_begins_after_it(tmp_path: Path, more: Any):
    """lmstudio#1783: a schema disabled thinking. Here a thought ends with the first id 4 * n."""
    plugin = tmp_path / "until_fourth.py"
    plugin.write_text(PARSER)
    parser = {"reasoning_parser": "until_fourth", "reasoning_parser_plugin": str(plugin)}
    outputs = apart(reasoned, {"structured_outputs_config": BACKEND | parser, **more})
    assert max(output.thoughts for output in outputs) > 1
    for output in outputs:
        check("json", output)
