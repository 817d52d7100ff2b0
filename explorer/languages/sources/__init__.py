"""The protocol of a source, and the kinds that have no language of their own.

Reading order: `registry` (the one place where a kind makes itself known), `abilities` (what a kind
can say about itself), `choice`, `aliases`, `algebra` (sources that combine others), `healed`,
`imported`, `nesting` (how deep they may stand inside each other), `size` (how large a source is,
before anything walks it), `serial` (sources as plain mappings; it imports every kind, so that all
are known).
"""
