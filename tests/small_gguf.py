"""A .gguf file with random weights: a llama of two layers, with SmolLM's kind of tokenizer, or with
that of SentencePiece."""

from pathlib import Path
from typing import Any

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

DIM, HEADS, HEAD, INNER, CONTEXT = 64, 4, 16, 96, 512
MERGES = ["t h", "h e", "i n", "e r", "a n", "Ġ a", '" ,', '" :']
SPECIAL = ["<unk>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
PIECES = [*SPECIAL, *sorted(ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]
SPM = [
    *("<unk>", "<s>", "</s>"),
    *(f"<0x{byte:02X}>" for byte in range(256)),
    *("▁", *"abcdefghijklmnopqrstuvwxyz0123456789"),
    *("▁t", "th", "▁th", "he", "▁the", "in", "▁in", "er", "12"),
]


def write(path: Path, seed: int = 0, *, spm: bool = False) -> Path:
    """The file; the same weights for the same seed."""
    from gguf import GGUFWriter

    noise, pieces = np.random.default_rng(seed), SPM if spm else PIECES
    writer: Any = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_block_count(2)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS // 2)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama" if spm else "gpt2")
    writer.add_tokenizer_pre("default" if spm else "smollm")
    writer.add_token_list(pieces)
    if spm:
        writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * (len(SPM) - 259)])
        writer.add_token_scores([-float(place) for place in range(len(SPM))])
        writer.add_add_bos_token(True)
    else:
        writer.add_token_types([3] * len(SPECIAL) + [1] * (len(PIECES) - len(SPECIAL)))
        writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)

    def matrix(name: str, rows: int, columns: int) -> None:
        values = noise.standard_normal((rows, columns), np.float32) * np.float32(columns**-0.5)
        writer.add_tensor(f"{name}.weight", values * np.float32(1.5))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(DIM, np.float32))

    matrix("token_embd", len(pieces), DIM)
    norm("output_norm")
    for block in ("blk.0", "blk.1"):
        norm(f"{block}.attn_norm")
        norm(f"{block}.ffn_norm")
        for part, rows, columns in (
            ("attn_q", HEADS * HEAD, DIM),
            ("attn_k", HEADS * HEAD // 2, DIM),
            ("attn_v", HEADS * HEAD // 2, DIM),
            ("attn_output", DIM, HEADS * HEAD),
            ("ffn_gate", INNER, DIM),
            ("ffn_up", INNER, DIM),
            ("ffn_down", DIM, INNER),
        ):
            matrix(f"{block}.{part}", rows, columns)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
