"""Byte machines with a stack.

Read in this order: `stacks` (every stack that a text can lead to), `single` with `single_rows` and
`single_words` (the machine of one stack, and its kernels), `of_grammar` (which
of the two a grammar gets).
"""
