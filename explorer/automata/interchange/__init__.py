"""Machines that come from elsewhere, or go there.

Reading order: `libraries` (pynini and interegular, where they are installed), `validate` (a machine
is checked once before anything runs it), `openfst` (pynini's machines, by way of OpenFST's file
format), `detokenizers` (transducers from tokens to bytes, from pynini and to it),
`interegular_bridge`.
"""
