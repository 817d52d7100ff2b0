"""A source as it was written, and where in it a text has come to.

Read in this order: `program` (the source as states and arcs that know their origin),
`configuration` (the configuration after a text: what may be read next, where that was written, and
on which stack), `derivation` (the rules that the text has opened and closed).
"""
