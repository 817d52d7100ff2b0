"""Import and export of machines.

Reading order: `libraries` (imports pynini and interegular), `validate` (checks a machine once,
before anything runs it), `openfst` (pynini's machines, through OpenFST's file format),
`detokenizers` (transducers from tokens to bytes, from and to pynini),
`interegular_bridge`.
"""
