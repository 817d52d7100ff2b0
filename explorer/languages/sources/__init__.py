"""The kinds of sources that have no language of their own, and what all kinds share.

Reading order: `registry` (the one place where a kind makes itself known), `choice`, `aliases`,
`algebra` (sources that combine others), `imported`, `detokenized` (behind a transducer), `limits`
(how deep sources may stand inside each other, and how many), `serial` (sources as plain mappings;
it imports every kind, so that all are known).
"""
