"""The kinds of sources that have no language of their own, and what all kinds share.

Reading order: `registry` (the one place where a kind makes itself known), `choice`, `aliases`,
`algebra` (sources that combine others, how deep and how many), `imported`, `detokenized` (behind a
transducer), `serial` (sources as plain mappings, written and read).
"""
