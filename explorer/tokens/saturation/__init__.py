"""Saturation: computes what a vocabulary can finish on a stack, instead of searching for it.

Read in this order: `word_graph` (the vocabulary over a grammar's byte classes), `alike` (places
within tokens, merged where they lead to the same), `summaries` (the exits of each rule from a
place), `ends` (the fewest tokens to the end of a configuration).
"""
