"""The kinds of sources without a front end of their own, and the common part of all kinds.

Reading order: `registry` (the list of all kinds), `choice`, `aliases`, `algebra` (sources that
combine others, with limits on depth and number), `imported`, `detokenized` (behind a transducer),
`serial` (sources as plain mappings, written and read).
"""
