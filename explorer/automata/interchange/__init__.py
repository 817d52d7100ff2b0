"""Machines that come from elsewhere, or go there.

Reading order: `openfst` (OpenFST's file format as flat arrays), `validate` (a machine is checked
once before anything runs it), `pynini_bridge`, `interegular_bridge`.
"""
