"""A recognizer meets the trie: which tokens may come next."""
