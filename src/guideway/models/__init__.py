"""Language models: their protocol, and the libraries that run them.

    protocol                `LanguageModel` and its laws
    pages                   the protocol of paged caches
    fake                    a model of a table or a function, for tests
    load                    a model from a name, folder, file or object
    transformers            a transformers model
    transformers_paged      its continuous batching
    variants                early exits and adapters in one forward
    growing, grouped_attention, few_rows
                            caches, attention and linear layers that are faster on a CPU
    llama_cpp, llama_cpp_tokenizer
                            .gguf files, run by llama.cpp
    ngram                   n-gram models
    adapter                 LoRA
    packed, footprint       weights of 8 or 4 bits; memory of a model before it is loaded
    builtin, progress       the built-in model, converted from its .gguf file; progress bars

`tests/laws` checks the laws of the protocols on every implementation.
"""

from guideway.extras import require

require("torch", "guideway.models")
