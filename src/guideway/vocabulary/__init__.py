"""The tokens of a model as bytes.

    vocabulary              `Vocabulary`: bytes of each token, end ids, width
    tokenizer_json          the bytes, read from tokenizer.json or a tokenizer
    backend, decoding       the tokenizer as plain data; bytes of its pieces
    self_check              the bytes compared with what the tokenizer decodes
    end_ids                 ids that end a text
    trie                    the tokens as a trie
    cache                   token tables and tries on disk
    marked                  special tokens with a spelling
    healing                 the last tokens of a prompt, generated again
    canonical/              the sequences of tokens that the tokenizer itself produces

No module here knows a grammar.
"""
