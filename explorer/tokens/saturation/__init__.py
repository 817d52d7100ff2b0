"""Saturation: what a vocabulary can finish on a stack is worked out instead of searched.

Read in this order: `word_graph` (the vocabulary as the grammar sees it), `alike` (places within
tokens, numbered by what they lead to), `summaries` (how each rule can be left from there), `ends`
(the fewest tokens to the end of a configuration).
"""
