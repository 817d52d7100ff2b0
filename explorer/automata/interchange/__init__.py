"""Machines that come from elsewhere, or go there.

Reading order: `validate` (a machine is checked once before anything runs it), `openfst` (pynini's
machines, by way of OpenFST's file format), `interegular_bridge`.
"""
