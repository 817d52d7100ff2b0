"""Byte machines with a stack.

Reading order: `stacks` (the machine of several stacks), `single` with `single_rows`
(the machine of one stack, and its kernels), `of_grammar` (chooses between the two for a grammar).
"""
