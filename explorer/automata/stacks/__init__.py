"""Byte machines with a stack.

Reading order: `stacks` (the machine of several stacks), `single` (the machine
of one stack, with its kernels), `of_grammar` (chooses between the two for a grammar).
"""
